"""Drafts: what a translation that was made without the dictionary tells about one with it.

A dictionary only takes translations away. So a draft that obeys it is the best translation with the dictionary, too.
One that does not still tells how the translation begins, with a capital or without; whether an entry's source words are
translated at all; which other source words go with them, an article, say; and by which word, which the entry replaces.

An entry is used where one of its forms stands as whole words of which at least one piece translates the entry's own
source words: what `evaluation/terms.py` calls used and placed.

Plain data, no model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from alidade.dictionary.matching import Form, Match
from alidade.dictionary.rules import FINAL_MARKS, SHORT_WORD, Use, WordBorders
from alidade.text.sentences import SENTENCE_ENDS
from alidade.text.stems import have_common_stem
from alidade.text.subwords import Encoding

Path = tuple[tuple[int, int], ...]
"""Pieces of a translation, each with its source position."""
MAY_AGREE = 2
"""So many words before an entry, an article and an adjective, say, may have to agree with it."""
ATTENDS = 0.2
"""A word with this share of its attention on source words to which nothing points, and which points to their left,
translates them: nine of ten in English–Romanian drafts (experiments/LOG.md)."""
ATTENDS_MOSTLY = 0.5
"""So does a short word, which could be an article or a preposition, with this share."""
ATTENDS_IN_PART = 0.25
"""And one of which only some pieces point there, with this share: of eighteen of which neither the first nor most do,
it tells seventeen right (experiments/LOG.md)."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A translation without the dictionary."""

    target: Encoding
    positions: tuple[int, ...]
    """The source position of each target piece; for a baseline, where its attention is greatest."""
    attention: npt.NDArray[np.float32] | None = field(default=None, repr=False, compare=False)
    """(I, J + 2) of each piece to all positions, if it is known."""

    def looking_at(self, matches: Sequence[Match]) -> Draft:
        """The same with a word for each match to which nothing points, if there is one that attends to it.

        A word may point at what stands before its source word: "cântă" for "is playing" at "is".
        """
        positions = list(self.positions)
        matched = {position for match in matches for position in match.positions}
        words = [self.target.pieces_of_word(n) for n, word in enumerate(self.target.words) if word.text.isalpha()]
        for match in matches:
            if not set(match.positions).isdisjoint(positions):
                continue
            own = self._share_at(match.positions)
            candidates = [
                (float(own[pieces].mean()), pieces)
                for pieces in words
                if all(positions[piece] < match.positions.start and positions[piece] not in matched for piece in pieces)
            ]
            share, best = max(candidates, key=lambda candidate: candidate[0], default=(0.0, range(0)))
            if share >= ATTENDS:
                positions[best.start : best.stop] = [match.positions[-1]] * len(best)
        return replace(self, positions=tuple(positions))

    def words_for(self, positions: Collection[int]) -> set[int]:
        """The words that translate these positions: those that point there and, if only with some pieces, attend there.

        Endings often point one word too far: "îmbrățișează" for "hugging" at the "woman" whom it is about.
        """
        words = set()
        for number in range(len(self.target.words)):
            pieces = self.target.pieces_of_word(number)
            are_there = [self.positions[piece] in positions for piece in pieces]
            if all(are_there) or (any(are_there) and self._share_at(positions)[pieces].mean() >= ATTENDS_IN_PART):
                words.add(number)
        return words

    def _share_at(self, positions: Collection[int]) -> npt.NDArray[np.float32]:
        """(I,) how much of its attention each piece has on these positions; all, if nobody knows."""
        if self.attention is None:
            return np.ones(len(self.positions), dtype=np.float32)
        share: npt.NDArray[np.float32] = self.attention[:, list(positions)].sum(axis=1) / self.attention.sum(axis=1)
        return share

    def final_marks(self, source: Encoding) -> list[int]:
        """The positions of the source's punctuation that it translates by the mark it ends with, if it does.

        If it may have broken off, those of the source's own final mark: what comes after the entries ends with it.
        """
        if self._may_break_off(source):
            return [piece + 1 for piece in source.pieces_of_word(len(source.words) - 1)]
        return self._last_marks(source)

    def _last_marks(self, source: Encoding) -> list[int]:
        words = self.target.words
        last = self.target.pieces_of_word(len(words) - 1) if words and words[-1].is_punctuation else range(0)
        positions = sorted({self.positions[piece] for piece in last}.intersection(range(1, len(source) + 1)))
        return [at for at in positions if source.words[source.word_of_piece[at - 1]].is_punctuation]

    def _may_break_off(self, source: Encoding) -> bool:
        """Whether it ends with a mark that it writes from a word though the source ends with one, too."""
        ends = [one.words[-1].text if one.words else "" for one in (self.target, source)]
        return all(map(_has_final_mark, ends)) and not self._last_marks(source)

    def inner_marks(self, source: Encoding) -> list[int]:
        """The positions of source words that it ends a sentence with before its end: they have to wait as marks do."""
        last = len(self.target.words) - 1
        ends = {
            position
            for word, position in zip(self.target.word_of_piece, self.positions, strict=True)
            if word < last and self.target.words[word].text in FINAL_MARKS
        }
        words = [(at, source.words[source.word_of_piece[at - 1]]) for at in ends if 1 <= at <= len(source)]
        return sorted([at for at, word in words if not word.is_punctuation])

    def markless(self, source: Encoding) -> list[int]:
        """The positions of source words that have no mark which ends a sentence, nor become one here."""
        num_words = len(self.target.words) - self._may_break_off(source)
        pieces = zip(self.target.pieces, self.target.word_of_piece, self.positions, strict=True)
        marks = {at for piece, word, at in pieces if _has_final_mark(piece) and word < num_words}
        return [
            piece + 1
            for piece, word in enumerate(source.word_of_piece)
            if piece + 1 not in marks and not _has_final_mark(source.words[word].text)
        ]

    def uses(self, matches: Sequence[Match]) -> tuple[Use, ...]:
        """Where each match is used, in the target's order; no word serves two matches."""
        taken: set[int] = set()
        uses = []
        for number, match in enumerate(matches):
            for words in self._own_places(match, match.forms):
                if taken.isdisjoint(words):
                    taken.update(words)
                    uses.append(Use(number, self._pieces_of(words)))
                    break
        return tuple(sorted(uses, key=lambda use: use.pieces.start))

    def uses_within(self, num_pieces: int, matches: Sequence[Match]) -> tuple[Use, ...]:
        """What its first pieces use."""
        return tuple([use for use in self.uses(matches) if use.pieces.stop <= num_pieces])

    def disobeyed(self, matches: Sequence[Match]) -> list[Match]:
        """The matches that can be written but are not used, or are used twice, or stand there in a forbidden form."""
        used = {use.match for use in self.uses(matches)}
        return [
            match
            for number, match in enumerate(matches)
            if (match.forms and number not in used) or self._says_twice(match) or self._says_forbidden(match)
        ]

    def _says_twice(self, match: Match) -> bool:
        places = list(self._own_places(match, match.forms))
        return any(set(one).isdisjoint(other) for one in places for other in places)

    def _says_forbidden(self, match: Match) -> bool:
        return next(self._own_places(match, match.forbidden), None) is not None

    def num_kept(self, matches: Sequence[Match], source: Encoding) -> int:
        """How many of its first pieces no match changes: they translate what stands before the first disobeyed one.

        The words next to it are not among them, since they may have to agree with it: a short one, or what translates
        the source word next to it. All, if none is disobeyed.
        """
        disobeyed = self.disobeyed(matches)
        if not disobeyed:
            return len(self.positions)
        start = min([match.positions.start for match in disobeyed])
        words = zip(self.target.word_of_piece, self.positions, strict=True)
        first = next((word for word, position in words if position >= start), 0)
        neighbour = source.word_of_piece[start - 1]
        for _ in range(min(MAY_AGREE, first)):
            places = [self.positions[piece] for piece in self.target.pieces_of_word(first - 1)]
            translated = [source.word_of_piece[at - 1] for at in places if 1 <= at <= len(source)]
            is_short = len(self.target.words[first - 1].text) <= SHORT_WORD
            if not is_short and translated and max(translated) < neighbour - 1:
                break
            first -= 1
            neighbour = min([neighbour, *translated])
        return self.target.pieces_of_word(first).start if first else 0

    def amended(self, matches: Sequence[Match], forms: Mapping[int, Path]) -> Path | None:
        """Its path with the given forms, by the numbers of their matches, in place of the words for disobeyed ones.

        None if one of these has no form, or no one place.
        """
        disobeyed = self.disobeyed(matches)
        cuts = []
        for number, match in enumerate(matches):
            if match in disobeyed:
                place = self._place_of(match)
                if place is None or number not in forms:
                    return None
                cuts.append((place, forms[number]))
        cuts.sort(key=lambda cut: cut[0].start)
        if any(one.stop > other.start for (one, _), (other, _) in pairwise(cuts)):
            return None
        path = list(zip(self.target.ids, self.positions, strict=True))
        for place, form in reversed(cuts):
            path[place.start : place.stop] = form
        return tuple(path)

    def _place_of(self, match: Match) -> range | None:
        """The pieces of the words for a match, if they stand together and are more than a preposition beside them."""
        words = self.words_for(match.positions)
        place = range(min(words, default=0), max(words, default=-1) + 1)
        if not words or not words.issuperset(place):
            return None
        pieces = self._pieces_of(place)
        is_short = all(len(self.target.words[word].text) <= SHORT_WORD for word in words)
        return None if is_short and self._share_at(match.positions)[pieces].mean() < ATTENDS_MOSTLY else pieces

    def absorbed(self, matches: Sequence[Match]) -> list[tuple[int, ...]]:
        """For each match the positions, no match's own, that nothing but the words for this match translates.

        None for a match that is used by some of these words while others say more.
        """
        matched = {position for match in matches for position in match.positions}
        words_at: dict[int, set[int]] = {}
        for word, position in zip(self.target.word_of_piece, self.positions, strict=True):
            words_at.setdefault(position, set()).add(word)
        forms = {use.match: self._words_of(use) for use in self.uses(matches)}
        absorbed = []
        for number, match in enumerate(matches):
            own = self.words_for(match.positions)
            if not own <= forms.get(number, own):  # "prietenul meu" for "my friend": "meu" has to come from somewhere
                own = set()
            absorbed.append(tuple(sorted([at for at, words in words_at.items() if words <= own and at not in matched])))
        return absorbed

    def said_first(self, matches: Sequence[Match], source: Encoding) -> dict[int, frozenset[int]]:
        """For matches the positions beyond them, no match's own, that it translates before them: a noun's, say, for an
        adjective."""
        matched = {position for match in matches for position in match.positions}
        said_first = {}
        for number, match in enumerate(matches):
            places = [place for place, position in enumerate(self.positions) if position in match.positions]
            before = self.positions[: min(places, default=0)]
            beyond = frozenset([at for at in before if match.positions.stop <= at <= len(source)]) - matched
            if beyond:
                said_first[number] = beyond
        return said_first

    def translated(self, matches: Sequence[Match]) -> frozenset[int]:
        """The numbers of the matches whose source words it translates."""
        return frozenset([n for n, match in enumerate(matches) if not set(match.positions).isdisjoint(self.positions)])

    def replaced(self, matches: Sequence[Match], borders: WordBorders) -> frozenset[int]:
        """The first pieces of the words that stand for matches, and of others of their stem.

        Also of compounds with the forms of disobeyed ones. Not of short words, which have many uses.
        """
        disobeyed = {position for match in self.disobeyed(matches) for position in match.positions if match.forms}
        words = self.words_for(disobeyed) | self._compounds_with(matches)
        words = words.union(*map(self._words_of, self.uses(matches)))
        is_replaced = [number in words for number in range(len(self.target.words))]
        others = [word.text for word, is_it in zip(self.target.words, is_replaced, strict=True) if not is_it]
        firsts: dict[bool, set[int]] = {True: set(), False: set()}
        for number, word in enumerate(self.target.words):
            if not is_replaced[number] or len(word.text) > SHORT_WORD:
                firsts[is_replaced[number]].add(self.target.ids[self.target.pieces_of_word(number).start])
            if is_replaced[number] and not any(have_common_stem(word.text, other) for other in others):
                firsts[True].update(borders.same_stem(word.text))
        return frozenset(firsts[True] - firsts[False])

    def unsaid(self, matches: Sequence[Match]) -> list[Form]:
        """The forms of matches of which it has none, not even as a part of other words."""
        forms_of = [[form for form in match.forms if self._has(form)] for match in matches]
        return [form for match, said in zip(matches, forms_of, strict=True) if not said for form in match.forms]

    def _has(self, form: Form) -> bool:
        """Whether a form's pieces stand in it side by side."""
        ids = self.target.ids
        return any(
            ids[start : start + len(pieces)] == pieces
            for pieces in (form.after_space, form.glued)
            for start in range(len(ids) - len(pieces) + 1)
        )

    def _compounds_with(self, matches: Sequence[Match]) -> set[int]:
        """The words that point at a disobeyed match and have its form for a part, as "alb-negru" has "alb".

        They would say it twice. What else they say is still to be said, so they are not among the words for the match.
        """
        compounds = set()
        for match in self.disobeyed(matches):
            forms = {form.text.casefold() for form in match.forms}
            for place, position in enumerate(self.positions):
                word = self.target.word_of_piece[place]
                parts = self.target.words[word].text.casefold().split("-")
                if position in match.positions and len(parts) > 1 and not forms.isdisjoint(parts):
                    compounds.add(word)
        return compounds

    def elsewhere(self, matches: Sequence[Match]) -> frozenset[int]:
        """The first pieces of its words that translate no match's source words, unless others begin so that do.

        Not of short words, which have many uses.
        """
        matched = {position for match in matches for position in match.positions}
        firsts: dict[bool, set[int]] = {True: set(), False: set()}
        words = self.words_for(matched)
        for number, word in enumerate(self.target.words):
            is_matched = number in words
            if is_matched or len(word.text) > SHORT_WORD:
                firsts[is_matched].add(self.target.ids[self.target.pieces_of_word(number).start])
        return frozenset(firsts[False] - firsts[True])

    def with_capitals(self, matches: Sequence[Match]) -> tuple[Match, ...]:
        """The matches with forms that begin a translation as this one begins, with a capital or without."""
        if not self.target.text[:1].isalpha():
            return tuple(matches)
        is_capital = self.target.text[0].isupper()
        return tuple([replace(match, forms=_fit_start(match.forms, is_capital)) for match in matches])

    def _own_places(self, match: Match, forms: Sequence[Form]) -> Iterator[range]:
        """The words that are one of these forms and translate the match's source words, longer forms first."""
        for form in sorted(forms, key=lambda form: -len(form.text)):
            for words in places_of(form, self.target):
                if any(self.positions[piece] in match.positions for piece in self._pieces_of(words)):
                    yield words

    def _words_of(self, use: Use) -> set[int]:
        return {self.target.word_of_piece[piece] for piece in use.pieces}

    def _pieces_of(self, words: range) -> range:
        return range(self.target.pieces_of_word(words[0]).start, self.target.pieces_of_word(words[-1]).stop)


