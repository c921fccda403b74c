"""Where the entries of a dictionary apply in a source sentence.

Entries match whole words ("orks" is not in "orkstadt"), the longest phrase first and then from left to right,
and no two matches overlap. What is compared is the text from a first word's start to a last word's end, so
phrases need no splitting of their own, and 100,000 of them cost a sentence no more than ten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from alidade.dictionary.entries import Dictionary, Entry, tidy_text
from alidade.text.subwords import Encoding, Subwords
from alidade.text.vocabulary import UNK

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
            Match(entry, words, _positions(source, words), _forms(entry, _text_of(source, words), target_subwords))
            for words, entry in _without_overlaps(_occurrences(dictionary, source, sentence))
        ]
    )


def _occurrences(dictionary: Dictionary, source: Encoding, sentence: int | None) -> Iterator[tuple[range, Entry]]:
    """Every run of words that has an entry, with the entry that fits it best."""
    num_seen: Counter[tuple[str, bool]] = Counter()
    for words in _runs_of_words(source, dictionary.longest):
        phrase = _text_of(source, words)
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
            yield words, entry


def _runs_of_words(source: Encoding, longest: int) -> Iterator[range]:
    """Runs of words of at most `longest` characters (surplus spaces aside), from left to right."""
    words = source.words
    surplus = len(source.text) - len(tidy_text(source.text))
    for first, word in enumerate(words):
        for end in range(first + 1, len(words) + 1):
            if words[end - 1].end - word.start > longest + surplus:
                break
            yield range(first, end)


def _text_of(source: Encoding, words: range) -> str:
    return tidy_text(source.text[source.words[words[0]].start : source.words[words[-1]].end])


def _applies(entry: Entry, occurrence: int, sentence: int | None) -> bool:
    return entry.occurrence in (None, occurrence) and entry.sentence in (None, sentence)


def _most_particular(entries: Sequence[Entry]) -> Entry | None:
    """An entry for this sentence goes before one for all, then one for this occurrence, then one in exact case."""
    return min(
        entries,
        key=lambda entry: (entry.sentence is None, entry.occurrence is None, entry.case == "ignore"),
        default=None,
    )


def _without_overlaps(occurrences: Iterator[tuple[range, Entry]]) -> list[tuple[range, Entry]]:
    taken: set[int] = set()
    chosen = []
    for words, entry in sorted(occurrences, key=lambda found: (-len(found[0]), found[0].start)):
        if taken.isdisjoint(words):
            taken.update(words)
            chosen.append((words, entry))
    return sorted(chosen, key=lambda found: found[0].start)


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
