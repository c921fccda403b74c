"""Entries of a dictionary: a source word or phrase and the target forms that are wanted for it.

A dictionary says what is wrong with itself (`complaints`): entries given twice and entries that contradict
each other are kept in a way that loses nothing, and reported.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from alidade.errors import AlidadeError

CaseRule = Literal["exact", "ignore"]
CASE_RULES: tuple[CaseRule, ...] = get_args(CaseRule)


@dataclass(frozen=True, slots=True)
class Entry:
    """A source word or phrase, the target forms allowed for it, and where it applies."""

    source: str
    targets: tuple[str, ...]
    """The allowed forms; where there are several, the model chooses."""
    case: CaseRule = "exact"
    """"ignore": the source matches in any case, and a capitalised source also allows capitalised targets."""
    occurrence: int | None = None
    """Only the n-th occurrence in a sentence, counted from 1; None: all of them."""
    sentence: int | None = None
    """Only in this sentence of the input, counted from 1; None: in all of them."""
    origin: str = field(default="", compare=False)
    """Where the entry was given, for messages: "terms.tsv, line 3"."""

    def __str__(self) -> str:
        return f"{self.source} = {' | '.join(self.targets)}"


def make_entry(
    source: str,
    targets: Iterable[str],
    case: CaseRule = "exact",
    occurrence: int | None = None,
    sentence: int | None = None,
    origin: str = "",
) -> Entry:
    """An entry with its texts in order (NFC, single spaces), or an error that says what is missing."""
    forms = tuple(dict.fromkeys([tidy for form in targets if (tidy := tidy_text(form))]))
    entry = Entry(tidy_text(source), forms, case, occurrence, sentence, origin)
    complaint = _complaint_about(entry)
    if complaint:
        raise AlidadeError(f"{origin}: {complaint}" if origin else complaint)
    return entry


def _complaint_about(entry: Entry) -> str:
    if not entry.source:
        return "an entry needs a source word or phrase, and here it is empty"
    if not entry.targets:
        return f'the entry for "{entry.source}" has no translation'
    if entry.occurrence is not None and entry.occurrence < 1:
        return f'occurrence {entry.occurrence} of "{entry.source}": occurrences are counted from 1'
    if entry.sentence is not None and entry.sentence < 1:
        return f'sentence {entry.sentence} for "{entry.source}": sentences are counted from 1'
    return ""


def tidy_text(text: str) -> str:
    """NFC with single spaces: how entries and sentences are written when they are compared."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


class Dictionary:
    """Entries, ready to be looked up by the text of a phrase."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries, self.complaints = _merge(entries)
        self._exact: dict[str, list[Entry]] = {}
        self._folded: dict[str, list[Entry]] = {}
        for entry in self.entries:
            if entry.case == "exact":
                self._exact.setdefault(entry.source, []).append(entry)
            else:
                self._folded.setdefault(entry.source.casefold(), []).append(entry)
        self.longest = max(map(len, [*self._exact, *self._folded]), default=0)
        """Characters of the longest source phrase."""

    def __len__(self) -> int:
        return len(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def entries_for(self, phrase: str) -> tuple[Sequence[Entry], Sequence[Entry]]:
        """The entries whose source is this phrase: to the letter, and those that ignore case."""
        return self._exact.get(phrase, ()), self._folded.get(phrase.casefold(), ()) if self._folded else ()


def _merge(entries: Iterable[Entry]) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """Unite entries for the same phrase in the same place, and say which were united.

    Entries that contradict each other become one that allows the forms of both: nothing that somebody asked
    for is lost without a word, and the model chooses.
    """
    merged: dict[tuple[str, CaseRule, int | None, int | None], Entry] = {}
    complaints = []
    for entry in entries:
        key = (entry.source, entry.case, entry.occurrence, entry.sentence)
        first = merged.setdefault(key, entry)
        if first is entry:
            continue
        if set(entry.targets) == set(first.targets):
            complaints.append(f'"{entry}" is given twice{_places(first, entry)}')
        else:
            complaints.append(
                f'"{first}" and "{entry}" contradict each other{_places(first, entry)}; either is allowed'
            )
            forms = tuple(dict.fromkeys(first.targets + entry.targets))
            merged[key] = replace(first, targets=forms)
    return tuple(merged.values()), tuple(complaints)


def _places(first: Entry, second: Entry) -> str:
    places = [entry.origin for entry in (first, second) if entry.origin]
    return f" ({' and '.join(places)})" if places else ""
