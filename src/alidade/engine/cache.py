"""What a decoder remembers of a beam, without copying it at every step.

A sentence's hypotheses share one row of slots: in each step they fill the next slots, in their order at that step.
Which slots belong to a hypothesis's own history is a mask, `Ancestors`; when the beam changes, only the mask is
reordered, and keys and values stay where they are. Hypotheses that live have most of their history in common, so
most slots are soon no living hypothesis's: now and then those are dropped.

A slot is filled after its step: within the step a query has its own key and value at hand (`transformer.py`). So all
that a graph reads are buffers that stay in their place, with room to spare that the mask hides.

Dimensions: B sentences, K beam, H heads, d width of a head, n slots, those to spare among them.
"""

from __future__ import annotations

import numpy as np

from alidade.engine.graph import Floats
from alidade.search.hypotheses import pick
from alidade.search.roles import Ints

MASKED = -60.0
"""Added to attention energies at places that are not to be seen. Not less: the exponential of less is a number so small
that processors are slow with it, where this one is as good as zero."""
FIRST_ROOM = 16
"""Slots to begin with; there is half as much room again when they are used up. What is to spare costs time: attention
goes through it."""
DROP_EVERY = 6
MANY_HYPOTHESES = 10
"""Steps between two looks for slots to drop; with so many hypotheses every other step is looked at."""
DROP_SHARE = 0.25
"""Slots are dropped if at least this share can be."""


class Ancestors:
    """Which slots hold the history of each hypothesis: a mask, and the room behind it."""

    def __init__(self, num_sentences: int) -> None:
        self.step = 0
        self.num_used = 0
        """Slots that are filled."""
        self.mask: Floats = np.full((num_sentences, 1, FIRST_ROOM), MASKED, dtype=np.float32)
        """(B, K, n), added to attention energies: 0 at a hypothesis's own history, `MASKED` elsewhere."""

    @property
    def room(self) -> int:
        return int(self.mask.shape[2])

    def reorder(self, parents: Ints) -> Ints | None:
        """Hypothesis k of the next step extends parents[b, k]: what that step has added to its history is in the next
        K slots, one for each k.

        Returns the slots to keep, (B, n'), if it is time to drop those that no hypothesis needs any more.
        """
        beam_size = parents.shape[1]
        first = self.num_used
        self.num_used += beam_size
        self.step += 1
        if self.num_used > self.room:
            self._grow()
        self.mask = pick(self.mask, parents)
        own = np.arange(beam_size)
        self.mask[:, own, first + own] = 0.0
        return self._drop() if self.step % _steps_between(beam_size) == 0 else None

    def _grow(self) -> None:
        grown = np.full((*self.mask.shape[:2], self.num_used + self.room // 2), MASKED, dtype=np.float32)
        grown[:, :, : self.room] = self.mask
        self.mask = grown

    def _drop(self) -> Ints | None:
        is_needed = (self.mask[:, :, : self.num_used] == 0).any(axis=1)  # (B, n)
        num_needed = int(is_needed.sum(axis=1).max())
        if num_needed > (1 - DROP_SHARE) * self.num_used:
            return None
        slots = np.argsort(~is_needed, axis=1, kind="stable")[:, :num_needed]
        beam_size = self.mask.shape[1]
        room = num_needed + _steps_between(beam_size) * beam_size
        mask = np.full((len(slots), beam_size, room), MASKED, dtype=np.float32)
        mask[:, :, :num_needed] = np.take_along_axis(self.mask, slots[:, None], axis=2)
        self.mask, self.num_used = mask, num_needed
        return slots

    def keep(self, sentences: Ints) -> None:
        self.mask = self.mask[sentences]


def _steps_between(beam_size: int) -> int:
    return 2 if beam_size >= MANY_HYPOTHESES else DROP_EVERY


class Cache:
    """Keys and values of some layers of a decoder for B sentences."""

    def __init__(self, layers: range, num_sentences: int, num_heads: int, head_width: int) -> None:
        self._layers = layers
        self._move(np.zeros((len(layers), 2, num_sentences, num_heads, FIRST_ROOM, head_width), dtype=np.float32))

    def _move(self, slots: Floats) -> None:
        """slots: (L, 2, B, H, n, d), L layers."""
        self._slots = slots
        self.of_layer = {
            number: {f"keys_{number}": keys, f"values_{number}": values}
            for number, (keys, values) in zip(self._layers, slots, strict=True)
        }
        """What each layer's graph reads: keys and values, (B, H, n, d)."""

    def write(self, first: int, inputs: Floats, room: int) -> None:
        """inputs: (B, K, L * 3 * D), of each layer queries, keys and values side by side; the latter two go into the
        slots from `first` on. room: for so many slots."""
        beam_size = inputs.shape[1]
        if first + beam_size > self._slots.shape[4]:
            self._grow(first, max(room, first + beam_size))
        num_layers, _, num_sentences, num_heads, _, head_width = self._slots.shape
        parts = inputs.reshape(num_sentences, beam_size, num_layers, 3, num_heads, head_width)[:, :, :, 1:]
        self._slots[:, :, :, :, first : first + beam_size] = parts.transpose(2, 3, 0, 4, 1, 5)

    def keep_slots(self, slots: Ints, room: int) -> None:
        """slots: (B, n'), the ones that are still needed; room: for how many slots."""
        roomy = self._new_slots(room)
        num_kept = slots.shape[1]
        for sentence, kept in enumerate(slots):
            roomy[:, :, sentence, :, :num_kept] = self._slots[:, :, sentence].take(kept, axis=3)
        self._move(roomy)

    def _grow(self, num_used: int, room: int) -> None:
        roomy = self._new_slots(room)
        roomy[:, :, :, :, :num_used] = self._slots[:, :, :, :, :num_used]
        self._move(roomy)

    def _new_slots(self, room: int) -> Floats:
        """Zero, since what the mask hides must still be a number."""
        return np.zeros((*self._slots.shape[:4], room, self._slots.shape[5]), dtype=np.float32)

    def keep(self, sentences: Ints) -> None:
        self._move(np.ascontiguousarray(self._slots[:, :, sentences]))


class Grid:
    """Rows of a ragged batch in a grid of B sentences by the most rows that one of them has."""

    cells: Ints
    """(R,) where each row stands in the grid."""
    rows: Ints
    """(B, width) the row in each place; row 0 where there is none."""

    def __init__(self, sentences: Ints, num_sentences: int) -> None:
        """sentences: (R,) of each row, ascending."""
        numbers = np.arange(len(sentences))
        if num_sentences == 1:
            self.width, self.cells, self.rows = len(sentences), numbers, numbers[None]
            return
        counts = np.bincount(sentences, minlength=num_sentences)
        self.width = int(counts.max())
        first = np.cumsum(counts) - counts
        self.cells = numbers - first[sentences] + sentences * self.width
        self.rows = np.zeros((num_sentences, self.width), dtype=np.int64)
        self.rows.ravel()[self.cells] = numbers
