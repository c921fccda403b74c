"""Coverage: what a hypothesis pays for source pieces that it leaves behind, and for those that it returns to.

At any step those hypotheses look best that have put off, or jumped over, what is hard to translate. The beam fills up
with them, and words of the source are lost. Whoever hypothesises positions can tell: a source piece to the left of the
furthest one pointed at, to which nothing points, has been passed by. It costs what it usually means (`skip_cost` of the
alignment model: little for articles, much for nouns) times `coverage_weight`, and is paid back if a later
position returns to it. So a finished hypothesis has paid for all pieces that nothing points at, and for no other.

The opposite costs, too: to point again at a piece that was pointed at and left. Otherwise a hypothesis that cannot
translate what it left behind goes to and fro between its neighbours until its length limit.

What a position costs or pays back is known before the lexical model is asked, so bounds stay bounds (`pruning.py`).

Dimensions: B sentences, K beam, S source positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from alidade.search.hypotheses import Beam, pick
from alidade.search.roles import Floats, Ints
from alidade.text.vocabulary import BOS, EOS, PAD

RETURN_COST = 5.0
"""The log odds that a target piece does not return to a source piece that was left: of those that we train on, 0.7 %
(English–Romanian) and 0.4 % (French captions) do."""


def costs_of_sources(skip_cost: Floats, source: Ints) -> Floats:
    """What it costs to leave out each piece of sources: (V,), (B, S) -> (B, S); nothing for `<s>`, `</s>`, `<pad>`."""
    is_text = (source != PAD) & (source != BOS) & (source != EOS)
    costs: Floats = np.where(is_text, skip_cost[source], np.float32(0))
    return costs


def cost_of_path(skip_cost: Floats, source: Sequence[int], positions: Sequence[int]) -> float:
    """What a finished path leaves out and returns to, in all: source without `<s>` and `</s>`, positions from 1."""
    costs = skip_cost[np.array(source, dtype=np.int64)]
    costs[np.array(positions, dtype=np.int64) - 1] = 0
    num_moves = sum(one != other for one, other in pairwise([0, *positions]))
    return float(costs.sum()) + RETURN_COST * (num_moves - len(set(positions)))


class Coverage:
    """Which source pieces the hypotheses of a beam have translated, and left behind."""

    def __init__(self, costs: Floats, weight: float, stand_ins: Ints | None = None) -> None:
        """costs: (B, S) of leaving out each position.

        stand_ins: (B, S) the position that each one counts as, if some are translated together: the last of them, at
        which all that they cost stands; None: itself.
        """
        self._stand_ins = stand_ins
        costs = np.float32(weight) * costs
        self._return_gain = np.float32(-weight * RETURN_COST)
        self._up_to: Floats = np.cumsum(costs, axis=1)
        """(B, S) what all positions up to one cost together."""
        self._before: Floats = self._up_to - costs
        """(B, S) and those to its left."""
        self._positions: Ints = np.arange(costs.shape[1])
        self._furthest: Ints = np.zeros((len(costs), 1), dtype=np.int64)
        """(B, K) the furthest position pointed at."""
        self._last: Ints = self._furthest
        """(B, K) the one pointed at last."""
        self._back: Floats = costs[:, None]
        """(B, K, S) what is gained by going back to each position: its cost if nothing points at it, a loss if
        something does, nothing where a hypothesis stays."""

    def gains(self) -> Floats:
        """(B, K, S) what each hypothesis gains with each position: a loss if it passes others by or returns to what was
        translated, a gain if it returns to what was not."""
        passed = pick(self._up_to, self._furthest)[:, :, None] - self._before[:, None]
        gains: Floats = np.where(self._positions > self._furthest[:, :, None], passed, self._back)
        return gains if self._stand_ins is None else np.take_along_axis(gains, self._stand_ins[:, None], axis=2)

    def commit(self, beam: Beam) -> None:
        """The next beam."""
        positions = beam.positions if self._stand_ins is None else pick(self._stand_ins, beam.positions)
        self._furthest = np.maximum(pick(self._furthest, beam.parents), positions)
        self._back = pick(self._back, beam.parents)
        of_hypotheses = self._back.reshape(-1, self._back.shape[2])
        numbers = np.arange(len(of_hypotheses))
        of_hypotheses[numbers, pick(self._last, beam.parents).ravel()] = self._return_gain
        of_hypotheses[numbers, positions.ravel()] = 0
        self._last = positions

    def keep(self, sentences: Ints) -> None:
        """Go on with these sentences (indexes into the present B) only."""
        self._up_to, self._before = self._up_to[sentences], self._before[sentences]
        self._furthest, self._last = self._furthest[sentences], self._last[sentences]
        self._back = self._back[sentences]
        if self._stand_ins is not None:
            self._stand_ins = self._stand_ins[sentences]
