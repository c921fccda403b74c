"""What became of a dictionary's entries: for each translation as rows, over many of them as a summary for a person.

An entry that occurs was used, in some form and at some words of the translation, or it was not, for a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from alidade.dictionary.draft import places_of
from alidade.dictionary.entries import Dictionary, Entry
from alidade.dictionary.matching import Form, Match
from alidade.dictionary.rules import Use
from alidade.text.subwords import Encoding

MOST_NAMED = 5
"""So many unused entries are named."""


@dataclass(frozen=True, slots=True)
class EntryReport:
    """What became of one entry in one translation."""

    entry: Entry
    source_words: range
    source_text: str
    form: str | None
    """As it stands in the translation; None if the entry was not used."""
    target_words: range
    """The words of the translation that the form is; none if it was not used."""
    target_pieces: range
    reason: str
    """Why the entry was not used, or what stands there in spite of it; empty if all is well."""

    @property
    def is_used(self) -> bool:
        return self.form is not None

    def to_json(self) -> dict[str, Any]:
        """Plain values, for a line of JSON."""
        return {
            "entry": str(self.entry),
            "origin": self.entry.origin,
            "source_words": [*self.source_words],
            "source_text": self.source_text,
            "is_used": self.is_used,
            "form": self.form,
            "target_words": [*self.target_words],
            "target_pieces": [*self.target_pieces],
            "reason": self.reason,
        }


def report_entries(
    matches: Sequence[Match], uses: Iterable[Use], source: Encoding, target: Encoding
) -> tuple[EntryReport, ...]:
    """For each match of a translation whether it was used, in which form and where, or why not."""
    use_of = {use.match: use for use in uses}
    return tuple([_report(match, use_of.get(number), source, target) for number, match in enumerate(matches)])


def _report(match: Match, use: Use | None, source: Encoding, target: Encoding) -> EntryReport:
    first, last = source.words[match.words[0]], source.words[match.words[-1]]
    words = range(0)
    form = None
    if use is not None:
        words = range(target.word_of_piece[use.pieces[0]], target.word_of_piece[use.pieces[-1]] + 1)
        form = target.text[target.words[words[0]].start : target.words[words[-1]].end]
    return EntryReport(
        match.entry,
        match.words,
        source.text[first.start : last.end],
        form,
        words,
        range(0) if use is None else use.pieces,
        _reason(match, use, target),
    )


def _reason(match: Match, use: Use | None, target: Encoding) -> str:
    if use is not None:
        return ""
    wants_something = bool(match.entry.targets) or match.entry.is_kept
    if not wants_something:
        written = [form.text for form in match.forbidden if _stands_in(form, target)]
        return f'only forbids; "{written[0]}" stands in the translation' if written else "only forbids"
    if not match.forms:
        is_refused = {form.text for form in match.forbidden} & set(match.entry.targets)
        return "its forms are forbidden" if is_refused else "the target vocabulary cannot write it"
    if any(_stands_in(form, target) for form in match.forms):
        return "its form stands in the translation, but translates other words"
    return "the search found no place for it"


def _stands_in(form: Form, target: Encoding) -> bool:
    return next(places_of(form, target), None) is not None


class DictionarySummary:
    """Counts matched, used and unused entries."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._num_entries = len(dictionary)
        self._num_wanted = 0
        self._num_forbidding = 0
        self._num_sentences = 0
        self._unused: Counter[Entry] = Counter()
        self._unwritable: dict[Entry, None] = {}

    def add(self, matches: Sequence[Match], uses: Iterable[Use]) -> None:
        """Count one translation."""
        used = {use.match for use in uses}
        wanted = {number: match for number, match in enumerate(matches) if match.entry.targets or match.entry.is_kept}
        self._num_sentences += 1
        self._num_wanted += len(wanted)
        self._num_forbidding += len(matches) - len(wanted)
        self._unused.update([match.entry for number, match in wanted.items() if number not in used])
        self._unwritable |= {match.entry: None for match in wanted.values() if not match.forms}

    def __str__(self) -> str:
        if not self._num_wanted and not self._num_forbidding:
            return (
                f"dictionary: none of the {self._num_entries} entries occurs in the {self._num_sentences} sentences; "
                "entries match whole words (see `alidade dictionary check`)"
            )
        num_unused = self._unused.total()
        counts = f"{self._num_wanted - num_unused} used, {num_unused} not used"
        if self._num_forbidding:
            counts += f", {self._num_forbidding} that only forbid"
        num_matched = self._num_wanted + self._num_forbidding
        lines = [f"dictionary: {num_matched} matches in {self._num_sentences} sentences, {counts}"]
        for entry, count in self._unused.most_common(MOST_NAMED):
            lines.append(f"  not used: {entry}" + (f" ({count} times)" if count > 1 else ""))
        if len(self._unused) > MOST_NAMED:
            lines.append(f"  ... and {len(self._unused) - MOST_NAMED} other entries")
        lines += [f"  the target vocabulary cannot write: {entry}" for entry in self._unwritable]
        return "\n".join(lines)
