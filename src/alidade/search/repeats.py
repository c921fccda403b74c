"""No source position writes the same piece twice.

A weak model, or one that is far from what it was trained on, falls into loops: it goes back to words that it has
translated, and since each round costs little, length normalisation even likes it. Whoever hypothesises positions can
tell a loop from a text that says something twice: the source does not say it twice. So what a hypothesis has written
at a position it cannot write there again. Scores stay what they are, and `exact` pruning stays exact, since a pair's
bound holds for whatever is left to write.

Dimensions: B sentences, K beam, R rows, T steps so far.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

NOWHERE = -1
"""The position of rows that may write what they like."""


class Written:
    """What each hypothesis of a batch has written, and at which positions."""

    def __init__(self, num_sentences: int, beam_size: int, max_length: int) -> None:
        self._past = torch.zeros((2, num_sentences, beam_size, max_length), dtype=torch.long)
        """Words and positions."""
        self._num_steps = 0

    def forbid(self, hypotheses: Tensor, positions: Tensor, word_logp: Tensor) -> None:
        """Set to -inf, in place, what rows of these hypotheses would repeat at these positions, (R,) both.

        word_logp: (R, V).
        """
        if not self._num_steps:
            return
        words, past_positions = self._past.flatten(1, 2)[:, :, : self._num_steps]
        is_here = past_positions.index_select(0, hypotheses) == positions[:, None]  # (R, T)
        rows, steps = is_here.nonzero(as_tuple=True)
        repeated = words[hypotheses[rows], steps]
        word_logp[rows, repeated] = -math.inf

    def commit(self, parents: Tensor, positions: Tensor, words: Tensor) -> None:
        """The next beam, (B, K) each."""
        if self._num_steps:
            past = self._past[..., : self._num_steps]
            past.copy_(past.gather(2, parents[None, :, :, None].expand_as(past)))
        self._past[0, ..., self._num_steps] = words
        self._past[1, ..., self._num_steps] = positions
        self._num_steps += 1

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences only."""
        self._past = self._past[:, sentences]
