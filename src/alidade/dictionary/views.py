"""What constraint states allow, as rows of tables: the bridge from `State` to the search's tensors.

A view is written once and looked up for whole beams by its number.

Dimensions: S source positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_FIRST_ROOM = 64


@dataclass(frozen=True, slots=True)
class View:
    """The rules of a state."""

    elsewhere: int
    """The number of the rule at positions without a match."""
    rules: Sequence[tuple[range, int]]
    """The numbers of the rules at matches' positions."""
    unused: Sequence[range]
    """The positions of the unused matches."""
    used: Sequence[range]
    form: range | None
    """Where the form that is under way goes on, if one is and may not end yet."""
    may_end: bool
    num_needed: int
    """Pieces that the matches may still need."""
    is_quiet: bool
    """Only a word that lets a word follow differently changes the state, or one that begins a form, if that form is
    begun or has been used already."""
    is_glued: bool
    """The next word may follow without a space."""


class ViewTable:
    """Views by number; each array has a row for each view, and some to spare."""

    def __init__(self, num_positions: int) -> None:
        self._size = 0
        by_position, by_view = (_FIRST_ROOM, num_positions), _FIRST_ROOM
        self.rules = np.zeros(by_position, dtype=np.int64)
        self.unused = np.zeros(by_position, dtype=np.bool_)
        self.used = np.zeros(by_position, dtype=np.bool_)
        self.form = np.zeros(by_position, dtype=np.bool_)
        self.has_form = np.zeros(by_view, dtype=np.bool_)
        self.may_end = np.zeros(by_view, dtype=np.bool_)
        self.num_needed = np.zeros(by_view, dtype=np.int64)
        self.has_used = np.zeros(by_view, dtype=np.bool_)
        self.is_quiet = np.zeros(by_view, dtype=np.bool_)
        self.is_glued = np.zeros(by_view, dtype=np.bool_)

    def add(self, view: View) -> int:
        """Write a view down; says its number."""
        number = self._size
        if number == len(self.rules):
            self._grow()
        self.rules[number] = view.elsewhere
        for positions, rule in view.rules:
            self.rules[number, positions.start : positions.stop] = rule
        _mark(self.unused[number], view.unused)
        _mark(self.used[number], view.used)
        _mark(self.form[number], [] if view.form is None else [view.form])
        self.has_form[number] = view.form is not None
        self.may_end[number] = view.may_end
        self.num_needed[number] = view.num_needed
        self.has_used[number] = bool(view.used)
        self.is_quiet[number] = view.is_quiet
        self.is_glued[number] = view.is_glued
        self._size += 1
        return number

    def _grow(self) -> None:
        for name, array in vars(self).items():
            if isinstance(array, np.ndarray):
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))


def _mark(row: npt.NDArray[np.bool_], stretches: Sequence[range]) -> None:
    for positions in stretches:
        row[positions.start : positions.stop] = True
