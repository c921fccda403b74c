import collections
import random
import sys
from pathlib import Path

import pytest

from alidade.alignment.links import Alignment
from alidade.alignment.statistical import (
    EflomalAligner,
    add_priors,
    read_alignments,
    read_gold_alignments,
    subtract_priors,
)
from alidade.errors import AlidadeError

LEXICON = {f"s{number}": f"t{number}" for number in range(30)}


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def reversed_bitext(num_pairs: int, seed: int) -> tuple[list[str], list[str]]:
    """Target words in the reverse order of the source words that they translate."""
    generator = random.Random(seed)
    sources = [generator.sample(sorted(LEXICON), generator.randint(2, 8)) for _ in range(num_pairs)]
    targets = [[LEXICON[word] for word in reversed(source)] for source in sources]
    return [" ".join(words) for words in sources], [" ".join(words).upper() for words in targets]


def error_of(links: Path, sources: list[str]) -> float:
    """Share of target words that are not linked to exactly the right word."""
    wrong = total = 0
    for alignment, source in zip(read_alignments(links), sources, strict=True):
        length = len(source.split())
        expected = {(length - 1 - target, target) for target in range(length)}
        wrong += len(expected ^ alignment.links)
        total += length
    return wrong / total


@pytest.fixture
def eflomal() -> EflomalAligner:
    pytest.importorskip("eflomal")
    return EflomalAligner()


def test_eflomal_learns_a_lexicon_and_its_priors_align_pairs_later(eflomal: EflomalAligner, tmp_path: Path) -> None:
    sources, targets = reversed_bitext(400, seed=1)
    source, target = write_lines(tmp_path / "train.s", sources), write_lines(tmp_path / "train.t", targets)
    forward, reverse, priors = tmp_path / "forward", tmp_path / "reverse", tmp_path / "priors"
    eflomal.align_files(source, target, forward, reverse, priors)
    assert error_of(forward, sources) < 0.02
    assert error_of(reverse, sources) < 0.02

    # Three pairs alone teach nothing: only the priors can tell which word is which.
    few_sources, few_targets = reversed_bitext(3, seed=2)
    source, target = write_lines(tmp_path / "dev.s", few_sources), write_lines(tmp_path / "dev.t", few_targets)
    eflomal.align_with_priors(source, target, tmp_path / "dev.forward", tmp_path / "dev.reverse", priors)
    assert error_of(tmp_path / "dev.forward", few_sources) == 0
    expected = {"forward", "reverse", "priors", "train.s", "train.t", "dev.s", "dev.t", "dev.forward", "dev.reverse"}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_eflomal_gives_empty_lines_no_links(eflomal: EflomalAligner, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "s", ["a b", "", "c", "a"])
    target = write_lines(tmp_path / "t", ["x y", "z", "", "x"])
    eflomal.align_files(source, target, tmp_path / "f", tmp_path / "r")
    assert [len(alignment) for alignment in read_alignments(tmp_path / "f")][1:3] == [0, 0]


def test_eflomal_leaves_nothing_behind_when_it_fails(eflomal: EflomalAligner, tmp_path: Path) -> None:
    source = write_lines(tmp_path / "s", ["a", "b", "c"])
    target = write_lines(tmp_path / "t", ["x", "y"])
    with pytest.raises(AlidadeError, match=r"3 lines but .* 2"):
        eflomal.align_files(source, target, tmp_path / "f", tmp_path / "r", tmp_path / "p")
    assert {path.name for path in tmp_path.iterdir()} == {"s", "t"}


