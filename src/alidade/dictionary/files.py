"""TBX, the exchange format of terminology tools (ISO 30042), in its versions of 2008 and 2019.

A concept has a section for each language, and a section its terms. Every source term becomes an entry that
allows all target terms of its concept, except those that are marked as deprecated or superseded. Read with
expat, which fetches nothing from outside; a file that declares entities is refused.


Dictionary files: TSV and CSV, TBX, term lists of single sentences, and terms from the command line.

TSV and CSV have the columns `source`, `target`, `case`, `occurrence`, `sentence`, of which only the first two
are needed; a first line with these names puts them in another order. Several allowed forms are separated by
`|`. Empty lines and lines that start with `# ` are skipped.
"""

from __future__ import annotations

import contextlib
import csv
import gc
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from xml.parsers import expat

from alidade.dictionary.entries import CASE_RULES, Dictionary, Entry, make_entry
from alidade.errors import AlidadeError, suggest_name
from alidade.io import open_bytes, open_text, write_aside

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
        self._terms: dict[str, list[str]] = {}
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
        return any(_is_language(language, wanted) for language in self.languages)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = _local(name)
        self._text = []
        if element in _CONCEPT:
            self._terms = {"source": [], "target": []}
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
        if _is_language(self._language, source):
            self._terms["source"].append(self._term)
        if _is_language(self._language, target) and not self._is_unwanted:
            self._terms["target"].append(self._term)

    def _add_entries(self) -> None:
        targets = self._terms["target"]
        if targets:
            origin = f"{self._path}, line {self._line}"
            self._entries += [make_entry(source, targets, origin=origin) for source in self._terms["source"]]

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise AlidadeError(
            f'{self._path}, line {self.parser.CurrentLineNumber}: declares the entity "{name}", which is not allowed '
            "in a dictionary; write its text in its place"
        )


