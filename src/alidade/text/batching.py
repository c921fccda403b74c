"""Batches: pairs of a prepared corpus as tensors, put together so that little is padding."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Some sentence pairs, ready for a model. Dimensions: B sentences, S source, T target."""

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
