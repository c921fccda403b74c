"""From features of rows to their best words, without sorting a vocabulary.

A row's k best words are in the k blocks of 64 words with the highest maxima: one pass finds the maxima of all
blocks, and only those few blocks are looked at closely. `torch.topk` over the whole vocabulary costs several
times as much as all the rest of a step.

Dimensions: R rows, D width, V vocabulary, k best words.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from alidade.models.packing import fast_linear
from alidade.text.vocabulary import UNK

BLOCK = 64
MAX_LOGITS = 1 << 23
"""Logits computed at once: 32 MB, about what a large cache holds."""
NUM_SPECIAL = UNK + 1
"""`<pad>`, `<s>`, `</s>` and `<unk>` are the first columns; no row writes them as words."""


class WordScorer:
    """The output layer, padded to whole blocks with words that are never chosen."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        """weight: (V, D), bias: (V,)"""
        num_padding = -len(weight) % BLOCK
        self._weight, self._bias = weight, bias
        self.num_words = len(weight) + num_padding
        """V, padding among them."""
        self._max_rows = max(1, MAX_LOGITS // self.num_words)
        self.logits = fast_linear(F.pad(weight, (0, 0, 0, num_padding)), F.pad(bias, (0, num_padding), value=-math.inf))
        """(R, D) -> (R, V)"""

    @classmethod
    def of(cls, output: Any) -> WordScorer:
        """Of a model's output layer."""
        return cls(output.weight.detach(), output.bias.detach())

    def lots(self, num_rows: int) -> list[slice]:
        """The rows in lots whose logits fit into memory."""
        return [slice(first, first + self._max_rows) for first in range(0, num_rows, self._max_rows)]

    def word_logp(self, features: Tensor) -> Tensor:
        """(R, D) -> (R, V) log p_lex of all words; the columns past the vocabulary are -inf."""
        logits = self.logits(features)
        return torch.log_softmax(logits, dim=1, out=logits)  # in place: the logits are the largest tensor of a step

    def best_words(self, word_logp: Tensor, num_best: int) -> tuple[Tensor, Tensor]:
        """The k best words of each row and their log-probabilities, (R, k) each; special words are none.

        word_logp, (R, V), is overwritten: the columns of special words become -inf.
        """
        word_logp.narrow(1, 0, NUM_SPECIAL).fill_(-math.inf)
        num_best = min(num_best, len(self._weight) - NUM_SPECIAL)
        blocks = word_logp.view(len(word_logp), -1, BLOCK)
        num_blocks = min(num_best, blocks.shape[1])
        best_blocks = blocks.amax(dim=2).topk(num_blocks, dim=1, sorted=False).indices  # (R, k)
        words = torch.add(_WITHIN_BLOCK, best_blocks[:, :, None], alpha=BLOCK).flatten(1)  # (R, k * BLOCK)
        logp, places = word_logp.gather(1, words).topk(num_best, dim=1)
        return words.gather(1, places), logp


_WITHIN_BLOCK = torch.arange(BLOCK)