def _local(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition(" ")[2]


def _is_language(given: str, wanted: str) -> bool:
    """Whether "en-US" is "en"; if the wanted one has a region, it must be the same."""
    given, wanted = given.lower().replace("_", "-"), wanted.lower().replace("_", "-")
    return given == wanted or given.startswith(f"{wanted}-")


COLUMNS = ("source", "target", "case", "occurrence", "sentence")

_FORM_SEPARATOR = re.compile(r"(?<!\\)\|")


def load_dictionary(
    paths: Iterable[Path] = (), terms: Iterable[str] = (), *, languages: tuple[str, str] | None = None
) -> Dictionary:
    """A dictionary from files of any format and from terms like "strong=powerful".

    `languages`, source and target, say which of its languages a TBX file is read for.
    """
    read = [read_entries(path, languages=languages) for path in paths]
    with _collector_at_rest():
        return Dictionary(chain(*read, map(parse_term, terms)))


def read_entries(path: Path, *, languages: tuple[str, str] | None = None) -> Iterator[Entry]:
    """The entries of one file, whose name says its format."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".xz")]
    match suffixes[-1] if suffixes else "":
        case ".tsv" | ".txt" | ".tab":
            return _read_table(path, _tsv_rows)
        case ".csv":
            return _read_table(path, _csv_rows)
        case ".tbx" | ".xml":
            return read_tbx(path, languages)
        case suffix:
            raise AlidadeError(f'{path}: a dictionary is a .tsv, .csv or .tbx file, and "{suffix}" is none of them')


def parse_term(text: str) -> Entry:
    """An entry from the command line: "strong=powerful", or "strong=powerful|mighty"."""
    source, equals, targets = text.partition("=")
    if not equals or not source.strip() or not targets.strip():
        raise AlidadeError(f'--term "{text}": write it as source=target, for example "strong=powerful"')
    return make_entry(source, _split_forms(targets), origin=f'--term "{text}"')


def read_sentence_terms(path: Path) -> Iterator[Entry]:
    """The term lists of Dinu et al. (2019): a running number, a line (from 1), then pairs of source and target."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            origin = f"{path}, line {number}"
            fields = [field.strip() for field in line.rstrip("\r\n").split("\t")]
            if len(fields) < 4 or len(fields) % 2:
                raise AlidadeError(
                    f"{origin}: expected a running number, a line number and pairs of source and target term"
                )
            sentence = _number(fields[1], "line number", origin)
            for source, target in zip(fields[2::2], fields[3::2], strict=True):
                if source or target:
                    yield make_entry(source, [target], sentence=sentence, origin=origin)


def write_entries(path: Path, entries: Iterable[Entry]) -> int:
    """Write entries as a TSV file with a line of column names; says how many."""
    num_entries = 0
    with write_aside(path) as file:
        file.write("\t".join(COLUMNS) + "\n")
        for entry in entries:
            forms = "|".join([form.replace("|", r"\|") for form in entry.targets])
            scope = ["" if number is None else str(number) for number in (entry.occurrence, entry.sentence)]
            file.write("\t".join([entry.source, forms, entry.case, *scope]) + "\n")
            num_entries += 1
    return num_entries


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    """All entries stay: looking through them for garbage again and again is half of the time of loading."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


Rows = Iterator[tuple[int, list[str]]]


def _read_table(path: Path, rows_of: Callable[[Iterator[str]], Rows]) -> Iterator[Entry]:
    with open_text(path) as lines:
        columns: tuple[str, ...] = COLUMNS
        name = str(path)
        try:
            for index, (number, fields) in enumerate(rows_of(lines)):
                origin = f"{name}, line {number}"
                if index == 0 and {"source", "target"} <= set(fields):
                    columns = _check_columns(fields, origin)
                elif any(fields) and not _is_comment(fields[0]):
                    yield _entry_of_row(fields, columns, origin)
        except csv.Error as error:
            raise AlidadeError(f"{path}, {error}") from None


def _tsv_rows(lines: Iterator[str]) -> Rows:
    return enumerate((line.split("\t") for line in lines), start=1)


def _csv_rows(lines: Iterator[str]) -> Rows:
    first = next(lines, "")
    delimiter = ";" if first.count(";") > first.count(",") else ","  # spreadsheets of many countries use semicolons
    reader = csv.reader(chain([first], lines), delimiter=delimiter, strict=True)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise csv.Error(f"line {reader.line_num}: not valid CSV: {error}") from None


def _is_comment(first_field: str) -> bool:
    return first_field == "#" or first_field.startswith("# ")


def _check_columns(names: list[str], origin: str) -> tuple[str, ...]:
    for name in names:
        if name not in COLUMNS:
            raise AlidadeError(f'{origin}: unknown column "{name}"{suggest_name(name, COLUMNS)}')
        if names.count(name) > 1:
            raise AlidadeError(f'{origin}: column "{name}" is there twice')
    return tuple(names)


def _entry_of_row(fields: list[str], columns: tuple[str, ...], origin: str) -> Entry:
    if len(fields) > len(columns):
        known = ", ".join(columns)
        raise AlidadeError(f"{origin}: {len(fields)} fields, but at most {len(columns)} have a meaning ({known})")
    if len(fields) == 1:
        raise AlidadeError(f'{origin}: "{fields[0]}" has no translation; expected a source and a target term')
    if len(fields) == 2 and columns is COLUMNS:  # nearly always, and a hundred thousand times
        return make_entry(fields[0], _split_forms(fields[1]), origin=origin)
    row = dict.fromkeys(COLUMNS, "") | dict(zip(columns, fields, strict=False))
    case = row["case"].strip() or "exact"
    if case not in CASE_RULES:
        raise AlidadeError(f'{origin}: case is "exact" or "ignore", not "{case}"')
    return make_entry(
        row["source"],
        _split_forms(row["target"]),
        case,
        _optional_number(row["occurrence"], "occurrence", origin),
        _optional_number(row["sentence"], "sentence", origin),
        origin,
    )


def _split_forms(text: str) -> list[str]:
    """The forms in "rot|rote", where \\| is no separator."""
    if "|" not in text:
        return [text]
    return [form.replace(r"\|", "|") for form in _FORM_SEPARATOR.split(text)]


def _optional_number(text: str, name: str, origin: str) -> int | None:
    return None if text.strip() in ("", "all") else _number(text, name, origin)


def _number(text: str, name: str, origin: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise AlidadeError(f'{origin}: {name} "{text}" is not a number') from None
