"""Terms of a bitext: what it translates in the same way again and again, to be edited into a dictionary.

From each linked pair come the phrases whose words are linked to each other and to nothing else (Koehn et al., 2003), up
to three words on a side, beginning and ending with a word that says something. A term is a source phrase and its most
frequent translation, if that is frequent and consistent enough. Left out are phrases that say no more than their words
do ("red car", if red and car are terms), and words that occur in a longer term alone.
"""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from alidade.alignment.links import Alignment
from alidade.dictionary.inflection import base_form
from alidade.dictionary.simulation import load_stop_words
from alidade.io import write_aside
from alidade.text.words import Word, split_words

MAX_WORDS = 3
MIN_COUNT = 3
MIN_CONSISTENCY = 0.6
_MOST_OTHERS = 3
_STEM = 5
COLUMNS = ("source", "target", "inflect", "count", "consistency", "others", "example", "target example")


class LinkedTexts(NamedTuple):
    """A pair of texts and the links of their words."""

    source: str
    target: str
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class ExtractedTerm:
    """A source phrase and how a bitext translates it."""

    source: str
    target: str
    inflects: bool
    """Whether both are base forms, which stand for all their forms."""
    count: int
    """How often this is the translation."""
    consistency: float
    """Of all times that the source is translated as a phrase, how often in this way."""
    others: tuple[tuple[str, int], ...]
    """The next translations and how often."""
    example: tuple[str, str]
    """A pair of sentences, the shortest that has both."""


@dataclass(slots=True)
class _Sightings:
    """How a source phrase has been seen. What counts as one phrase has one key: its words in lower case, or their base
    forms."""

    spellings: Counter[str] = field(default_factory=Counter)
    translations: Counter[str] = field(default_factory=Counter)
    """By key."""
    target_spellings: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    examples: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, source: str, target: str, target_key: str, pair: LinkedTexts) -> None:
        self.spellings[source] += 1
        self.translations[target_key] += 1
        self.target_spellings[target_key][target] += 1
        example = self.examples.get(target_key)
        if example is None or len(pair.source) < len(example[0]):
            self.examples[target_key] = pair.source, pair.target

    def term(self, key: str, inflects: bool) -> ExtractedTerm:
        (best, count), *others = self.translations.most_common(_MOST_OTHERS + 1)
        return ExtractedTerm(
            _spelling(key, self.spellings),
            _spelling(best, self.target_spellings[best]),
            inflects,
            count,
            count / self.translations.total(),
            tuple([(_spelling(other, self.target_spellings[other]), number) for other, number in others]),
            self.examples[best],
        )


def _spelling(key: str, seen: Counter[str]) -> str:
    """How a phrase is written: as it mostly is; but a single word in its base form, with the capitals of the others."""
    as_key = [spelling for spelling, _ in seen.most_common() if spelling.casefold() == key]
    if as_key:
        return as_key[0]
    most_common = seen.most_common(1)[0][0]
    if " " in key:
        return most_common
    return key[0].upper() + key[1:] if most_common[0].isupper() and not most_common.isupper() else key


def extract_terms(
    pairs: Iterable[LinkedTexts],
    source_language: str,
    target_language: str,
    *,
    max_words: int = MAX_WORDS,
    min_count: int = MIN_COUNT,
    min_consistency: float = MIN_CONSISTENCY,
    inflect: bool = False,
) -> list[ExtractedTerm]:
    """The terms that a bitext uses consistently, the most frequent first.

    inflect: inflected forms count as one word, and terms are base forms.
    """
    seen: defaultdict[str, _Sightings] = defaultdict(_Sightings)
    finder = _PhraseFinder((source_language, target_language), max_words)
    for number, pair in enumerate(pairs, start=1):
        for source, target in finder.find(pair, number):
            target_key = _key(target, target_language, inflect)
            seen[_key(source, source_language, inflect)].add(source, target, target_key, pair)
    terms = {key: sightings.term(key, inflect) for key, sightings in seen.items()}
    frequent = {
        key: term for key, term in terms.items() if term.count >= min_count and term.consistency >= min_consistency
    }
    kept = {key: term for key, term in frequent.items() if not _is_sum_of_words(key, term, frequent)}
    nested = _counts_within_terms(kept)
    return sorted(
        [term for key, term in kept.items() if nested[key] < term.count], key=lambda term: (-term.count, term.source)
    )


