"""Where the entries of a dictionary apply in a source sentence, and what may be written for them.

Entries match whole words ("orks" is not in "orkstadt"), the longest phrase first and then from left to right, and no
two matches overlap (only entries that forbid without wanting anything may lie over others). What is compared is the
text from a first word's start to a last word's end, so phrases need no splitting of their own, and 100,000 of them cost
a sentence no more than ten.

What is written takes its capitals from the sentence, unless the entry's case is exact: a sentence in capitals wants its
terms in capitals, a capitalised source allows a capitalised target, and so does the start of the translation, which
wants one if the sentence begins with a capital.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from alidade.dictionary.entries import CaseRule, Dictionary, Entry
from alidade.dictionary.inflection import inflected_forms
from alidade.text.normalise import normalise_text
from alidade.text.subwords import Encoding, Subwords
from alidade.text.vocabulary import UNK
from alidade.text.words import Word

Pieces = tuple[int, ...]

SeenOccurrences = Counter[tuple[str, CaseRule, bool]]
"""How often the source of each entry has occurred so far: its text, and how it is compared."""


@dataclass(frozen=True, slots=True)
class Form:
    """One allowed translation, as text and as pieces."""

    text: str
    after_space: Pieces
    """Its pieces at the start of a sentence or after a space."""
    glued: Pieces
    """Its pieces right after something else: an opening quote, an apostrophe, or any Chinese word."""
    starts_sentence: bool | None = None
    """True: only as the first word of the translation, a form that is capitalised for no other reason. False: only
    elsewhere, a form with a small letter where the source begins with a capital. None: anywhere."""


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that applies in a sentence, and where."""

    entry: Entry
    words: range
    """The matched source words, counted from 0."""
    positions: range
    """The positions of these words' pieces; position 0 is `<s>`."""
    forms: tuple[Form, ...]
    """The translations that the target vocabulary can write; none at all if it has no bytes to spell with, or if the
    entry only forbids."""
    forbidden: tuple[Form, ...] = ()
    """What must not be written for these words."""


def find_matches(
    dictionary: Dictionary,
    source: Encoding,
    target_subwords: Subwords,
    sentence: int | None = None,
    *,
    seen: SeenOccurrences | None = None,
) -> tuple[Match, ...]:
    """The matches in one sentence, from left to right; `sentence` is its number in the input, from 1.

    seen: for a long text that is translated in parts, one counter for all of them, so that the second occurrence is the
    second of the text; it is brought up to date.
    """
    matches = []
    for occurrence in find_occurrences(dictionary, source.text, source.words, sentence, seen=seen):
        forbidden = _forbidden_texts(occurrence.forbidding, target_subwords.language)
        texts = _allowed_texts(occurrence, source.text, target_subwords.language)
        matches.append(
            Match(
                occurrence.entry,
                occurrence.words,
                _positions(source, occurrence.words),
                _encode([text for text in texts if text.written not in forbidden], target_subwords),
                _encode([_Text(written) for written in forbidden], target_subwords),
            )
        )
    return tuple(matches)


class Occurrence(NamedTuple):
    """Words of a sentence that are an entry's source."""

    entry: Entry
    words: range
    text: str
    forbidding: tuple[Entry, ...] = ()
    """The entries for these words, whether it is this one or others, that forbid something."""

    @property
    def wants_something(self) -> bool:
        return bool(self.entry.targets) or self.entry.is_kept


def find_occurrences(
    dictionary: Dictionary,
    text: str,
    words: Sequence[Word],
    sentence: int | None = None,
    *,
    seen: SeenOccurrences | None = None,
) -> list[Occurrence]:
    """Which entries apply to which words of a sentence, from left to right; see `find_matches`."""
    taken: set[int] = set()
    chosen = []
    candidates = _candidates(dictionary, text, words, sentence, Counter() if seen is None else seen)
    for occurrence in sorted(candidates, key=lambda candidate: (-len(candidate.words), candidate.words.start)):
        if not occurrence.wants_something:
            chosen.append(occurrence)
        elif taken.isdisjoint(occurrence.words):
            taken.update(occurrence.words)
            chosen.append(occurrence)
    return sorted(chosen, key=lambda occurrence: occurrence.words.start)


def _candidates(
    dictionary: Dictionary, text: str, words: Sequence[Word], sentence: int | None, seen: SeenOccurrences
) -> Iterator[Occurrence]:
    """Every run of words that has an entry, with the entry that fits it best."""
    for run, phrase in _runs_of_words(text, words, dictionary.longest):
        found = _entries_for(dictionary, phrase)
        if not found:
            continue
        seen.update({_occurrence_key(entry) for entry in found})
        applying = [entry for entry in found if _applies(entry, seen[_occurrence_key(entry)], sentence)]
        if applying:
            forbidding = tuple([entry for entry in applying if entry.forbidden])
            yield Occurrence(_most_particular(applying, phrase), run, phrase, forbidding)


