"""Candidates: the words that the evaluated rows of a step propose, and the choice of the next beam among them.

Rows are ragged: each sentence has as many as pruning left it. To compare candidates within sentences they are laid
out in a grid padded with -inf to the most rows a sentence has.

`</s>` is not among the candidates but in a grid of its own, (B, K): each hypothesis has one way to end.

Dimensions: B sentences, K beam, R rows, k words of a row, N candidates of a sentence.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor


class RowWords(NamedTuple):
    """Evaluated rows and their best words."""

    pairs: Tensor
    """(R,) pair numbers, ascending."""
    hypotheses: Tensor
    """(R,)"""
    positions: Tensor
    """(R,)"""
    scores: Tensor
    """(R, k) the hypothesis's score with this position and word."""
    words: Tensor
    """(R, k)"""
    logp: Tensor
    """(R, k) log p_lex."""
    end_scores: Tensor
    """(R,) the hypothesis's score if it ends here, -inf where it cannot."""
    end_logp: Tensor
    """(R,) log p_lex of `</s>`."""
    numbers: Tensor | None = None
    """(R,) the lexical state's numbers of the rows, in the order of evaluation; None: 0 .. R-1."""

    def then(self, later: RowWords) -> RowWords:
        """These rows and those of a later round, in the order of their pairs."""
        order = torch.cat([self.pairs, later.pairs]).argsort()
        earlier = torch.arange(len(self.pairs)) if self.numbers is None else self.numbers
        numbers = torch.cat([earlier, torch.arange(len(self.pairs), len(order))])
        return RowWords(
            pairs=torch.cat([self.pairs, later.pairs])[order],
            hypotheses=torch.cat([self.hypotheses, later.hypotheses])[order],
            positions=torch.cat([self.positions, later.positions])[order],
            scores=torch.cat([self.scores, later.scores])[order],
            words=torch.cat([self.words, later.words])[order],
            logp=torch.cat([self.logp, later.logp])[order],
            end_scores=torch.cat([self.end_scores, later.end_scores])[order],
            end_logp=torch.cat([self.end_logp, later.end_logp])[order],
            numbers=numbers[order],
        )


class RowLayout:
    """Where the rows of a step stand in a grid of B sentences by the most rows a sentence has."""

    def __init__(self, sentences: Tensor, num_sentences: int) -> None:
        """sentences: (R,) the sentence of each row, ascending."""
        self.num_sentences = num_sentences
        counts = torch.bincount(sentences, minlength=num_sentences)
        self.counts = counts
        self.most = int(counts.max())
        self.is_full = len(sentences) == num_sentences * self.most
        if not self.is_full:
            first = counts.cumsum(0) - counts
            self._cells = torch.arange(len(sentences)) - first[sentences] + sentences * self.most

    def lay_out(self, values: Tensor, padding: float) -> Tensor:
        """(R, k) -> (B, most * k)"""
        if self.is_full:
            return values.reshape(self.num_sentences, -1)
        grid = values.new_full((self.num_sentences * self.most, values.shape[1]), padding)
        return grid.index_copy_(0, self._cells, values).view(self.num_sentences, -1)

    def rows_at(self, cells: Tensor) -> Tensor:
        """The numbers of the rows at these places (B, K), 0 .. most - 1; row 0 where there is none."""
        cells = cells + torch.arange(0, self.num_sentences * self.most, self.most)[:, None]
        if self.is_full:
            return cells
        rows = torch.zeros(self.num_sentences * self.most, dtype=torch.long)
        return rows.index_copy_(0, self._cells, torch.arange(len(self._cells)))[cells]


class Picked(NamedTuple):
    """The candidates that make the next beam, (B, K) each."""

    rows: Tensor
    """The lexical state's row numbers."""
    parents: Tensor
    """The extended hypotheses, 0 .. K-1 within their sentence."""
    pairs: Tensor
    positions: Tensor
    words: Tensor
    logp: Tensor
    """log p_lex."""


