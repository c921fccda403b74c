"""What the three recurrent models share: word embeddings, the LSTM encoder, stacks of LSTM layers (paper, section 6).

LSTMs read time first, (T, B, D): their steps are then slices that lie together.

Dimensions: B sentences, S source, T target, E embedding, D width, N any rows.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from alidade.models.layers import Dropout, Memory, padding_mask
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
        self.rightwards = nn.LSTM(embedding.embedding_dim, width // 2)
        self.leftwards = nn.LSTM(embedding.embedding_dim, width // 2)
        self.unidirectional = LstmStack(width, width, unidirectional_layers, dropout)

    def forward(self, source: Tensor) -> Memory:
        """source: (B, S) with `<s>` and `</s>`, then `<pad>`. The memory's states are zero at padding."""
        is_padding = source == PAD
        reversal = reversed_places(is_padding).t()[..., None]  # (S, B, 1)
        words = self.embedding(source.t())  # (S, B, E)
        rightwards, _ = self.rightwards(words)  # (S, B, D / 2)
        leftwards, _ = self.leftwards(words.take_along_dim(reversal, 0))
        states, _ = self.unidirectional(torch.cat([rightwards, leftwards.take_along_dim(reversal, 0)], dim=-1))
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
        self.layers = nn.ModuleList(nn.LSTM(width if below else inputs, width) for below in range(num_layers))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, states: LayerStates | None = None) -> tuple[Tensor, LayerStates]:
        """x: (T, B, inputs) -> (T, B, D) and the layers' last states. `states` to go on from; zeros if absent."""
        last_states = []
        for number, layer in enumerate(self.layers):
            first = None if states is None else tuple(part[None] for part in states[number])
            y, (h, c) = layer(self.dropout(x) if number else x, first)
            x = x + y if x.shape == y.shape else y
            last_states.append((h[0], c[0]))
        return x, tuple(last_states)


def lstm_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The LSTM's nonlinear part, when its matrix products are done: the new h and c, (N, D) each.

    gates: (N, 4D), in the order input, forget, output, candidate; cell: (N, D).
    """
    width = cell.shape[-1]
    opened, candidate = gates.split_with_sizes([3 * width, width], dim=-1)
    input_gate, forget_gate, output_gate = opened.sigmoid().chunk(3, dim=-1)
    cell = torch.addcmul(forget_gate * cell, input_gate, candidate.tanh())
    return output_gate * cell.tanh(), cell


def pick_rows(states: LayerStates, rows: Tensor) -> LayerStates:
    """The states of some rows: rows (M,) of N -> (M, D)."""
    return tuple((h.index_select(0, rows), c.index_select(0, rows)) for h, c in states)
