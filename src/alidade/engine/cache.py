"""What a decoder remembers of a beam, without copying it at every step.

A sentence's hypotheses share one row of slots: in each step they fill K of them, in their order at that step. Which
slots belong to a hypothesis's own history is a mask, `Ancestors`; when the beam changes, only the mask is reordered,
and keys and values stay where they are. Hypotheses that live have most of their history in common, so most slots are
soon no living hypothesis's: those are filled anew. Only if all are needed is there more room.

A slot is filled after its step: within the step a query has its own key and value at hand (`transformer.py`). So all
that a graph reads are buffers that stay in their place, with room to spare that the mask hides.

Dimensions: B sentences, K beam, H heads, d width of a head, n slots, those to spare among them.
"""

from __future__ import annotations

import math

import numpy as np

from alidade.engine.graph import Array, Floats
from alidade.search.hypotheses import pick
from alidade.search.roles import Ints

MASKED = -60.0
"""Added to attention energies at places that are not to be seen. Not less: the exponential of less is a number so small
that processors are slow with it, where this one is as good as zero."""
ROOM = 16
"""There is room for a multiple of so many slots. What is to spare costs time, since attention goes through it; so does
moving to a larger room, since everything is copied."""
LARGEST_LEFT = 1 << 23
"""Numbers, 32 MB, in a memory that is left to the next batch; what a larger one took goes back to the system."""
FULL_SHARE = 0.75
"""Of a grid that has a line for each sentence, whether it has rows or not."""
LINE_WIDTHS = 8, 12, 16, 24, 32
LINE_COST = 8
"""How wide lines may be if there are several for a sentence, and how many rows a line costs by itself."""


class Ancestors:
    """Which slots hold the history of each hypothesis: a mask."""

    def __init__(self, num_sentences: int) -> None:
        self.step = 0
        self.mask: Floats = np.full((num_sentences, 1, ROOM), MASKED, dtype=np.float32)
        """(B, K, n), added to attention energies: 0 at a hypothesis's own history, `MASKED` elsewhere."""

    def reorder(self, parents: Ints) -> Ints:
        """Hypothesis k of the next step extends parents[b, k].

        Returns where what that step has added to the history of each belongs, (B, K): slots that no hypothesis of the
        sentence needs any more.
        """
        self.step += 1
        self.mask = pick(self.mask, parents)
        num_sentences, beam_size, _ = self.mask.shape
        while (slots := self._free_slots(beam_size)) is None:
            self._grow(beam_size)
        of_hypotheses = self.mask.reshape(num_sentences * beam_size, -1)
        of_hypotheses[np.arange(len(of_hypotheses)), slots.ravel()] = 0.0
        return slots

    def _free_slots(self, count: int) -> Ints | None:
        """So many slots of each sentence that are in no hypothesis's history, or None if one has not as many."""
        in_use = self.mask.max(axis=1)  # (B, n): MASKED where a slot is free, else 0
        slots: Ints = in_use.argsort(axis=1, kind="stable")[:, :count]
        is_there = slots.shape[1] == count and pick(in_use, slots[:, -1:]).max() < 0
        return slots if is_there else None

    def _grow(self, more: int) -> None:
        """Make room for so many more slots, at the least."""
        mask = self.mask
        room = mask.shape[2] + more + -more % ROOM
        self.mask = np.full((*mask.shape[:2], room), MASKED, dtype=np.float32)
        self.mask[:, :, : mask.shape[2]] = mask

    def keep(self, sentences: Ints) -> None:
        self.mask = self.mask[sentences]


class Workspace:
    """Memory that caches leave to those after them; safe to use from several threads.

    Fresh memory comes from the system page by page, which takes longer than to fill it.
    """

    def __init__(self) -> None:
        self._left: list[Floats] = []

    def take(self, size: int) -> Floats:
        """For at least so many numbers, whatever they are at first."""
        try:
            memory = self._left.pop()
        except IndexError:
            memory = np.empty(0, dtype=np.float32)
        return memory if memory.size >= size else np.empty(2 * size, dtype=np.float32)

    def leave(self, memory: Floats) -> None:
        if memory.size <= LARGEST_LEFT:
            self._left.append(memory)


