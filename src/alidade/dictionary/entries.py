"""Entries of a dictionary: a source word or phrase and the target forms that are wanted for it, or not wanted.

A dictionary says what is wrong with itself: entries that contradict each other (`complaints`) are kept in a way that
loses nothing, and entries that are given twice (`duplicates`) are kept once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, get_args

from alidade.dictionary.inflection import base_form
from alidade.errors import AlidadeError
from alidade.text.normalise import normalise_text

CaseRule = Literal["exact", "ignore"]
CASE_RULES: tuple[CaseRule, ...] = get_args(CaseRule)


_LONGEST_ENDING = 8
"""An inflected form is at most so many characters longer than the word."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A source word or phrase, the target forms allowed for it, and where it applies."""

    source: str
    targets: tuple[str, ...]
    """The allowed forms; where there are several, the model chooses. None: any but those that are forbidden."""
    case: CaseRule = "ignore"
    """"ignore": the source matches in any case, and its capitals carry over to what is written."""
    occurrence: int | None = None
    """Only the n-th occurrence in a sentence, counted from 1; None: all of them."""
    sentence: int | None = None
    """Only in this sentence of the input, counted from 1; None: in all of them."""
    inflect: bool = False
    """The source matches in any inflected form, and the target may have any."""
    forbidden: tuple[str, ...] = ()
    """Forms that must not be written for the source."""
    is_kept: bool = False
    """The source is never translated: it is written as it stands in the sentence."""
    source_language: str = ""
    """Whose inflected forms the source has; needed if the entry inflects."""
    origin: str = field(default="", compare=False)
    """Where the entry was given, for messages: "terms.tsv, line 3"."""

    def __str__(self) -> str:
        targets = ["(as it stands)"] * self.is_kept + [*self.targets, *[f"!{form}" for form in self.forbidden]]
        return f"{self.source} = {' | '.join(targets)}"


def make_entry(
    source: str,
    targets: Iterable[str] = (),
    case: CaseRule | None = None,
    occurrence: int | None = None,
    sentence: int | None = None,
    origin: str = "",
    *,
    inflect: bool = False,
    forbidden: Iterable[str] = (),
    is_kept: bool = False,
) -> Entry:
    """An entry with its texts written as texts are, or an error that says what is missing.

    case: None is "ignore", but "exact" for what is never translated, which is mostly names.
    """
    entry = Entry(
        normalise_text(source),
        _tidy_forms(targets),
        case or ("exact" if is_kept else "ignore"),
        occurrence,
        sentence,
        inflect,
        _tidy_forms(forbidden) if forbidden else (),
        is_kept,
        origin=origin,
    )
    complaint = _complaint_about(entry)
    if complaint:
        raise AlidadeError(f"{origin}: {complaint}" if origin else complaint)
    return entry


def _tidy_forms(forms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([tidy for form in forms if (tidy := normalise_text(form))]))


def _complaint_about(entry: Entry) -> str:
    if not entry.source:
        return "an entry needs a source word or phrase, and here it is empty"
    if not entry.targets and not entry.forbidden and not entry.is_kept:
        return f'the entry for "{entry.source}" has no translation'
    if entry.occurrence is not None and entry.occurrence < 1:
        return f'occurrence {entry.occurrence} of "{entry.source}": occurrences are counted from 1'
    if entry.sentence is not None and entry.sentence < 1:
        return f'sentence {entry.sentence} for "{entry.source}": sentences are counted from 1'
    if entry.case not in CASE_RULES:
        return f'case is "exact" or "ignore", not "{entry.case}"'
    return ""


