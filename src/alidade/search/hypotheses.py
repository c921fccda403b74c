"""Hypotheses: what the search is asked for and hands out, and the back-pointers that results are read from.

During the search a hypothesis is only a cell of the grid. `History` keeps, for each step, from which cell a cell
came and with which piece, position and log-probabilities; a finished hypothesis is traced back through it once.

Dimensions: B sentences, K beam, S source positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from alidade.config import SearchSettings
from alidade.search.roles import Floats, Ints
from alidade.text.vocabulary import BOS, EOS, PAD

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A sentence to translate."""

    source: Sequence[int]
    """Piece ids, without `<s>` and `</s>`."""
    prefix: Sequence[int] = ()
    """Piece ids that the translation must begin with; if `</s>` is the last of them, it is all of it."""
    prefix_positions: Sequence[int] = ()
    """Their positions, if these are given, too: only assisted systems look at them."""
    min_length: int = 0
    """The translation has at least this many pieces."""
    max_length: int | None = None
    """At most this many, `</s>` among them; None: as the settings say."""

    @property
    def end_position(self) -> int:
        """J + 1, the position of the source's `</s>`."""
        return len(self.source) + 1

    def length_limit(self, settings: SearchSettings) -> int:
        if self.max_length is not None:
            return max(self.max_length, len(self.prefix) + 1)
        return len(self.prefix) + int(settings.max_length_factor * len(self.source)) + 10


def pad_sources(sources: Sequence[Sequence[int]]) -> Ints:
    """(B, S): `<s> f_1 .. f_J </s>`, then `<pad>`."""
    width = max(len(source) for source in sources) + 2
    padded = np.full((len(sources), width), PAD)
    for row, source in enumerate(sources):
        padded[row, : len(source) + 2] = [BOS, *source, EOS]
    return padded


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation as the search found it."""

    pieces: tuple[int, ...]
    """Piece ids, without `</s>`."""
    positions: tuple[int, ...]
    """b_i of each piece; empty for the baselines."""
    score: float
    """Weighted and normalised for length: what hypotheses are ranked by."""
    lexical_logp: tuple[float, ...]
    """log p_lex of each piece, and of `</s>` if `is_complete`."""
    alignment_logp: tuple[float, ...]
    """log p_align of each position likewise; empty for the baselines."""
    is_complete: bool
    """False if the hypothesis was cut off at the length limit."""
    attention: Floats
    """(I, J + 2) accumulated attention of each piece to `<s>`, the source's pieces and `</s>` (paper, section 5)."""
    uses: object = None
    """What the dictionary remembers of it, if there was one."""

    @property
    def lexical_score(self) -> float:
        return sum(self.lexical_logp)

    @property
    def alignment_score(self) -> float:
        return sum(self.alignment_logp)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What the search found for one sentence."""

    hypotheses: tuple[Hypothesis, ...]
    """The best first."""
    num_evaluations: int
    """Rows, (hypothesis, position) pairs, that the lexical model evaluated."""
    num_picked: int
    """Pairs that pruning let pass, evaluated or not: what the paper's algorithm 1 would have evaluated."""
    num_steps: int

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]


class Beam(NamedTuple):
    """Extensions of hypotheses, (B, K) each: the next beam, or the ways to end."""

    scores: Floats
    parents: Ints
    """The extended hypotheses, 0 .. K-1 within their sentence."""
    pieces: Ints
    positions: Ints
    lexical_logp: Floats
    alignment_logp: Floats

    def of(self, sentences: list[int]) -> Beam:
        """Those of some sentences."""
        return self if len(sentences) == len(self.scores) else Beam._make(field[sentences] for field in self)

    def ranked_with(self, others: Beam) -> list[list[Extension]]:
        """The K best of both for each sentence."""
        order = rank(np.concatenate([self.scores, others.scores], axis=1))[:, : self.scores.shape[1]]
        fields = [
            pick(np.concatenate([mine, theirs], axis=1), order).tolist()
            for mine, theirs in zip(tuple[Array, ...](self), tuple[Array, ...](others), strict=True)
        ]
        return [list(zip(*row, strict=True)) for row in zip(*fields, strict=True)]


Extension = tuple[float, int, int, int, float, float]
"""A cell of a `Beam`: score, parent, piece, position, log p_lex, log p_align."""


