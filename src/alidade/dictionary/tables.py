"""What constraint states allow, as rows of tables: the bridge from `State` to the search's tensors.

A view is written once and looked up for whole beams by its number.

Dimensions: S source positions.


The constraint states of a whole beam, B sentences × K hypotheses, as tables that a search can look up.

Only sentences with matches take part: their hypotheses are numbered 0 .. n-1 (*slots*), whatever their place in the
grid. A state has a number, and what it allows stands in rows of tables (`ViewTable`) that are shared by all states
with the same rules. Most words leave a hypothesis's state as it is: they are told from the others for the whole beam at
once, and only the others are looked at one by one.

Dimensions: B sentences, K beam, S source positions, m sentences with matches, n = m K their hypotheses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from alidade.dictionary.rules import FREE, INITIAL, Constraints, Rule, State, Use, WordBorders
from alidade.text.vocabulary import EOS, PAD

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


BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Begun = Mapping[tuple[int, int], tuple[int, ...]]
"""Which matches the (hypothesis, position) pairs of a step were told to begin."""


@dataclass(frozen=True, slots=True)
class ConstrainedSentence:
    """A sentence with matches, and its measures."""

    constraints: Constraints
    end_position: int
    """J+1, the position of `</s>`."""
    max_length: int
    """Steps that its translation may take, `</s>` among them."""
    num_given: int = 0
    """The first words of its translation that are given: they are watched, not restricted."""


class StateGrid:
    """The states of a beam, step after step."""

    def __init__(
        self,
        sentences: Sequence[ConstrainedSentence | None],
        beam_size: int,
        borders: WordBorders,
        vocabulary_size: int,
    ) -> None:
        """sentences: those of the batch, None for those without matches."""
        self.sentences = list(sentences)
        self.beam_size = beam_size
        self.num_positions = max([sentence.end_position + 1 for sentence in sentences if sentence], default=0)
        self.step = 0
        self.rules: list[Rule] = [FREE]
        """By number; 0 is the rule that allows everything."""
        self._number_of_rule: dict[Rule, int] = {FREE: 0}
        self._table = ViewTable(self.num_positions)
        self._known_views: list[dict[tuple[object, ...], int]] = [{} for _ in sentences]
        self._states: list[State] = []
        """By number."""
        self._view_of_state: list[int] = []
        self._is_glueing = _among(borders.glueing, vocabulary_size)
        starts = {word for sentence in sentences if sentence for word in sentence.constraints.first_words}
        self._starts_form = _among(starts, vocabulary_size)
        self._lay_out_sentences()
        first = [[self._add_state(number, INITIAL)] * beam_size for number in self._rows]
        self._cells: IntArray = np.array(first, dtype=np.int64).reshape(-1, beam_size)
        """(m, K) numbers of states."""
        self._cell_views: IntArray = np.array(self._view_of_state, dtype=np.int64)[self._cells]
        """(m, K) the numbers of their views."""
        self._lay_out_views()

    def _lay_out_sentences(self) -> None:
        self.owners = [(number, sentence) for number, sentence in enumerate(self.sentences) if sentence is not None]
        """(m,) the sentences with matches and their places in the batch."""
        self._rows: IntArray = np.array([number for number, _ in self.owners], dtype=np.int64)
        self._limits = np.array([sentence.max_length for _, sentence in self.owners]).repeat(self.beam_size)
        self._num_given = np.array([sentence.num_given for _, sentence in self.owners]).repeat(self.beam_size)

    def _lay_out_views(self) -> None:
        self._views: IntArray = self._cell_views.ravel()
        self.rule_table: IntArray = self._table.rules[self._views]
        """(n, S) the number of the rule at each position."""

    def __len__(self) -> int:
        """n"""
        return self._cells.size

    def unused_table(self) -> BoolArray:
        """(n, S) whether a position points into an unused match."""
        return self._table.unused[self._views]

    def used_table(self) -> BoolArray:
        """(n, S) whether a position points into a used match."""
        return self._table.used[self._views]

    def form_table(self) -> tuple[BoolArray, BoolArray]:
        """(n,) whether a form is under way that may not end yet, and (n, S) where it goes on."""
        return self._table.has_form[self._views], self._table.form[self._views]

    def may_end(self) -> BoolArray:
        """(n,)"""
        return self._table.may_end[self._views]

    def must_hurry(self) -> BoolArray:
        """(n,) whether all that is left of the length limit is needed for the matches."""
        needed = self._table.num_needed[self._views]
        return (needed > 0) & (self.step + needed + 1 >= self._limits)

    def is_given(self) -> BoolArray:
        """(n,) whether the next word is given."""
        return self.step < self._num_given

    def state(self, slot: int) -> State:
        """The state of a hypothesis."""
        return self._states[self._cells.flat[slot]]

    def rule_to_begin_any(self, slot: int) -> int:
        """The number of the rule that one of the unused matches must begin."""
        _, sentence = self.owners[slot // self.beam_size]
        state = self.state(slot)
        return self._number(sentence.constraints.rule_to_begin(state, sentence.constraints.unused(state)))

    def advance(self, parents: IntArray, positions: IntArray, words: IntArray, begun: Begun) -> None:
        """The next beam, (B, K) each: a hypothesis extends its parent in the same sentence by a word."""
        if len(self):
            parents, positions, words = parents[self._rows], positions[self._rows], words[self._rows]
            self._cells = np.take_along_axis(self._cells, parents, axis=1)
            self._cell_views = np.take_along_axis(self._cell_views, parents, axis=1)
            has_begun = np.zeros((len(self.sentences), self.beam_size), dtype=np.bool_)
            has_begun.flat[[hypothesis for hypothesis, _ in begun]] = True
            is_still = self._are_left_alone(self._cell_views, words)
            is_still &= ~np.take_along_axis(has_begun[self._rows], parents, axis=1)
            if not is_still.all():
                self._advance_some(~is_still, parents, positions, words, begun)
            self._lay_out_views()
        self.step += 1

    def _advance_some(
        self, is_moving: BoolArray, parents: IntArray, positions: IntArray, words: IntArray, begun: Begun
    ) -> None:
        """Look one by one at the cells whose states words may change; all are (m, K)."""
        numbers = np.broadcast_to(self._rows[:, None], is_moving.shape)[is_moving]
        pairs = zip(
            (numbers * self.beam_size + parents[is_moving]).tolist(), positions[is_moving].tolist(), strict=True
        )
        moves = zip(numbers.tolist(), self._cells[is_moving].tolist(), words[is_moving].tolist(), pairs, strict=True)
        known: dict[tuple[int, int, int, tuple[int, ...]], int] = {}
        states = []
        for number, cell, word, pair in moves:
            move = number, cell, word, begun.get(pair, ())
            if move not in known:
                known[move] = self._next_state(*move)
            states.append(known[move])
        self._cells[is_moving] = states
        self._cell_views[is_moving] = [self._view_of_state[state] for state in states]

    def _are_left_alone(self, views: IntArray, words: IntArray) -> BoolArray:
        """(m, K) whether words cannot change states, as long as they begin no match."""
        is_plain = self._table.is_quiet[views] & ~(self._table.has_used[views] & self._starts_form[words])
        is_plain &= self._is_glueing[words] == self._table.is_glued[views]
        is_dead: BoolArray = words == PAD
        left_alone: BoolArray = is_plain | is_dead
        return left_alone

    def uses_at_end(self, hypothesis: int, position: int, word: int, begun: Begun) -> tuple[Use, ...]:
        """The used matches of a hypothesis that ends now with this word, `</s>` or another at the length limit."""
        number, beam = divmod(hypothesis, self.beam_size)
        sentence = self.sentences[number]
        if sentence is None:
            return ()
        cell = int(self._cells[np.searchsorted(self._rows, number), beam])
        if word == EOS:
            return sentence.constraints.completed(self._states[cell], self.step).uses
        last = self._next_state(number, cell, word, begun.get((hypothesis, position), ()))
        return sentence.constraints.completed(self._states[last], self.step + 1).uses

    def keep(self, sentences: list[int]) -> None:
        """Go on with these sentences of the batch only."""
        kept = set(sentences)
        is_kept = [number in kept for number in self._rows.tolist()]
        self._cells, self._cell_views = self._cells[is_kept], self._cell_views[is_kept]
        self.sentences = [self.sentences[number] for number in sentences]
        self._known_views = [self._known_views[number] for number in sentences]
        self._lay_out_sentences()
        self._lay_out_views()

    def _next_state(self, number: int, cell: int, word: int, begun: tuple[int, ...]) -> int:
        """The number of the state that a word leads to."""
        state = self._constraints(number).advance(self._states[cell], word, place=self.step, begun=begun)
        return cell if state is self._states[cell] else self._add_state(number, state)

    def _add_state(self, number: int, state: State) -> int:
        known, key = self._known_views[number], state.rule_key
        if key not in known:
            known[key] = self._table.add(self._make_view(self._constraints(number), state))
        self._states.append(state)
        self._view_of_state.append(known[key])
        return len(self._states) - 1

    def _make_view(self, constraints: Constraints, state: State) -> View:
        elsewhere = constraints.rule(state, None)
        form = None
        if state.under_way is not None and not elsewhere.is_free:
            form = constraints.matches[state.under_way].positions
        return View(
            elsewhere=self._number(elsewhere),
            rules=[
                (match.positions, self._number(constraints.rule(state, match.positions.start)))
                for match in constraints.matches
                if match.forms
            ],
            unused=[constraints.matches[match].positions for match in constraints.unused(state)],
            used=[constraints.matches[use.match].positions for use in state.uses],
            form=form,
            may_end=constraints.may_end(state),
            num_needed=constraints.pieces_needed(state),
            is_quiet=state.under_way is None and not state.has_just_used and not state.echo,
            is_glued=state.is_glued,
        )

    def _number(self, rule: Rule) -> int:
        if rule is FREE:
            return 0
        number = self._number_of_rule.setdefault(rule, len(self.rules))
        if number == len(self.rules):
            self.rules.append(rule)
        return number

    def _constraints(self, number: int) -> Constraints:
        sentence = self.sentences[number]
        assert sentence is not None
        return sentence.constraints


def _among(words: Iterable[int], vocabulary_size: int) -> BoolArray:
    """For each word whether it is one of these."""
    is_among = np.zeros(vocabulary_size, dtype=np.bool_)
    is_among[list(words)] = True
    return is_among
