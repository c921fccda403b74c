"""How sure a search over the positions of given targets is of each position: posterior probabilities.

With the target given, the beams of all steps and the ways from one to the next are a lattice of positions. The
forward-backward algorithm sums over its paths instead of taking the best one.

Dimensions: B sentences, K beam (k of the step before), I given words, S source positions.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

SHARPNESS = 0.7
"""Scores are multiplied by this before they become probabilities: the models are too sure of themselves. Chosen on half
of the Romanian–English gold pairs (experiments/LOG.md)."""


class Lattice:
    """The steps of a batch, while it is searched."""

    def __init__(self, num_positions: int) -> None:
        self._num_positions = num_positions
        self._steps: list[tuple[Tensor, Tensor]] = []

    def append(self, ways: Tensor, positions: Tensor) -> None:
        """A step. ways: (B, k, K) what the way from one beam to the next adds to the score; positions: (B, K)."""
        self._steps.append((ways, positions))

    def keep(self, sentences: Tensor) -> None:
        self._steps = [(ways[sentences], positions[sentences]) for ways, positions in self._steps]

    def posteriors(self, sentence: int, ends: Tensor) -> Tensor:
        """(I, S) of each given word; ends: (K,) what it adds to the score to end after the last of them.

        If no hypothesis can end, none is preferred for it.
        """
        if not self._steps:  # an empty target
            return ends.new_zeros(0, self._num_positions)
        if bool((ends == -math.inf).all()):
            ends = torch.zeros_like(ends)
        ways = [SHARPNESS * step[0][sentence] for step in self._steps]
        forward = [ways[0][0]]
        for way in ways[1:]:
            forward.append(torch.logsumexp(forward[-1][:, None] + way, dim=0))
        backward = [SHARPNESS * ends]
        for way in reversed(ways[1:]):
            backward.append(torch.logsumexp(way + backward[-1], dim=1))
        shares = torch.softmax(torch.stack(forward) + torch.stack(backward[::-1]), dim=1)  # (I, K)
        positions = torch.stack([step[1][sentence] for step in self._steps])
        return shares.new_zeros(len(ways), self._num_positions).scatter_add_(1, positions, shares)