class Cache:
    """Keys and values of some layers of a decoder for B sentences."""

    def __init__(
        self, layers: range, num_sentences: int, num_heads: int, head_width: int, workspace: Workspace
    ) -> None:
        self._layers, self._workspace = layers, workspace
        self._fill_memory((len(layers), 2, num_sentences, num_heads, ROOM, head_width), num_used=0)

    def __del__(self) -> None:
        self._workspace.leave(self._memory)

    def _fill_memory(self, shape: tuple[int, ...], num_used: int) -> None:
        """Slots, zero beyond the used ones, since what the mask hides must still be a number."""
        size = math.prod(shape)
        self._memory = self._workspace.take(size)
        self._set_slots(self._memory[:size].reshape(shape))
        self._slots[:, :, :, :, num_used:] = 0.0

    def _set_slots(self, slots: Floats) -> None:
        """slots: (L, 2, B, H, n, d), L layers."""
        self._slots = slots
        self.of_layer = {
            number: {f"keys_{number}": keys, f"values_{number}": values}
            for number, (keys, values) in zip(self._layers, slots, strict=True)
        }
        """What each layer's graph reads: keys and values, (B, H, n, d)."""

    def write(self, slots: Ints, inputs: Floats, room: int) -> None:
        """inputs: (B, K, L * 3 * D), of each layer queries, keys and values side by side; the latter two go into slots,
        (B, K). room: for so many slots."""
        if room > self._slots.shape[4]:
            self._grow(room)
        num_layers, _, num_sentences, num_heads, _, head_width = self._slots.shape
        parts = inputs.reshape(*slots.shape, num_layers, 3, num_heads, head_width)[:, :, :, 1:]
        self._slots[:, :, np.arange(num_sentences)[:, None], :, slots] = parts

    def _grow(self, room: int) -> None:
        memory, slots = self._memory, self._slots
        num_slots = slots.shape[4]
        self._fill_memory((*slots.shape[:4], room, slots.shape[5]), num_slots)
        self._slots[:, :, :, :, :num_slots] = slots
        self._workspace.leave(memory)

    def keep(self, sentences: Ints) -> None:
        """Sentences that stay where they were cost nothing."""
        moved = (sentences != np.arange(len(sentences))).nonzero()[0]
        self._slots[:, :, moved] = self._slots[:, :, sentences[moved]]
        self._set_slots(self._slots[:, :, : len(sentences)])


class Grid:
    """Rows of a ragged batch in a grid of N lines, each of which has rows of one sentence.

    A line a sentence if they have about as many rows. If they have not, as in the second round of a step, a sentence
    has as many lines as it takes, or none: keys and values are copied for each, but hardly any place is empty.
    """

    sentences: Ints | None = None
    """(N,) whose rows stand in each line; None: those of the sentence with the line's number."""
    cells: Ints
    """(R,) where each row stands in the grid."""
    rows: Ints
    """(N, width) the row in each place; row 0 where there is none."""

    def __init__(self, sentences: Ints, num_sentences: int) -> None:
        """sentences: (R,) of each row, ascending."""
        numbers = np.arange(len(sentences))
        if num_sentences == 1:
            self.cells, self.rows = numbers, numbers[None]
            return
        counts = np.bincount(sentences, minlength=num_sentences)
        width, num_lines = int(counts.max()), np.ones_like(counts)
        if len(sentences) < FULL_SHARE * num_sentences * width:
            width = _best_width(counts)
            num_lines = -(-counts // width)
            self.sentences = np.repeat(np.arange(num_sentences), num_lines)
        first_row, first_line = np.cumsum(counts) - counts, np.cumsum(num_lines) - num_lines
        self.cells = numbers + (first_line * width - first_row)[sentences]
        self.rows = np.zeros((int(num_lines.sum()), width), dtype=np.int64)
        self.rows.ravel()[self.cells] = numbers

    def of_lines(self, of_sentences: Array) -> Array:
        """What each line's sentence has: (B, ...) -> (N, ...)"""
        return of_sentences if self.sentences is None else of_sentences.take(self.sentences, axis=0)


def _best_width(counts: Ints) -> int:
    """How wide lines should be; counts: (B,) rows of each sentence."""
    widest = int(counts.max())
    widths = np.array([*[width for width in LINE_WIDTHS if width < widest], widest])
    num_lines = -(-counts // widths[:, None])  # (widths, B)
    costs = num_lines.sum(axis=1) * (widths + LINE_COST)
    return int(widths[costs.argmin()])
