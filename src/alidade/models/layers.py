"""The blocks that the transformer models share: linear layers, dropout, embeddings, attention, feed-forward, layers.

Small blocks first, then the encoder. Everything works on any leading shape, so that the same block serves
training, (B, T, D), and a step of the search, (rows, D).

Dimensions: B sentences, S source, T target, D width, H heads, d = D / H, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from alidade.config import Activation, PositionRates, SourceStart
from alidade.hardware import has_onednn, multiply, multiply_matrices
from alidade.text.vocabulary import PAD


class Linear(nn.Linear):
    """`nn.Linear`, quicker to train on a CPU: with the matrix products that `alidade.hardware` finds.

    Factors may be rounded to bfloat16 (`round_factors`): sums stay float32 inside a product, and so does everything
    outside of products: attention, norms, dropout, the weights themselves. Torch's own mixed precision (autocast) makes
    attention bfloat16, too, and loses more there than it gains elsewhere.
    """

    factors = torch.float32
    """The precision of the factors of products in training."""

    def forward(self, x: Tensor) -> Tensor:
        return self._train(x) if self._can_train(x) else F.linear(x, self.weight, self.bias)

    def rectified(self, x: Tensor) -> Tensor:
        """max(0, forward(x)), in one go."""
        return self._train(x, rectified=True) if self._can_train(x) else F.relu(F.linear(x, self.weight, self.bias))

    def _can_train(self, x: Tensor) -> bool:
        """Whether a gradient may be wanted that is made by our products, and not by torch's own layer."""
        return (
            torch.is_grad_enabled()
            and x.device.type == self.weight.device.type == "cpu"
            and x.dtype == self.weight.dtype == torch.float32
            and not torch.is_autocast_enabled("cpu")
            and (has_onednn() or self.factors != torch.float32)
        )

    def _train(self, x: Tensor, *, rectified: bool = False) -> Tensor:
        product: Tensor = _TrainedLinear.apply(x, self.weight, self.bias, self.factors, rectified)  # type: ignore[no-untyped-call]  # torch has no types for it
        return product


def round_factors(model: nn.Module, precision: torch.dtype) -> None:
    """Let all products of a model's training have factors of this precision."""
    for module in model.modules():
        if isinstance(module, Linear):
            module.factors = precision


class _TrainedLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, factors: torch.dtype, rectified: bool
    ) -> Tensor:
        x, weight = x.to(factors), weight.to(factors)
        output = multiply(x, weight, None if bias is None else bias.to(factors), rectified=rectified)
        ctx.save_for_backward(x, weight, output if rectified else None)
        return output.float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, rectified_output = ctx.saved_tensors
        gradient = gradients[0].to(x.dtype).contiguous()
        if rectified_output is not None:
            gradient = torch.ops.aten.threshold_backward(gradient, rectified_output, 0)
        rows = gradient.view(-1, gradient.shape[-1])
        needs_x, needs_weight, needs_bias, *_ = ctx.needs_input_grad
        return (
            multiply(gradient, weight.T).float() if needs_x else None,
            _multiply_transposed(rows, x.reshape(-1, x.shape[-1])).float() if needs_weight else None,
            rows.sum(0, dtype=torch.float32) if needs_bias else None,
            None,
            None,
        )


def _multiply_transposed(gradient: Tensor, x: Tensor) -> Tensor:
    """gradient^T x: the gradient of a weight, by whichever product is quicker for its shape.

    gradient: (N, outputs), x: (N, inputs).
    """
    outputs, inputs = gradient.shape[1], x.shape[1]
    if gradient.dtype == torch.float32 and outputs >= 4 * inputs:
        return multiply(x.T, gradient.T).T
    if gradient.dtype == torch.float32 and inputs >= 4 * outputs:
        return multiply(gradient.T, x.T)
    return multiply_matrices(gradient.T, x)


class _DropoutByBytes(torch.autograd.Function):
    """Dropout whose mask comes from one random byte an element: eight elements a 64-bit draw.

    `F.dropout` draws a number an element, and on a CPU that draw costs more than the matrix product beside it.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, threshold: int) -> Tensor:
        draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device)
        draws.random_(-(2**63), None)
        random_bytes = draws.view(torch.uint8)[: x.numel()].view(x.shape)
        scaled_mask = (random_bytes >= threshold).to(x.dtype).mul_(256 / (256 - threshold))
        ctx.save_for_backward(scaled_mask)
        return x * scaled_mask

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (scaled_mask,) = ctx.saved_tensors
        return gradients[0] * scaled_mask, None


class Dropout(nn.Module):
    """Dropout, with its share rounded to 256ths (0.1 becomes 26/256) and its scale exact for that share."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.threshold = round(share * 256)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.threshold == 0:
            return x
        dropped: Tensor = _DropoutByBytes.apply(x, self.threshold)  # type: ignore[no-untyped-call]  # torch's own
        return dropped


def position_encodings(length: int, width: int, rates_of: PositionRates = "original") -> Tensor:
    """Sinusoids, (length, width): first the sines, then the cosines."""
    last = width if rates_of == "original" else width - 2
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / last))
    angles = torch.arange(length)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width]


