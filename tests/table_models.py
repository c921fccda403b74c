"""Models whose probabilities are looked up in a random table of the whole history: what search is checked with.

They do what `search/roles.py` asks, in the simplest way: each hypothesis is a tuple of its pieces and positions, and
the logits of a step are drawn from a generator seeded with that tuple. Nothing about them is shared with the real
models, so a search that mixes up hypotheses, rows or sentences cannot agree with `brute_force` by accident.
"""

from __future__ import annotations

import itertools
import math
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from alidade.config import SearchSettings
from alidade.search.coverage import RETURN_COST
from alidade.search.roles import Asked, Floats, Ints, RowPieces
from alidade.text.vocabulary import BOS, EOS, NUM_SPECIAL, PAD, UNK

Source = tuple[int, ...]
"""`<s> f_1 .. f_J </s>`"""
Past = tuple[tuple[int, ...], tuple[int, ...]]
"""The pieces and positions so far, `<s>` and 0 first."""


SKIP_COSTS = 40
"""More than any vocabulary here has pieces."""


def draw(size: int, sharpness: float, *key: object) -> Floats:
    """Random logits that belong to the key."""
    generator = np.random.default_rng(zlib.crc32(repr(key).encode()))
    return (generator.standard_normal(size) * sharpness).astype(np.float32)


def log_softmax(logits: Floats) -> Floats:
    logp: Floats = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    return logp


def row_pieces(logits: Floats, num_best: int, asked: Asked) -> RowPieces:
    """What a lexical model says of rows with these logits, (R, V)."""
    logp = log_softmax(logits)
    best = NUM_SPECIAL + np.argsort(-logp[:, NUM_SPECIAL:], axis=1, kind="stable")[:, :num_best]
    return RowPieces(best, np.take_along_axis(logp, best, axis=1), logp[:, EOS].copy(), logp[asked.rows, asked.pieces])


class TableState:
    """The pasts of a beam."""

    def __init__(self, sources: list[Source]) -> None:
        self.sources = sources
        self.num_positions = max(map(len, sources))
        self.num_hypotheses = 1
        self.pasts: list[list[Past]] = [[((), ())] for _ in sources]

    def read(self, pieces: Ints) -> None:
        for row, row_pieces in zip(self.pasts, pieces.tolist(), strict=True):
            row[:] = [((*past[0], piece), past[1]) for past, piece in zip(row, row_pieces, strict=True)]

    def reorder(self, parents: Ints) -> None:
        self.num_hypotheses = parents.shape[1]
        self.pasts = [
            [row[parent] for parent in order] for row, order in zip(self.pasts, parents.tolist(), strict=True)
        ]

    def keep(self, sentences: Ints) -> None:
        self.sources = [self.sources[row] for row in sentences.tolist()]
        self.pasts = [self.pasts[row] for row in sentences.tolist()]


class TableLexicalState(TableState):
    def __init__(self, model: TableLexical, sources: list[Source]) -> None:
        super().__init__(sources)
        self.model = model
        self.rows: list[tuple[int, int]] = []

    def advance(self, pieces: Ints) -> None:
        self.read(pieces)
        self.rows = []
        self.attentions: list[Floats] = []

    def evaluate(self, hypotheses: Ints, positions: Ints, num_best: int, asked: Asked) -> RowPieces:
        assert hypotheses.tolist() == sorted(hypotheses.tolist())
        rows = list(zip(hypotheses.tolist(), positions.tolist(), strict=True))
        self.rows += rows
        pasts = [(*self._past(hypothesis), position) for hypothesis, position in rows]
        for past in pasts:
            attention = self.model.attention(*past)
            self.attentions.append(np.pad(attention, (0, self.num_positions - len(attention))))
        return row_pieces(np.stack([self.model.logits(*past) for past in pasts]), num_best, asked)

    def given_logp(self, hypotheses: Ints, positions: Ints, pieces: Ints) -> Floats:
        return self.evaluate(hypotheses, positions, 1, Asked(np.arange(len(pieces)), pieces)).asked_logp

    def _past(self, hypothesis: int) -> tuple[Source, Past]:
        sentence, cell = divmod(hypothesis, self.num_hypotheses)
        return self.sources[sentence], self.pasts[sentence][cell]

    def attention(self, rows: Ints) -> Floats:
        return np.stack(self.attentions)[rows]

    def commit(self, rows: Ints, parents: Ints) -> None:
        beam = [[self.rows[row] for row in of_sentence] for of_sentence in rows.tolist()]
        self.reorder(parents)
        for row, of_sentence in zip(self.pasts, beam, strict=True):
            row[:] = [(past[0], (*past[1], position)) for past, (_, position) in zip(row, of_sentence, strict=True)]


class TableLexical:
    """p(e_i | b_i, b_<i, e_<i, f), or without the positions if it is not assisted."""

    def __init__(
        self, vocabulary: int, *, is_assisted: bool, sharpness: float = 2.0, is_first_order: bool = False, seed: int = 0
    ) -> None:
        self.is_assisted = is_assisted
        self.vocabulary = vocabulary
        self._is_first_order = is_first_order
        self._sharpness, self._seed = sharpness, seed

    def logits(self, source: Source, past: Past, position: int) -> Floats:
        return draw(self.vocabulary, self._sharpness, self._seed, source, *self._key(past, position))

    def attention(self, source: Source, past: Past, position: int) -> Floats:
        return draw(len(source), 1.0, "attention", source, *self._key(past, position))

    def _key(self, past: Past, position: int) -> tuple[object, ...]:
        pieces, positions = past
        if self._is_first_order:
            positions = ()
        return (pieces, positions, position) if self.is_assisted else (pieces,)

    def encode(self, source: Ints) -> list[Source]:
        return [tuple([piece for piece in row if piece != PAD]) for row in source.tolist()]

    def guess_of(self, source: Source, piece: int) -> Floats:
        return draw(len(source), 1.0, "guess", source, piece)

    def guess(self, memory: list[Source], pieces: Ints) -> Floats:
        guesses = np.zeros((*pieces.shape, max(map(len, memory))), dtype=np.float32)
        for row, source in enumerate(memory):
            for step, piece in enumerate(pieces[row].tolist()):
                guesses[row, step, : len(source)] = self.guess_of(source, piece)
        return guesses

    def start(self, memory: list[Source], *, same_pieces: bool = False) -> TableLexicalState:
        return TableLexicalState(self, memory)


