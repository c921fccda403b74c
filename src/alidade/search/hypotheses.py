"""Hypotheses: what the search hands out, and the back-pointers that they are read from.

During the search a hypothesis is only a cell of the grid. `History` keeps, for each step, from which cell a cell
came and with which word, position and log-probabilities; a finished hypothesis is traced back through it once.

Dimensions: B sentences, K beam, T steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from alidade.search.candidates import choose


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A translation as the search found it."""

    words: tuple[int, ...]
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
    constraint_state: object = None
    """What the constraints remember of it, if there were any."""

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
    posteriors: Tensor | None = None
    """(I, S) how likely each position is for each given word, if the whole target was given."""

    @property
    def best(self) -> Hypothesis:
        return self.hypotheses[0]


class Cells(NamedTuple):
    """Extensions of hypotheses, (B, K) each: the next beam, or the ways to end."""

    scores: Tensor
    parents: Tensor
    words: Tensor
    positions: Tensor
    lexical_logp: Tensor
    alignment_logp: Tensor

    def ranked_with(self, others: Cells) -> list[list[Extension]]:
        """The K best of both for each sentence."""
        beam_size = self.scores.shape[1]
        scores, order = choose(torch.cat([self.scores, others.scores], dim=1), beam_size)
        fields = [
            torch.cat(both, dim=1).gather(1, order).tolist()
            for both in (
                (self.parents, others.parents),
                (self.words, others.words),
                (self.positions, others.positions),
                (self.lexical_logp, others.lexical_logp),
                (self.alignment_logp, others.alignment_logp),
            )
        ]
        return [list(zip(*row, strict=True)) for row in zip(scores.tolist(), *fields, strict=True)]


Extension = tuple[float, int, int, int, float, float]
"""score, parent, word, position, log p_lex, log p_align."""


class Ending(NamedTuple):
    """The last step of a hypothesis that has finished."""

    step: int
    parent: int
    """Its cell, 0 .. K-1, in the beam before that step."""
    word: int
    """`</s>`, or any word at the length limit."""
    position: int
    lexical_logp: float
    alignment_logp: float
    score: float
    """Normalised for length."""
    is_complete: bool
    constraint_state: object


class History:
    """Back-pointers of a batch, preallocated for T steps."""

    def __init__(self, num_sentences: int, beam_size: int, max_length: int, *, has_positions: bool) -> None:
        shape = (max_length, num_sentences, beam_size)
        self._has_positions = has_positions
        self._integers = [torch.zeros(shape, dtype=torch.long) for _ in range(3 if has_positions else 2)]
        self._logps = [torch.zeros(shape) for _ in range(2 if has_positions else 1)]

    def append(self, step: int, beam: Cells) -> None:
        """Step number `step` made this beam."""
        self._integers[0][step] = beam.parents
        self._integers[1][step] = beam.words
        self._logps[0][step] = beam.lexical_logp
        if self._has_positions:
            self._integers[2][step] = beam.positions
            self._logps[1][step] = beam.alignment_logp

    def keep(self, sentences: Tensor) -> None:
        self._integers = [field.index_select(1, sentences) for field in self._integers]
        self._logps = [field.index_select(1, sentences) for field in self._logps]

    def trace(self, sentence: int, endings: list[Ending]) -> tuple[Hypothesis, ...]:
        """The finished hypotheses of a sentence, from their last steps."""
        last = max(ending.step for ending in endings)
        fields = [field[:last, sentence].tolist() for field in [*self._integers, *self._logps]]
        return tuple([self._trace_one(fields, ending) for ending in endings])

    def cut_off(self, num_steps: int, sentence: int, score: float, constraint_state: object) -> Hypothesis:
        """The hypothesis in the first cell of a sentence after `num_steps` steps, as it is."""
        if num_steps == 0:
            return Hypothesis((), (), score, (), (), is_complete=False, constraint_state=constraint_state)
        step = num_steps - 1
        parent, word, *position = [int(field[step, sentence, 0]) for field in self._integers]
        lexical_logp, *alignment_logp = [float(field[step, sentence, 0]) for field in self._logps]
        ending = Ending(
            step,
            parent,
            word,
            position[0] if position else 0,
            lexical_logp,
            alignment_logp[0] if alignment_logp else 0.0,
            score,
            is_complete=False,
            constraint_state=constraint_state,
        )
        return self.trace(sentence, [ending])[0]

    def _trace_one(self, fields: list[list[list[float]]], ending: Ending) -> Hypothesis:
        cells = [ending.parent]
        for step in range(ending.step - 1, 0, -1):
            cells.append(int(fields[0][step][cells[-1]]))
        cells = cells[::-1] if ending.step else []
        steps = list(enumerate(cells))
        words = [int(fields[1][step][cell]) for step, cell in steps]
        lexical_logp = [fields[-1 - self._has_positions][step][cell] for step, cell in steps]
        positions = [int(fields[2][step][cell]) for step, cell in steps] if self._has_positions else []
        alignment_logp = [fields[-1][step][cell] for step, cell in steps] if self._has_positions else []
        if not ending.is_complete:
            words.append(ending.word)
            positions += [ending.position] * self._has_positions
        return Hypothesis(
            words=tuple(words),
            positions=tuple(positions),
            score=ending.score,
            lexical_logp=(*lexical_logp, ending.lexical_logp),
            alignment_logp=(*alignment_logp, ending.alignment_logp) if self._has_positions else (),
            is_complete=ending.is_complete,
            constraint_state=ending.constraint_state,
        )