class Embedding(nn.Embedding):
    """Word embeddings, scaled by the square root of the width, plus position encodings."""

    encodings: Tensor

    def __init__(
        self, vocabulary_size: int, width: int, dropout: float, position_rates: PositionRates = "original"
    ) -> None:
        super().__init__(vocabulary_size, width)
        nn.init.normal_(self.weight, std=width**-0.5)
        self.scale = math.sqrt(width)
        self.dropout = Dropout(dropout)
        self.position_rates = position_rates
        self.register_buffer("encodings", position_encodings(1024, width, position_rates), persistent=False)

    def forward(self, words: Tensor, *, skips_first: bool = False) -> Tensor:
        """words: (B, T) -> (B, T, D), at the positions 0, 1, ...; skips_first: at 0, 0, 1, ..."""
        length = words.shape[1]
        embedded = F.embedding(words, self.weight) * self.scale
        encodings = self.encodings_until(length)[:length]
        if skips_first:
            encodings = torch.cat([encodings[:1], encodings[:-1]])
        summed: Tensor = self.dropout(embedded + encodings)
        return summed

    def encodings_until(self, length: int) -> Tensor:
        """The encodings of at least this many positions, a row each."""
        if length > len(self.encodings):
            self.encodings = position_encodings(2 * length, self.embedding_dim, self.position_rates).to(self.encodings)
        return self.encodings


class Output(Linear):
    """From features to logits. Its weight may be an embedding's: `tie`."""

    def __init__(self, width: int, num_classes: int) -> None:
        super().__init__(width, num_classes)
        nn.init.normal_(self.weight, std=width**-0.5)
        nn.init.zeros_(self.bias)

    def tie(self, embedding: nn.Embedding) -> None:
        """Use the embedding's matrix as this layer's weight."""
        self.weight = embedding.weight


def linear(inputs: int, outputs: int, *, parts: int = 1) -> Linear:
    """A linear layer with Glorot's initialisation; several stacked `parts` start as each would on its own."""
    layer = Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight, gain=math.sqrt((inputs + outputs) / (inputs + outputs / parts)))
    nn.init.zeros_(layer.bias)
    return layer


class Residual(nn.Module):
    """What surrounds a sublayer f: x + f(norm(x)) (pre-norm) or norm(x + f(x)) (post-norm).

    In two halves, because search computes f for hypotheses and the sum for rows.
    """

    def __init__(self, width: int, dropout: float, *, pre_norm: bool, epsilon: float = 1e-5) -> None:
        super().__init__()
        self.norm: nn.Module = nn.LayerNorm(width, epsilon)
        self.dropout = Dropout(dropout)
        self.pre_norm = pre_norm

    def pre(self, x: Tensor) -> Tensor:
        """What the sublayer reads."""
        return self._normed(x) if self.pre_norm else x

    def post(self, x: Tensor, sublayer_output: Tensor) -> Tensor:
        """What the next sublayer gets."""
        x = x + (self.dropout(sublayer_output) if self.training else sublayer_output)
        return x if self.pre_norm else self._normed(x)

    def _normed(self, x: Tensor) -> Tensor:
        normed: Tensor = self.norm(x)
        return normed


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(B, T, D) -> (B, H, T, d), a view."""
    return x.view(*x.shape[:-1], num_heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """(B, H, T, d) -> (B, T, D)."""
    return x.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Multi-head self-attention; queries, keys and values come from one matrix product."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.num_heads = heads
        self.dropout = dropout
        self.inputs = linear(width, 3 * width, parts=3)
        self.output = linear(width, width)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of x, (..., D) each."""
        queries, keys, values = self.inputs(x).chunk(3, dim=-1)
        return queries, keys, values

    def forward(self, x: Tensor, mask: Tensor | None = None, *, is_causal: bool = False) -> Tensor:
        queries, keys, values = (split_heads(part, self.num_heads) for part in self.project(x))  # (B, H, T, d)
        dropout = self.dropout if self.training else 0.0
        context = F.scaled_dot_product_attention(queries, keys, values, mask, dropout, is_causal)
        joined: Tensor = self.output(join_heads(context))
        return joined


@dataclass(frozen=True, slots=True)
class Memory:
    """What an encoder knows of B sentences."""

    states: Tensor
    """(B, S, D): h_0 (of `<s>`), h_1 .. h_J, h_{J+1} (of `</s>`), then padding."""
    mask: Tensor | None
    """(B, 1, 1, S), added to attention energies: 0 at words, -inf at padding; None if nothing is padding."""
    lengths: Tensor
    """(B,) source tokens with `<s>` and `</s>`."""