class TableAlignmentState(TableState):
    def __init__(self, model: TableAlignment, sources: list[Source]) -> None:
        super().__init__(sources)
        self.model = model

    def position_logp(self, pieces: Ints, previous_positions: Ints) -> Floats:
        self.read(pieces)
        logp = np.full((*pieces.shape, self.num_positions), -np.inf, dtype=np.float32)
        for sentence, (row, row_positions) in enumerate(zip(self.pasts, previous_positions.tolist(), strict=True)):
            row[:] = [(past[0], (*past[1], position)) for past, position in zip(row, row_positions, strict=True)]
            for cell, past in enumerate(row):
                of_past = self.model.position_logp(self.sources[sentence], past)
                logp[sentence, cell, : len(of_past)] = of_past
        return logp

    def commit(self, parents: Ints) -> None:
        self.reorder(parents)


class TableAlignment:
    """p(b_i | b_<i, e_<i, f)."""

    def __init__(
        self, *, max_jump: int = 100, sharpness: float = 2.0, is_first_order: bool = False, seed: int = 1
    ) -> None:
        self.max_jump = max_jump
        self.skip_cost = np.abs(draw(SKIP_COSTS, 1.0, "skip_cost", seed))
        self._is_first_order = is_first_order
        self._sharpness, self._seed = sharpness, seed

    def position_logp(self, source: Source, past: Past) -> Floats:
        pieces, positions = past
        seen = positions[-1:] if self._is_first_order else positions
        logits = draw(len(source), self._sharpness, self._seed, source, (pieces, seen))
        jumps = np.arange(len(source)) - positions[-1]
        logits[np.abs(jumps) > self.max_jump] = -np.inf
        logits[0] = -np.inf
        return log_softmax(logits)

    def encode(self, source: Ints) -> list[Source]:
        return [tuple([piece for piece in row if piece != PAD]) for row in source.tolist()]

    def start(self, memory: list[Source]) -> TableAlignmentState:
        return TableAlignmentState(self, memory)


@dataclass
class TableSystem:
    lexical: TableLexical
    alignment: TableAlignment | None
    shares_encoder: bool = False


def table_system(
    vocabulary: int, *, is_assisted: bool, sharpness: float = 2.0, max_jump: int = 100, is_first_order: bool = False
) -> TableSystem:
    """is_first_order: of the positions, only the last one matters to what comes next."""
    return TableSystem(
        TableLexical(vocabulary, is_assisted=is_assisted, sharpness=sharpness, is_first_order=is_first_order),
        TableAlignment(max_jump=max_jump, sharpness=sharpness, is_first_order=is_first_order) if is_assisted else None,
    )


class Scored(NamedTuple):
    score: float
    pieces: tuple[int, ...]
    positions: tuple[int, ...]


def brute_force(system: TableSystem, source: list[int], settings: SearchSettings, max_length: int) -> list[Scored]:
    """Every complete translation of at most `max_length` pieces, `</s>` among them, best first."""
    full_source = (BOS, *source, EOS)
    found = []
    pieces = range(UNK + 1, system.lexical.vocabulary)
    positions = range(1, len(source) + 1) if system.lexical.is_assisted else [0]
    for length in range(max_length):
        for path in itertools.product(itertools.product(pieces, positions), repeat=length):
            if system.lexical.is_assisted and not settings.can_repeat and len(set(path)) < length:
                continue
            given = [*path, (EOS, len(source) + 1)]
            score = score_path(system, full_source, given, settings)
            if score > -math.inf:
                kept = tuple(position for _, position in path) if system.lexical.is_assisted else ()
                found.append(Scored(score, tuple(piece for piece, _ in path), kept))
    return sorted(found, reverse=True)


def score_path(system: TableSystem, source: Source, path: list[tuple[int, int]], settings: SearchSettings) -> float:
    """The weighted, normalised score of (piece, position) pairs, `</s>` last."""
    total = 0.0
    past: Past = ((BOS,), ())
    for piece, position in path:
        lexical_logits = system.lexical.logits(source, past, position)
        total += settings.lexical_weight * float(log_softmax(lexical_logits)[piece])
        if system.alignment is not None:
            position_logp = system.alignment.position_logp(source, (past[0], (0, *past[1])))[position]
            total += settings.alignment_weight * float(position_logp)
        past = ((*past[0], piece), (*past[1], position))
    if system.alignment is not None:
        left_out = [piece for place, piece in enumerate(source[1:-1], 1) if place not in past[1]]
        returns = [
            position
            for place, position in enumerate(past[1])
            if position in past[1][:place] and position != past[1][place - 1]
        ]
        cost = sum(float(system.alignment.skip_cost[piece]) for piece in left_out) + RETURN_COST * len(returns)
        total -= settings.coverage_weight * cost
    return float(total / len(path) ** settings.length_normalisation)
