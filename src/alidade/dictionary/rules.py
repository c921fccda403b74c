"""What a dictionary's matches allow a hypothesis to write next: plain data, no model, no tensors.

A hypothesis has a `State`: which matches it has used, and how much of a form it has written. `SentenceRules`,
one for a sentence, turn a state and the source position that the next word translates into a `Rule` for that
word, and a state and a word into the next state. A form, once begun, is completed; where several forms are
allowed, their pieces make a trie and the model chooses the way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from alidade.dictionary.matching import Form, Match, Pieces
from alidade.text.sentences import SENTENCE_ENDS
from alidade.text.stems import MIN_STEM, bare_word, have_common_stem
from alidade.text.subwords import SPACE, Subwords
from alidade.text.vocabulary import UNK

_SPACELESS_LANGUAGES = ("zh", "ja", "th", "lo", "km", "my")


SHORT_WORD = 3
"""Words of so many letters may be articles or prepositions, and stand for nothing alone."""
FINAL_MARKS = SENTENCE_ENDS | {"..."}
ECHO_DISTANCE = 2
"""From so many source pieces before a match no word of its form's stem is written."""


@dataclass(frozen=True)
class WordBorders:
    """Which pieces of a vocabulary go on with the word before, and which let a word follow without a space."""

    continuing: frozenset[int]
    glueing: frozenset[int]
    beginning: Mapping[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    """The pieces that begin a word, and how they are written, by the first letters of the bare word."""
    final_marks: tuple[int, ...] = ()
    """Marks that end a sentence."""

    @classmethod
    def of(cls, subwords: Subwords) -> WordBorders:
        """The borders in a language's pieces."""
        pieces = [(i, subwords.piece(i)) for i in range(len(subwords))]
        if subwords.language.split("-")[0] in _SPACELESS_LANGUAGES:
            return cls(frozenset(), frozenset(i for i, _ in pieces))
        return cls(
            continuing=frozenset([i for i, piece in pieces if _continues_word(piece)]),
            glueing=frozenset([i for i, piece in pieces if _OPENING.search(piece) and i > UNK]),
            beginning=_by_first_letters([(i, piece[1:]) for i, piece in pieces if piece.startswith(SPACE)]),
            final_marks=tuple([i for i, piece in pieces if piece.removeprefix(SPACE) in FINAL_MARKS]),
        )

    @cached_property
    def words(self) -> frozenset[int]:
        """The pieces that may be words, or begin one."""
        return frozenset([i for pieces in self.beginning.values() for i, text in pieces if text.isalpha()])

    @cached_property
    def short_words(self) -> frozenset[int]:
        """Those of them with few letters, which begin many words."""
        pieces = [one for same_letters in self.beginning.values() for one in same_letters]
        return frozenset([i for i, text in pieces if i in self.words and len(text) <= SHORT_WORD])

    @cached_property
    def small_letters(self) -> npt.NDArray[np.int64]:
        """The pieces that begin a word with a small letter."""
        pieces = [one for same_letters in self.beginning.values() for one in same_letters]
        return np.array(sorted([i for i, text in pieces if text[:1].islower()]), dtype=np.int64)

    def is_mark(self, piece: int) -> bool:
        """Whether a piece is neither a word nor part of one."""
        return piece not in self.words and piece not in self.continuing

    @cached_property
    def _is_continuing(self) -> npt.NDArray[np.bool_]:
        """By piece; the last place is for all greater ones."""
        table = np.zeros(max(self.continuing, default=0) + 2, dtype=np.bool_)
        table[list(self.continuing)] = True
        return table

    def are_continuing(self, pieces: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which pieces of an array go on with the word before."""
        table = self._is_continuing
        return table[np.minimum(pieces, len(table) - 1)]

    def same_stem(self, word: str) -> list[int]:
        """Pieces that begin words of the same stem; not of short words, which begin like many."""
        if len(word) <= MIN_STEM:
            return []
        same_letters = self.beginning.get(bare_word(word)[:MIN_STEM], ())
        return [i for i, text in same_letters if len(text) > MIN_STEM and have_common_stem(text, word)]


def _by_first_letters(pieces: Sequence[tuple[int, str]]) -> dict[str, tuple[tuple[int, str], ...]]:
    found: dict[str, tuple[tuple[int, str], ...]] = {}
    for i, text in pieces:
        letters = bare_word(text)[:MIN_STEM]
        found[letters] = (*found.get(letters, ()), (i, text))
    return found


def _continues_word(piece: str) -> bool:
    """Letters, digits, bytes and inner marks without a space before them; other marks are no part of a word."""
    return _INNER.match(piece) is not None


_INNER = re.compile(r"<0x|[^\W_]|[-‐‑_]|['’ʼ][^\W_]|[.,:]\d")
_OPENING = re.compile(r"^▁$|(?<!^<0x..)[^\w\s.,:!?)\]}»”…%\-‐‑'’ʼ]$")
"""After these a word may follow without a space. After a hyphen or an apostrophe it would be part of a longer one."""


@dataclass(frozen=True, slots=True)
class Use:
    """A match whose form stands in the target, as pieces counted from 0."""

    match: int
    pieces: range


@dataclass(frozen=True, slots=True)
class State:
    """What a hypothesis has done about the matches of its sentence. Most words leave it as it is."""

    uses: tuple[Use, ...] = ()
    """The completed forms, in the order of the target."""
    under_way: int | None = None
    """The match whose form is being written."""
    written: Pieces = ()
    """That form's pieces so far."""
    has_just_used: bool = False
    """A form has ended with the last piece: the next one must not make another word of it."""
    is_glued: bool = False
    """The next word may follow without a space."""
    echo: Pieces = ()
    """The last pieces, as far as they begin a form that is not to be written (again)."""

    def has_used(self, match: int) -> bool:
        return match in [use.match for use in self.uses]


@dataclass(frozen=True, slots=True)
class Rule:
    """What the next word of a hypothesis may be while it translates a certain source position."""

    pieces: Pieces = ()
    """Pieces of forms."""
    begins: tuple[int, ...] = ()
    """The matches that `pieces` begin; none if they go on with a form."""
    is_free: bool = True
    """Whether pieces other than `pieces` may come, within the limits below."""
    banned: Pieces = ()
    is_optional: bool = False
    """`pieces` make a longer form of one that is complete already: they are not credited with what they cost."""
    starts_word: bool = False
    """Nothing may come that goes on with the word before."""
    follows_choice: bool = False
    """The form before might have been a longer one: that it ends was the model's choice."""


FREE = Rule()
"""Anything may come."""


INITIAL = State()
"""The state of an empty hypothesis."""


class SentenceRules:
    """The matches of one sentence as rules for its hypotheses."""

    def __init__(
        self,
        matches: Sequence[Match],
        borders: WordBorders,
        required: Collection[int] = (),
        replaced: frozenset[int] = frozenset(),
        unsaid: Sequence[Form] = (),
    ) -> None:
        """required: the matches that must be used; replaced: pieces that begin words which the matches replace; unsaid:
        forms that only their own matches write, since nothing else would."""
        self.matches = tuple(matches)
        self.required = frozenset(required)
        self._replaced = tuple(sorted(replaced))
        self.borders = borders
        self._same_stems = [self._same_stem(match) for match in matches]
        self._echoes_at = self._echoes()
        self._sequences = [
            tuple([pieces for form in match.forms for pieces in (form.after_space, form.glued)]) for match in matches
        ]
        self._beginnings = [_beginnings(sequences) for sequences in self._sequences]
        self._writable = [number for number, match in enumerate(matches) if match.forms]
        self._longest = [max(map(len, sequences), default=0) for sequences in self._sequences]
        self._known_next_words: dict[tuple[int, Pieces, bool, bool | None], Pieces] = {}
        self._match_at = {
            position: number for number, match in enumerate(matches) if match.forms for position in match.positions
        }
        self._ending_with: dict[int, list[int]] = {}
        for number, match in enumerate(matches if borders.beginning else ()):
            for piece in {form.after_space[-1] for form in match.forms}:
                self._ending_with.setdefault(piece, []).append(number)
        self._forbidden_at: dict[int, list[Pieces]] = {}
        """The pieces of forms that must not be written from a position."""
        for match in matches:
            forbidden = [pieces for form in match.forbidden for pieces in (form.after_space, form.glued)]
            for position in match.positions if forbidden else ():
                self._forbidden_at.setdefault(position, []).extend(forbidden)
        self._unsaid = [pieces for form in unsaid for pieces in (form.after_space, form.glued)]
        forbidden_somewhere = [form for forms in self._forbidden_at.values() for form in forms]
        self._forbidden_beginnings = _beginnings([*self._unsaid, *forbidden_somewhere])

    def _same_stem(self, match: Match) -> Pieces:
        """Pieces that begin words of a form's stem."""
        words = {form.text.split()[0] for form in match.forms}
        return tuple(sorted({piece for word in words for piece in self.borders.same_stem(word)}))

    def _echoes(self) -> dict[int, Pieces]:
        """By position, pieces that would say a match's word before it is said: at its article, "discul disc"."""
        echoes: dict[int, Pieces] = {}
        for match, pieces in zip(self.matches, self._same_stems, strict=True):
            for position in range(match.positions.start - ECHO_DISTANCE, match.positions.start) if pieces else ():
                echoes[position] = echoes.get(position, ()) + pieces
        return echoes

    def match_at(self, position: int) -> int | None:
        """The match that a position belongs to, if the vocabulary can write it."""
        return self._match_at.get(position)

    def begun_at(self, state: State, position: int) -> tuple[int, ...]:
        """The matches that a piece given by somebody else may begin there."""
        return self.rule(state, position).begins

    def unused(self, state: State) -> tuple[int, ...]:
        """The matches that are not even under way (and that the vocabulary can write)."""
        begun = [*[use.match for use in state.uses], state.under_way]
        return tuple([number for number in self._writable if number not in begun])

    def may_end(self, state: State) -> bool:
        """Whether the sentence may end now."""
        if state.under_way is not None and state.written not in self._sequences[state.under_way]:
            return False
        return not self.missing(state)

    def missing(self, state: State) -> tuple[int, ...]:
        """The unused matches that must be used."""
        return tuple([match for match in self.unused(state) if match in self.required])

    def must_go_on(self, state: State) -> range | None:
        """Where a form goes on that is under way and may not end yet."""
        match = state.under_way
        return None if match is None or state.written in self._sequences[match] else self.matches[match].positions

    def pieces_needed(self, state: State) -> int:
        """How many pieces a hypothesis may still have to write for its matches, whichever forms it takes."""
        needed = [self._longest[match] for match in self.unused(state)]
        if state.under_way is not None:
            forms = [form for form in self._sequences[state.under_way] if _starts_with(form, state.written)]
            needed.append(max(map(len, forms)) - len(state.written))
        return sum(needed)

    def rule(self, state: State, position: int | None, *, is_first: bool | None = None) -> Rule:
        """What may come next while the model translates a source position (None: one without a match).

        is_first: whether it is the translation's first word; None: not known.
        """
        under_way = state.under_way
        if under_way is not None:
            words = self._next_words(under_way, state.written, is_glued=True)
            if state.written not in self._sequences[under_way]:
                return Rule(words, is_free=False)
            if position in self.matches[under_way].positions:
                return Rule(words, is_free=False, is_optional=True)
            state = self.completed(state, len(state.written))  # whichever pieces they are
        match = None if position is None else self._match_at.get(position)
        if match is not None and not state.has_used(match):
            pieces = self._next_words(match, (), is_glued=state.is_glued, is_first=is_first)
            return Rule(pieces, (match,), is_free=False, starts_word=state.has_just_used)
        banned = _ends_of(self._sequences[match], state.echo) if match is not None else self._replaced
        if position is not None and match is None:
            banned += self._echoes_at.get(position, ())
        banned += _ends_of(self._unsaid, state.echo)
        if position in self._forbidden_at:
            banned += _ends_of(self._forbidden_at[position], state.echo)
        if state.has_just_used:
            banned += self._same_stems[state.uses[-1].match]
            return Rule(banned=banned, starts_word=True, follows_choice=under_way is not None)
        return Rule(banned=banned) if banned else FREE

    def advance(self, state: State, word: int, *, place: int, begun: tuple[int, ...] = ()) -> State:
        """The state after a word, the target's piece number `place`; `begun` has the matches one of which it begins."""
        is_glued = word in self.borders.glueing
        if state is INITIAL and not begun and not is_glued and not self._forbidden_beginnings:  # nearly always
            return state
        if state.under_way is not None:
            written = (*state.written, word)
            if any(_starts_with(form, written) for form in self._sequences[state.under_way]):
                return self._write(state, state.under_way, written, place)
            state = self.completed(state, place)
            if state.under_way is not None:  # words that somebody else gave have left the form
                state = State(state.uses)
        for match in begun:
            if word in self._next_words(match, (), is_glued=state.is_glued):
                return self._write(state, match, (word,), place)
        echo = self._echo(state, word)
        if state.has_just_used or is_glued != state.is_glued or echo != state.echo:
            return State(state.uses, is_glued=is_glued, echo=echo)
        return state

    def goes_on_as_form(self, state: State, position: int, last: int, word: int, *, place: int) -> State | None:
        """The state if a word, begun with the piece `last` from elsewhere, goes on as the form that belongs here.

        A form may have begun at its article: it is not to be written again, then.
        """
        match = self._match_at.get(position)
        if match is None or state.under_way is not None or state.has_used(match):
            return None
        if word not in self._next_words(match, (last,), is_glued=False):
            return None
        return self._write(state, match, (last, word), place)

    def ending_with(self, piece: int) -> Sequence[int]:
        """The matches that have a form which ends with this piece, if words of the language begin with a space."""
        return self._ending_with.get(piece, ())

    def taken(self, state: State, match: int, written: Sequence[int]) -> State | None:
        """The state if the last of all pieces written are a form of an unused match; None if they are not."""
        if state.under_way is not None or state.has_used(match):
            return None
        end, taken = len(written), max([use.pieces.stop for use in state.uses], default=0)
        for form in self.matches[match].forms:
            start = end - len(form.after_space)
            if start >= taken and tuple(written[start:]) == form.after_space:
                return self._write(state, match, form.after_space, end - 1)
        return None

    def completed(self, state: State, end: int) -> State:
        """The state of a hypothesis of `end` pieces that stops here: a form that may end counts as used."""
        match = state.under_way
        if match is None or state.written not in self._sequences[match]:
            return state
        return State((*state.uses, Use(match, range(end - len(state.written), end))), has_just_used=True)

    def after_given(self, state: State, end: int, known: Sequence[Use] = ()) -> State:
        """The state after the last of `end` pieces that somebody else gave, in whole words.

        A form that could only go on inside of the last word is not made of it: that word was meant as it stands, and
        takes the form's place. known: what these pieces use, if that is known better.
        """
        if missed := [use for use in known if not state.has_used(use.match)]:
            uses = tuple(sorted([*state.uses, *missed], key=lambda use: use.pieces.start))
            if uses[-1].pieces.stop == end:
                return State(uses, has_just_used=True)
            state = replace(state, uses=uses)
            if state.under_way in [use.match for use in missed]:
                state = State(uses, is_glued=state.is_glued)
        match = state.under_way
        if match is None:
            return state
        if not self.borders.continuing.issuperset(self._next_words(match, state.written, is_glued=True)):
            return state
        return State((*state.uses, Use(match, range(end - len(state.written), end))), has_just_used=True)

    def _write(self, state: State, match: int, written: Pieces, place: int) -> State:
        state = State(state.uses, match, written)
        return state if self._next_words(match, written, is_glued=True) else self.completed(state, place + 1)

    def _next_words(self, match: int, written: Pieces, *, is_glued: bool, is_first: bool | None = None) -> Pieces:
        """The way on in the trie of the forms' pieces."""
        known, key = self._known_next_words, (match, written, is_glued, is_first)
        if key not in known:
            allowed = [form for form in self.matches[match].forms if _fits(form, is_first)] or self.matches[match].forms
            forms = [form.after_space for form in allowed]
            if is_glued:
                forms += [form.glued for form in allowed]
            done = len(written)
            words = [form[done] for form in forms if len(form) > done and _starts_with(form, written)]
            known[key] = tuple(dict.fromkeys(words))
        return known[key]

    def _echo(self, state: State, word: int) -> Pieces:
        """The longest end of what is written that begins a form which is not to be written: used or forbidden."""
        if not state.uses and not self._forbidden_beginnings:
            return ()
        beginnings = [self._forbidden_beginnings, *[self._beginnings[use.match] for use in state.uses]]
        pieces = (*state.echo, word)
        for start in range(len(pieces)):
            if any(pieces[start:] in of_forms for of_forms in beginnings):
                return pieces[start:]
        return ()


def _fits(form: Form, is_first: bool | None) -> bool:
    """Whether a form may begin here: some are for a sentence's first word only, others for all but that."""
    return is_first is None or form.starts_sentence is None or form.starts_sentence == is_first


def _beginnings(forms: Sequence[Pieces]) -> frozenset[Pieces]:
    """All that forms begin with, short of themselves."""
    return frozenset([form[:stop] for form in forms for stop in range(1, len(form))])


def _ends_of(forms: Sequence[Pieces], echo: Pieces) -> Pieces:
    """The pieces that would complete one of these forms."""
    return tuple([form[-1] for form in forms if _ends_with(echo, form[:-1])])


def _starts_with(form: Pieces, start: Pieces) -> bool:
    return form[: len(start)] == start


def _ends_with(pieces: Pieces, end: Pieces) -> bool:
    return not end or pieces[-len(end) :] == end