class SourceAttention(nn.Module):
    """Multi-head attention from the target to the encoder's states."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.num_heads = heads
        self.dropout = dropout
        self.query = linear(width, width)
        self.keys_values = linear(width, 2 * width, parts=2)
        self.output = linear(width, width)

    def project_source(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the encoder's states, (B, H, S, d) each: once a sentence."""
        keys, values = self.keys_values(states).chunk(2, dim=-1)
        return split_heads(keys, self.num_heads), split_heads(values, self.num_heads)

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, weights: list[Tensor] | None = None
    ) -> Tensor:
        """x: (B, T, D). If `weights` is a list, attention summed over heads, (B, T, S), is appended to it."""
        queries = split_heads(self.query(x), self.num_heads)  # (B, H, T, d)
        if weights is None:
            dropout = self.dropout if self.training else 0.0
            context = F.scaled_dot_product_attention(queries, keys, values, mask, dropout)
        else:
            energies = queries @ keys.transpose(-1, -2) * queries.shape[-1] ** -0.5  # (B, H, T, S)
            attention = torch.softmax(energies if mask is None else energies + mask, dim=-1)
            weights.append(attention.sum(dim=1))
            context = attention @ values
        joined: Tensor = self.output(join_heads(context))
        return joined


class FeedForward(nn.Module):
    """Two linear layers with a rectifier, or another activation, between them."""

    def __init__(self, width: int, hidden: int, dropout: float, activation: Activation = "relu") -> None:
        super().__init__()
        self.activation = activation
        self.expand = linear(width, hidden)
        self.contract = linear(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self._activated(x)
        contracted: Tensor = self.contract(self.dropout(hidden) if self.training else hidden)
        return contracted

    def _activated(self, x: Tensor) -> Tensor:
        if self.activation == "relu":
            return self.expand.rectified(x)
        expanded: Tensor = self.expand(x)
        return expanded * torch.sigmoid(expanded if self.activation == "swish" else GELU_SLOPE * expanded)


GELU_SLOPE = 1.702
"""x sigmoid(1.702 x) is what Marian calls gelu."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that all layers of a transformer share."""

    width: int
    feed_forward: int
    heads: int
    dropout: float
    attention_dropout: float
    activation_dropout: float
    pre_norm: bool
    activation: Activation = "relu"
    norm_epsilon: float = 1e-5
    position_rates: PositionRates = "original"
    source_start: SourceStart = "read"

    def embedding(self, vocabulary_size: int) -> Embedding:
        return Embedding(vocabulary_size, self.width, self.dropout, self.position_rates)

    def residual(self) -> Residual:
        return Residual(self.width, self.dropout, pre_norm=self.pre_norm, epsilon=self.norm_epsilon)

    def self_attention(self) -> SelfAttention:
        return SelfAttention(self.width, self.heads, self.attention_dropout)

    def source_attention(self) -> SourceAttention:
        return SourceAttention(self.width, self.heads, self.attention_dropout)

    def feed_forward_layer(self) -> FeedForward:
        return FeedForward(self.width, self.feed_forward, self.activation_dropout, self.activation)

    def final_norm(self) -> nn.Module:
        """Pre-norm stacks end with a norm; post-norm ones have it already."""
        return nn.LayerNorm(self.width, self.norm_epsilon) if self.pre_norm else nn.Identity()


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.self_attention = shape.self_attention()
        self.self_residual = shape.residual()
        self.feed_forward = shape.feed_forward_layer()
        self.feed_forward_residual = shape.residual()

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.self_residual.post(x, self.self_attention(self.self_residual.pre(x), mask))
        return self.feed_forward_residual.post(x, self.feed_forward(self.feed_forward_residual.pre(x)))


class Encoder(nn.Module):
    """A stack of self-attentive layers over the source."""

    def __init__(self, shape: Shape, num_layers: int, vocabulary_size: int) -> None:
        super().__init__()
        self.start = shape.source_start
        self.embedding = shape.embedding(vocabulary_size)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(num_layers))
        self.norm = shape.final_norm()

    def forward(self, source: Tensor) -> Memory:
        """source: (B, S) with `<s>` and `</s>`, then `<pad>`.

        Whatever the encoder reads at position 0, there is an h_0: nobody attends to it if it is skipped.
        """
        is_padding = source == PAD
        lengths = source.shape[1] - is_padding.sum(dim=1)
        is_skipped = self.start == "skipped"
        if is_skipped:
            is_padding[:, 0] = True
        elif isinstance(self.start, int):
            source = source.clone()
            source[:, 0] = self.start
        mask = padding_mask(is_padding)
        x = self.embedding(source, skips_first=is_skipped)
        for layer in self.layers:
            x = layer(x, mask)
        return Memory(self.norm(x), mask, lengths)


def padding_mask(is_padding: Tensor) -> Tensor | None:
    """(B, S) -> (B, 1, 1, S), -inf at padding; None if there is none, which lets attention skip it."""
    if not bool(is_padding.any()):
        return None
    return torch.zeros(is_padding.shape, device=is_padding.device).masked_fill_(is_padding, -math.inf)[:, None, None]


def pick_states(states: Tensor, positions: Tensor) -> Tensor:
    """h_{b_i}: states (B, S, D) at positions (B, T) -> (B, T, D)."""
    return states.gather(1, positions[:, :, None].expand(-1, -1, states.shape[-1]))
