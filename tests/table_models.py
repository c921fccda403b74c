"""Models whose probabilities are looked up in a random table of the whole history: what search is checked with.

They do what `search/roles.py` asks, in the simplest way: each hypothesis is a tuple of its words and positions, and
the logits of a step are drawn from a generator seeded with that tuple. Nothing about them is shared with the real
models, so a search that mixes up hypotheses, rows or sentences cannot agree with `brute_force` by accident.
"""

from __future__ import annotations

import itertools
import math
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from alidade.config import SearchSettings
from alidade.text.vocabulary import BOS, EOS, PAD, UNK

Source = tuple[int, ...]
"""`<s> f_1 .. f_J </s>`"""
Past = tuple[tuple[int, ...], tuple[int, ...]]
"""The words and positions so far, `<s>` and 0 first."""


def draw(size: int, sharpness: float, *key: object) -> Tensor:
    """Random logits that belong to the key."""
    generator = torch.Generator().manual_seed(zlib.crc32(repr(key).encode()))
    return torch.randn(size, generator=generator) * sharpness


class TableState:
    """The pasts of a beam."""

    def __init__(self, sources: list[Source], beam_size: int) -> None:
        self.sources = sources
        self.beam_size = beam_size
        self.pasts: list[list[Past]] = [[((), ())] * beam_size for _ in sources]

    def read(self, words: Tensor) -> None:
        for row, row_words in zip(self.pasts, words.tolist(), strict=True):
            row[:] = [((*past[0], word), past[1]) for past, word in zip(row, row_words, strict=True)]

    def reorder(self, parents: Tensor) -> None:
        self.beam_size = parents.shape[1]
        self.pasts = [
            [row[parent] for parent in order] for row, order in zip(self.pasts, parents.tolist(), strict=True)
        ]

    def keep(self, sentences: Tensor) -> None:
        self.sources = [self.sources[row] for row in sentences.tolist()]
        self.pasts = [self.pasts[row] for row in sentences.tolist()]


class TableLexicalState(TableState):
    def __init__(self, model: TableLexical, sources: list[Source], beam_size: int) -> None:
        super().__init__(sources, beam_size)
        self.model = model
        self.rows: list[tuple[int, int]] = []

    def advance(self, words: Tensor) -> None:
        self.read(words)
        self.rows = []

    def evaluate(self, hypotheses: Tensor, positions: Tensor) -> Tensor:
        assert hypotheses.tolist() == sorted(hypotheses.tolist())
        rows = list(zip(hypotheses.tolist(), positions.tolist(), strict=True))
        self.rows += rows
        return torch.stack([self._logits(*row) for row in rows])

    def _logits(self, hypothesis: int, position: int) -> Tensor:
        sentence, cell = divmod(hypothesis, self.beam_size)
        return self.model.logits(self.sources[sentence], self.pasts[sentence][cell], position)

    def attention(self) -> Tensor:
        raise AssertionError("the tables have no attention")

    def commit(self, rows: Tensor, parents: Tensor) -> None:
        beam = [[self.rows[row] for row in of_sentence] for of_sentence in rows.tolist()]
        self.reorder(parents)
        for row, of_sentence in zip(self.pasts, beam, strict=True):
            row[:] = [(past[0], (*past[1], position)) for past, (_, position) in zip(row, of_sentence, strict=True)]


@dataclass
class Identity:
    """An output layer for features that are logits already."""

    weight: Tensor
    bias: Tensor


class TableLexical:
    """p(e_i | b_i, b_<i, e_<i, f), or without the positions if it is not assisted."""

    def __init__(
        self, vocabulary: int, *, is_assisted: bool, sharpness: float = 2.0, is_first_order: bool = False, seed: int = 0
    ) -> None:
        self.is_assisted = is_assisted
        self._is_first_order = is_first_order
        self.output = Identity(torch.eye(vocabulary), torch.zeros(vocabulary))
        self._vocabulary, self._sharpness, self._seed = vocabulary, sharpness, seed

    def logits(self, source: Source, past: Past, position: int) -> Tensor:
        words, positions = past
        if self._is_first_order:
            positions = ()
        key = (words, positions, position) if self.is_assisted else (words,)
        return draw(self._vocabulary, self._sharpness, self._seed, source, *key)

    def encode(self, source: Tensor) -> list[Source]:
        return [tuple([word for word in row if word != PAD]) for row in source.tolist()]

    def start(self, memory: list[Source], beam_size: int = 1, *, records_attention: bool = False) -> TableLexicalState:
        return TableLexicalState(self, memory, beam_size)


