"""Where the entries of a dictionary apply in a source sentence.

Entries match whole words ("orks" is not in "orkstadt"), the longest phrase first and then from left to right,
and no two matches overlap. What is compared is the text from a first word's start to a last word's end, so
phrases need no splitting of their own, and 100,000 of them cost a sentence no more than ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from alidade.dictionary.entries import Dictionary, Entry, tidy_text
from alidade.text.subwords import Encoding, Subwords
from alidade.text.vocabulary import UNK
from alidade.text.words import Word

Pieces = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One allowed translation, as text and as pieces."""

    text: str
    after_space: Pieces
    """Its pieces at the start of a sentence or after a space."""
    glued: Pieces
    """Its pieces right after something else: an opening quote, an apostrophe, or any Chinese word."""


@dataclass(frozen=True, slots=True)
class Match:
    """An entry that applies in a sentence, and where."""

    entry: Entry
    words: range
    """The matched source words, counted from 0."""
    positions: range
    """The positions of these words' pieces; position 0 is `<s>`."""
    forms: tuple[Form, ...]
    """The translations that the target vocabulary can write; none at all if it has no bytes to spell with."""


def find_matches(
    dictionary: Dictionary, source: Encoding, target_subwords: Subwords, sentence: int | None = None
) -> tuple[Match, ...]:
    """The matches in one sentence, from left to right; `sentence` is its number in the input, from 1."""
    return tuple(
        [
            Match(entry, words, _positions(source, words), _forms(entry, phrase, target_subwords))
            for entry, words, phrase in find_occurrences(dictionary, source.text, source.words, sentence)
        ]
    )


class Occurrence(NamedTuple):
    """Words of a sentence that are an entry's source."""

    entry: Entry
    words: range
    text: str


def find_occurrences(
    dictionary: Dictionary, text: str, words: Sequence[Word], sentence: int | None = None
) -> list[Occurrence]:
    """Which entries apply to which words of a sentence, from left to right and without overlaps."""
    taken: set[int] = set()
    chosen = []
    candidates = _candidates(dictionary, text, words, sentence)
    for occurrence in sorted(candidates, key=lambda candidate: (-len(candidate.words), candidate.words.start)):
        if taken.isdisjoint(occurrence.words):
            taken.update(occurrence.words)
            chosen.append(occurrence)
    return sorted(chosen, key=lambda occurrence: occurrence.words.start)


def _candidates(dictionary: Dictionary, text: str, words: Sequence[Word], sentence: int | None) -> Iterator[Occurrence]:
    """Every run of words that has an entry, with the entry that fits it best."""
    num_seen: Counter[tuple[str, bool]] = Counter()
    for run, phrase in _runs_of_words(text, words, dictionary.longest):
        exact, folded = dictionary.entries_for(phrase)
        if not exact and not folded:
            continue
        num_seen[phrase, True] += 1
        num_seen[phrase.casefold(), False] += 1
        entry = _most_particular(
            [entry for entry in exact if _applies(entry, num_seen[phrase, True], sentence)]
            + [entry for entry in folded if _applies(entry, num_seen[phrase.casefold(), False], sentence)]
        )
        if entry is not None:
            yield Occurrence(entry, run, phrase)


def _runs_of_words(text: str, words: Sequence[Word], longest: int) -> Iterator[tuple[range, str]]:
    """Runs of words and their text, of at most `longest` characters when it is tidy, from left to right."""
    tidy = tidy_text(text)
    is_tidy = tidy == text
    longest += len(text) - len(tidy)
    for first, word in enumerate(words):
        for end in range(first, len(words)):
            if words[end].end - word.start > longest:
                break
            phrase = text[word.start : words[end].end]
            yield range(first, end + 1), phrase if is_tidy else tidy_text(phrase)


def _applies(entry: Entry, occurrence: int, sentence: int | None) -> bool:
    return entry.occurrence in (None, occurrence) and entry.sentence in (None, sentence)


def _most_particular(entries: Sequence[Entry]) -> Entry | None:
    """An entry for this sentence goes before one for all, then one for this occurrence, then one in exact case."""
    return min(
        entries,
        key=lambda entry: (entry.sentence is None, entry.occurrence is None, entry.case == "ignore"),
        default=None,
    )


def _positions(source: Encoding, words: range) -> range:
    return range(source.pieces_of_word(words[0]).start + 1, source.pieces_of_word(words[-1]).stop + 1)


def _forms(entry: Entry, phrase: str, target_subwords: Subwords) -> tuple[Form, ...]:
    texts = list(entry.targets)
    if entry.case == "ignore" and phrase[0].isupper() and not entry.source[0].isupper():
        texts += [text[0].upper() + text[1:] for text in texts if text[0] != text[0].upper()]
    forms = [
        Form(text, target_subwords.encode(text).ids, target_subwords.encode(text, after_space=False).ids)
        for text in texts
    ]
    return tuple([form for form in forms if UNK not in form.after_space + form.glued])
