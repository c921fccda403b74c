"""What became of a dictionary's matches: which were used, where in the target, and which were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from alidade.dictionary.constraints import Use
from alidade.dictionary.entries import Dictionary, Entry
from alidade.dictionary.matching import Match
from alidade.text.subwords import Encoding

MOST_UNUSED = 5
"""So many unused entries are named in a summary."""


@dataclass(frozen=True, slots=True)
class MatchedEntry:
    """An entry that applies in a sentence, and what a translation made of it."""

    entry: Entry
    source_words: range
    """Counted from 0."""
    target_words: range | None
    """The words of the translation that are its form; None if it was not used."""
    is_writable: bool = True
    """False if the target vocabulary cannot write any of its forms."""

    @property
    def is_used(self) -> bool:
        return self.target_words is not None

    def as_json(self) -> dict[str, Any]:
        """For JSON lines: words as [first, end) pairs."""
        target = self.target_words
        return {
            "source": self.entry.source,
            "targets": list(self.entry.targets),
            "source_words": [self.source_words.start, self.source_words.stop],
            "target_words": None if target is None else [target.start, target.stop],
        }


def report_matches(matches: Sequence[Match], uses: Iterable[Use], target: Encoding) -> tuple[MatchedEntry, ...]:
    """The matches of a sentence in the source's order, with their uses in a translation."""
    words_of = {use.match: _words(use.pieces, target) for use in uses}
    return tuple(
        [
            MatchedEntry(match.entry, match.words, words_of.get(number), bool(match.forms))
            for number, match in enumerate(matches)
        ]
    )


def _words(pieces: range, target: Encoding) -> range:
    return range(target.word_of_piece[pieces[0]], target.word_of_piece[pieces[-1]] + 1)


class DictionarySummary:
    """Counts over many translations, for a person to read."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._num_entries = len(dictionary)
        self._num_matched = 0
        self._num_sentences = 0
        self._unused: Counter[Entry] = Counter()
        self._unwritable: dict[Entry, None] = {}

    def add(self, matched: Iterable[MatchedEntry]) -> None:
        """Count the matches of one translation."""
        self._num_sentences += 1
        for match in matched:
            self._num_matched += 1
            if not match.is_used:
                self._unused[match.entry] += 1
            if not match.is_writable:
                self._unwritable[match.entry] = None

    def __str__(self) -> str:
        if not self._num_matched:
            return (
                f"dictionary: none of the {self._num_entries} entries occurs in the {self._num_sentences} sentences; "
                "entries match whole words in the same case (see `alidade dictionary check`)"
            )
        num_unused = self._unused.total()
        num_used = self._num_matched - num_unused
        counts = f"{num_used} used, {num_unused} not used"
        lines = [f"dictionary: {self._num_matched} matches in {self._num_sentences} sentences, {counts}"]
        for entry, count in self._unused.most_common(MOST_UNUSED):
            lines.append(f"  not used: {entry}" + (f" ({count} times)" if count > 1 else ""))
        if len(self._unused) > MOST_UNUSED:
            lines.append(f"  ... and {len(self._unused) - MOST_UNUSED} other entries")
        lines += [f"  the target vocabulary cannot write: {entry}" for entry in self._unwritable]
        return "\n".join(lines)
