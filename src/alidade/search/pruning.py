"""Pruning: which (hypothesis, position) pairs the lexical model evaluates (paper, section 4, algorithm 1).

A pair's number is `hypothesis * S + position`; all ways to prune see the pairs' bounds and hand out pair numbers,
ascending. The bound of a pair is `score(h) + alignment_weight * log p(position | h)`: since log p_lex <= 0, no
word of the pair can score higher. It is -inf for pairs that are not there at all: dead hypotheses, padding.

Dimensions: B sentences, K beam, S source positions with `<s>` and `</s>`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from alidade.config import SearchSettings

LARGE_BATCH = 8
FIRST_PAIRS = 3.0
FIRST_PAIRS_LARGE = 1.4
"""How many pairs `exact` evaluates in its first round, for each hypothesis of the beam, and in large batches."""


class Pruning(Protocol):
    """A way to choose pairs."""

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:
        """The numbers of the pairs to evaluate first, ascending; both arguments are (B, K, S)."""

    def more(self, to_beat: Callable[[], Tensor]) -> Tensor | None:
        """The numbers of further pairs, ascending, or None if there are none.

        to_beat: gives (B, 1), the score below which no candidate can enter the beam.
        """


class AtOnce:
    """Pruning that knows before any evaluation what to evaluate."""

    def more(self, to_beat: Callable[[], Tensor]) -> Tensor | None:  # noqa: ARG002  # the protocol's argument
        return None


class Unpruned(AtOnce):
    """`none`: every position of every hypothesis."""

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:  # noqa: ARG002  # the protocol's arguments
        return _numbers(bounds > -math.inf)


class PositionThreshold(AtOnce):
    """`threshold`: algorithm 1. A position that is above the threshold for at least one hypothesis of the sentence
    is evaluated for all of them; all positions if none is."""

    def __init__(self, threshold: float) -> None:
        self._least_logp = math.log(threshold) if threshold > 0 else -math.inf

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:
        is_there = bounds > -math.inf
        is_active = ((position_logp > self._least_logp) & is_there).any(dim=1, keepdim=True)  # (B, 1, S)
        is_active |= ~is_active.any(dim=2, keepdim=True)
        return _numbers(is_there & is_active)


class PairThreshold(AtOnce):
    """`pairs`: pairs above the threshold, each hypothesis on its own; all its positions if none is."""

    def __init__(self, threshold: float) -> None:
        self._least_logp = math.log(threshold) if threshold > 0 else -math.inf

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:
        is_active = position_logp > self._least_logp
        is_active |= ~is_active.any(dim=2, keepdim=True)
        return _numbers(is_active & (bounds > -math.inf))


class Histogram(AtOnce):
    """`histogram`: the best n positions of each hypothesis."""

    def __init__(self, num_positions: int) -> None:
        self._num_positions = num_positions

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:
        num_positions = min(self._num_positions, bounds.shape[2])
        best = position_logp.topk(num_positions, dim=2).indices
        is_picked = torch.zeros_like(bounds, dtype=torch.bool).scatter_(2, best, value=True)
        return _numbers(is_picked & (bounds > -math.inf))


class Exact:
    """`exact`: best bound first; a pair whose bound cannot beat the beam's last is never evaluated.

    After the first round all pairs that can still matter are known, and evaluating them can only raise what is to be
    beaten: so the last round takes all of them. Between the two, large batches take a middle round of the best: it
    saves rows, but costs a call of the model, which one sentence alone does not earn back.
    """

    def __init__(self, beam_size: int) -> None:
        self._beam_size = beam_size

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:  # noqa: ARG002  # the protocol's arguments
        self._rest = bounds.flatten(1).clone()  # (B, K * S)
        is_large = len(bounds) >= LARGE_BATCH
        self._has_middle_round = is_large
        return self._take_best(self._rest, int((FIRST_PAIRS_LARGE if is_large else FIRST_PAIRS) * self._beam_size))

    def more(self, to_beat: Callable[[], Tensor]) -> Tensor | None:
        # A bound that only equals what is to be beaten may win the tie, as it would without pruning.
        rest = self._rest
        matters = (rest >= to_beat()) & (rest > -math.inf)
        if self._has_middle_round:
            self._has_middle_round = False
            numbers = self._take_best(rest.masked_fill(~matters, -math.inf), self._beam_size)
        else:
            numbers = _numbers(matters)
            rest.view(-1)[numbers] = -math.inf
        return numbers if len(numbers) else None

    def _take_best(self, bounds: Tensor, num_pairs: int) -> Tensor:
        """The numbers of the best pairs of each sentence, bounds (B, K * S), which are then no longer in the rest."""
        num_pairs = min(num_pairs, bounds.shape[1])
        best = bounds.topk(num_pairs, dim=1, sorted=False).indices.sort(dim=1).values
        numbers = (best + torch.arange(0, bounds.numel(), bounds.shape[1])[:, None]).view(-1)
        numbers = numbers[bounds.view(-1)[numbers] > -math.inf]
        self._rest.view(-1)[numbers] = -math.inf
        return numbers


def pruning_of(settings: SearchSettings) -> Pruning:
    """The way to prune that the settings name."""
    match settings.pruning:
        case "none":
            return Unpruned()
        case "threshold":
            return PositionThreshold(settings.threshold)
        case "pairs":
            return PairThreshold(settings.threshold)
        case "histogram":
            return Histogram(settings.histogram)
        case "exact":
            return Exact(settings.beam_size)


def _numbers(is_picked: Tensor) -> Tensor:
    return is_picked.view(-1).nonzero().view(-1)
