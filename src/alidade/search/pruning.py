"""Pruning: which (hypothesis, position) pairs the lexical model evaluates (paper, section 4, algorithm 1).

A pair's number is `hypothesis * S + position`; all ways to prune see the pairs' bounds and hand out pair numbers,
ascending. The bound of a pair is `score(h) + alignment_weight * log p(position | h)`: since log p_lex <= 0, no
word of the pair can score higher. It is -inf for pairs that are not there at all: dead hypotheses, padding.

Two questions are answered apart. Which pairs *may* be evaluated, a `Picker` says: the paper's threshold and its kin,
which change translations, or all pairs. Which of those *are*, `BestFirst` finds out: a pair whose bound cannot beat
the beam's last changes nothing and is skipped. `none` alone evaluates all that it picks, as the yardstick.
A search counts both: `num_picked` is what algorithm 1 evaluates to the letter, `num_evaluations` what was evaluated.

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
MOST_FIRST = 2
MOST_FIRST_SMALL = 3
"""The first round has from K pairs of a sentence to this many times K, and to more in small batches, where a call of
the model costs more than its rows."""
WORTH_SKIPPING = 1.0
"""So many pairs of a sentence must have been skippable in the step before, or all picked ones are evaluated at once."""

Picker = Callable[[Tensor, Tensor], Tensor]
"""Whether pairs may be evaluated, from log p(position) and whether pairs are there at all; all three are (B, K, S)."""


def pick_all(position_logp: Tensor, is_there: Tensor) -> Tensor:  # noqa: ARG001  # a picker's argument
    """`none` and `exact`: every position of every hypothesis."""
    return is_there


class PositionThreshold:
    """`threshold`: algorithm 1. A position that is above the threshold for at least one hypothesis of the sentence
    is evaluated for all of them; all positions if none is."""

    def __init__(self, threshold: float) -> None:
        self._least_logp = _log(threshold)

    def __call__(self, position_logp: Tensor, is_there: Tensor) -> Tensor:
        is_active = ((position_logp > self._least_logp) & is_there).any(dim=1, keepdim=True)  # (B, 1, S)
        is_active |= ~is_active.any(dim=2, keepdim=True)
        return is_active & is_there


class PairThreshold:
    """`pairs`: pairs above the threshold, each hypothesis on its own; all its positions if none is."""

    def __init__(self, threshold: float) -> None:
        self._least_logp = _log(threshold)

    def __call__(self, position_logp: Tensor, is_there: Tensor) -> Tensor:
        is_active = position_logp > self._least_logp
        is_active |= ~is_active.any(dim=2, keepdim=True)
        return is_active & is_there


class Histogram:
    """`histogram`: the best n positions of each hypothesis."""

    def __init__(self, num_positions: int) -> None:
        self._num_positions = num_positions

    def __call__(self, position_logp: Tensor, is_there: Tensor) -> Tensor:
        best = position_logp.topk(min(self._num_positions, position_logp.shape[2]), dim=2).indices
        return torch.zeros_like(is_there).scatter_(2, best, value=True) & is_there


class Pruning(Protocol):
    """A way to evaluate pairs."""

    num_picked: Tensor
    """(B,) the pairs of this step that may be evaluated."""

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:
        """The numbers of the pairs to evaluate first, ascending; both arguments are (B, K, S)."""

    def second(self, to_beat: Callable[[], Tensor]) -> Tensor:
        """The numbers of the pairs to evaluate then, ascending.

        to_beat: gives (B, 1), the score below which no candidate can enter the beam, as far as is known by then.
        """


class AtOnce:
    """Evaluates every picked pair."""

    num_picked: Tensor

    def __init__(self, picker: Picker) -> None:
        self._picker = picker

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:
        is_picked = self._picker(position_logp, bounds > -math.inf)
        self.num_picked = is_picked.flatten(1).sum(dim=1)
        return _numbers(is_picked)

    def second(self, to_beat: Callable[[], Tensor]) -> Tensor:  # noqa: ARG002  # the protocol's argument
        return _NO_PAIRS


class BestFirst:
    """Evaluates picked pairs, the best bounds first; one whose bound cannot beat the beam's last is never evaluated.

    After the first round all pairs that can still matter are known, and evaluating them can only raise what is to be
    beaten: so the second round takes all of them, and there is no third. How many the first has is learned from step to
    step: as many as mattered in the step before, in the sentence with the most, since a second round costs a call of
    the model; or all, if hardly any could have been skipped.
    """

    num_picked: Tensor

    def __init__(self, picker: Picker, beam_size: int) -> None:
        self._picker = picker
        self._beam_size = beam_size
        self._num_first = beam_size
        self._takes_all = False

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:
        is_picked = self._picker(position_logp, bounds > -math.inf).flatten(1)  # (B, K * S)
        self.num_picked = is_picked.sum(dim=1)
        self._bounds = bounds.flatten(1).masked_fill(~is_picked, -math.inf)
        self._evaluated = _numbers(is_picked) if self._takes_all else self._best_pairs()
        return self._evaluated

    def _best_pairs(self) -> Tensor:
        num_sentences, num_pairs = self._bounds.shape
        best = self._bounds.topk(min(self._num_first, num_pairs), dim=1, sorted=False).indices.sort(dim=1).values
        numbers = (best + torch.arange(0, num_sentences * num_pairs, num_pairs)[:, None]).view(-1)
        return numbers[self._bounds.view(-1)[numbers] > -math.inf]

    def second(self, to_beat: Callable[[], Tensor]) -> Tensor:
        # A bound that only equals what is to be beaten may win the tie, as it would without pruning.
        matters = (self._bounds >= to_beat()) & (self._bounds > -math.inf)
        most = self._beam_size * (MOST_FIRST if len(matters) >= LARGE_BATCH else MOST_FIRST_SMALL)
        num_mattering = matters.sum(dim=1)
        self._num_first = min(max(self._beam_size, int(num_mattering.max())), most)
        self._takes_all = int((self.num_picked - num_mattering).sum()) < WORTH_SKIPPING * len(matters)
        matters.view(-1)[self._evaluated] = False
        return _numbers(matters)


class BestPasts:
    """For alignment alone: evaluates each position once a sentence, for the hypothesis that reaches it best.

    This is Viterbi's algorithm, for which a word's score at a position does not depend on how that was reached. Here
    it does, a little, through what the decoder remembers of earlier positions; that is ignored in the choice.
    """

    num_picked: Tensor

    def first(self, position_logp: Tensor, bounds: Tensor) -> Tensor:  # noqa: ARG002  # the protocol's argument
        num_sentences, _, num_positions = bounds.shape
        self.num_picked = (bounds > -math.inf).flatten(1).sum(dim=1)
        best = bounds.max(dim=1)  # (B, S)
        sentences = torch.arange(num_sentences)[:, None]
        pairs = (sentences * bounds.shape[1] + best.indices) * num_positions + torch.arange(num_positions)
        return pairs[best.values > -math.inf].sort().values

    def second(self, to_beat: Callable[[], Tensor]) -> Tensor:  # noqa: ARG002  # the protocol's argument
        return _NO_PAIRS


def pruning_of(settings: SearchSettings) -> Pruning:
    """The way to prune that the settings name."""
    picker = picker_of(settings)
    return AtOnce(picker) if settings.pruning == "none" else BestFirst(picker, settings.beam_size)


def picker_of(settings: SearchSettings) -> Picker:
    """Which pairs the settings let pass."""
    match settings.pruning:
        case "none" | "exact":
            return pick_all
        case "threshold":
            return PositionThreshold(settings.threshold)
        case "pairs":
            return PairThreshold(settings.threshold)
        case "histogram":
            return Histogram(settings.histogram)


def _log(probability: float) -> float:
    return math.log(probability) if probability > 0 else -math.inf


_NO_PAIRS = torch.zeros(0, dtype=torch.long)


def _numbers(is_picked: Tensor) -> Tensor:
    return is_picked.view(-1).nonzero().view(-1)