def _has_final_mark(text: str) -> bool:
    return not SENTENCE_ENDS.isdisjoint(text)


def places_of(form: Form, target: Encoding) -> Iterator[range]:
    """Where a form stands in the target, as whole words."""
    start = target.text.find(form.text)
    if start < 0:
        return
    first = next((number for number, word in enumerate(target.words) if not word.is_punctuation), 0)
    starts = {word.start: number for number, word in enumerate(target.words)}
    ends = {word.end: number + 1 for number, word in enumerate(target.words)}
    while start >= 0:
        end = start + len(form.text)
        if start in starts and end in ends and form.starts_sentence in (None, starts[start] == first):
            yield range(starts[start], ends[end])
        start = target.text.find(form.text, start + 1)


def _fit_start(forms: Sequence[Form], is_capital: bool) -> tuple[Form, ...]:
    """Let only forms with such a first letter begin a translation, if there are any."""
    if all(form.text[0].isupper() != is_capital for form in forms):
        return tuple(forms)
    fitted = []
    for form in forms:
        if form.text[0].isupper() == is_capital:
            fitted.append(form if form.starts_sentence else replace(form, starts_sentence=None))
        elif not form.starts_sentence:
            fitted.append(replace(form, starts_sentence=False))
    return tuple(fitted)
