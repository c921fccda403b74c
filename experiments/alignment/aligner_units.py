"""Does eflomal align better on words or on pieces, in lower case or as written, and which symmetrisation is best?

Aligns a training bitext with a gold set appended to it, once for each kind of unit, maps the links of units back to
the gold set's words, and prints the alignment error rate of each symmetrisation as rows of a table. The links stay as
`RUNS/deen-words/forward.links` and the like, for `alidade evaluate alignments`.

    python experiments/alignment/aligner_units.py DATA RUNS --gold deen --unit words

DATA has `europarl-ende/`, `enro/` and `gold-alignments/`; RUNS is a folder for files that can be deleted later.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from alidade.alignment.links import Alignment, alignment_error_rate
from alidade.alignment.statistical import EflomalAligner, add_priors, read_alignments, read_gold_alignments
from alidade.alignment.symmetrise import Symmetrisation, symmetrise
from alidade.config import SubwordSettings
from alidade.corpus.encode import count_units, train_subwords
from alidade.io import read_lines, write_aside
from alidade.text.subwords import Subwords
from alidade.text.words import split_words

Links = list[Alignment]
SIDES = ("source", "target")


@dataclass(frozen=True)
class GoldSet:
    """A gold set and the bitexts that it is aligned together with."""

    bitexts: tuple[str, ...]
    source: str
    target: str
    strips_diacritics: bool = False


GOLD_SETS = {
    "deen": GoldSet(("europarl-ende/train",), "de", "en"),
    "roen": GoldSet(("enro/train",), "ro", "en", strips_diacritics=True),
}


@dataclass(frozen=True)
class Side:
    """One language's texts and units."""

    data: Path
    gold_set: GoldSet
    gold_name: str
    language: str
    every: int = 1
    """One training pair in this many is taken."""

    def training_lines(self) -> Iterator[str]:
        files = [self.data / f"{bitext}.{self.language}" for bitext in self.gold_set.bitexts]
        for line in itertools.islice(itertools.chain.from_iterable(map(read_lines, files)), 0, None, self.every):
            yield strip_diacritics(line) if self.gold_set.strips_diacritics else line

    def gold_lines(self) -> Iterator[str]:
        return read_lines(self.data / "gold-alignments" / f"{self.gold_name}.{self.language}")


