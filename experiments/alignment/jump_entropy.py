"""Which positions are easiest to predict? Bits a target piece needs for its jump and for itself, by counting.

For links of words, a target word's k-th piece may go to the first, the last or the proportional piece of the source
word; links of pieces need no such choice. Measured on pairs held out of the counting:

- jump bits: −log2 p(jump | whether the piece starts a word), what an alignment model has to learn;
- word bits: −log2 p(target piece | source piece at its position), what the position tells a lexical model.

Run `aligner_units.py` for words and for pieces first; its folders are read here.

    python experiments/alignment/jump_entropy.py DATA RUNS --gold deen --vocabulary-size 8000
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path

from aligner_units import GOLD_SETS, Pieces, Side

from alidade.alignment.links import Alignment
from alidade.alignment.positions import diagonal, nearest_links
from alidade.alignment.statistical import read_alignments
from alidade.alignment.symmetrise import Symmetrisation, symmetrise
from alidade.text.subwords import Encoding

Spread = Callable[[range, int, int], int]
"""A source word's pieces, k and the number of target pieces: the source piece of the k-th one."""

SPREADS: dict[str, Spread] = {
    "first": lambda pieces, _k, _n: pieces[0],
    "last": lambda pieces, _k, _n: pieces[-1],
    "proportional": lambda pieces, k, n: pieces[k * len(pieces) // n],
}
HELD_OUT = 10
"""One pair in this many is held out."""
UNIFORM_SHARE = 0.01


class Counts:
    """p(event | context) by counting, mixed with p(event) and a little of a uniform distribution."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[Hashable, Hashable]] = Counter()
        self.contexts: Counter[Hashable] = Counter()
        self.events: Counter[Hashable] = Counter()

    def add(self, context: Hashable, event: Hashable) -> None:
        self.pairs[context, event] += 1
        self.contexts[context] += 1
        self.events[event] += 1

    def bits(self, context: Hashable, event: Hashable) -> float:
        backed = (1 - UNIFORM_SHARE) * self.events[event] / self.events.total() + UNIFORM_SHARE / 10_000
        seen = self.contexts[context]
        return -math.log2((self.pairs[context, event] + backed) / (seen + 1))


def positions_by_words(alignment: Alignment, source: Encoding, target: Encoding, spread: Spread) -> list[int]:
    words = nearest_links(alignment.links, len(target.words))
    if words is None:
        return diagonal(len(source), len(target))
    ranges = [(source.pieces_of_word(source_word), target.pieces_of_word(i)) for i, source_word in enumerate(words)]
    return [spread(pieces, k, len(own)) + 1 for pieces, own in ranges for k in range(len(own))]


def positions_by_pieces(alignment: Alignment, source: Encoding, target: Encoding) -> list[int]:
    pieces = nearest_links(alignment.links, len(target))
    return diagonal(len(source), len(target)) if pieces is None else [piece + 1 for piece in pieces]


def observations(source: Encoding, target: Encoding, positions: list[int]) -> Iterator[tuple[bool, int, str, str]]:
    """For each target piece: whether it starts a word, its jump, its source piece and itself."""
    previous_word, previous = -1, 0
    for word, position, piece in zip(target.word_of_piece, positions, target.pieces, strict=True):
        yield word != previous_word, position - previous, source.pieces[position - 1], piece
        previous_word, previous = word, position
    yield True, len(source) + 1 - previous, "</s>", "</s>"


def measure(pairs: list[tuple[Encoding, Encoding]], positions: list[list[int]]) -> tuple[float, float]:
    """Bits a held-out target piece: of its jump, and of itself."""
    jumps, words = Counts(), Counts()
    held_out = []
    for number, ((source, target), of_pair) in enumerate(zip(pairs, positions, strict=True)):
        for starts_word, jump, source_piece, piece in observations(source, target, of_pair):
            if number % HELD_OUT == 0:
                held_out.append((starts_word, jump, source_piece, piece))
            else:
                jumps.add(starts_word, jump)
                words.add(source_piece, piece)
    totals = [(jumps.bits(starts, jump), words.bits(source, piece)) for starts, jump, source, piece in held_out]
    jump_bits, word_bits = (sum(column) / len(held_out) for column in zip(*totals, strict=True))
    return jump_bits, word_bits


def read_links(folder: Path, method: Symmetrisation, num_pairs: int) -> list[Alignment]:
    pairs = zip(read_alignments(folder / "forward"), read_alignments(folder / "reverse"), strict=True)
    return [symmetrise(*pair, method) for pair in itertools.islice(pairs, num_pairs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--gold", choices=GOLD_SETS, required=True)
    parser.add_argument("--vocabulary-size", type=int, default=8000)
    parser.add_argument("--every", type=int, default=1, help="as given to aligner_units.py")
    parser.add_argument("--pairs", type=int, default=40_000)
    arguments = parser.parse_args()
    gold_set = GOLD_SETS[arguments.gold]
    sides = [
        Side(arguments.data, gold_set, arguments.gold, name, arguments.every)
        for name in (gold_set.source, gold_set.target)
    ]
    part = f"-every-{arguments.every}" if arguments.every > 1 else ""
    units = Pieces(sides, arguments.vocabulary_size)
    sources, targets = (
        [
            units.subwords[side.language].encode(line)
            for line in itertools.islice(side.training_lines(), arguments.pairs)
        ]
        for side in sides
    )
    pairs = list(zip(sources, targets, strict=True))
    methods: list[Symmetrisation] = ["forward", "intersection", "grow-diag-final-and"]
    for method in methods:
        links = read_links(arguments.runs / f"{arguments.gold}-words{part}", method, len(pairs))
        for name, spread in SPREADS.items():
            positions = [positions_by_words(a, *pair, spread) for a, pair in zip(links, pairs, strict=True)]
            print_row(f"words, {name} piece", method, *measure(pairs, positions))
    folder = arguments.runs / f"{arguments.gold}-pieces-{arguments.vocabulary_size}{part}"
    for method in methods if (folder / "reverse").exists() else []:
        links = read_links(folder, method, len(pairs))
        positions = [positions_by_pieces(a, *pair) for a, pair in zip(links, pairs, strict=True)]
        print_row("pieces", method, *measure(pairs, positions))


def print_row(unit: str, method: str, jump_bits: float, word_bits: float) -> None:
    print(f"| {unit} | {method} | {jump_bits:.3f} | {word_bits:.3f} | {jump_bits + word_bits:.3f} |", flush=True)


if __name__ == "__main__":
    main()