def pick(values: Any, places: Ints) -> Any:
    """Of each sentence what is at some places: (B, N, ...), (B, n) -> (B, n, ...)."""
    if len(places) == 1:  # one sentence at a time waits for every call
        return values[0].take(places[0], axis=0)[None]
    rows = values.reshape(values.shape[0] * values.shape[1], *values.shape[2:])
    return rows.take(places + np.arange(len(places))[:, None] * values.shape[1], axis=0)


def rank(scores: Floats) -> Ints:
    """Places from the best to the worst in each row; of equal ones that which stands first, so that what was pruned
    away changes nothing."""
    return (-scores).argsort(axis=1, kind="stable")


class Ending(NamedTuple):
    """The last step of a hypothesis that has finished."""

    step: int
    parent: int
    """Its cell, 0 .. K-1, in the beam before that step."""
    piece: int
    """`</s>`, or any piece at the length limit."""
    position: int
    lexical_logp: float
    alignment_logp: float
    score: float
    """Normalised for length."""
    is_complete: bool
    uses: object


class _Step(NamedTuple):
    places: Ints
    """For each sentence of the batch its row in the grid at that step."""
    beam: Beam
    attention: Floats
    """(B, K, S)"""


class History:
    """Back-pointers of a batch. Sentences that leave it change nothing of what is remembered."""

    def __init__(self, num_sentences: int, *, has_positions: bool) -> None:
        self._has_positions = has_positions
        self._places: Ints = np.arange(num_sentences)
        self._steps: list[_Step] = []

    def __len__(self) -> int:
        return len(self._steps)

    def append(self, beam: Beam, attention: Floats) -> None:
        """A step made this beam."""
        self._steps.append(_Step(self._places, beam, attention))

    def keep(self, sentences: Ints) -> None:
        row_of = np.full(len(self._places), -1)
        row_of[sentences] = np.arange(len(sentences))
        self._places = np.where(self._places >= 0, row_of[self._places], -1)

    def trace(self, sentence: int, ending: Ending, num_positions: int) -> Hypothesis:
        """A finished hypothesis of a sentence (its number in the batch), from its last step; num_positions: J + 2."""
        cells: list[tuple[Beam, Floats, tuple[int, int]]] = []
        parent = ending.parent
        for places, beam, attention in reversed(self._steps[: ending.step]):
            cell = int(places[sentence]), parent
            cells.append((beam, attention, cell))
            parent = int(beam.parents[cell])
        cells.reverse()
        pieces = [int(beam.pieces[cell]) for beam, _, cell in cells]
        positions = [int(beam.positions[cell]) for beam, _, cell in cells]
        alignment_logp = [float(beam.alignment_logp[cell]) for beam, _, cell in cells]
        attentions = [attention[cell][:num_positions] for _, attention, cell in cells]
        if not ending.is_complete:
            pieces.append(ending.piece)
            positions.append(ending.position)
            attentions += attentions[-1:]  # of a piece at the length limit nothing is known but where it belongs
        return Hypothesis(
            pieces=tuple(pieces),
            positions=tuple(positions) if self._has_positions else (),
            score=ending.score,
            lexical_logp=(*[float(beam.lexical_logp[cell]) for beam, _, cell in cells], ending.lexical_logp),
            alignment_logp=(*alignment_logp, ending.alignment_logp) if self._has_positions else (),
            is_complete=ending.is_complete,
            attention=np.array(attentions, dtype=np.float32).reshape(-1, num_positions),
            uses=ending.uses,
        )

    def cut_off(self, sentence: int, score: float, uses: object, num_positions: int) -> Hypothesis:
        """The first hypothesis of a sentence's present beam, as it is."""
        if not self._steps:
            nothing = np.zeros((0, num_positions), dtype=np.float32)
            return Hypothesis((), (), score, (), (), is_complete=False, attention=nothing, uses=uses)
        places, beam, _ = self._steps[-1]
        cell = int(places[sentence]), 0
        ending = Ending(
            step=len(self._steps) - 1,
            parent=int(beam.parents[cell]),
            piece=int(beam.pieces[cell]),
            position=int(beam.positions[cell]),
            lexical_logp=float(beam.lexical_logp[cell]),
            alignment_logp=float(beam.alignment_logp[cell]),
            score=score,
            is_complete=False,
            uses=uses,
        )
        return self.trace(sentence, ending, num_positions)