class Candidates(Protocol):
    """What the rows evaluated so far in a step propose, laid out by sentence."""

    scores: Tensor
    """(B, N)"""
    num_evaluations: Tensor | int
    """(B,) rows of each sentence."""

    def pick(self, indexes: Tensor) -> Picked:
        """What stands at these places, (B, K), among the candidates of each sentence."""

    def ends(self) -> tuple[Tensor, Tensor]:
        """Scores and log p_lex of each hypothesis's `</s>`, (B, K) each; -inf where it was not evaluated."""


class GridCandidates:
    """Candidates of the baselines: each hypothesis is one row."""

    def __init__(self, rows: RowWords, num_sentences: int, beam_size: int) -> None:
        self._rows = rows
        self._shape = (num_sentences, beam_size)
        self.scores = rows.scores.view(num_sentences, -1)
        self.num_evaluations: Tensor | int = beam_size

    def pick(self, indexes: Tensor) -> Picked:
        rows = self._rows
        parents = indexes // rows.scores.shape[1]
        numbers = parents + rows.hypotheses[:: self._shape[1]][:, None]
        return Picked(
            rows=numbers,
            parents=parents,
            pairs=numbers,
            positions=torch.zeros_like(parents),
            words=rows.words.view(self.scores.shape).gather(1, indexes),
            logp=rows.logp.view(self.scores.shape).gather(1, indexes),
        )

    def ends(self) -> tuple[Tensor, Tensor]:
        return self._rows.end_scores.view(self._shape), self._rows.end_logp.view(self._shape)


class RaggedCandidates:
    """Candidates of the assisted systems: a hypothesis has a row for each position that pruning picked."""

    def __init__(self, rows: RowWords, num_sentences: int, beam_size: int) -> None:
        self._rows = rows
        self._beam_size = beam_size
        self._layout = RowLayout(rows.hypotheses // beam_size, num_sentences)
        self.scores = self._layout.lay_out(rows.scores, -math.inf)
        self.num_evaluations: Tensor | int = self._layout.counts

    def pick(self, indexes: Tensor) -> Picked:
        rows, num_words = self._rows, self._rows.scores.shape[1]
        places = self._layout.rows_at(indexes // num_words)
        cells = places * num_words + indexes % num_words
        return Picked(
            rows=places if rows.numbers is None else rows.numbers[places],
            parents=rows.hypotheses[places] % self._beam_size,
            pairs=rows.pairs[places],
            positions=rows.positions[places],
            words=rows.words.view(-1)[cells],
            logp=rows.logp.view(-1)[cells],
        )

    def ends(self) -> tuple[Tensor, Tensor]:
        scores = torch.full((self._layout.num_sentences, self._beam_size), -math.inf)
        logp = scores.clone()
        can_end = (self._rows.end_scores > -math.inf).nonzero().view(-1)
        if len(can_end):
            hypotheses = self._rows.hypotheses[can_end]
            scores.view(-1)[hypotheses] = self._rows.end_scores[can_end]
            logp.view(-1)[hypotheses] = self._rows.end_logp[can_end]
        return scores, logp


def choose(scores: Tensor, num_best: int) -> tuple[Tensor, Tensor]:
    """The best candidates of each sentence, the best first: scores (B, K) and indexes (B, K) from scores (B, N).

    Of equal candidates the one that stands first wins, so that what was pruned away changes nothing.
    """
    ordered, order = scores.sort(dim=1, descending=True, stable=True)
    missing = num_best - scores.shape[1]
    if missing > 0:
        return F.pad(ordered, (0, missing), value=-math.inf), F.pad(order, (0, missing))
    return ordered[:, :num_best].contiguous(), order[:, :num_best]


def score_to_beat(scores: Tensor, beam_size: int) -> Tensor:
    """(B, 1): the K-th best candidate of each sentence, or -inf if it has fewer."""
    if scores.shape[1] < beam_size:
        return scores.new_full((len(scores), 1), -math.inf)
    return scores.topk(beam_size, dim=1, sorted=False).values.amin(dim=1, keepdim=True)
