"""A batch: some sentence pairs as padded tensors, what the models read in training.

Dimensions: B sentences, S source, T target.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from alidade.corpus.arrays import Integers
from alidade.corpus.batching import Pairs
from alidade.text.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True, slots=True)
class Batch:
    """Some sentence pairs, ready for a model."""

    source: Tensor
    """(B, S) `<s> f_1 .. f_J </s>`, then `<pad>`."""
    target_in: Tensor
    """(B, T) `<s> e_1 .. e_I`, then `<pad>`."""
    target_out: Tensor
    """(B, T) `e_1 .. e_I </s>`, then `<pad>`."""
    positions: Tensor
    """(B, T) b_1 .. b_I, then J+1 for `</s>`, then 0."""
    previous_positions: Tensor
    """(B, T) 0, b_1 .. b_I, then 0."""
    num_target_tokens: int
    """Real target tokens, `</s>` among them: the N of the loss."""

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        source, target_in, target_out, positions, previous_positions = (tensor.to(device) for tensor in self.tensors)
        return Batch(source, target_in, target_out, positions, previous_positions, self.num_target_tokens)

    def twice(self) -> Batch:
        """Each sentence pair a second time, after all of them."""
        source, target_in, target_out, positions, previous_positions = (
            torch.cat([tensor, tensor]) for tensor in self.tensors
        )
        return Batch(source, target_in, target_out, positions, previous_positions, 2 * self.num_target_tokens)

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """All tensors in their order."""
        return self.source, self.target_in, self.target_out, self.positions, self.previous_positions


def make_batch(pairs: Pairs, numbers: Integers) -> Batch:
    """The pairs with these numbers. Without alignments, all positions but that of `</s>` are 0."""
    rows = np.arange(len(numbers))
    source_words, source_lengths = pairs.sources.padded(numbers)
    target_words, target_lengths = pairs.targets.padded(numbers)

    source = np.pad(source_words, ((0, 0), (1, 1)), constant_values=PAD)
    source[:, 0] = BOS
    source[rows, source_lengths + 1] = EOS

    target_in = np.pad(target_words, ((0, 0), (1, 0)), constant_values=BOS)
    target_out = np.pad(target_words, ((0, 0), (0, 1)), constant_values=PAD)
    target_out[rows, target_lengths] = EOS

    known_positions = np.zeros_like(target_words)
    if pairs.all_positions is not None:
        known_positions, _ = pairs.all_positions.padded(numbers)
    previous_positions = np.pad(known_positions, ((0, 0), (1, 0)))
    positions = np.pad(known_positions, ((0, 0), (0, 1)))
    positions[rows, target_lengths] = source_lengths + 1

    return Batch(
        source=torch.from_numpy(source),
        target_in=torch.from_numpy(target_in),
        target_out=torch.from_numpy(target_out),
        positions=torch.from_numpy(positions),
        previous_positions=torch.from_numpy(previous_positions),
        num_target_tokens=int(target_lengths.sum()) + len(numbers),
    )
