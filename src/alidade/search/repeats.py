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


class Written:
    """What each hypothesis of a batch has written, and at which positions."""

    def __init__(self, num_sentences: int, beam_size: int, max_length: int) -> None:
        shape = (num_sentences, beam_size, max_length)
        self._words = torch.zeros(shape, dtype=torch.long)
        self._positions = torch.full(shape, NOWHERE)
        self._num_steps = 0

    def forbid(self, hypotheses: Tensor, positions: Tensor, word_logp: Tensor, columns: Tensor | None = None) -> None:
        """Set to -inf, in place, what rows of these hypotheses would repeat at these positions, (R,) both.

        word_logp: (R, V), or (R, U) if `columns`, (V,), says where words are; position NOWHERE forbids nothing.
        """
        if not self._num_steps:
            return
        past = self._positions.flatten(0, 1)[:, : self._num_steps].index_select(0, hypotheses)  # (R, T)
        is_here = (past == positions[:, None]) & (positions >= 0)[:, None]
        rows, steps = is_here.nonzero(as_tuple=True)
        words = self._words.flatten(0, 1)[hypotheses[rows], steps]
        word_logp[rows, words if columns is None else columns[words]] = -math.inf

    def commit(self, parents: Tensor, positions: Tensor, words: Tensor) -> None:
        """The next beam, (B, K) each."""
        num_steps = self._num_steps
        if num_steps:
            chosen = parents[:, :, None].expand(-1, -1, num_steps)
            for past in (self._words, self._positions):
                past[:, :, :num_steps] = past[:, :, :num_steps].gather(1, chosen)
        self._words[:, :, num_steps] = words
        self._positions[:, :, num_steps] = positions
        self._num_steps += 1

    def keep(self, sentences: Tensor) -> None:
        """Go on with these sentences only."""
        self._words, self._positions = self._words[sentences], self._positions[sentences]
