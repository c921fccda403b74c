"""What a decoder remembers of a beam, without ever copying it.

A sentence's K hypotheses share one row of slots: at step t they fill the slots t * K .. t * K + K - 1, in their
order at that step. Which slots belong to a hypothesis's own history is a mask, `Ancestors`; when the beam
changes, only the mask is reordered, and keys and values stay where they are. The price is attention to K times
as many slots, most of them masked: little work beside the copy of all keys and values that it saves.

A layer whose input depends on the hypothesised position b_i (all above the lowest alignment head) has keys and
values for each *row*, not for each hypothesis, and only the rows that make the next beam are kept: `RowCache`.
Those are known when the beam is chosen and are filed under the hypothesis that they made, in the slots of the
next step: so both caches read the same mask.

Dimensions: B sentences, K beam, H heads, d width of a head, R rows, n slots in use.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from alidade.models.layers import join_heads, split_heads


class Ancestors:
    """Which slots hold the history of each hypothesis."""

    def __init__(self, num_sentences: int, beam_size: int, max_length: int) -> None:
        self.beam_size = beam_size
        self.step = 0
        own_slots = torch.full((beam_size, beam_size), -math.inf).fill_diagonal_(0.0)
        # (B, K, slots): at every step, a hypothesis's newest slot is its own.
        self._mask = own_slots.repeat(num_sentences, 1, max_length + 1)

    @property
    def num_slots(self) -> int:
        """Slots in use, this step's among them."""
        return (self.step + 1) * self.beam_size

    @property
    def mask(self) -> Tensor:
        """(B, K, n), added to attention energies: 0 at a hypothesis's own history, -inf elsewhere."""
        return self._mask[:, :, : self.num_slots]

    def reorder(self, parents: Tensor) -> None:
        """The next step's hypothesis k extends hypothesis parents[b, k]."""
        history = self.mask.gather(1, parents[:, :, None].expand(-1, -1, self.num_slots))
        self._mask[:, :, : self.num_slots] = history
        self.step += 1

    def keep(self, sentences: Tensor) -> None:
        self._mask = self._mask[sentences]


class _Slots:
    """Keys and values of B sentences, (B, H, slots, d) each, preallocated."""

    def __init__(self, num_sentences: int, num_heads: int, num_slots: int, head_width: int) -> None:
        self.num_heads = num_heads
        self.keys = torch.zeros(num_sentences, num_heads, num_slots, head_width)
        self.values = torch.zeros_like(self.keys)

    def write(self, first: int, keys: Tensor, values: Tensor) -> None:
        """keys, values: (B, K, D), into the slots from `first` on."""
        last = first + keys.shape[1]
        self.keys[:, :, first:last] = split_heads(keys, self.num_heads)
        self.values[:, :, first:last] = split_heads(values, self.num_heads)

    def keep(self, sentences: Tensor) -> None:
        self.keys, self.values = self.keys[sentences], self.values[sentences]


class HypothesisCache:
    """Self-attention of a layer that works once a hypothesis."""

    def __init__(self, ancestors: Ancestors, num_sentences: int, num_heads: int, max_length: int, width: int) -> None:
        self._ancestors = ancestors
        num_slots = (max_length + 1) * ancestors.beam_size
        self._slots = _Slots(num_sentences, num_heads, num_slots, width // num_heads)

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Store this step's keys and values, then attend to each hypothesis's history; all are (B, K, D)."""
        ancestors, slots = self._ancestors, self._slots
        slots.write(ancestors.step * ancestors.beam_size, keys, values)
        context = F.scaled_dot_product_attention(
            split_heads(queries, slots.num_heads),
            slots.keys[:, :, : ancestors.num_slots],
            slots.values[:, :, : ancestors.num_slots],
            ancestors.mask[:, None],
        )  # (B, H, K, d)
        return join_heads(context)

    def keep(self, sentences: Tensor) -> None:
        self._slots.keep(sentences)


class Rows:
    """Which rows are evaluated: their hypotheses, and their places in a grid padded to the most a sentence has."""

    def __init__(self, hypotheses: Tensor, num_sentences: int, beam_size: int) -> None:
        self.hypotheses = hypotheses
        self.sentences = hypotheses // beam_size
        self.num_sentences = num_sentences
        counts = torch.bincount(self.sentences, minlength=num_sentences)
        self.most = int(counts.max())
        first = counts.cumsum(0) - counts
        rank = torch.arange(len(hypotheses)) - first[self.sentences]
        self._cells = self.sentences * self.most + rank

    def to_grid(self, x: Tensor) -> Tensor:
        """(R, X) -> (B, most, X), zero where a sentence has fewer rows."""
        if len(x) == self.num_sentences * self.most:
            return x.view(self.num_sentences, self.most, -1)
        grid = x.new_zeros(self.num_sentences * self.most, x.shape[1])
        return grid.index_copy_(0, self._cells, x).view(self.num_sentences, self.most, -1)

    def from_grid(self, grid: Tensor) -> Tensor:
        """(B, most, X) -> (R, X)."""
        flat = grid.flatten(0, 1)
        return flat if len(flat) == len(self.hypotheses) else flat[self._cells]


class RowCache:
    """Self-attention of a layer that works once a row."""

    def __init__(self, ancestors: Ancestors, num_sentences: int, num_heads: int, max_length: int, width: int) -> None:
        self._ancestors = ancestors
        num_slots = (max_length + 1) * ancestors.beam_size
        self._slots = _Slots(num_sentences, num_heads, num_slots, width // num_heads)
        self._rows: list[tuple[Tensor, Tensor]] = []

    def attend(self, rows: Rows, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """A row attends to its hypothesis's history and to itself; all are (R, D)."""
        self._rows.append((keys, values))
        ancestors, slots = self._ancestors, self._slots
        if ancestors.step == 0:
            return values
        used = slice(ancestors.beam_size, ancestors.num_slots)  # nothing is filed in the first step's slots
        split_queries = split_heads(rows.to_grid(queries), slots.num_heads)  # (B, H, r, d)
        energies = split_queries @ slots.keys[:, :, used].transpose(-1, -2)  # (B, H, r, n)
        mask = rows.to_grid(ancestors.mask.flatten(0, 1)[rows.hypotheses, used])  # (B, r, n)
        own = (queries * keys).view(len(queries), slots.num_heads, -1).sum(-1)  # (R, H)
        scale = split_queries.shape[-1] ** -0.5
        own_energies = rows.to_grid(own).transpose(1, 2)[..., None]  # (B, H, r, 1)
        energies = torch.cat([energies * scale + mask[:, None], own_energies * scale], dim=-1)
        weights = torch.softmax(energies, dim=-1)
        context = join_heads(weights[..., :-1] @ slots.values[:, :, used])  # (B, r, D)
        own_weights = rows.from_grid(weights[..., -1].transpose(1, 2))  # (R, H)
        own_context = (values.view(len(values), slots.num_heads, -1) * own_weights[..., None]).flatten(1)
        return rows.from_grid(context) + own_context

    def commit(self, rows: Tensor) -> None:
        """File the keys and values of rows[b, k] under hypothesis k of the next step; call before reordering."""
        keys, values = (torch.cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*self._rows, strict=True))
        self._slots.write(self._ancestors.num_slots, keys[rows], values[rows])
        self._rows.clear()

    def keep(self, sentences: Tensor) -> None:
        self._slots.keep(sentences)
