"""gettext's compiled catalogues, MO. They are tables of bytes, so they are written anew, with the same messages."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from alidade.documents.document import Edit, Filled, Unit, encode_text, needs_unicode
from alidade.errors import AlidadeError
from alidade.text.plurals import number_of_plurals, speaks_of_several

_MAGIC = 0x950412DE
_CHARSET = regex.compile(r"charset=([\w.:-]+)")


@dataclass(slots=True)
class MoDocument:
    """The messages of a compiled catalogue."""

    content: bytes
    entries: Sequence[tuple[str, str]]
    """msgid (context and plural included) and msgstr."""
    encoding: str
    units: Sequence[Unit]
    numbers: Sequence[int]
    """Which entry each unit is."""

    def render(self, filled: Mapping[int, Filled]) -> bytes:
        """The catalogue with some messages translated."""
        if not filled:
            return self.content
        entries = [*self.entries]
        for number, one in filled.items():
            entry = self.numbers[number]
            entries[entry] = entries[entry][0], "\0".join(one.texts)
        encoding = self.encoding
        if self.changes_encoding(filled):
            encoding = "utf-8"
            entries = [(msgid, msgstr if msgid else _CHARSET.sub("charset=UTF-8", msgstr)) for msgid, msgstr in entries]
        encoded = [(encode_text(msgid, encoding), encode_text(msgstr, encoding)) for msgid, msgstr in entries]
        return _write(sorted(encoded))

    def changes_encoding(self, filled: Mapping[int, Filled]) -> bool:
        """Whether the catalogue with these translations is UTF-8 and was something else."""
        return needs_unicode(filled, self.encoding)


def read_mo(path: Path, content: bytes, languages: tuple[str, str]) -> MoDocument:
    """The messages of a compiled catalogue; all of them are translated already, mostly."""
    try:
        raw = _read(content)
        header = dict(raw).get(b"", b"")
        charset = _CHARSET.search(header.decode("ascii", errors="replace"))
        encoding = charset[1] if charset else "utf-8"
        entries = [(msgid.decode(encoding), msgstr.decode(encoding)) for msgid, msgstr in raw]
    except (struct.error, ValueError, LookupError):
        raise AlidadeError(f"{path}: damaged, or no MO file at all") from None
    plurals = regex.search(r"nplurals\s*=\s*(\d)", header.decode(encoding, errors="replace"))
    num_forms = int(plurals[1]) if plurals else number_of_plurals(languages[1])
    numbers = [number for number, (msgid, _) in enumerate(entries) if msgid]
    units = [_unit(*entries[number], number, num_forms) for number in numbers]
    return MoDocument(content, entries, encoding, units, numbers)


def _unit(msgid: str, msgstr: str, number: int, num_forms: int) -> Unit:
    singular, _, plural = msgid.rpartition("\x04")[2].partition("\0")
    place = f"message {number}"
    targets = tuple(msgstr.split("\0"))
    if not plural:
        return Unit((singular,), _no_edits, place, targets)
    several = tuple([speaks_of_several(form, num_forms) for form in range(num_forms)])
    return Unit(tuple([plural if many else singular for many in several]), _no_edits, place, targets, several)


def _no_edits(_: Filled) -> list[Edit]:
    return []


def _read(content: bytes) -> list[tuple[bytes, bytes]]:
    order = next((one for one in "<>" if struct.unpack(f"{one}I", content[:4])[0] == _MAGIC), None)
    if order is None:
        raise ValueError
    count, originals, translations = struct.unpack(f"{order}III", content[8:20])
    if count * 8 > len(content):
        raise ValueError

    def strings(table: int) -> list[bytes]:
        found = []
        for number in range(count):
            length, offset = struct.unpack(f"{order}II", content[table + 8 * number : table + 8 * number + 8])
            if offset + length > len(content):
                raise ValueError
            found.append(content[offset : offset + length])
        return found

    return [*zip(strings(originals), strings(translations), strict=True)]


def _write(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Without the optional hash table: gettext then searches by halves, which is why the entries are sorted."""
    count = len(entries)
    first = 28 + 16 * count
    tables: list[bytes] = []
    offset = first
    parts: list[bytes] = []
    for strings in ([msgid for msgid, _ in entries], [msgstr for _, msgstr in entries]):
        for string in strings:
            tables.append(struct.pack("<II", len(string), offset))
            parts.append(string + b"\0")
            offset += len(string) + 1
    header = struct.pack("<IIIIIII", _MAGIC, 0, count, 28, 28 + 8 * count, 0, first)
    return header + b"".join([*tables, *parts])
