"""TBX, the exchange format of terminology tools (ISO 30042): versions 2008 and 2019 are read, the latter is written.

A concept has a section for each language, and a section its terms. Every source term becomes an entry that allows all
target terms of its concept and forbids those that are marked as deprecated or superseded. Read with expat, which
fetches nothing from outside; a file that declares entities is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from xml.parsers import expat

from alidade.dictionary.entries import Entry, make_entry
from alidade.errors import AlidadeError
from alidade.io import open_bytes, write_aside

_CONCEPT = ("termEntry", "conceptEntry")
_LANGUAGE = ("langSet", "langSec")
_TERM_SECTION = ("tig", "ntig", "termSec")
_UNWANTED = ("deprecated", "superseded")
_CHUNK = 1 << 16


def read_tbx(path: Path, languages: tuple[str, str] | None) -> Iterator[Entry]:
    """The entries of a TBX file for a source and a target language."""
    if languages is None:
        raise AlidadeError(f"{path}: a TBX file has several languages: say which is the source and which the target")
    reader = _TbxReader(path, languages)
    with open_bytes(path) as file:
        try:
            while chunk := file.read(_CHUNK):
                reader.parser.Parse(chunk, False)
                yield from reader.take()
            reader.parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise AlidadeError(f"{path}, line {error.lineno}: not valid XML: {expat.ErrorString(error.code)}") from None
        except (LookupError, ValueError) as error:  # an encoding that Python does not know, or not for XML
            raise AlidadeError(f"{path}: not valid XML: {error}") from None
    yield from reader.take()
    missing = [language for language in languages if not reader.has_language(language)]
    if missing:
        found = ", ".join(sorted(reader.languages)) or "none"
        raise AlidadeError(f'{path}: has no terms in "{missing[0]}"; its languages: {found}')


class _TbxReader:
    """Collects the terms of one concept after the other while expat reads."""

    def __init__(self, path: Path, languages: tuple[str, str]) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.EntityDeclHandler = self._refuse_entity
        self.languages: set[str] = set()
        self._path = path
        self._wanted = languages
        self._entries: list[Entry] = []
        self._sources: list[str] = []
        self._targets: list[str] = []
        self._forbidden: list[str] = []
        self._language = ""
        self._term = ""
        self._is_unwanted = False
        self._text: list[str] = []
        self._line = 0

    def take(self) -> list[Entry]:
        """The entries completed since the last call."""
        entries, self._entries = self._entries, []
        return entries

    def has_language(self, wanted: str) -> bool:
        return any(is_language(language, wanted) for language in self.languages)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = _local(name)
        self._text = []
        if element in _CONCEPT:
            self._sources, self._targets, self._forbidden = [], [], []
            self._line = self.parser.CurrentLineNumber
        elif element in _LANGUAGE:
            self._language = next((value for key, value in attributes.items() if _local(key) == "lang"), "")
            self.languages.add(self._language)
        elif element in _TERM_SECTION:
            self._term, self._is_unwanted = "", False

    def _characters(self, text: str) -> None:
        self._text.append(text)

    def _end(self, name: str) -> None:
        element = _local(name)
        text = "".join(self._text)
        if element == "term":
            self._term = text
        elif element in ("termNote", "administrativeStatus"):
            self._is_unwanted |= text.strip().startswith(_UNWANTED)
        elif element in _TERM_SECTION and self._term.strip():
            self._add_term()
        elif element in _CONCEPT:
            self._add_entries()

    def _add_term(self) -> None:
        source, target = self._wanted
        if is_language(self._language, source):
            self._sources.append(self._term)
        if is_language(self._language, target):
            (self._forbidden if self._is_unwanted else self._targets).append(self._term)

    def _add_entries(self) -> None:
        if self._targets or self._forbidden:
            origin = f"{self._path}, line {self._line}"
            self._entries += [
                make_entry(source, self._targets, origin=origin, forbidden=self._forbidden) for source in self._sources
            ]

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise AlidadeError(
            f'{self._path}, line {self.parser.CurrentLineNumber}: declares the entity "{name}", which is not allowed '
            "in a dictionary; write its text in its place"
        )


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition(" ")[2]


def is_language(given: str, wanted: str) -> bool:
    """Whether "en-US" is "en"; if the wanted one has a region, it must be the same."""
    given, wanted = given.lower().replace("_", "-"), wanted.lower().replace("_", "-")
    return given == wanted or given.startswith(f"{wanted}-")


_HEADER = """<?xml version="1.0" encoding="UTF-8"?>
<tbx type="TBX-Basic" style="dct" xml:lang="{source}" xmlns="urn:iso:std:iso:30042:ed-2"
     xmlns:basic="http://www.tbxinfo.net/ns/basic">
<tbxHeader><fileDesc><sourceDesc><p>Made by Alidade</p></sourceDesc></fileDesc></tbxHeader>
<text><body>
"""
_FOOTER = "</body></text>\n</tbx>\n"


def write_tbx(path: Path, entries: Iterable[Entry], languages: tuple[str, str] | None) -> int:
    """Write entries as TBX-Basic, a concept each; says how many. TBX has no place for occurrences and sentences."""
    if languages is None:
        raise AlidadeError(f"{path}: a TBX file names its languages: say which is the source and which the target")
    num_entries = 0
    with write_aside(path) as file:
        file.write(_HEADER.format(source=escape(languages[0])))
        for num_entries, entry in enumerate(entries, start=1):
            if entry.occurrence is not None or entry.sentence is not None:
                raise AlidadeError(
                    f'{path}: TBX cannot say that "{entry}" is for one sentence or occurrence only; write a .tsv file'
                )
            file.write(_concept(num_entries, entry, languages))
        file.write(_FOOTER)
    return num_entries


def _concept(number: int, entry: Entry, languages: tuple[str, str]) -> str:
    source, target = map(escape, languages)
    wanted = [*([entry.source] if entry.is_kept else []), *entry.targets]
    terms = [_term(text, "preferredTerm-admn-sts" if text == wanted[0] else "admittedTerm-admn-sts") for text in wanted]
    terms += [_term(text, "deprecatedTerm-admn-sts") for text in entry.forbidden]
    return (
        f'<conceptEntry id="c{number}">\n'
        f'  <langSec xml:lang="{source}"><termSec><term>{escape(entry.source)}</term></termSec></langSec>\n'
        f'  <langSec xml:lang="{target}">{"".join(terms)}</langSec>\n'
        "</conceptEntry>\n"
    )


def _term(text: str, status: str) -> str:
    return (
        f"<termSec><term>{escape(text)}</term>"
        f"<basic:administrativeStatus>{status}</basic:administrativeStatus></termSec>"
    )
