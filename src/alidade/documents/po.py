"""gettext's message catalogues, PO and POT."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import regex

from alidade.documents.document import NOTE, Document, Edit, Filled, Unit, decode_text
from alidade.errors import AlidadeError
from alidade.text.plurals import number_of_plurals, plural_rule, speaks_of_several

WIDTH = 77
"""gettext's tools wrap at 80 columns, quotes and a space included."""


@dataclass(slots=True)
class _Field:
    """A keyword and its strings: `msgid "…"`."""

    name: str
    start: int
    end: int
    """In lines."""
    text: str = ""


@dataclass(slots=True)
class _Entry:
    """One message."""

    start: int
    """Its first line."""
    fields: list[_Field] = field(default_factory=list)
    flags: int | None = None
    """The line of its flags."""

    def get(self, name: str) -> _Field | None:
        return next((one for one in self.fields if one.name == name), None)

    @property
    def translations(self) -> list[_Field]:
        return [one for one in self.fields if one.name.startswith("msgstr")]


def read_po(path: Path, content: bytes, languages: tuple[str, str]) -> Document:
    """The messages of a catalogue."""
    charset = regex.search(rb"charset=([\w.:-]+)", content[:5000])
    declared = charset[1].decode() if charset and charset[1] != b"CHARSET" else None
    text, encoding = decode_text(path, content, declared)
    lines = text.splitlines(keepends=True)
    entries = [*_entries(path, lines)]
    header = next((entry for entry in entries if (msgid := entry.get("msgid")) is not None and not msgid.text), None)
    num_plurals = _num_plurals(header, languages[1])
    writer = _Writer(lines)
    units = [
        writer.unit(entry, num_plurals)
        for entry in entries
        if entry is not header and entry.get("msgid") is not None and entry.translations
    ]
    named = regex.search(r"charset=([\w.:-]+)", text) if declared else None
    edits = writer.header_edits(header, languages[1]) if header else ()
    return Document(text, units, encoding, edits, named.span(1) if named else None)


def _num_plurals(header: _Entry | None, language: str) -> int:
    text = header.translations[0].text if header and header.translations else ""
    found = regex.search(r"nplurals\s*=\s*(\d+)", text)
    return int(found[1]) if found else number_of_plurals(language)


_FUZZY = regex.compile(r"\s*\bfuzzy\b(?:,|(?=\s*$))|,\s*fuzzy\b(?=\s*$)")
_NOTE = regex.compile(rf"# (?:{NOTE})")
_KEYWORD = regex.compile(r'\s*(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s*"')
_STRING = regex.compile(r'"((?:[^"\\]|\\.)*)"\s*$')


def _entries(path: Path, lines: list[str]) -> Iterator[_Entry]:
    """Messages end where a comment or a new msgctxt or msgid follows a msgstr."""
    entry: _Entry | None = None
    for number, line in enumerate(lines):
        stripped = line.strip()
        if not stripped:
            continue
        if stripped.startswith("#~"):
            if entry is not None and entry.translations:
                yield entry
                entry = None
            continue
        keyword = _KEYWORD.match(line)
        begins = stripped.startswith("#") or (keyword and keyword[1] in ("msgctxt", "msgid"))
        if entry is None or (begins and entry.translations):
            if entry is not None:
                yield entry
            entry = _Entry(number)
        if stripped.startswith("#"):
            entry.flags = number if stripped.startswith("#,") else entry.flags
            continue
        string = _STRING.search(line)
        if string is None or (keyword is None and not (stripped.startswith('"') and entry.fields)):
            raise AlidadeError(f"{path}, line {number + 1}: this is no line of a PO file: {stripped[:60]}")
        if keyword:
            entry.fields.append(_Field(keyword[1], number, number + 1))
        entry.fields[-1].end = number + 1
        entry.fields[-1].text += unescape(string[1])
    if entry is not None and entry.fields:
        yield entry


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def unescape(text: str) -> str:
    """A string of a PO file as it is meant."""
    if "\\" not in text:
        return text
    return regex.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)