@functools.lru_cache(maxsize=1 << 16)
def _key(phrase: str, language: str, inflect: bool) -> str:
    """What different spellings of a phrase have in common."""
    if inflect:
        return " ".join([base_form(word, language) for word in phrase.split()]).casefold()
    return phrase.casefold()


def write_terms(path: Path, terms: Sequence[ExtractedTerm]) -> None:
    """Write terms as a TSV file that is a dictionary, with further columns for whoever edits it."""
    with write_aside(path) as file:
        file.write("\t".join(COLUMNS) + "\n")
        for term in terms:
            fields = [
                term.source,
                term.target.replace("|", r"\|"),
                "yes" if term.inflects else "",
                str(term.count),
                f"{term.consistency:.2f}",
                ", ".join([f"{text} ({count})" for text, count in term.others]),
                *term.example,
            ]
            file.write("\t".join(fields) + "\n")


class _PhraseFinder:
    """Finds the phrases of a pair that translate each other."""

    def __init__(self, languages: tuple[str, str], max_words: int) -> None:
        self._languages = languages
        self._stop_words = [load_stop_words(language) for language in languages]
        self._max_words = max_words

    def find(self, pair: LinkedTexts, number: int) -> Iterator[tuple[str, str]]:
        source = split_words(pair.source, self._languages[0])
        target = split_words(pair.target, self._languages[1])
        pair.alignment.require_inside(len(source), len(target), f"pair {number}")
        targets_of: dict[int, list[int]] = defaultdict(list)
        sources_of: dict[int, list[int]] = defaultdict(list)
        for link in pair.alignment:
            targets_of[link.source].append(link.target)
            sources_of[link.target].append(link.source)
        for start in range(len(source)):
            for end in range(start + 1, min(start + self._max_words, len(source)) + 1):
                linked = [target for word in range(start, end) for target in targets_of.get(word, ())]
                if not linked:
                    continue
                stretch = range(min(linked), max(linked) + 1)
                if (
                    len(stretch) <= self._max_words
                    and all(start <= word < end for target in stretch for word in sources_of.get(target, ()))
                    and self._says_something(source[start:end], 0)
                    and self._says_something(target[stretch.start : stretch.stop], 1)
                ):
                    yield (
                        pair.source[source[start].start : source[end - 1].end],
                        pair.target[target[stretch.start].start : target[stretch.stop - 1].end],
                    )

    def _says_something(self, words: Sequence[Word], side: int) -> bool:
        """Whether a phrase begins and ends with content words and has no marks in it."""
        return not any(word.is_punctuation for word in words) and all(
            self._is_content(word, side) for word in (words[0], words[-1])
        )

    def _is_content(self, word: Word, side: int) -> bool:
        text = word.text
        return (
            text.casefold() not in self._stop_words[side]
            and any(character.isalpha() for character in text)
            and (len(text) > 1 or not text.isascii())
        )


def _is_sum_of_words(key: str, term: ExtractedTerm, terms: dict[str, ExtractedTerm]) -> bool:
    """Whether a phrase's words are terms whose translations are the words of its translation, in whatever order."""
    words = key.split()
    if len(words) == 1 or not all(word in terms for word in words):
        return False
    return sorted([_stem(terms[word].target) for word in words]) == sorted(map(_stem, term.target.split()))


def _stem(word: str) -> str:
    """The first letters of a word, which its inflected forms mostly share."""
    return word.casefold()[:_STEM]


def _counts_within_terms(terms: dict[str, ExtractedTerm]) -> Counter[str]:
    """For each part of a longer term how often that term occurs."""
    counts: Counter[str] = Counter()
    for key, term in terms.items():
        words = key.split()
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                if end - start < len(words):
                    part = " ".join(words[start:end])
                    counts[part] = max(counts[part], term.count)
    return counts
