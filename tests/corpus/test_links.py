from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from alidade.cli import app
from alidade.config import AlignerSettings, BitextSettings, PrepareConfig, SubwordSettings
from alidade.corpus import links
from alidade.corpus.links import align_like_corpus, links_like_corpus
from alidade.corpus.prepare import Preparation
from alidade.corpus.store import PreparedCorpus
from alidade.errors import AlidadeError
from alidade.io import read_json
from small_folders import make_folder

PAIRS = [("one two three", "eins zwei drei"), ("three one", "drei eins"), ("two three", "zwei drei"), ("one", "eins")]


def prepare(folder: Path, aligner: AlignerSettings) -> PreparedCorpus:
    sides = folder / "train.en", folder / "train.de"
    for side, path in enumerate(sides):
        path.write_text("".join(f"{pair[side]}\n" for pair in PAIRS * 50), encoding="utf-8")
    config = PrepareConfig(
        corpus=folder / "corpus",
        source_language="en",
        target_language="de",
        bitext=[BitextSettings(source=sides[0], target=sides[1])],
        subwords=SubwordSettings(vocabulary_size=290),
        aligner=aligner,
    )
    Preparation(config, 1).run()
    return PreparedCorpus.open(config.corpus)


@pytest.mark.parametrize("unit", ["words", "pieces"])
def test_words_are_aligned_with_what_the_corpus_taught(tmp_path: Path, unit: str) -> None:
    pytest.importorskip("eflomal")
    corpus = prepare(tmp_path, AlignerSettings.model_validate({"unit": unit}))
    alignments = align_like_corpus(corpus, [("three  two", "drei zwei"), ("one", "eins")])
    assert [str(alignment) for alignment in alignments] == ["0-0 1-1", "0-0"]


def test_drawings_of_both_directions_are_handed_out(tmp_path: Path) -> None:
    pytest.importorskip("eflomal")
    corpus = prepare(tmp_path, AlignerSettings())
    pairs = [("three  two", "drei zwei"), ("one " * (links.MAX_UNITS + 1), "eins"), ("", ""), ("one", "eins")]
    drawn = list(links_like_corpus(corpus, pairs, ("en", "de")))
    expected = [["0-0 1-1"], [""], [""], ["0-0"]]  # a pair that is too long for eflomal has no links
    assert [sorted({str(alignment) for alignment in alignments}) for alignments in drawn] == expected
    assert {len(alignments) for alignments in drawn} == {2 * links.DRAWINGS}
    with pytest.raises(AlidadeError, match="is a corpus from en to de, and the pairs are from de to en"):
        next(links_like_corpus(corpus, pairs, ("de", "en")))


def test_align_asks_what_the_corpus_taught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("eflomal")
    monkeypatch.setattr(links, "PAIRS_AT_ONCE", 2)
    corpus = prepare(tmp_path, AlignerSettings())
    model = make_folder(tmp_path / "model", languages=("en", "de"))
    pairs = [("three two", "drei zwei"), ("two one", "zwei eins"), ("one", "eins")]
    for side, name in enumerate(("source", "target")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs))
    given = ["align", "--model", str(model), "--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]
    result = CliRunner().invoke(app, [*given, "--corpus", str(corpus.folder), "--workers", "1"], catch_exceptions=False)
    assert result.stdout.splitlines() == ["0-0 1-1", "0-0 1-1", "0-0"]
    shards = ["--corpus", str(corpus.folder), "--shards", "2", "--output", str(tmp_path / "out")]
    with pytest.raises(AlidadeError, match="give --corpus without --shards and --ray"):
        CliRunner().invoke(app, [*given, *shards], catch_exceptions=False)


def test_a_corpus_without_priors_says_what_to_do(tmp_path: Path) -> None:
    corpus = prepare(tmp_path, AlignerSettings(kind="none"))
    with pytest.raises(AlidadeError, match="give their links as a Pharaoh file"):
        align_like_corpus(corpus, [("one", "eins")])


def test_chunks_are_aligned_with_what_the_others_taught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("eflomal")
    monkeypatch.setattr(links, "BYTES_A_UNIT", 100_000)  # as if the bitext had a thousand times as many units
    corpus = prepare(tmp_path, AlignerSettings(max_memory=100, unit="words"))
    stages = corpus.folder / "stages"
    assert read_json(stages / "align.json")["report"]["chunks"] > 2
    expected = ["0-0 1-1 2-2", "0-0 1-1", "0-0 1-1", "0-0"] * 50
    for way in ("forward", "reverse"):
        assert (stages / f"train.{way}.links").read_text().splitlines() == expected
    alignments = align_like_corpus(corpus, [("three  two", "drei zwei"), ("one", "eins")])
    assert [str(alignment) for alignment in alignments] == ["0-0 1-1", "0-0"]


@pytest.mark.parametrize("killed", ["_align_chunk", "_align_chunk_again"])
def test_a_chunk_that_is_there_is_not_aligned_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    pytest.importorskip("eflomal")
    monkeypatch.setattr(links, "BYTES_A_UNIT", 100_000)
    align_chunk = getattr(links, killed)
    seen: list[int] = []

    def align_until_killed(*given: Any) -> None:
        if len(seen) == 2:
            seen.append(-1)
            raise KeyboardInterrupt
        align_chunk(*given)
        seen.append(given[-1].start)

    monkeypatch.setattr(links, killed, align_until_killed)
    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path, AlignerSettings(max_memory=100, unit="words"))
    prepare(tmp_path, AlignerSettings(max_memory=100, unit="words"))
    assert seen.count(-1) == 1
    assert sorted(seen) == sorted(set(seen))  # none twice