def escape(text: str) -> str:
    """A string as PO files write it."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    for letter, character in _ESCAPES.items():
        text = text.replace(character, f"\\{letter}")
    return text


class _Writer:
    """Puts translations into the lines of a catalogue."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"

    @functools.cached_property
    def starts(self) -> list[int]:
        """Where each line begins in the file's text."""
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line))
        return starts

    def header_edits(self, header: _Entry, language: str) -> list[Edit]:
        """What a template leaves open: the language, its plurals, and the encoding."""
        start, end = self.starts[header.start], self.starts[header.translations[0].end]
        text = "".join(self.lines[header.start : header.translations[0].end])
        edits = []
        for pattern, value in (
            (r'"Language: ()\\n"', language),
            (r"charset=(CHARSET)", "UTF-8"),
            (r"Plural-Forms: (nplurals=INTEGER; plural=EXPRESSION;)", plural_rule(language)),
        ):
            match = regex.search(pattern, text)
            if match and value:
                edits.append(Edit(start + match.start(1), start + match.end(1), value))
        edits += self._unmark(header) if edits else []  # a template's header is fuzzy until somebody fills it
        assert all(edit.end <= end for edit in edits)
        return edits

    def unit(self, entry: _Entry, num_plurals: int) -> Unit:
        msgid, plural = entry.get("msgid"), entry.get("msgid_plural")
        assert msgid is not None
        targets = tuple([one.text for one in entry.translations])
        place = f"line {msgid.start + 1}"
        fill = functools.partial(self.fill, entry)
        is_done = entry.flags is None or not _FUZZY.search(self.lines[entry.flags])
        if plural is None:
            return Unit((msgid.text,), fill, place, targets, is_reviewed=is_done)
        several = tuple([speaks_of_several(form, num_plurals) for form in range(num_plurals)])
        sources = tuple([plural.text if many else msgid.text for many in several])
        return Unit(sources, fill, place, targets, several, is_done)

    def fill(self, entry: _Entry, filled: Filled) -> list[Edit]:
        old = entry.translations
        start, end = self.starts[old[0].start], self.starts[old[-1].end]
        names = ["msgstr"] if len(filled.texts) == 1 and old[0].name == "msgstr" else [
            f"msgstr[{form}]" for form in range(len(filled.texts))
        ]  # fmt: skip
        written = [self._write(name, text) for name, text in zip(names, filled.texts, strict=True)]
        marks = self._unmark(entry) if filled.is_certain else self._mark(entry, filled)
        return [*self._without_notes(entry), *marks, Edit(start, end, "".join(written))]

    def _without_notes(self, entry: _Entry) -> list[Edit]:
        """Without what an earlier run has said about another translation."""
        return [
            self._removed(number) for number in self._comments(entry) if _NOTE.fullmatch(self.lines[number].strip())
        ]

    def _unmark(self, entry: _Entry) -> list[Edit]:
        """A translation that is done is not fuzzy, and what the message was before matters no more."""
        if entry.flags is None or not _FUZZY.search(self.lines[entry.flags]):
            return []
        edits = [self._removed(number) for number in self._comments(entry) if self.lines[number].startswith("#|")]
        line = _FUZZY.sub("", self.lines[entry.flags])
        if not line.strip().strip("#,"):
            return [*edits, self._removed(entry.flags)]
        return [*edits, self._removed(entry.flags)._replace(text=line)]

    def _comments(self, entry: _Entry) -> range:
        return range(entry.start, entry.fields[0].start)

    def _removed(self, number: int) -> Edit:
        return Edit(self.starts[number], self.starts[number + 1], "")

    def _mark(self, entry: _Entry, filled: Filled) -> list[Edit]:
        """The fuzzy flag and a comment: what the machine has done waits for a person."""
        first = self.starts[entry.start]
        edits = [Edit(first, first, f"# {filled.note}{self.newline}")]
        if entry.flags is None:
            place = self.starts[self._first_keyword(entry)]
            return [*edits, Edit(place, place, f"#, fuzzy{self.newline}")]
        line = self.lines[entry.flags]
        if _FUZZY.search(line):
            return edits
        place = self.starts[entry.flags] + line.index("#,") + 2
        return [*edits, Edit(place, place, " fuzzy,")]

    def _first_keyword(self, entry: _Entry) -> int:
        """The line before which flags stand: that of msgctxt or msgid, or of the previous ones in comments."""
        first = entry.fields[0].start
        while first > entry.start and self.lines[first - 1].startswith("#|"):
            first -= 1
        return first

    def _write(self, name: str, text: str) -> str:
        escaped = escape(text)
        inner = escaped[:-2] if escaped.endswith("\\n") else escaped
        if "\\n" not in inner and len(name) + len(escaped) + 3 <= WIDTH + 2:
            return f'{name} "{escaped}"{self.newline}'
        rows = [row for part in regex.findall(r".*?\\n|.+$", escaped) for row in _wrap(part)]
        return "".join([f'{name} ""{self.newline}', *[f'"{row}"{self.newline}' for row in rows]])


def _wrap(text: str) -> Iterator[str]:
    """Rows that break after spaces, never inside an escape."""
    words = regex.findall(r"\S*\s*", text)
    row = ""
    for word in words:
        if row and len(row) + len(word.rstrip()) > WIDTH:
            yield row
            row = ""
        row += word
    if row:
        yield row
