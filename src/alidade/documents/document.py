"""Documents: a file as units to translate, and the file again with nothing changed but these.

A reader finds the units of one kind of file and says, for each, which stretches of the file to replace when its
translation is known. So comments, order, wrapping and everything else stay byte for byte: nothing is parsed into a tree
and printed again. `documents/formats.py` knows which reader reads which file.
"""

from __future__ import annotations

import bisect
import codecs
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import regex

from alidade.errors import AlidadeError

MOST_BYTES = 200_000_000
"""No message catalogue is larger; what is, is no catalogue."""


class Edit(NamedTuple):
    """A stretch text[start:end] of a file and what replaces it."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Filled:
    """What a unit has become: a text for each of its forms."""

    texts: tuple[str, ...]
    origin: str = "machine"
    """"machine", "memory", "memory, adapted", or "person": somebody who has looked at it."""
    confidence: float | None = None
    """From 0 to 1; None: a person's."""

    @property
    def note(self) -> str:
        """What a reviewer should know."""
        if self.confidence is None:
            return f"from {self.origin}"
        return f"{self.origin} translation, confidence {self.confidence:.2f}"

    @property
    def is_certain(self) -> bool:
        """Whether a person has translated exactly this, here or before."""
        return self.origin in ("memory", "person")


NOTE = r"(?:machine|memory, adapted) translation, confidence [01]\.\d\d"
"""What `Filled.note` says of translations that are not certain, as a pattern: a new one replaces it."""

Fill = Callable[[Filled], list[Edit]]


@dataclass(frozen=True, slots=True)
class Unit:
    """Something to translate in a file."""

    sources: tuple[str, ...]
    """The text of each form that is asked for: one, or one for each plural form."""
    fill: Fill
    """The edits that put a translation into the file."""
    place: str
    """Where it stands, for a person: "line 12"."""
    targets: tuple[str, ...] = ()
    """The translations that stand there already, if any."""
    is_plural_form: tuple[bool, ...] = ()
    """For each form whether it speaks of several things."""
    is_reviewed: bool = True
    """Whether the translations that stand there are done; False: they wait for somebody to look at them."""

    @property
    def is_translated(self) -> bool:
        return bool(self.targets) and all(self.targets)


@dataclass(slots=True)
class Document:
    """A file's text and its units."""

    text: str
    units: Sequence[Unit]
    encoding: str = "utf-8"
    final_edits: Sequence[Edit] = field(default=())
    """What changes with the language of the whole: `<html lang="en">`."""
    declaration: tuple[int, int] | None = None
    """Where the file names its encoding."""

    def render(self, filled: Mapping[int, Filled]) -> bytes:
        """The file with some units (by number) translated; in UTF-8 if its own encoding has not their letters."""
        edits = [edit for number, one in filled.items() for edit in self.units[number].fill(one)]
        edits += self.final_edits if filled else ()
        encoding = self.encoding
        if self.declaration is not None and self.changes_encoding(filled):
            edits.append(Edit(*self.declaration, "UTF-8"))
            encoding = "utf-8"
        return encode_text(apply_edits(self.text, edits), encoding)

    def changes_encoding(self, filled: Mapping[int, Filled]) -> bool:
        """Whether the file with these translations is UTF-8 and was something else."""
        return self.declaration is not None and needs_unicode(filled, self.encoding)


def needs_unicode(filled: Mapping[int, Filled], encoding: str) -> bool:
    """Whether translations have letters that an encoding has not, as the Romanian ones with a comma in ISO-8859-2."""
    try:
        for one in filled.values():
            "".join(one.texts).encode(encoding)
    except UnicodeEncodeError:
        return not encoding.lower().startswith("utf")  # which lacks halves of surrogates only, in any of its forms
    return False


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with stretches replaced; no two of them overlap, insertions at one place stay in their order."""
    parts, end = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < end:
            raise AlidadeError(
                f"line {line_of(text, edit.start)}: one text to translate stands inside another; mend the file first"
            )
        parts += [text[end : edit.start], edit.text]
        end = edit.end
    return "".join([*parts, text[end:]])


_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def decode_text(path: Path, content: bytes, declared: str | None = None) -> tuple[str, str]:
    """A file's text and its encoding: as its byte-order mark or the file itself says, else UTF-8."""
    if len(content) > MOST_BYTES:
        raise AlidadeError(f"{path}: {len(content)} bytes are too many for a file of messages; split it")
    encoding = next((name for bom, name in _BOMS.items() if content.startswith(bom)), declared or "utf-8")
    try:
        return content.decode(encoding), encoding
    except LookupError:
        raise AlidadeError(
            f"{path}: the encoding {encoding!r} that it names is not known; convert it to UTF-8"
        ) from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise AlidadeError(
            f"{path}, line {line}: not {encoding}; convert the file to UTF-8, with iconv perhaps"
        ) from None


def encode_text(text: str, encoding: str) -> bytes:
    """What `decode_text` read, as bytes."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        raise AlidadeError(
            f"the translation has letters that the file's encoding {encoding} cannot write; convert the file to UTF-8"
        ) from None


def line_of(text: str, place: int) -> int:
    """The number of the line of a place in a text."""
    return bisect.bisect_right(_line_starts(text), place)


@functools.lru_cache(maxsize=2)
def _line_starts(text: str) -> list[int]:
    return [0, *[match.end() for match in regex.finditer("\n", text)]]


def has_letters(text: str) -> bool:
    """Whether there is anything to translate."""
    return regex.search(r"\p{L}", text) is not None
