"""BPE-dropout (Provilkov et al., 2020): training pairs segmented again and again, with merges left out at random.

A small bitext is soon learned by heart. When its words come in other pieces every time, less of it can be, and models
learn what pieces have in common. The pairs as they are stay in the corpus; the new ones are a split of their own, which
training reads instead. Positions follow the characters: a new target piece points at the new source piece in which the
old one's source piece starts.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import operator
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console

from alidade.config import BpeDropoutSettings
from alidade.corpus.arrays import Layout, write_array
from alidade.corpus.encode import SharedSubwords, SidePieces, side_pieces, write_pairs
from alidade.corpus.store import BPE_DROPOUT, Split
from alidade.io import track
from alidade.parallel import CHUNK, Workers
from alidade.text.subwords import Subwords


@dataclass(frozen=True, slots=True)
class Resegmented:
    """A sentence in new pieces."""

    ids: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    """For each new piece the number of its word."""
    new_of_old: list[int] = field(default_factory=list)
    """For each old piece the new one in which it starts."""
    old_of_new: list[int] = field(default_factory=list)
    """For each new piece the old one in which it starts."""


class _Chunk(NamedTuple):
    """Some pairs in new pieces."""

    source: SidePieces
    target: SidePieces
    positions: npt.NDArray[np.int32]
    """Empty if the corpus has none."""


def apply_bpe_dropout(
    subwords: tuple[Subwords, Subwords],
    settings: BpeDropoutSettings,
    layout: Layout,
    train: Split,
    workers: Workers,
    console: Console,
) -> dict[str, Any]:
    """Write every training pair `settings.copies` times, in other pieces each time; returns sizes and hashes."""
    resegment_chunk = functools.partial(_resegment_chunk, SharedSubwords.of(subwords, layout), settings, train)
    step = max(1, CHUNK // settings.copies)
    chunks = [range(first, min(first + step, len(train))) for first in range(0, len(train), step)]
    with (
        write_pairs(layout, BPE_DROPOUT, subwords) as writer,
        write_array(layout.positions(BPE_DROPOUT), np.uint16) as positions_writer,
    ):
        for chunk in track(
            workers.map_in_order(resegment_chunk, chunks),
            "BPE-dropout",
            len(train) * settings.copies,
            console=console,
            weigh=lambda chunk: len(chunk.source.lengths),
        ):
            writer.append(chunk.source, chunk.target)
            positions_writer.append(chunk.positions)
        report = writer.finish()
        return {**report, "content": [*report["content"], positions_writer.finish()]}


def _resegment_chunk(shared: SharedSubwords, settings: BpeDropoutSettings, train: Split, numbers: range) -> _Chunk:
    source_subwords, target_subwords = shared.load()
    chance = random.Random(numbers.start)  # noqa: S311 - nothing is kept secret by it
    sources: list[Resegmented] = []
    targets: list[Resegmented] = []
    positions: list[int] = []
    for number in numbers:
        source = train.source(number).tolist(), train.source_words(number).tolist()
        target = train.target(number).tolist(), train.target_words(number).tolist()
        old_positions = train.positions(number).tolist() if train.has_positions else None
        for _ in range(settings.copies):
            sources.append(resegment(source_subwords, *source, settings.dropout, chance))
            targets.append(resegment(target_subwords, *target, settings.dropout, chance))
            if old_positions is not None:
                positions += resegment_positions(sources[-1], targets[-1], old_positions)
    return _Chunk(
        side_pieces([(side.ids, side.words) for side in sources]),
        side_pieces([(side.ids, side.words) for side in targets]),
        np.array(positions, dtype=np.int32),
    )


def resegment(
    subwords: Subwords, ids: Sequence[int], words: Sequence[int], dropout: float, chance: random.Random
) -> Resegmented:
    """Segment a sentence's words again, each merge of pieces being left out with probability `dropout`."""
    sentence = Resegmented()
    for word, places in itertools.groupby(range(len(ids)), words.__getitem__):
        old = [ids[place] for place in places]
        new = _resegment_word(subwords, old, dropout, chance)
        first_old, first_new = len(sentence.new_of_old), len(sentence.ids)
        old_starts, new_starts = _starts(subwords, old), _starts(subwords, new)
        sentence.ids.extend(new)
        sentence.words.extend([word] * len(new))
        sentence.new_of_old.extend([first_new + bisect.bisect_right(new_starts, start) - 1 for start in old_starts])
        sentence.old_of_new.extend([first_old + bisect.bisect_right(old_starts, start) - 1 for start in new_starts])
    return sentence


def _resegment_word(subwords: Subwords, ids: list[int], dropout: float, chance: random.Random) -> list[int]:
    """Other pieces that spell the same word. sentencepiece can do this too, but not the same every time."""
    known = subwords.spelling_ids
    old_pieces = [subwords.piece(i) for i in ids]
    pieces = list("".join(old_pieces))
    if not all(piece in known for piece in (*old_pieces, *pieces)):
        return ids  # spelled in bytes
    while True:
        merges = [
            (known[merged], place)
            for place, merged in enumerate(map(operator.add, pieces, pieces[1:]))
            if merged in known and chance.random() >= dropout
        ]
        if not merges:
            return [known[piece] for piece in pieces]
        _, place = min(merges)
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


def resegment_positions(source: Resegmented, target: Resegmented, positions: Sequence[int]) -> list[int]:
    """The position of each new target piece from those of the old ones."""
    return [source.new_of_old[positions[old] - 1] + 1 for old in target.old_of_new]


def _starts(subwords: Subwords, ids: Sequence[int]) -> list[int]:
    """At which character of the word each piece starts."""
    return [0, *itertools.accumulate([len(subwords.piece(i)) for i in ids[:-1]])]
