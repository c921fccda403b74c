"""Pruning: which (hypothesis, position) pairs the lexical model evaluates (paper, section 4, algorithm 1).

A pair's number is `hypothesis * S + position`; all ways to prune see the pairs' bounds and hand out pair numbers,
ascending. The bound of a pair is `score(h) + alignment_weight * log p(position | h)`, with what the position gains or
loses for coverage (`coverage.py`): since log p_lex <= 0, no piece of the pair can score higher. It is -inf for pairs
that are not there at all: dead hypotheses, padding.

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

import numpy as np

from alidade.config import SearchSettings
from alidade.search.roles import NO_INTS, Bools, Floats, Ints

LARGE_BATCH = 8
FIRST = 1, 2
FIRST_SMALL = 2, 4
"""The first round has from so many to so many times K pairs of a sentence: more in small batches, where a second call
of the model costs as much as twenty rows (experiments/LOG.md)."""
WORTH_SKIPPING = 1.0
"""So many pairs of a sentence must have been skippable in the step before, or all picked ones are evaluated at once."""

Picker = Callable[[Floats, Bools], Bools]
"""Whether pairs may be evaluated, from log p(position) and whether pairs are there at all; all three are (B, K, S)."""


def pick_all(position_logp: Floats, is_there: Bools) -> Bools:  # noqa: ARG001  # a picker's argument
    """`none` and `exact`: every position of every hypothesis."""
    return is_there


class PositionThreshold:
    """`threshold`: algorithm 1. A position that is above the threshold for at least one hypothesis of the sentence
    is evaluated for all of them; all positions if none is."""

    def __init__(self, threshold: float) -> None:
        self._least_logp = _log(threshold)

    def __call__(self, position_logp: Floats, is_there: Bools) -> Bools:
        is_above = (position_logp > self._least_logp) & is_there
        is_active = np.any(is_above, axis=1, keepdims=True)  # (B, 1, S)
        is_active = is_active | ~np.any(is_active, axis=2, keepdims=True)
        return np.logical_and(is_active, is_there)


class PairThreshold:
    """`pairs`: pairs above the threshold, each hypothesis on its own; all its positions if none is."""

    def __init__(self, threshold: float) -> None:
        self._least_logp = _log(threshold)

    def __call__(self, position_logp: Floats, is_there: Bools) -> Bools:
        is_active = position_logp > self._least_logp
        is_active |= ~is_active.any(axis=2, keepdims=True)
        return np.logical_and(is_active, is_there)


class Histogram:
    """`histogram`: the best n positions of each hypothesis."""

    def __init__(self, num_positions: int) -> None:
        self._num_positions = num_positions

    def __call__(self, position_logp: Floats, is_there: Bools) -> Bools:
        best = np.argsort(-position_logp, axis=2, kind="stable")[:, :, : self._num_positions]
        is_best = np.zeros_like(is_there)
        np.put_along_axis(is_best, best, values=True, axis=2)
        return is_best & is_there


class Pruning(Protocol):
    """A way to evaluate pairs."""

    num_picked: Ints
    """(B,) the pairs of this step that may be evaluated."""

    def first(self, position_logp: Floats, bounds: Floats) -> Ints:
        """The numbers of the pairs to evaluate first, ascending; both arguments are (B, K, S)."""

    def second(self, to_beat: Callable[[], Floats]) -> Ints:
        """The numbers of the pairs to evaluate then, ascending.

        to_beat: gives (B, 1), the score below which no candidate can enter the beam, as far as is known by then.
        """


class AtOnce:
    """Evaluates every picked pair."""

    num_picked: Ints

    def __init__(self, picker: Picker) -> None:
        self._picker = picker

    def first(self, position_logp: Floats, bounds: Floats) -> Ints:
        is_picked = self._picker(position_logp, bounds > -np.inf).reshape(len(bounds), -1)
        self.num_picked = is_picked.sum(axis=1)
        return np.flatnonzero(is_picked)

    def second(self, to_beat: Callable[[], Floats]) -> Ints:  # noqa: ARG002  # the protocol's argument
        return NO_INTS


class BestFirst:
    """Evaluates picked pairs, the best bounds first; one whose bound cannot beat the beam's last is never evaluated.

    After the first round all pairs that can still matter are known, and evaluating them can only raise what is to be
    beaten: so the second round takes all of them, and there is no third. How many the first has is learned from step to
    step: as many as mattered in the step before, in the sentence with the most, since a second round costs a call of
    the model; or all, if hardly any could have been skipped.
    """

    num_picked: Ints

    def __init__(self, picker: Picker, beam_size: int) -> None:
        self._picker = picker
        self._beam_size = beam_size
        self._num_first = 0
        self._takes_all = False

    def first(self, position_logp: Floats, bounds: Floats) -> Ints:
        is_there = bounds > -np.inf
        is_picked = self._picker(position_logp, is_there)
        if is_picked is not is_there:
            bounds = np.where(is_picked, bounds, -np.inf)
        self._bounds = bounds.reshape(len(bounds), -1)  # (B, K * S)
        self.num_picked = is_picked.reshape(len(bounds), -1).sum(axis=1)
        fewest, most = FIRST if len(bounds) >= LARGE_BATCH else FIRST_SMALL
        self._num_first = min(max(self._num_first, fewest * self._beam_size), most * self._beam_size)
        self._evaluated = np.flatnonzero(is_picked) if self._takes_all else self._best_pairs()
        return self._evaluated

    def _best_pairs(self) -> Ints:
        num_pairs = self._bounds.shape[1]
        if self._num_first >= num_pairs:
            return (self._bounds > -np.inf).ravel().nonzero()[0]
        first = num_pairs - self._num_first
        best = self._bounds.argpartition(first, axis=1)[:, first:]
        best.sort(axis=1)
        numbers = (best + np.arange(0, self._bounds.size, num_pairs)[:, None]).ravel()
        there: Ints = numbers[self._bounds.ravel().take(numbers) > -np.inf]
        return there

    def second(self, to_beat: Callable[[], Floats]) -> Ints:
        # A bound that only equals what is to be beaten may win the tie, as it would without pruning.
        least = to_beat()
        matters = self._bounds >= least
        if least.min() == -np.inf:
            matters &= self._bounds > -np.inf
        self._num_first = int(matters.sum(axis=1).max())
        num_skippable = int(self.num_picked.sum()) - int(np.count_nonzero(matters))
        self._takes_all = num_skippable < WORTH_SKIPPING * len(matters)
        numbers = matters.ravel()
        numbers[self._evaluated] = False
        return numbers.nonzero()[0]


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
