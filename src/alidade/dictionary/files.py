"""Dictionary files: TSV and CSV, TBX, term lists of single sentences, and terms from the command line.

TSV and CSV have the columns `source`, `target`, `case`, `occurrence`, `sentence`, `inflect`, of which only the first
two are needed; a first line with names, these or others that people use, puts them in another order. Several allowed
forms are separated by `|`; `!form` must not be written, and `=` stands for the source itself, which then is never
translated. Empty lines and lines that start with `# ` are skipped.
"""

from __future__ import annotations

import contextlib
import csv
import gc
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from alidade.dictionary.column_names import Columns, columns_of_header
from alidade.dictionary.entries import CASE_RULES, Dictionary, Entry, make_entry
from alidade.dictionary.inflection import can_inflect, load_forms
from alidade.dictionary.tbx import read_tbx, write_tbx
from alidade.errors import AlidadeError
from alidade.io import open_text, write_aside

COLUMNS = ("source", "target", "case", "occurrence", "sentence", "inflect")

_FORM_SEPARATOR = re.compile(r"(?<!\\)\|")
_YES = ("yes", "y", "true", "1", "x")
_NO = ("", "no", "n", "false", "0")

Languages = tuple[str, str]
"""Source and target."""


def load_dictionary(
    paths: str | Path | Iterable[str | Path] = (),
    terms: Iterable[str] = (),
    *,
    languages: Languages | None = None,
    inflect: bool = False,
) -> Dictionary:
    """A dictionary from files of any format and from terms like "strong=powerful".

    languages: source and target; which columns or sections of a file are meant, and whose inflected forms. inflect: all
    entries match, and are written, in any inflected form.
    """
    read = [read_entries(path, languages=languages) for path in _list_paths(paths)]
    with _collector_at_rest():
        dictionary = Dictionary(_in_language(chain(*read, map(parse_term, _list_terms(terms))), languages))
    if inflect:
        dictionary = inflect_all(dictionary, languages)
    if dictionary.inflects and languages is not None:
        load_forms(languages[1])
    return dictionary


def inflect_all(dictionary: Dictionary, languages: Languages | None) -> Dictionary:
    """The same dictionary, all of whose entries inflect; an error if neither language is known."""
    if languages is None:
        raise AlidadeError("to inflect the entries of a dictionary, say in which languages they are: source and target")
    if not any(map(can_inflect, languages)):
        raise AlidadeError(f"there are no tables of inflected forms for {languages[0]} and {languages[1]}")
    return dictionary.inflected(languages[0])


def _in_language(entries: Iterable[Entry], languages: Languages | None) -> Iterator[Entry]:
    for entry in entries:
        if entry.inflect and languages is not None:
            yield replace(entry, source_language=languages[0])
        else:
            yield entry


def _list_paths(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    if isinstance(paths, str | Path):
        return [Path(paths)]
    try:
        given = list(paths)
    except TypeError:
        given = [paths]  # type: ignore[list-item]  # refused below
    for path in given:
        if not isinstance(path, str | Path):
            raise AlidadeError(f"dictionary files are given by their paths, not by {_describe(path)}")
    return [Path(path) for path in given]


def _list_terms(terms: Iterable[str]) -> list[str]:
    if isinstance(terms, str):
        return [terms]
    given = list(terms)
    for term in given:
        if not isinstance(term, str):
            raise AlidadeError(f'a term is a text like "strong=powerful", not {_describe(term)}')
    return given


def _describe(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def read_entries(path: Path, *, languages: Languages | None = None) -> Iterator[Entry]:
    """The entries of one file, whose name says its format."""
    match _format_of(path):
        case "tsv":
            return _read_table(path, _tsv_rows, languages)
        case "csv":
            return _read_table(path, _csv_rows, languages)
        case _:
            return read_tbx(path, languages)


def write_entries(path: Path, entries: Iterable[Entry], *, languages: Languages | None = None) -> int:
    """Write entries as a TSV, CSV or TBX file, whichever its name says; says how many.

    languages: source and target, which TBX needs.
    """
    if path.suffix.lower() in (".gz", ".xz"):
        raise AlidadeError(f"{path}: a dictionary is written as a plain file; leave out {path.suffix}")
    match _format_of(path):
        case "tsv":
            return _write_table(path, entries, "\t".join)
        case "csv":
            return _write_table(path, entries, _csv_line)
        case _:
            return write_tbx(path, entries, languages)


def _format_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".xz")]
    suffix = suffixes[-1] if suffixes else ""
    formats = {".tsv": "tsv", ".txt": "tsv", ".tab": "tsv", ".csv": "csv", ".tbx": "tbx", ".xml": "tbx"}
    if suffix not in formats:
        raise AlidadeError(f'{path}: a dictionary is a .tsv, .csv or .tbx file, and "{suffix}" is none of them')
    return formats[suffix]