def strip_diacritics(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def mark_case(word: str) -> str:
    """Spell capitals so that they survive eflomal's lower-casing."""
    return "".join(f"^{c.lower()}" if c.isupper() else c for c in word)


class Words:
    """Units are the project's words."""

    def __init__(self, *, cased: bool) -> None:
        self.spell = mark_case if cased else str.lower

    def split(self, text: str, language: str) -> tuple[list[str], list[int]]:
        """The units, and where in the text the word of each starts."""
        words = split_words(text, language)
        return [self.spell(word.text) for word in words], [word.start for word in words]


class Pieces:
    """Units are the pieces of a joint vocabulary."""

    def __init__(self, sides: list[Side], vocabulary_size: int) -> None:
        counts: collections.Counter[str] = collections.Counter()
        for side in sides:
            counts += count_units(side.training_lines(), side.language)
        model = train_subwords(counts, SubwordSettings(vocabulary_size=vocabulary_size))
        self.subwords = {side.language: Subwords(model, side.language) for side in sides}

    def split(self, text: str, language: str) -> tuple[list[str], list[int]]:
        """The units, and where in the text the word of each starts."""
        encoding = self.subwords[language].encode(text)
        return list(encoding.pieces), [encoding.words[word].start for word in encoding.word_of_piece]


def write_units(side: Side, units: Words | Pieces, path: Path, parts: str) -> list[list[int]]:
    """Write the units of "training" or "gold" pairs, or of both; return each gold unit's gold word."""
    gold_words: list[list[int]] = []
    with write_aside(path) as file:
        for line in side.training_lines() if "training" in parts else ():
            print(*units.split(line, side.language)[0], file=file)
        for line in side.gold_lines() if "gold" in parts else ():
            text = " ".join(line.split())
            units_of_line, starts = units.split(text, side.language)
            print(*units_of_line, file=file)
            gold_words.append([text.count(" ", 0, start) for start in starts])
    return gold_words


def align_together(folder: Path, sides: list[Side], units: Words | Pieces) -> list[list[list[int]]]:
    """Align the training pairs with the gold pairs after them; returns the gold words of the gold units."""
    words = [write_units(side, units, folder / name, "training gold") for side, name in zip(sides, SIDES, strict=True)]
    if not (folder / "reverse").exists():
        EflomalAligner().align_files(*(folder / name for name in (*SIDES, "forward", "reverse")))
    return words


def align_apart(folder: Path, sides: list[Side], units: Words | Pieces) -> list[list[list[int]]]:
    """Align the training pairs, then the gold pairs with the priors, as `alidade prepare` aligns a dev set."""
    for side, name in zip(sides, SIDES, strict=True):
        write_units(side, units, folder / f"training.{name}", "training")
    if not (folder / "priors").exists():
        files = (*(f"training.{name}" for name in (*SIDES, "forward", "reverse")), "priors")
        EflomalAligner().align_files(*(folder / name for name in files))
    words = [write_units(side, units, folder / name, "gold") for side, name in zip(sides, SIDES, strict=True)]
    EflomalAligner().align_with_priors(*(folder / name for name in (*SIDES, "forward", "reverse", "priors")))
    return words


def align_last_chunk(folder: Path, sides: list[Side], units: Words | Pieces, num_chunks: int) -> list[list[list[int]]]:
    """Learn from every n-th training pair, align n - 1 of n chunks with that, and the last one, with the gold pairs
    after it, with what the others have taught: what `alidade prepare` does with a bitext that is too large for the
    aligner's memory."""
    for side, name in zip(sides, SIDES, strict=True):
        sample = replace(side, every=side.every * num_chunks)
        write_units(sample, units, folder / f"sample.{name}", "training")
    if not (folder / "priors").exists():
        files = (*(f"sample.{name}" for name in (*SIDES, "forward", "reverse")), "priors")
        EflomalAligner().align_files(*(folder / name for name in files))
    words = [write_units(side, units, folder / name, "training gold") for side, name in zip(sides, SIDES, strict=True)]
    for name in SIDES:
        lines = list(read_lines(folder / name))
        size = (len(lines) - len(words[0])) // num_chunks
        for number in range(num_chunks):
            stop = (number + 1) * size if number < num_chunks - 1 else None
            with write_aside(folder / f"{number}.{name}") as file:
                file.writelines([f"{line}\n" for line in lines[number * size : stop]])
    others = [folder / f"{number}.learned" for number in range(num_chunks - 1)]
    for number, learned in enumerate(others):
        if not learned.exists():
            source, target, forward, reverse = (folder / f"{number}.{name}" for name in (*SIDES, "forward", "reverse"))
            EflomalAligner().align_with_priors(source, target, forward, reverse, folder / "priors", learned)
    add_priors(others, folder / "others")
    source, target = (folder / f"{num_chunks - 1}.{name}" for name in SIDES)
    EflomalAligner().align_with_priors(source, target, folder / "forward", folder / "reverse", folder / "others")
    return words


def read_gold_part(path: Path, num_gold: int, source_words: list[list[int]], target_words: list[list[int]]) -> Links:
    """The gold pairs' links, the last lines of the file, as links of gold words."""
    last = collections.deque(read_alignments(path), maxlen=num_gold)
    return [
        Alignment.of((source[link.source], target[link.target]) for link in alignment)
        for alignment, source, target in zip(last, source_words, target_words, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--gold", choices=GOLD_SETS, required=True)
    parser.add_argument("--unit", choices=["words", "cased-words", "pieces"], required=True)
    parser.add_argument("--vocabulary-size", type=int, default=8000, help="of the pieces")
    parser.add_argument("--every", type=int, default=1, help="take one training pair in this many")
    parser.add_argument("--priors", action="store_true", help="align the gold pairs later, with the priors")
    parser.add_argument("--chunks", type=int, help="align the gold pairs with the last of so many chunks")
    parser.add_argument("--also", nargs="+", default=[], help="further bitexts in DATA, `enro-more/train`")
    arguments = parser.parse_args()
    gold_set = GOLD_SETS[arguments.gold]
    gold_set = replace(gold_set, bitexts=(*gold_set.bitexts, *arguments.also))
    sides = [
        Side(arguments.data, gold_set, arguments.gold, name, arguments.every)
        for name in (gold_set.source, gold_set.target)
    ]
    name, units = make_units(arguments.unit, sides, arguments.vocabulary_size)
    folder = arguments.runs / f"{arguments.gold}-{name}{'-priors' if arguments.priors else ''}"
    if arguments.every > 1:
        folder = folder.with_name(f"{folder.name}-every-{arguments.every}")
    for bitext in arguments.also:
        folder = folder.with_name(f"{folder.name}-{Path(bitext).parent.name}")
    if arguments.chunks:
        folder = folder.with_name(f"{folder.name}-chunks-{arguments.chunks}")
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.chunks:
        source_words, target_words = align_last_chunk(folder, sides, units, arguments.chunks)
    else:
        source_words, target_words = (align_apart if arguments.priors else align_together)(folder, sides, units)
    golds = list(read_gold_alignments(arguments.data / "gold-alignments" / f"{arguments.gold}.gold", one_based=True))
    forward, reverse = (
        read_gold_part(folder / name, len(golds), source_words, target_words) for name in ("forward", "reverse")
    )
    for method in get_args(Symmetrisation):
        links = [symmetrise(*pair, method) for pair in zip(forward, reverse, strict=True)]
        print(f"| {folder.name} | {method} | {alignment_error_rate(links, golds)} |", flush=True)
        (folder / f"{method}.links").write_text("".join(f"{alignment}\n" for alignment in links), encoding="utf-8")


def make_units(unit: str, sides: list[Side], vocabulary_size: int) -> tuple[str, Words | Pieces]:
    """The units, and a name for them."""
    if unit == "pieces":
        return f"pieces-{vocabulary_size}", Pieces(sides, vocabulary_size)
    return unit, Words(cased=unit == "cased-words")


if __name__ == "__main__":
    main()