def test_eflomal_says_when_there_is_nothing_to_align(eflomal: EflomalAligner, tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty", [])
    with pytest.raises(AlidadeError, match="nothing to align"):
        eflomal.align_files(empty, empty, tmp_path / "f", tmp_path / "r")


def test_missing_priors_are_an_error(eflomal: EflomalAligner, tmp_path: Path) -> None:
    text = write_lines(tmp_path / "s", ["a"])
    with pytest.raises(AlidadeError, match="priors: no such file"):
        eflomal.align_with_priors(text, text, tmp_path / "f", tmp_path / "r", tmp_path / "priors")


def test_missing_eflomal_is_an_error_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with pytest.raises(AlidadeError, match=r"pip install 'alidade-mt\[eflomal\]'`"):
        EflomalAligner().align_files(tmp_path / "s", tmp_path / "t", tmp_path / "f", tmp_path / "r")


def test_reads_pharaoh_files_and_names_a_bad_line(tmp_path: Path) -> None:
    good = write_lines(tmp_path / "good", ["0-0 1-1", "", "2-0"])
    assert list(read_alignments(good)) == [Alignment.parse("0-0 1-1"), Alignment(), Alignment.parse("2-0")]
    bad = write_lines(tmp_path / "bad", ["0-0", "0-0 1:2"])
    with pytest.raises(AlidadeError, match='bad, line 2: "1:2" is not a link'):
        list(read_alignments(bad))


def test_reads_gold_files(tmp_path: Path) -> None:
    gold, *_ = read_gold_alignments(write_lines(tmp_path / "gold", ["1-1 2p1"]), one_based=True)
    assert (gold.sure, gold.possible) == (Alignment.parse("0-0"), Alignment.parse("1-0"))


def test_priors_know_of_every_unit_how_often_it_had_no_link(eflomal: EflomalAligner, tmp_path: Path) -> None:
    """Each source sentence begins with a particle that nothing translates: aligned later, it stays without a link."""
    links = tmp_path / "forward", tmp_path / "reverse"
    sources, targets = reversed_bitext(300, seed=5)
    sources = [f"Oh {source}" for source in sources]
    source, target = write_lines(tmp_path / "s", sources), write_lines(tmp_path / "t", targets)
    eflomal.align_files(source, target, *links, tmp_path / "priors")
    fertilities: dict[str, dict[int, int]] = {}
    for line in (tmp_path / "priors").read_text().splitlines():
        if line.startswith("FERF"):
            _, unit, number, count = line.split("\t")
            fertilities.setdefault(unit, {})[int(number)] = int(count)
    words = " ".join(sources).lower().split()
    assert {unit: sum(counts.values()) for unit, counts in fertilities.items()} == collections.Counter(words)
    assert fertilities["oh"].get(0, 0) == num_without_first(links[0]) > 280
    few_sources, few_targets = reversed_bitext(20, seed=6)
    source, target = (
        write_lines(tmp_path / "few.s", [f"oh {source}" for source in few_sources]),
        write_lines(tmp_path / "few.t", few_targets),
    )
    eflomal.align_with_priors(source, target, *links, tmp_path / "priors")
    assert num_without_first(links[0]) == 20


def num_without_first(links: Path) -> int:
    """How many alignments have no link of the first source word."""
    return sum(all(link.source != 0 for link in alignment) for alignment in read_alignments(links))


def test_what_parts_of_a_bitext_taught_is_added_and_taken_away(eflomal: EflomalAligner, tmp_path: Path) -> None:
    sources, targets = reversed_bitext(300, seed=3)
    links = tmp_path / "forward", tmp_path / "reverse"
    parts = [tmp_path / f"priors.{number}" for number in range(3)]
    for number, priors in enumerate(parts):
        stretch = slice(100 * number, 100 * (number + 1))
        source, target = write_lines(tmp_path / "s", sources[stretch]), write_lines(tmp_path / "t", targets[stretch])
        eflomal.align_files(source, target, *links, priors)
    add_priors(parts, tmp_path / "all")
    add_priors(parts[:2], tmp_path / "first two")
    subtract_priors(tmp_path / "all", parts[2], tmp_path / "without the third")
    assert (tmp_path / "without the third").read_text() == (tmp_path / "first two").read_text()
    counts = [line.split("\t") for line in (tmp_path / "all").read_text().splitlines()]
    found = {(source, target): int(count) for kind, source, target, count in [c for c in counts if c[0] == "LEX"]}
    words = " ".join(sources).split()
    assert all(found[word, LEXICON[word]] >= 0.9 * words.count(word) for word in LEXICON)
    few_sources, few_targets = reversed_bitext(3, seed=4)
    source, target = write_lines(tmp_path / "few.s", few_sources), write_lines(tmp_path / "few.t", few_targets)
    eflomal.align_with_priors(source, target, *links, tmp_path / "all", tmp_path / "learned")
    assert error_of(links[0], few_sources) == 0
    assert len((tmp_path / "learned").read_text().splitlines()) < len(counts)