def _entries_for(dictionary: Dictionary, phrase: str) -> list[Entry]:
    exact, folded = dictionary.entries_for(phrase)
    if not dictionary.inflects:
        return [*exact, *folded]
    return list(dict.fromkeys([*exact, *folded, *dictionary.inflecting_entries_for(phrase)]))


def _occurrence_key(entry: Entry) -> tuple[str, CaseRule, bool]:
    return entry.source if entry.case == "exact" else entry.source.casefold(), entry.case, entry.inflect


def _runs_of_words(text: str, words: Sequence[Word], longest: int) -> Iterator[tuple[range, str]]:
    """Runs of words and their text, of at most `longest` characters when it is tidy, from left to right."""
    tidy = normalise_text(text)
    is_tidy = tidy == text
    longest += len(text) - len(tidy)
    for first, word in enumerate(words):
        for end in range(first, len(words)):
            if words[end].end - word.start > longest:
                break
            phrase = text[word.start : words[end].end]
            yield range(first, end + 1), phrase if is_tidy else normalise_text(phrase)


def _applies(entry: Entry, occurrence: int, sentence: int | None) -> bool:
    return entry.occurrence in (None, occurrence) and entry.sentence in (None, sentence)


def _most_particular(entries: Sequence[Entry], phrase: str) -> Entry:
    """An entry that wants something goes before one that only forbids; then one for this sentence before one for all,
    one for this occurrence, one in exact case, and one for the very words before one for their inflected forms."""
    return min(
        entries,
        key=lambda entry: (
            not entry.targets and not entry.is_kept,
            entry.sentence is None,
            entry.occurrence is None,
            entry.case == "ignore",
            entry.source.casefold() != phrase.casefold(),
        ),
    )


def _positions(source: Encoding, words: range) -> range:
    return range(source.pieces_of_word(words[0]).start + 1, source.pieces_of_word(words[-1]).stop + 1)


class _Text(NamedTuple):
    """A form before it has pieces."""

    written: str
    starts_sentence: bool | None = None


def _allowed_texts(occurrence: Occurrence, sentence: str, language: str) -> list[_Text]:
    """What may be written for a match: its forms, with the capitals that its source has in the sentence."""
    entry, phrase = occurrence.entry, occurrence.text
    if entry.is_kept:
        return [_Text(phrase), *[_Text(target) for target in entry.targets]]
    texts = _inflected(entry.targets, entry, language)
    if entry.case == "exact":
        return [_Text(text) for text in texts]
    if _is_in_capitals(sentence) and not _is_in_capitals(entry.source):
        return [_Text(text) for text in _distinct(map(str.upper, texts))]
    variants = list(texts)
    if phrase[0].isupper() and not entry.source[0].isupper():
        variants += map(_capitalise, texts)
    if _is_in_capitals(phrase) and not _is_in_capitals(entry.source):
        variants += map(str.upper, texts)
    if entry.source[0].isupper() and not phrase[0].isupper():  # a termbase that begins all its terms with a capital
        variants += [text[0].lower() + text[1:] for text in texts if not text[1:2].isupper()]
    anywhere = _distinct(variants)
    at_start = [text for text in _distinct(map(_capitalise, texts)) if text not in anywhere]
    not_at_start = False if _begins_with_capital(sentence) else None
    return [
        *[_Text(text, not_at_start if text != _capitalise(text) else None) for text in anywhere],
        *[_Text(text, starts_sentence=True) for text in at_start],
    ]


def _forbidden_texts(entries: Sequence[Entry], language: str) -> list[str]:
    """What entries forbid; in any case, unless theirs is exact."""
    texts = []
    for entry in entries:
        forms = _inflected(entry.forbidden, entry, language)
        texts += forms
        if entry.case == "ignore":
            texts += [*map(_capitalise, forms), *map(str.upper, forms)]
    return _distinct(texts)


def _inflected(texts: Sequence[str], entry: Entry, language: str) -> list[str]:
    if not entry.inflect:
        return list(texts)
    return _distinct([form for text in texts for form in inflected_forms(text, language)])


def _is_in_capitals(text: str) -> bool:
    """Whether all of a text is in capitals; a single letter, "I", says nothing."""
    return text.isupper() and sum(map(str.isalpha, text)) > 1


def _begins_with_capital(text: str) -> bool:
    return next((character.isupper() for character in text if character.isalpha()), False)


def _capitalise(text: str) -> str:
    return text[0].upper() + text[1:]


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _encode(texts: Sequence[_Text], subwords: Subwords) -> tuple[Form, ...]:
    forms = [_form(text, subwords) for text in texts]
    return tuple([form for form in forms if UNK not in form.after_space + form.glued])


@functools.lru_cache(maxsize=1 << 14)  # an entry that inflects has dozens, and occurs again
def _form(text: _Text, subwords: Subwords) -> Form:
    return Form(
        text.written,
        subwords.encode(text.written).ids,
        subwords.encode(text.written, after_space=False).ids,
        text.starts_sentence,
    )
