"""What a decoder remembers of a beam, without copying it at every step.

A sentence's hypotheses share one row of slots: in each step they fill the next slots, in their order at that step.
Which slots belong to a hypothesis's own history is a mask, `Ancestors`; when the beam changes, only the mask is
reordered, and keys and values stay where they are. Hypotheses that live have most of their history in common, so
most slots are soon no living hypothesis's: now and then those are dropped (`_Slots.keep_slots`).

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

from alidade.models.layers import join_heads, multiply_heads, split_heads

FIRST_SLOTS = 64
"""Room for so many slots is made at first; it doubles when it is used up."""
DROP_EVERY = 6
"""Steps between two looks for slots to drop; a look and a drop cost about as much as a step's attention."""
DROP_SHARE = 0.25
"""Slots are dropped if at least this share can be."""
MANY_SENTENCES = 9
"""For so many sentences batched products of queries and keys are quicker than torch's fused attention."""


class Ancestors:
    """Which slots hold the history of each hypothesis."""

    def __init__(self, num_sentences: int, beam_size: int) -> None:
        """beam_size: the hypotheses of a sentence in the first step; `reorder` may change their number."""
        self.step = 0
        self._num_first = beam_size
        self._own = _own_slots(beam_size)
        self._set_mask(self._own.repeat(num_sentences, 1, 1))

    def _set_mask(self, mask: Tensor) -> None:
        self.mask = mask
        """(B, K, n), added to attention energies: 0 at a hypothesis's own history, -inf elsewhere."""
        self.mask_of_heads = mask[:, None]
        """(B, 1, K, n)"""

    @property
    def beam_size(self) -> int:
        return self.mask.shape[1]

    @property
    def num_slots(self) -> int:
        """Slots in use, this step's among them."""
        return self.mask.shape[2]

    @property
    def first_slot(self) -> int:
        """Where this step's slots begin."""
        return self.num_slots - self.beam_size

    @property
    def num_first(self) -> int:
        """The slots of the first step; they stay the first ones."""
        return self._num_first

    def reorder(self, parents: Tensor) -> Tensor | None:
        """The next step's hypothesis k extends hypothesis parents[b, k].

        Returns the slots to keep, (B, n'), if it is time to drop those that no hypothesis needs any more.
        """
        history = self.mask.gather(1, parents[:, :, None].expand(-1, -1, self.num_slots))
        self.step += 1
        slots = self._needed_slots(history) if self.step % DROP_EVERY == 0 else None
        if slots is not None:
            history = history.gather(2, slots[:, None].expand(-1, history.shape[1], -1))
        if len(self._own) != history.shape[1]:
            self._own = _own_slots(history.shape[1])
        self._set_mask(torch.cat([history, self._own.expand(len(history), -1, -1)], dim=2))
        return slots

    def _needed_slots(self, history: Tensor) -> Tensor | None:
        is_needed = (history == 0).any(dim=1)  # (B, n)
        is_needed[:, : self._num_first] = True
        num_needed = int(is_needed.sum(dim=1).max())
        if num_needed > (1 - DROP_SHARE) * history.shape[2]:
            return None
        return is_needed.sort(dim=1, descending=True, stable=True).indices[:, :num_needed]

    def keep(self, sentences: Tensor) -> None:
        self._set_mask(self.mask[sentences])


def _own_slots(beam_size: int) -> Tensor:
    """(K, K): in its step, each hypothesis has a slot of its own."""
    return torch.full((beam_size, beam_size), -math.inf).fill_diagonal_(0.0)


class _Slots:
    """Keys and values of B sentences, (2, B, H, slots, d), with room to grow."""

    def __init__(self, num_sentences: int, num_heads: int, num_slots: int, head_width: int) -> None:
        self._keys_values = torch.empty(2, num_sentences, num_heads, num_slots, head_width)

    def write(self, first: int, keys_values: Tensor) -> None:
        """keys_values: (2, B, H, K, d), into the slots from `first` on."""
        num_written = keys_values.shape[3]
        if first + num_written > self._keys_values.shape[3]:
            self._grow(first, 2 * (first + num_written))
        self._keys_values.narrow(3, first, num_written).copy_(keys_values)

    def _grow(self, num_used: int, num_slots: int) -> None:
        used = self._keys_values[:, :, :, :num_used]
        self._keys_values = used.new_empty(*used.shape[:3], num_slots, used.shape[4])
        self._keys_values[:, :, :, :num_used] = used

    def read(self, first: int, last: int) -> tuple[Tensor, Tensor]:
        """Keys and values of the slots from `first` to before `last`, (B, H, n, d) each."""
        keys, values = self._keys_values.narrow(3, first, last - first).unbind()
        return keys, values

    def keep_slots(self, slots: Tensor) -> None:
        """slots: (B, n'), the ones that are still needed."""
        _, num_sentences, num_heads, room, _ = self._keys_values.shape
        first = torch.arange(0, 2 * num_sentences * num_heads * room, room).view(2, num_sentences, num_heads, 1)
        cells = (first + slots[:, None]).view(-1)
        kept = self._keys_values.flatten(0, 3).index_select(0, cells)
        self._keys_values[:, :, :, : slots.shape[1]] = kept.view(2, num_sentences, num_heads, slots.shape[1], -1)

    def keep(self, sentences: Tensor) -> None:
        self._keys_values = self._keys_values.index_select(1, sentences)