class Dictionary:
    """Entries, ready to be looked up by the text of a phrase."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries, self.complaints, self.duplicates = _merge(entries)
        self._exact: dict[str, list[Entry]] = {}
        self._folded: dict[str, list[Entry]] = {}
        self._inflecting: dict[str, list[Entry]] = {}
        """By the base form of their source; those with and without regard to case alike."""
        for entry in self.entries:
            if entry.case == "exact":
                self._exact.setdefault(entry.source, []).append(entry)
            else:
                self._folded.setdefault(entry.source.casefold(), []).append(entry)
            if entry.inflect and entry.source_language:
                base = base_form(entry.source, entry.source_language)
                self._inflecting.setdefault(base.casefold(), []).append(entry)
        self.inflects = any(entry.inflect for entry in self.entries)
        self.longest = max(map(len, [*self._exact, *self._folded]), default=0) + _LONGEST_ENDING * self.inflects
        """Characters of the longest source phrase."""
        self._languages = sorted({entry.source_language for entry in self.entries if entry.inflect})

    def __len__(self) -> int:
        return len(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)

    def inflected(self, source_language: str) -> Dictionary:
        """The same entries, which now match and are written in any inflected form."""
        return Dictionary(
            [
                entry if entry.is_kept else replace(entry, inflect=True, source_language=source_language)
                for entry in self.entries
            ]
        )

    def in_language(self, source_language: str) -> Dictionary:
        """The same entries; those that inflect do so in this language, unless they have one already."""
        if not self.inflects or "" not in self._languages:
            return self
        return Dictionary(
            [
                replace(entry, source_language=source_language)
                if entry.inflect and not entry.source_language
                else entry
                for entry in self.entries
            ]
        )

    def entries_for(self, phrase: str) -> tuple[Sequence[Entry], Sequence[Entry]]:
        """The entries whose source is this phrase: to the letter, and those that ignore case."""
        return self._exact.get(phrase, ()), self._folded.get(phrase.casefold(), ()) if self._folded else ()

    def inflecting_entries_for(self, phrase: str) -> list[Entry]:
        """The entries whose source has this phrase as an inflected form."""
        if not self.inflects:
            return []
        if "" in self._languages:
            raise AlidadeError(
                "the dictionary has entries that inflect: say in which language their sources are, for example "
                'load_dictionary("terms.tsv", languages=("en", "ro"))'
            )
        return [
            entry
            for language in self._languages
            for entry in self._inflecting.get(base_form(phrase, language).casefold(), ())
            if entry.source_language == language and (entry.case == "ignore" or _has_same_case(phrase, entry.source))
        ]


def _has_same_case(phrase: str, source: str) -> bool:
    """Whether "Houses" is written like "House": an inflected form has other letters, but the same capitals."""
    return (phrase[0].isupper(), phrase.isupper()) == (source[0].isupper(), source.isupper())


class _Place(NamedTuple):
    """What an entry is for: two entries for the same must agree."""

    source: str
    case: CaseRule
    occurrence: int | None
    sentence: int | None

    @classmethod
    def of(cls, entry: Entry) -> _Place:
        source = entry.source if entry.case == "exact" else entry.source.casefold()
        return cls(source, entry.case, entry.occurrence, entry.sentence)


def _merge(entries: Iterable[Entry]) -> tuple[tuple[Entry, ...], tuple[str, ...], tuple[str, ...]]:
    """Unite entries for the same phrase in the same place, and say which were united.

    Entries that contradict each other become one that allows the forms of both: nothing that somebody asked
    for is lost without a word, and the model chooses. Only what is forbidden stays so.
    """
    given: dict[_Place, list[Entry]] = {}
    complaints, duplicates = [], []
    for entry in entries:
        others = given.setdefault(_Place.of(entry), [])
        same = next((other for other in others if _say_the_same(entry, other)), None)
        if same is not None:
            duplicates.append(f'"{entry}" is given twice{_places(same, entry)}')
            continue
        other = next((other for other in others if _wants(other) and _wants(entry)), None)
        if other is not None:
            complaints.append(
                f'"{other}" and "{entry}" contradict each other{_places(other, entry)}; either is allowed'
            )
        others.append(entry)
    merged = []
    for alike in given.values():
        entry = alike[0] if len(alike) == 1 else _unite(alike)
        if refused := [form for form in entry.targets if form in entry.forbidden]:
            complaints.append(f'"{entry}" both wants and forbids "{refused[0]}"{_places(*alike)}; it is forbidden')
            entry = replace(entry, targets=tuple([form for form in entry.targets if form not in refused]))
        merged.append(entry)
    return tuple(merged), tuple(complaints), tuple(duplicates)


def _wants(entry: Entry) -> bool:
    """Whether something is to be written; an entry that only forbids contradicts no other."""
    return bool(entry.targets) or entry.is_kept


def _say_the_same(one: Entry, other: Entry) -> bool:
    return (
        set(one.targets) == set(other.targets)
        and set(one.forbidden) == set(other.forbidden)
        and (one.inflect, one.is_kept) == (other.inflect, other.is_kept)
    )


def _unite(entries: Sequence[Entry]) -> Entry:
    return replace(
        entries[0],
        targets=tuple(dict.fromkeys([form for entry in entries for form in entry.targets])),
        forbidden=tuple(dict.fromkeys([form for entry in entries for form in entry.forbidden])),
        inflect=any(entry.inflect for entry in entries),
        is_kept=any(entry.is_kept for entry in entries),
        source_language=next((entry.source_language for entry in entries if entry.source_language), ""),
    )


def _places(*entries: Entry) -> str:
    places = [entry.origin for entry in entries if entry.origin]
    return f" ({' and '.join(places)})" if places else ""
