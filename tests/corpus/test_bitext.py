"""Bitexts in every shape, and what is wrong with them said plainly."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from alidade.config import BitextSettings
from alidade.corpus.bitext import count_pairs, read_bitext, read_parallel_lines
from alidade.errors import AlidadeError

LANGUAGES = ("en", "de")


def lines(tmp_path: Path, source: str, target: str, **settings: Any) -> BitextSettings:
    (tmp_path / "a.en").write_text(source)
    (tmp_path / "a.de").write_text(target)
    return BitextSettings(source=tmp_path / "a.en", target=tmp_path / "a.de", **settings)


def read(settings: BitextSettings) -> list[tuple[int, str, str]]:
    return [tuple(pair) for pair in read_bitext(settings, LANGUAGES)]  # type: ignore[misc]  # a named tuple is one


def test_two_files(tmp_path: Path) -> None:
    assert read(lines(tmp_path, "one\ntwo\n", "eins\nzwei")) == [(0, "one", "eins"), (1, "two", "zwei")]


def test_tsv_packed(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"one\teins\ntwo\tzwei\t0.9\n"))
    settings = BitextSettings(source=tmp_path / "a.tsv.gz", format="tsv")
    assert read(settings) == [(0, "one", "eins"), (1, "two", "zwei")]


def test_tsv_without_a_tab(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("one\teins\ntwo zwei\n")
    with pytest.raises(AlidadeError, match=r"a\.tsv, line 2: no tab"):
        read(BitextSettings(source=tmp_path / "a.tsv", format="tsv"))


TMX = """<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="EN-GB"><seg>Press <bpt i="1">&lt;b></bpt>OK<ept i="1">&lt;/b></ept> &amp; wait</seg></tuv>
<tuv xml:lang="de"><seg>Drücken Sie <hi>OK</hi> und warten</seg></tuv></tu>
<tu><tuv lang="de"><seg>nur deutsch</seg></tuv></tu>
</body></tmx>"""


def test_tmx(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(TMX)
    assert read(BitextSettings(source=tmp_path / "a.tmx", format="tmx")) == [
        (0, "Press OK & wait", "Drücken Sie OK und warten"),
        (1, "", "nur deutsch"),
    ]


def test_broken_tmx(tmp_path: Path) -> None:
    (tmp_path / "a.tmx").write_text(TMX.replace("</tu>\n</body>", ""))
    with pytest.raises(AlidadeError, match=r"a\.tmx, line \d+, column \d+: not valid TMX"):
        read(BitextSettings(source=tmp_path / "a.tmx", format="tmx"))


def test_different_line_counts_name_both(tmp_path: Path) -> None:
    settings = lines(tmp_path, "1\n2\n3\n", "1\n2\n")
    with pytest.raises(AlidadeError, match=r"a\.en has 3 lines but .*a\.de has 2"):
        count_pairs(settings, LANGUAGES)
    with pytest.raises(AlidadeError, match=r"a\.en has 3 lines but .*a\.de has 2"):
        list(read_parallel_lines(tmp_path / "a.en", tmp_path / "a.de"))


def test_a_nul_byte_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"a\.de, line 2: there is a NUL byte"):
        read(lines(tmp_path, "1\n2\n", "1\n2\0\n"))


def test_a_cap_is_spread_evenly(tmp_path: Path) -> None:
    text = "".join(f"{i}\n" for i in range(10))
    assert [pair[0] for pair in read(lines(tmp_path, text, text, cap=3))] == [3, 6, 9]
    assert len(read(lines(tmp_path, text, text, cap=99))) == 10


def test_domains_choose_pairs(tmp_path: Path) -> None:
    text = "".join(f"{i}\n" for i in range(6))
    (tmp_path / "domains").write_text("news\nweb\nnews\nlaw\nweb\nnews\n")
    chosen = {"domains": tmp_path / "domains", "only": ["news", "law"]}
    settings = lines(tmp_path, text, text, **chosen)
    assert [pair[0] for pair in read(settings)] == [0, 2, 3, 5]
    assert count_pairs(settings, LANGUAGES) == 4
    assert [pair[0] for pair in read(lines(tmp_path, text, text, cap=2, **chosen))] == [2, 5]


def test_a_domain_that_no_pair_has_is_named(tmp_path: Path) -> None:
    (tmp_path / "domains").write_text("news\nweb\n")
    settings = lines(tmp_path, "1\n2\n", "1\n2\n", domains=tmp_path / "domains", only=["new"])
    with pytest.raises(AlidadeError, match=r'no pair has the domain "new"; did you mean "news"'):
        count_pairs(settings, LANGUAGES)


def test_domains_of_another_length(tmp_path: Path) -> None:
    (tmp_path / "domains").write_text("news\n")
    settings = lines(tmp_path, "1\n2\n", "1\n2\n", domains=tmp_path / "domains", only=["news"])
    with pytest.raises(AlidadeError, match=r"a\.en has 2 lines but .*domains has 1"):
        count_pairs(settings, LANGUAGES)
