"""Rows of unequal length in one flat array: how a corpus holds its sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of unequal length in one flat array, which may be a memory-mapped file."""

    values: Integers
    starts: Integers
    """Where each row starts in `values`, and at the end where the last one ends."""

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """From rows in memory."""
        arrays = [np.asarray(row, dtype=np.int64) for row in rows]
        starts = np.cumsum([0, *map(len, arrays)])
        return cls(np.concatenate(arrays) if arrays else np.zeros(0, np.int64), starts)

    @property
    def lengths(self) -> Integers:
        """The length of every row."""
        return np.diff(self.starts)

    def padded(self, rows: Integers) -> tuple[NDArray[np.int64], Integers]:
        """Some rows as a matrix, zeros after the end of each, and their lengths."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        columns = np.arange(lengths.max(initial=0))
        is_real = columns < lengths[:, None]
        matrix = np.zeros(is_real.shape, dtype=np.int64)
        matrix[is_real] = self.values[(self.starts[rows, None] + columns)[is_real]]
        return matrix, lengths
