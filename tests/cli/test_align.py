"""`alidade align` and `alidade plot`, end to end with small models."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.aligner import align, score
from alidade.alignment.links import Alignment
from alidade.cli import app
from alidade.errors import AlidadeError
from alidade.translator import Translator
from small_folders import make_folder

PAIRS = [("ba be bi bo bu", "be ba bo"), ("", ""), ("bo", "bu ba"), ("ba be", "")]


@pytest.fixture(scope="module", params=["assisted", "baseline"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("align") / "model", is_assisted=request.param == "assisted")


@pytest.fixture
def bitext(tmp_path: Path) -> tuple[str, ...]:
    for side, name in enumerate(("source", "target")):
        (tmp_path / name).write_text("".join(pair[side] + "\n" for pair in PAIRS))
    return ("--source", str(tmp_path / "source"), "--target", str(tmp_path / "target"))


def test_every_target_word_has_a_link_on_the_best_path(folder: Path, bitext: tuple[str, ...]) -> None:
    by = "path" if Translator(folder).is_assisted else "attention"
    arguments = ["align", "--model", str(folder), *bitext, "--by", by]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    alignments = [Alignment.parse(line) for line in result.stdout.splitlines()]
    assert [sorted({link.target for link in alignment}) for alignment in alignments] == [[0, 1, 2], [], [0, 1], []]


def test_two_directions_are_symmetrised(folder: Path, bitext: tuple[str, ...], tmp_path: Path) -> None:
    output = tmp_path / "links"
    options = ["--reverse-model", str(folder), "--symmetrisation", "intersection", "--output", str(output)]
    CliRunner().invoke(app, ["align", "--model", str(folder), *bitext, *options], catch_exceptions=False)
    both = [Alignment.parse(line) for line in output.read_text().splitlines()]
    one_way = align(PAIRS, Translator(folder))
    assert all(set(links) <= set(pair.alignment or ()) for links, pair in zip(both, one_way, strict=True))


def test_words_that_are_likely_enough_are_linked(folder: Path) -> None:
    translator = Translator(folder)
    if not translator.is_assisted:
        with pytest.raises(AlidadeError, match="is a baseline, which has no positions; align by attention"):
            align(PAIRS, translator, by="posteriors")
        return
    for threshold in (0.2, 0.6):
        for pair in align(PAIRS, translator, threshold=threshold):
            assert all(confidence >= threshold for confidence in pair.confidences.values())
    for pair in align(PAIRS, translator, threshold=0.0):
        assert pair.alignment is not None
        assert len(pair.alignment) == len(pair.source.words) * len(pair.target.words)
        assert sum(pair.confidences.values()) == pytest.approx(len(pair.target.words) if pair.alignment else 0)


def test_the_mean_of_two_directions_links_both_ways(folder: Path) -> None:
    """A system and itself the other way round: what it finds does not depend on which side is called the source."""
    translator = Translator(folder)
    there, back = (
        align(pairs, translator, reverse_model=translator, symmetrisation="mean", threshold=0.25)
        for pairs in (PAIRS, [(two, one) for one, two in PAIRS])
    )
    for one, other in zip(there, back, strict=True):
        assert one.alignment is not None
        assert other.alignment == one.alignment.transposed()
    assert any(one.alignment for one in there)


def test_workers_change_nothing(folder: Path, bitext: tuple[str, ...]) -> None:
    one, two = (
        CliRunner().invoke(app, ["align", "--model", str(folder), *bitext, "--workers", workers]) for workers in "12"
    )
    assert one.exit_code == two.exit_code == 0
    assert two.stdout == one.stdout
    in_python = [str(pair.alignment) for pair in align(PAIRS, Translator(folder))]
    assert one.stdout.splitlines() == in_python


def test_different_numbers_of_lines_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("ba\nbe\n")
    (tmp_path / "target").write_text("ba\n")
    arguments = ["align", "--model", str(folder), "--source", str(tmp_path / "source")]
    with pytest.raises(AlidadeError, match=r"target has 1 lines, .*source has more"):
        CliRunner().invoke(app, [*arguments, "--target", str(tmp_path / "target")], catch_exceptions=False)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_is_drawn(folder: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"figure.{ending}"
    arguments = ["plot", "da de di do", "--model", str(folder), "--term", "de=bo", "--output", str(output)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert "2 panels" in result.stderr
    assert output.stat().st_size > 1000


def test_links_do_not_replace_the_bitext(folder: Path, bitext: tuple[str, ...]) -> None:
    source = Path(bitext[1])
    before = source.read_text()
    arguments = ["align", "--model", str(folder), *bitext, "--output", str(source)]
    with pytest.raises(AlidadeError, match="this is one side of the bitext"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert source.read_text() == before


def test_long_pairs_are_aligned_and_scored_in_parts(folder: Path) -> None:
    translator = Translator(folder, max_source_length=12)
    sentences = [("ba be bi bo.", "ga ge gi go."), ("da de.", "la le li."), ("fa fe fi fo fu.", "ma me.")]
    pair = " ".join(source for source, _ in sentences), " ".join(target for _, target in sentences)
    ((whole,), alone) = align([pair], translator), align(sentences, translator)
    assert whole.notes[0].startswith("long pair, aligned in")
    assert whole.alignment is not None
    source_words, target_words = len(whole.source.words), len(whole.target.words)
    assert (source_words, target_words) == (14, 12)
    whole.alignment.require_inside(source_words, target_words, "here")
    assert len(whole.positions) == (len(whole.target) if translator.is_assisted else 0)
    first = [link for link in whole.alignment if link.target < len(alone[0].target.words)]
    assert all(link.source < len(alone[0].source.words) + len(alone[1].source.words) for link in first)
    (scored,) = score([pair], translator)
    assert scored.notes[0].startswith("long pair, scored in")
    assert len(scored.lexical_logp) == len(whole.target) + 1
    assert scored.attention.shape == (len(whole.target), len(whole.source) + 2)


def test_a_very_long_pair_takes_little_time(folder: Path) -> None:
    pair = "ba be bi bo bu. " * 400, "ga ge gi go. " * 400
    start = time.monotonic()
    (aligned,) = align([pair], Translator(folder, threads=1))
    assert len(aligned.source.words) == 2400
    assert time.monotonic() - start < 60