class TableAlignmentState(TableState):
    def __init__(self, model: TableAlignment, sources: list[Source], beam_size: int) -> None:
        super().__init__(sources, beam_size)
        self.model = model
        self.num_positions = max(map(len, sources))

    def position_logp(self, words: Tensor, previous_positions: Tensor) -> Tensor:
        self.read(words)
        logp = torch.full((*words.shape, self.num_positions), -math.inf)
        for sentence, (row, row_positions) in enumerate(zip(self.pasts, previous_positions.tolist(), strict=True)):
            row[:] = [(past[0], (*past[1], position)) for past, position in zip(row, row_positions, strict=True)]
            for cell, past in enumerate(row):
                of_past = self.model.position_logp(self.sources[sentence], past)
                logp[sentence, cell, : len(of_past)] = of_past
        return logp

    def commit(self, parents: Tensor) -> None:
        self.reorder(parents)


class TableAlignment:
    """p(b_i | b_<i, e_<i, f)."""

    encoder = None

    def __init__(
        self, *, max_jump: int = 100, sharpness: float = 2.0, is_first_order: bool = False, seed: int = 1
    ) -> None:
        self.max_jump = max_jump
        self._is_first_order = is_first_order
        self._sharpness, self._seed = sharpness, seed

    def position_logp(self, source: Source, past: Past) -> Tensor:
        words, positions = past
        seen = positions[-1:] if self._is_first_order else positions
        logits = draw(len(source), self._sharpness, self._seed, source, (words, seen))
        logits[0] = -math.inf
        jumps = torch.arange(len(source)) - past[1][-1]
        return torch.log_softmax(logits.masked_fill(jumps.abs() > self.max_jump, -math.inf), dim=0)

    def encode(self, source: Tensor) -> list[Source]:
        return [tuple([word for word in row if word != PAD]) for row in source.tolist()]

    def start(self, memory: list[Source], beam_size: int = 1) -> TableAlignmentState:
        return TableAlignmentState(self, memory, beam_size)


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
    words: tuple[int, ...]
    positions: tuple[int, ...]


def brute_force(system: TableSystem, source: list[int], settings: SearchSettings, max_length: int) -> list[Scored]:
    """Every complete translation of at most `max_length` pieces, `</s>` among them, best first."""
    full_source = (BOS, *source, EOS)
    found = []
    words = range(UNK + 1, len(system.lexical.output.weight))
    positions = range(1, len(source) + 1) if system.lexical.is_assisted else [0]
    for length in range(max_length):
        for path in itertools.product(itertools.product(words, positions), repeat=length):
            if system.lexical.is_assisted and not settings.can_repeat and len(set(path)) < length:
                continue
            given = [*path, (EOS, len(source) + 1)]
            score = score_path(system, full_source, given, settings)
            if score > -math.inf:
                kept = tuple(position for _, position in path) if system.lexical.is_assisted else ()
                found.append(Scored(score, tuple(word for word, _ in path), kept))
    return sorted(found, reverse=True)


def score_path(system: TableSystem, source: Source, path: list[tuple[int, int]], settings: SearchSettings) -> float:
    """The weighted, normalised score of (word, position) pairs, `</s>` last."""
    total = 0.0
    past: Past = ((BOS,), ())
    for word, position in path:
        lexical_logits = system.lexical.logits(source, past, position)
        total += settings.lexical_weight * float(torch.log_softmax(lexical_logits, dim=0)[word])
        if system.alignment is not None:
            position_logp = system.alignment.position_logp(source, (past[0], (0, *past[1])))[position]
            total += settings.alignment_weight * float(position_logp)
        past = ((*past[0], word), (*past[1], position))
    return total / len(path) ** settings.length_normalisation
