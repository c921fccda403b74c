"""What the three recurrent models share: word embeddings, the LSTM encoder, stacks of LSTM layers (paper, section 6).

LSTMs read time first, (T, B, D): their steps are then slices that lie together.

Dimensions: B sentences, S source, T target, E embedding, D width, N any rows.
"""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from alidade.models.layers import Dropout, Memory, padding_mask
from alidade.models.linear import Linear
from alidade.text.vocabulary import PAD

LayerStates = tuple[tuple[Tensor, Tensor], ...]
"""Output h and cell c, (N, D) each, of every layer of a stack."""


class WordEmbedding(nn.Embedding):
    """Word embeddings, scaled by the square root of their size."""

    def __init__(self, vocabulary_size: int, size: int, dropout: float) -> None:
        super().__init__(vocabulary_size, size)
        nn.init.normal_(self.weight, std=size**-0.5)
        self.scale = math.sqrt(size)
        self.dropout = Dropout(dropout)

    def forward(self, words: Tensor) -> Tensor:
        """words: any shape -> (..., E)."""
        embedded: Tensor = self.dropout(super().forward(words) * self.scale)
        return embedded


class RecurrentEncoder(nn.Module):
    """A bidirectional LSTM layer, then unidirectional ones on top."""

    def __init__(self, embedding: WordEmbedding, width: int, unidirectional_layers: int, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.rightwards = LstmLayer(embedding.embedding_dim, width // 2)
        self.leftwards = LstmLayer(embedding.embedding_dim, width // 2)
        self.unidirectional = LstmStack(width, width, unidirectional_layers, dropout)

    def forward(self, source: Tensor) -> Memory:
        """source: (B, S) with `<s>` and `</s>`, then `<pad>`. The memory's states are zero at padding."""
        is_padding = source == PAD
        reversal = reversed_places(is_padding).t()[..., None]  # (S, B, 1)
        words = self.embedding(source.t())  # (S, B, E)
        rightwards = self.rightwards(words)  # (S, B, D / 2)
        leftwards = self.leftwards(words.take_along_dim(reversal, 0)).take_along_dim(reversal, 0)
        states = self.unidirectional(torch.cat([rightwards, leftwards], dim=-1))
        states = states.transpose(0, 1).masked_fill(is_padding[..., None], 0.0)  # (B, S, D)
        return Memory(states, padding_mask(is_padding), lengths=source.shape[1] - is_padding.sum(dim=1))


def reversed_places(is_padding: Tensor) -> Tensor:
    """Places, (B, S), that turn each sentence round and leave its padding at the end: no LSTM reads padding first.

    Packed sequences would do the same, but their gradient zeroes the whole sequence once a step.
    """
    places = torch.arange(is_padding.shape[1], device=is_padding.device)
    last = (~is_padding).sum(dim=1, keepdim=True) - 1
    return torch.where(is_padding, places, last - places)


class LstmStack(nn.Module):
    """LSTM layers on top of each other, with a residual connection around each that keeps the size."""

    def __init__(self, inputs: int, width: int, num_layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(LstmLayer(width if below else inputs, width) for below in range(num_layers))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Whole sequences: (T, B, inputs) -> (T, B, D)."""
        for number, layer in enumerate(self.layers):
            y = layer(self.dropout(x) if number else x)
            x = x + y if x.shape == y.shape else y
        return x

    def start(self, num_rows: int) -> LayerStates:
        """The states before the first step: zero."""
        return tuple(layer.start(num_rows) for layer in lstm_layers(self.layers))

    def step(self, x: Tensor, states: LayerStates) -> tuple[Tensor, LayerStates]:
        """The same for one step, without dropout: (N, inputs) -> (N, D) and the new states."""
        new_states = []
        for layer, state in zip(lstm_layers(self.layers), states, strict=True):
            h, c = layer.step(x, state)
            x = x + h if x.shape == h.shape else h
            new_states.append((h, c))
        return x, tuple(new_states)


class LstmLayer(nn.Module):
    """One LSTM layer: whole sequences through torch's kernel, single steps as one matrix product over [x; h].

    Search asks for single steps, of few rows; the kernel lays its weights out anew in each call, and is slow there.
    """

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.width = width
        self.gates = Linear(inputs + width, 4 * width)
        nn.init.uniform_(self.gates.weight, -(width**-0.5), width**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Whole sequences: (T, B, inputs) -> h, (T, B, D)."""
        of_inputs, of_h = self.gates.weight.split_with_sizes([self.inputs, self.width], dim=1)
        no_bias = torch.zeros_like(self.gates.bias)  # the kernel adds two
        weights = [of_inputs, of_h, self.gates.bias, no_bias]
        zero = x.new_zeros(1, x.shape[1], self.width)
        h, _, _ = torch.lstm(x, [zero, zero], weights, True, 1, 0.0, self.training, False, False)
        return h

    def start(self, num_rows: int) -> tuple[Tensor, Tensor]:
        """h and c before the first step: zero."""
        zero = self.gates.bias.new_zeros(num_rows, self.width)
        return zero, zero

    def step(self, x: Tensor, state: tuple[Tensor, Tensor], more: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One step, (N, inputs) -> h and c, (N, D) each. `more`, (N, 4D), is added to the gates."""
        h, c = state
        gates = self.gates(torch.cat([x, h], dim=-1))
        input_gate, forget_gate, candidate, output_gate = (gates if more is None else gates + more).chunk(4, dim=-1)
        c = torch.addcmul(forget_gate.sigmoid() * c, input_gate.sigmoid(), candidate.tanh())
        return output_gate.sigmoid() * c.tanh(), c


def lstm_layers(layers: nn.ModuleList) -> list[LstmLayer]:
    """The same layers, with their type."""
    return cast("list[LstmLayer]", list(layers))


def pick_rows(states: LayerStates, rows: Tensor) -> LayerStates:
    """The states of some rows: rows (M,) of N -> (M, D)."""
    return tuple((h.index_select(0, rows), c.index_select(0, rows)) for h, c in states)