def parse_term(text: str) -> Entry:
    """An entry from the command line: "strong=powerful|mighty", "dog=!hound" or, never translated, "Alidade=="."""
    source, equals, targets = text.partition("=")
    if not equals or not source.strip() or not targets.strip():
        raise AlidadeError(
            f'--term "{text}": write it as source=target, for example "strong=powerful", or as "{text.strip(" =")}==" '
            "if it is never translated"
        )
    return parse_entry(source, targets, f'--term "{text}"')


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


def _write_table(path: Path, entries: Iterable[Entry], line_of: Callable[[list[str]], str]) -> int:
    num_entries = 0
    with write_aside(path) as file:
        file.write(line_of(list(COLUMNS)) + "\n")
        for entry in entries:
            scope = ["" if number is None else str(number) for number in (entry.occurrence, entry.sentence)]
            fields = [entry.source, _format_forms(entry), entry.case, *scope, "yes" if entry.inflect else ""]
            file.write(line_of(fields) + "\n")
            num_entries += 1
    return num_entries


def _csv_line(fields: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()


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


def _read_table(path: Path, rows_of: Callable[[Iterator[str]], Rows], languages: Languages | None) -> Iterator[Entry]:
    with open_text(path) as lines:
        columns: Columns | None = None
        name = str(path)
        try:
            for number, fields in rows_of(_without_nul(lines, name)):
                origin = f"{name}, line {number}"
                if not any(fields) or _is_comment(fields[0]):
                    continue
                if columns is None:
                    header = columns_of_header(fields, languages, origin)
                    columns = header or COLUMNS
                    if header is not None:
                        continue
                yield _entry_of_row(fields, columns, origin)
        except csv.Error as error:
            raise AlidadeError(f"{path}, {error}") from None


def _without_nul(lines: Iterator[str], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise AlidadeError(
                f"{name}, line {number}: has NUL characters, so it is UTF-16 or no text; save the file as UTF-8"
            )
        yield line


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


def _entry_of_row(fields: list[str], columns: Columns, origin: str) -> Entry:
    if len(fields) > len(columns):
        known = ", ".join(filter(None, columns))
        raise AlidadeError(f"{origin}: {len(fields)} fields, but at most {len(columns)} have a meaning ({known})")
    if len(fields) == 1:
        raise AlidadeError(
            f'{origin}: "{fields[0]}" has no translation; expected a source and a target term (the target = keeps the '
            "source as it is)"
        )
    if len(fields) == 2 and columns is COLUMNS:  # nearly always, and a hundred thousand times
        return parse_entry(fields[0], fields[1], origin)
    row = dict.fromkeys(COLUMNS, "") | dict(zip(columns, fields, strict=False))
    entry = parse_entry(row["source"], row["target"], origin)
    case = row["case"].strip().lower() or entry.case
    if case not in CASE_RULES:
        raise AlidadeError(f'{origin}: case is "exact" or "ignore", not "{case}"')
    return make_entry(
        entry.source,
        entry.targets,
        case,
        _optional_number(row["occurrence"], "occurrence", origin),
        _optional_number(row["sentence"], "sentence", origin),
        origin,
        inflect=_yes_or_no(row["inflect"], "inflect", origin),
        forbidden=entry.forbidden,
        is_kept=entry.is_kept,
    )


def parse_entry(source: str, target: str, origin: str = "") -> Entry:
    """An entry from what a file or a mapping says: "rot|rote", "!rotes" or "="."""
    forms = _parse_forms(target)
    return make_entry(source, forms.wanted, origin=origin, forbidden=forms.forbidden, is_kept=forms.is_kept)


class _Forms(NamedTuple):
    """What a target field says."""

    wanted: list[str]
    forbidden: list[str]
    is_kept: bool


def _parse_forms(text: str) -> _Forms:
    """The forms in "rot|rote|!rotes", or that the source is kept, "="; after a backslash none of these is special."""
    forms = [form.strip() for form in _FORM_SEPARATOR.split(text)] if "|" in text else [text.strip()]
    return _Forms(
        [_unescape(form) for form in forms if form != "=" and not form.startswith("!")],
        [_unescape(form[1:]) for form in forms if form.startswith("!")],
        "=" in forms,
    )


def _unescape(form: str) -> str:
    form = form.replace(r"\|", "|")
    return form[1:] if form.startswith((r"\!", r"\=")) else form


def _format_forms(entry: Entry) -> str:
    """The other way round."""
    wanted = [rf"\{form}" if form.startswith("!") or form == "=" else form for form in entry.targets]
    forms = ["="] * entry.is_kept + wanted + [f"!{form}" for form in entry.forbidden]
    return "|".join([form.replace("|", r"\|") for form in forms])


def _yes_or_no(text: str, name: str, origin: str) -> bool:
    answer = text.strip().casefold()
    if answer not in _YES + _NO:
        raise AlidadeError(f'{origin}: {name} is "yes" or "no", not "{text}"')
    return answer in _YES


def _optional_number(text: str, name: str, origin: str) -> int | None:
    return None if text.strip() in ("", "all") else _number(text, name, origin)


def _number(text: str, name: str, origin: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise AlidadeError(f'{origin}: {name} "{text}" is not a number') from None
