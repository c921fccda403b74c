"""What became of a dictionary over many translations: a summary for a person to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from alidade.dictionary.entries import Dictionary, Entry
from alidade.dictionary.matching import Match
from alidade.dictionary.rules import Use

MOST_UNUSED = 5
"""So many unused entries are named."""


class DictionarySummary:
    """Counts matched, used and unused entries."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._num_entries = len(dictionary)
        self._num_matched = 0
        self._num_sentences = 0
        self._unused: Counter[Entry] = Counter()
        self._unwritable: dict[Entry, None] = {}

    def add(self, matches: Sequence[Match], uses: Iterable[Use]) -> None:
        """Count one translation."""
        used = {use.match for use in uses}
        self._num_sentences += 1
        self._num_matched += len(matches)
        self._unused.update([match.entry for number, match in enumerate(matches) if number not in used])
        self._unwritable |= {match.entry: None for match in matches if not match.forms}

    def __str__(self) -> str:
        if not self._num_matched:
            return (
                f"dictionary: none of the {self._num_entries} entries occurs in the {self._num_sentences} sentences; "
                "entries match whole words in the same case (see `alidade dictionary check`)"
            )
        num_unused = self._unused.total()
        counts = f"{self._num_matched - num_unused} used, {num_unused} not used"
        lines = [f"dictionary: {self._num_matched} matches in {self._num_sentences} sentences, {counts}"]
        for entry, count in self._unused.most_common(MOST_UNUSED):
            lines.append(f"  not used: {entry}" + (f" ({count} times)" if count > 1 else ""))
        if len(self._unused) > MOST_UNUSED:
            lines.append(f"  ... and {len(self._unused) - MOST_UNUSED} other entries")
        lines += [f"  the target vocabulary cannot write: {entry}" for entry in self._unwritable]
        return "\n".join(lines)
