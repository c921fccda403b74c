"""`alidade align` and `alidade plot`, end to end with small models."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.aligner import align, score
from alidade.alignment.links import Alignment, Link
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


def write_links(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_links_that_another_aligner_has_too_stay(folder: Path, tmp_path: Path, bitext: tuple[str, ...]) -> None:
    """Equal links in, the same links out, from one file or two, by posteriors and by the shares of attention."""
    alone = [str(pair.alignment) for pair in align(PAIRS, folder, by=None, threshold=0.35)]
    if not Translator(folder).is_assisted:  # its links are where attention is greatest; joined, shares must be enough
        alone = ["0-0 1-1 2-2", "", "0-0 0-1", ""]
    file = write_links(tmp_path / "links", *alone)
    for others in (["--links", str(file)], ["--links", str(file), "--links", str(file)]):
        arguments = ["align", "--model", str(folder), *bitext, *others, "--workers", "1"]
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.stdout.splitlines() == alone


def test_what_a_system_and_other_aligners_find_likely_together_is_linked(folder: Path) -> None:
    """The mean of a link's probability and of the share of the other aligners that have it is its confidence."""
    systems = align(PAIRS, folder, symmetrisation="mean", threshold=0.0, reverse_model=folder)
    lines = {"one": ("0-0 4-2", "", "0-0", ""), "two": ("0-0", "", "", "")}
    others = {name: list(map(Alignment.parse, said)) for name, said in lines.items()}
    # In the third pair the second one says nothing, so it has no say.
    shares_of_others = [{(0, 0): 1.0, (4, 2): 0.5}, {}, {(0, 0): 1.0}, {}]
    for threshold in (0.0, 0.2, 0.4, 0.7):
        joined = align(PAIRS, folder, reverse_model=folder, links=others, threshold=threshold)
        for pair, system, said in list(zip(joined, systems, shares_of_others, strict=True))[::2]:
            means = {link: (share + said.get(link, 0.0)) / 2 for link, share in system.confidences.items()}
            assert pair.confidences == pytest.approx(expected_links(means, threshold))


def expected_links(means: dict[Link, float], threshold: float) -> dict[Link, float]:
    """What more than half have, and the best of each word that would have no link."""
    linked = {link for link, mean in means.items() if mean > 0.5}
    best = set()
    for side in (0, 1):
        for word in {link[side] for link in means} - {link[side] for link in linked}:
            best.add(max([link for link in sorted(means) if link[side] == word], key=means.__getitem__))
    return {link: means[link] for link in linked | best if means[link] >= threshold}


def test_links_that_say_nothing_change_nothing(folder: Path, bitext: tuple[str, ...], tmp_path: Path) -> None:
    arguments = ["align", "--model", str(folder), *bitext, "--workers", "1"]
    silent = write_links(tmp_path / "silent", *[""] * len(PAIRS))
    alone, joined = (CliRunner().invoke(app, [*arguments, *more]).stdout for more in ([], ["--links", str(silent)]))
    assert alone == joined
    assert alone


def test_workers_and_shards_read_links_in_the_order_of_the_pairs(folder: Path, tmp_path: Path) -> None:
    sources = [" ".join(["ba", "be", "bi", "bo"][: number % 4 + 1]) for number in range(11)]
    for name in ("source", "target"):
        write_links(tmp_path / name, *sources)
    diagonal = [" ".join(f"{n}-{n}" for n in range(len(source.split()))) for source in sources]
    arguments = ["align", "--model", str(folder), "--links", str(write_links(tmp_path / "links", *diagonal))]
    arguments += ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target"), "--threshold", "0.5"]
    arguments += ["--batch-size", "2"]
    one, two = (CliRunner().invoke(app, [*arguments, "--workers", workers]).stdout for workers in "12")
    shards = ["--shards", "3", "--output", str(tmp_path / "out"), "--workers", "1"]
    done = CliRunner().invoke(app, [*arguments, *shards])
    assert done.exit_code == 0, done.stderr
    assert one == two == "".join(path.read_text() for path in sorted((tmp_path / "out").glob("*.txt")))
    assert all(set(line.split()) >= set(links.split()) for line, links in zip(one.splitlines(), diagonal, strict=True))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0-0", "", "0-0"], r"links has links of 3 pairs, and there are more"),
        (["0-0", "", "0-0", "", ""], r"links has links of more pairs than the 4 that there are"),
        (["0-0", "", "0-x", ""], r'links, line 3: "0-x" is not a link'),
        (["0-0", "", "1-0", ""], r"links, line 3: link 1-0 is outside the pair, which has 1 source and 2 target"),
    ],
)
def test_bad_links_are_named(
    folder: Path, bitext: tuple[str, ...], tmp_path: Path, lines: list[str], message: str
) -> None:
    file = write_links(tmp_path / "links", *lines)
    arguments = ["align", "--model", str(folder), *bitext, "--workers", "1", "--links", str(file)]
    with pytest.raises(AlidadeError, match=message):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    shards = ["--shards", "2", "--output", str(tmp_path / "out")]
    with pytest.raises(
        AlidadeError, match=message if ", line" in message else f"links {len(lines)}: each pair needs one"
    ):
        CliRunner().invoke(app, [*arguments, *shards], catch_exceptions=False)


def test_other_links_are_joined_by_the_mean(folder: Path) -> None:
    links = {"others": [Alignment()] * len(PAIRS)}
    with pytest.raises(AlidadeError, match="joined by their mean, not by union"):
        align(PAIRS, folder, reverse_model=folder, symmetrisation="union", links=links)


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
