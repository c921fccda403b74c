"""The constraint states of a whole beam, B sentences × K hypotheses, as tables that a search can look up.

Only sentences with matches take part: their hypotheses are numbered 0 .. n-1 (*slots*), whatever their place in the
grid. A state is turned into rows of tables once (`View`) and shared by all hypotheses that follow the same rules;
most words leave a hypothesis's state as it is.

Dimensions: K beam, S source positions, n hypotheses of sentences with matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from alidade.dictionary.constraints import FREE, INITIAL, Constraints, Rule, State, Use
from alidade.text.vocabulary import EOS, PAD

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
Grid = Sequence[Sequence[int]]
"""(B, K)"""
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


@dataclass(frozen=True, slots=True)
class View:
    """The rules of a state as rows of tables."""

    rules: IntArray
    """(S,) the number of the rule at each position."""
    unused: BoolArray
    """(S,) whether a position points into an unused match."""
    used: BoolArray
    """(S,) whether a position points into a used match."""
    form: BoolArray | None
    """(S,) where the form that is under way goes on, if one is and may not end yet."""
    may_end: bool
    num_needed: int
    """Pieces that the matches may still need."""


class StateGrid:
    """The states of a beam, step after step."""

    def __init__(self, sentences: Sequence[ConstrainedSentence | None], beam_size: int) -> None:
        """sentences: those of the batch, None for those without matches."""
        self.sentences = list(sentences)
        self.beam_size = beam_size
        self.num_positions = max([sentence.end_position + 1 for sentence in sentences if sentence], default=0)
        self.step = 0
        self.rules: list[Rule] = [FREE]
        """By number; 0 is the rule that allows everything."""
        self._number_of_rule: dict[Rule, int] = {FREE: 0}
        self._known_views: list[dict[tuple[object, ...], View]] = [{} for _ in sentences]
        self._cells = [
            [(INITIAL, self._view(number, INITIAL))] * beam_size if sentence else []
            for number, sentence in enumerate(sentences)
        ]
        self._lay_out()

    def _lay_out(self) -> None:
        self.states = [state for cells in self._cells for state, _ in cells]
        """(n,)"""
        self.views = [view for cells in self._cells for _, view in cells]
        """(n,)"""
        if self.views:
            self.rule_table: IntArray = np.stack([view.rules for view in self.views])
            """(n, S)"""

    @property
    def owners(self) -> list[tuple[int, ConstrainedSentence]]:
        """(n / K,) the sentences with matches and their places in the batch."""
        return [(number, sentence) for number, sentence in enumerate(self.sentences) if sentence is not None]

    def unused_table(self) -> BoolArray:
        """(n, S)"""
        return np.stack([view.unused for view in self.views])

    def used_table(self) -> BoolArray:
        """(n, S)"""
        return np.stack([view.used for view in self.views])

    def must_hurry(self) -> BoolArray:
        """(n,) whether all that is left of the length limit is needed for the matches."""
        limits = np.array([sentence.max_length for _, sentence in self.owners]).repeat(self.beam_size)
        needed = np.array([view.num_needed for view in self.views])
        return (needed > 0) & (self.step + needed + 1 >= limits)

    def is_given(self) -> BoolArray:
        """(n,) whether the next word is given."""
        return np.array([self.step < sentence.num_given for _, sentence in self.owners]).repeat(self.beam_size)

    def rule_to_begin_any(self, slot: int) -> int:
        """The number of the rule that one of the unused matches must begin."""
        _, sentence = self.owners[slot // self.beam_size]
        state = self.states[slot]
        return self._number(sentence.constraints.rule_to_begin(state, sentence.constraints.unused(state)))

    def advance(
        self, parents: list[list[int]], positions: list[list[int]], words: list[list[int]], begun: Begun
    ) -> None:
        """The next beam, lists of (B, K): a hypothesis extends its parent in the same sentence by a word."""
        if self.views:
            for number, _ in self.owners:
                steps = zip(parents[number], positions[number], words[number], strict=True)
                self._cells[number] = [self._next_cell(number, *step, begun) for step in steps]
            self._lay_out()
        self.step += 1

    def uses_at_end(self, hypothesis: int, position: int, word: int, begun: Begun) -> tuple[Use, ...]:
        """The used matches of a hypothesis that ends now with this word, `</s>` or another at the length limit."""
        number, beam = divmod(hypothesis, self.beam_size)
        sentence = self.sentences[number]
        if sentence is None:
            return ()
        state, _ = self._cells[number][beam]
        if word == EOS:
            return sentence.constraints.completed(state, self.step).uses
        state, _ = self._next_cell(number, beam, position, word, begun)
        return sentence.constraints.completed(state, self.step + 1).uses

    def keep(self, sentences: list[int]) -> None:
        """Go on with these sentences of the batch only."""
        self.sentences = [self.sentences[number] for number in sentences]
        self._known_views = [self._known_views[number] for number in sentences]
        self._cells = [self._cells[number] for number in sentences]
        self._lay_out()

    def _next_cell(self, number: int, parent: int, position: int, word: int, begun: Begun) -> tuple[State, View]:
        cell = self._cells[number][parent]
        if word == PAD:  # a dead hypothesis
            return cell
        matches = begun.get((number * self.beam_size + parent, position), ())
        state = self._constraints(number).advance(cell[0], word, place=self.step, begun=matches)
        return cell if state is cell[0] else (state, self._view(number, state))

    def _view(self, number: int, state: State) -> View:
        known, key = self._known_views[number], state.rule_key
        if key not in known:
            known[key] = self._make_view(self._constraints(number), state)
        return known[key]

    def _make_view(self, constraints: Constraints, state: State) -> View:
        elsewhere = constraints.rule(state, None)
        rules = np.full(self.num_positions, self._number(elsewhere))
        unused, used = np.zeros((2, self.num_positions), dtype=np.bool_)
        for number, match in enumerate(constraints.matches):
            if match.forms:
                own = slice(match.positions.start, match.positions.stop)
                rules[own] = self._number(constraints.rule(state, match.positions.start))
                used[own] = state.has_used(number)
                unused[own] = not used[match.positions.start] and number != state.under_way
        form = None
        if state.under_way is not None and not elsewhere.is_free:
            positions = constraints.matches[state.under_way].positions
            form = np.zeros(self.num_positions, dtype=np.bool_)
            form[positions.start : positions.stop] = True
        return View(
            rules, unused, used, form, may_end=constraints.may_end(state), num_needed=constraints.pieces_needed(state)
        )

    def _number(self, rule: Rule) -> int:
        number = self._number_of_rule.setdefault(rule, len(self.rules))
        if number == len(self.rules):
            self.rules.append(rule)
        return number

    def _constraints(self, number: int) -> Constraints:
        sentence = self.sentences[number]
        assert sentence is not None
        return sentence.constraints
