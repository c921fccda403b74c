"""A transformer's layers laid out for a step of the search: the same sublayers as plain objects.

A step works on few rows, and there the machinery of modules (attributes that are looked up in several dictionaries,
hooks, dropout that does nothing) takes longer than a norm or a sum. A search's state lays its layers out once.

Dimensions: B sentences, K beam, R rows, D width; all but the embedding works on any leading shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from alidade.models.layers import Embedding, FeedForward, Residual, SelfAttention


class AnyLayer(Protocol):
    """A decoder layer, of the lexical or of the alignment model."""

    self_attention: SelfAttention
    self_residual: Residual
    source_residual: Residual
    feed_forward: FeedForward
    feed_forward_residual: Residual


class StepLayer:
    """A decoder layer's parts; the caches and the source's tables belong to the search's state."""

    def __init__(self, layer: AnyLayer) -> None:
        self._enter_self, self._leave_self = _ways(layer.self_residual)
        self._inputs, self._output = layer.self_attention.inputs, layer.self_attention.output
        self.enter_source, self.leave_source = _ways(layer.source_residual)
        self._enter_feed, self._leave_feed = _ways(layer.feed_forward_residual)
        self._expand, self._contract = layer.feed_forward.expand.rectified, layer.feed_forward.contract

    def attend(self, x: Tensor, attend_to_history: Callable[[Tensor], Tensor]) -> Tensor:
        """Self-attention. attend_to_history: from queries, keys and values side by side to what the heads found."""
        return self._leave_self(x, self._output(attend_to_history(self._inputs(self._enter_self(x)))))

    def feed(self, x: Tensor) -> Tensor:
        """The feed-forward sublayer."""
        return self._leave_feed(x, self._contract(self._expand(self._enter_feed(x))))


def _ways(residual: Residual) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor, Tensor], Tensor]]:
    """`Residual.pre` and `Residual.post`."""
    norm = step_norm(residual.norm)
    if residual.pre_norm:
        return norm, torch.add
    return _unchanged, lambda x, sublayer_output: norm(x + sublayer_output)


def step_norm(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    """A layer norm, or nothing."""
    if not isinstance(norm, nn.LayerNorm):
        return _unchanged
    shape, weight, bias, epsilon = list(norm.normalized_shape), norm.weight, norm.bias, norm.eps
    return lambda x: torch.layer_norm(x, shape, weight, bias, epsilon)


def _unchanged(x: Tensor) -> Tensor:
    return x


class StepEmbedding:
    """The embeddings of one target position."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._weight, self._scale = embedding.weight, embedding.scale

    def __call__(self, words: Tensor, position: int) -> Tensor:
        """(B, K) -> (B, K, D)"""
        encoding = self._embedding.encodings_until(position + 1)[position]
        return torch.add(encoding, torch.embedding(self._weight, words), alpha=self._scale)