def _by_heads(x: Tensor, num_parts: int, num_heads: int) -> Tensor:
    """Keys and values, say, side by side, (B, K, parts * D) -> (parts, B, H, K, d), a view."""
    return x.view(*x.shape[:2], num_parts, num_heads, -1).permute(2, 0, 3, 1, 4)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Attention of few queries: (B, H, K, d), twice (B, H, n, d), (B, 1, K, n) -> (B, H, K, d)."""
    if len(queries) < MANY_SENTENCES:
        return F.scaled_dot_product_attention(queries, keys, values, mask)
    energies = multiply_heads(queries, keys.transpose(2, 3))
    attention = torch.softmax(torch.add(mask, energies, alpha=queries.shape[-1] ** -0.5), dim=-1)
    return multiply_heads(attention, values)


class HypothesisCache:
    """Self-attention of a layer that works once a hypothesis."""

    def __init__(self, ancestors: Ancestors, num_sentences: int, num_heads: int, num_slots: int, width: int) -> None:
        """num_slots: room to begin with."""
        self._ancestors = ancestors
        self._num_heads = num_heads
        self._slots = _Slots(num_sentences, num_heads, num_slots, width // num_heads)

    def attend(self, inputs: Tensor) -> Tensor:
        """Store this step's keys and values, then attend to each hypothesis's history.

        inputs: queries, keys and values side by side, (B, K, 3 * D). Returns (B, K, D).
        """
        ancestors = self._ancestors
        by_heads = _by_heads(inputs, 3, self._num_heads)
        self._slots.write(ancestors.first_slot, by_heads.narrow(0, 1, 2))
        keys, values = self._slots.read(0, ancestors.num_slots)
        return join_heads(_attend(by_heads[0], keys, values, ancestors.mask_of_heads))

    def keep_slots(self, slots: Tensor) -> None:
        self._slots.keep_slots(slots)

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

    def __init__(self, ancestors: Ancestors, num_sentences: int, num_heads: int, num_slots: int, width: int) -> None:
        """num_slots: room to begin with."""
        self._ancestors = ancestors
        self._num_heads = num_heads
        self._slots = _Slots(num_sentences, num_heads, num_slots, width // num_heads)
        self._keys_values: list[Tensor] = []

    def attend(self, rows: Rows, inputs: Tensor) -> Tensor:
        """A row attends to its hypothesis's history and to itself.

        inputs: queries, keys and values side by side, (R, 3 * D). Returns (R, D).
        """
        width = inputs.shape[1] // 3
        queries, keys_values = inputs.split_with_sizes([width, 2 * width], dim=1)
        keys, values = keys_values.chunk(2, dim=1)
        self._keys_values.append(keys_values)
        ancestors = self._ancestors
        if ancestors.step == 0:
            return values
        used = (ancestors.num_first, ancestors.num_slots)  # nothing is filed in the first step's slots
        past_keys, past_values = self._slots.read(*used)  # (B, H, n, d)
        split_queries = split_heads(rows.to_grid(queries), self._num_heads)  # (B, H, r, d)
        energies = split_queries @ past_keys.transpose(-1, -2)  # (B, H, r, n)
        mask = rows.to_grid(ancestors.mask.flatten(0, 1)[rows.hypotheses, slice(*used)])  # (B, r, n)
        own = (queries * keys).view(len(queries), self._num_heads, -1).sum(-1)  # (R, H)
        scale = split_queries.shape[-1] ** -0.5
        own_energies = rows.to_grid(own).transpose(1, 2)[..., None]  # (B, H, r, 1)
        energies = torch.cat([energies * scale + mask[:, None], own_energies * scale], dim=-1)
        weights = torch.softmax(energies, dim=-1)
        context = join_heads(weights[..., :-1] @ past_values)  # (B, r, D)
        own_weights = rows.from_grid(weights[..., -1].transpose(1, 2))  # (R, H)
        own_context = (values.view(len(values), self._num_heads, -1) * own_weights[..., None]).flatten(1)
        return rows.from_grid(context) + own_context

    def commit(self, rows: Tensor) -> None:
        """File the keys and values of rows[b, k] under hypothesis k of the next step; call after reordering."""
        of_rows = torch.cat(self._keys_values) if len(self._keys_values) > 1 else self._keys_values[0]
        self._slots.write(self._ancestors.first_slot, _by_heads(of_rows[rows], 2, self._num_heads))
        self._keys_values.clear()

    def keep_slots(self, slots: Tensor) -> None:
        self._slots.keep_slots(slots)

    def keep(self, sentences: Tensor) -> None:
        self._slots.keep(sentences)
