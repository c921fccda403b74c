"""A simulated dictionary: what a user might have suggested, taken from a reference (paper, section 7).

For each sentence, source words that are linked one-to-one to a reference word, that are no stop words, and whose
reference word the baseline's own translation lacks; at most four a sentence, from left to right. Stop words of
both languages are left out (the paper leaves out the English ones, on whichever side English is).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from alidade.alignment.links import Alignment, Link
from alidade.dictionary.entries import Entry, make_entry
from alidade.errors import require_package
from alidade.text.languages import primary_language
from alidade.text.normalise import normalise_text
from alidade.text.words import Word, split_words

MAX_ENTRIES = 4


class ReferencePair(NamedTuple):
    """A source sentence, its reference translation, the links of their words, and the baseline's translation."""

    source: str
    reference: str
    alignment: Alignment
    baseline: str


@dataclass(frozen=True, slots=True)
class SimulatedDictionary:
    """Entries of single sentences, and what they were taken from."""

    entries: tuple[Entry, ...]
    num_sentences: int
    num_reference_words: int

    @property
    def coverage(self) -> float:
        """The share of the reference's running words that are some entry's target."""
        return len(self.entries) / self.num_reference_words if self.num_reference_words else 0.0

    def __str__(self) -> str:
        num_covered = len({entry.sentence for entry in self.entries})
        return (
            f"{len(self.entries)} entries in {num_covered} of {self.num_sentences} sentences, "
            f"{self.coverage:.1%} of the reference's {self.num_reference_words} words"
        )


def simulate_dictionary(
    pairs: Iterable[ReferencePair], source_language: str, target_language: str, max_entries: int = MAX_ENTRIES
) -> SimulatedDictionary:
    """The simulated dictionary of a dev set. Its entries are for single occurrences in single sentences."""
    recipe = _Recipe(source_language, target_language, max_entries)
    entries: list[Entry] = []
    num_sentences = num_words = 0
    for num_sentences, pair in enumerate(pairs, start=1):
        reference = split_words(pair.reference, target_language)
        num_words += len(reference)
        entries += recipe.entries_of(num_sentences, pair, reference)
    return SimulatedDictionary(tuple(entries), num_sentences, num_words)


class _Recipe:
    def __init__(self, source_language: str, target_language: str, max_entries: int) -> None:
        self._source_language = source_language
        self._target_language = target_language
        self._source_stop_words = load_stop_words(source_language)
        self._target_stop_words = load_stop_words(target_language)
        self._max_entries = max_entries

    def entries_of(self, number: int, pair: ReferencePair, reference: tuple[Word, ...]) -> list[Entry]:
        source = split_words(pair.source, self._source_language)
        pair.alignment.require_inside(len(source), len(reference), f"sentence {number}")
        baseline = {word.text.casefold() for word in split_words(pair.baseline, self._target_language)}
        entries = []
        for link in one_to_one_links(pair.alignment):
            word, translation = source[link.source], reference[link.target]
            if (
                _is_content(word, self._source_stop_words)
                and _is_content(translation, self._target_stop_words)
                and translation.text.casefold() not in baseline
            ):
                occurrence = _occurrence(source, link.source)
                entries.append(make_entry(word.text, [translation.text], occurrence=occurrence, sentence=number))
        return entries[: self._max_entries]


def one_to_one_links(alignment: Alignment) -> Iterator[Link]:
    """The links of words that have no other link, ordered by source word."""
    num_of_source = Counter(link.source for link in alignment)
    num_of_target = Counter(link.target for link in alignment)
    for link in alignment:
        if num_of_source[link.source] == num_of_target[link.target] == 1:
            yield link


def load_stop_words(language: str) -> frozenset[str]:
    """The stop words of a language; none if there is no list for it."""
    stopwordsiso = require_package("stopwordsiso", "evaluate", "a simulated dictionary")
    language = primary_language(language)
    return frozenset(stopwordsiso.stopwords(language)) if stopwordsiso.has_lang(language) else frozenset()


def _is_content(word: Word, stop_words: frozenset[str]) -> bool:
    return not word.is_punctuation and word.text.casefold() not in stop_words


def _occurrence(words: tuple[Word, ...], index: int) -> int:
    """A word is the n-th of its kind in its sentence, in whatever case, counted from 1."""
    texts = [normalise_text(word.text).casefold() for word in words[: index + 1]]
    return texts.count(texts[-1])
