"""Translation memory: what people have translated before, and may not want to translate again.

An exact match is taken as it is. A fuzzy one differs in a few words: the words that its changed words became are found
by the aligner, everything before them is given to the search as a prefix, and the translation of the new words takes
their place; the rest is the memory's own target.
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import regex

from alidade.alignment.links import Alignment
from alidade.documents.xml import unescape_text
from alidade.text.words import Word, split_words
from alidade.translation import Translation

LEAST_SIMILARITY = 0.85
MOST_CANDIDATES = 50


class Pair(NamedTuple):
    """A text and its translation by a person."""

    source: str
    target: str


class FuzzyMatch(NamedTuple):
    """A pair whose source is nearly a text: words old of it are words new of the text."""

    pair: Pair
    similarity: float
    old: range
    new: range


class Memory:
    """Pairs, ready to be looked up."""

    def __init__(self, pairs: Iterable[Pair], language: str) -> None:
        self._language = language
        self._targets: dict[str, str] = {}
        self._numbers: defaultdict[str, list[int]] = defaultdict(list)
        self._pairs: list[Pair] = []
        for pair in pairs:
            if pair.target.strip() and pair.source not in self._targets:
                self._targets[pair.source] = pair.target
                for word in {word.text for word in split_words(pair.source, language)}:
                    self._numbers[word].append(len(self._pairs))
                self._pairs.append(pair)

    def __len__(self) -> int:
        return len(self._pairs)

    def exact(self, text: str) -> str | None:
        """The translation of exactly this text."""
        return self._targets.get(text)

    def fuzzy(self, text: str) -> FuzzyMatch | None:
        """The most similar pair, if it is similar enough and differs in one stretch of words only."""
        words = [word.text for word in split_words(text, self._language)]
        found = [self._compare(words, self._pairs[number]) for number in self._candidates(words)]
        return max([one for one in found if one is not None], key=lambda one: one.similarity, default=None)

    def _candidates(self, words: Sequence[str]) -> list[int]:
        """The pairs that share most words, rare words first."""
        counts: defaultdict[int, int] = defaultdict(int)
        for word in sorted(set(words), key=lambda word: len(self._numbers.get(word, ())))[:8]:
            for number in self._numbers.get(word, ())[:1000]:
                counts[number] += 1
        return sorted(counts, key=lambda number: -counts[number])[:MOST_CANDIDATES]

    def _compare(self, words: list[str], pair: Pair) -> FuzzyMatch | None:
        others = [word.text for word in split_words(pair.source, self._language)]
        matcher = difflib.SequenceMatcher(None, others, words, autojunk=False)
        similarity = matcher.ratio()
        changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
        if similarity < LEAST_SIMILARITY or len(changes) != 1 or changes[0][0] != "replace":
            return None
        _, first, last, new_first, new_last = changes[0]
        return FuzzyMatch(pair, similarity, range(first, last), range(new_first, new_last))


Align = Callable[[Pair], tuple[Sequence[Word], Sequence[Word], Alignment]]
"""Source words, target words and links of a given pair."""
Complete = Callable[[str, str], Translation]
"""The translation of a text that begins with a prefix."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """Makes a new translation of a fuzzy match."""

    align: Align
    complete: Complete

    def adapt(self, text: str, match: FuzzyMatch) -> str | None:
        """The memory's target with the translation of the new words in place of the old; None: it cannot be done."""
        _, target_words, alignment = self.align(match.pair)
        changed = sorted({link.target for link in alignment if link.source in match.old})
        if not changed or changed != [*range(changed[0], changed[-1] + 1)]:
            return None
        start, end = target_words[changed[0]].start, target_words[changed[-1]].end
        before, after = match.pair.target[:start], match.pair.target[end:]
        new = self._new_words(text, before, match.new)
        return None if new is None else f"{before}{new}{after}"

    def _new_words(self, text: str, before: str, words: range) -> str | None:
        translation = self.complete(text, before.rstrip())
        num_before = len([word for word in translation.target.words if word.end <= len(before.rstrip())])
        linked = sorted(
            {link.target for link in translation.alignment or () if link.source in words and link.target >= num_before}
        )
        if not linked or linked != [*range(linked[0], linked[-1] + 1)]:
            return None
        target = translation.target.words
        return translation.text[target[linked[0]].start : target[linked[-1]].end]


def read_tmx_pairs(path: Path, content: bytes, languages: tuple[str, str]) -> list[Pair]:
    """The translated units of a TMX file."""
    from alidade.documents.xml_catalogues import read_xml_catalogue

    units = read_xml_catalogue(path, content, languages).units
    return [Pair(_plain(unit.sources[0]), _plain(unit.targets[0])) for unit in units if unit.is_translated]


def _plain(text: str) -> str:
    """A segment without its tags."""
    return unescape_text(regex.sub(r"<[^>]*>", "", text))
