"""The input of bulk work: records in many files, of which any stretch can be read without reading all before it.

A record is a line of text, an object of a JSON lines file or a row of a Parquet file; of the latter two, one field is
taken. A file is surveyed once: its hash, how many records it has, and where every 50,000th begins.
"""

from __future__ import annotations

import glob
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from alidade.config import Settings
from alidade.errors import AlidadeError, require_package
from alidade.io import decode_lines, hash_file, open_bytes

Kind = Literal["text", "json", "parquet"]

MARK_EVERY = 50_000
"""Records between two places that reading can start from."""
PARQUET_ROWS = 1000
"""Rows that are read from a Parquet file at once."""


@dataclass(frozen=True, slots=True)
class Column:
    """Files whose records, one file after the other, are the input, or one side of it."""

    files: tuple[Path, ...]
    field: str
    """What is taken from a record that has several fields."""

    @classmethod
    def of(cls, patterns: Sequence[Path], field: str) -> Column:
        """From paths and glob patterns; the files of a pattern are in the order of their names."""
        return cls(tuple([file for pattern in patterns for file in _expand(pattern)]), field)

    @property
    def has_fields(self) -> bool:
        return any(kind_of(file) != "text" for file in self.files)


class InputFile(Settings):
    """What a survey has found out about a file."""

    path: str
    size: int
    modified: int
    """In nanoseconds; a file whose time and size are the same is not hashed again."""
    content: str
    records: int
    marks: tuple[int, ...] = ()
    """Where every 50,000th line begins, in unpacked bytes."""


def kind_of(path: Path) -> Kind:
    """What a file's name says that it holds."""
    name = path.with_suffix("") if path.suffix in (".gz", ".xz") else path
    if name.suffix == ".parquet":
        return "parquet"
    return "json" if name.suffix in (".jsonl", ".ndjson") else "text"


def survey(path: Path) -> InputFile:
    """Read a file once, to know its content and its records."""
    status = path.stat()
    records, marks = _count_rows(path) if kind_of(path) == "parquet" else _count_lines(path)
    return InputFile(
        path=str(path.resolve()),
        size=status.st_size,
        modified=status.st_mtime_ns,
        content=hash_file(path),
        records=records,
        marks=marks,
    )


def read_records(files: Sequence[InputFile], field: str, start: int, stop: int) -> Iterator[str]:
    """The records from number `start` up to `stop`, counted from 0 over all files."""
    first = 0
    for file in files:
        begin, end = max(start - first, 0), min(stop - first, file.records)
        if begin < end:
            yield from _read_stretch(file, field, begin, end)
        first += file.records


def _expand(pattern: Path) -> list[Path]:
    if pattern.is_file():
        return [pattern]
    names = glob.glob(str(pattern), recursive=True)  # noqa: PTH207  # Path.glob takes no absolute patterns
    files = [Path(name) for name in sorted(names) if Path(name).is_file()]
    if not files:
        raise AlidadeError(f"{pattern}: there is no such file, and no file has a name of this pattern")
    return files


def _count_lines(path: Path) -> tuple[int, tuple[int, ...]]:
    marks: list[int] = []
    number = place = 0
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            if number % MARK_EVERY == 1:
                marks.append(place)
            place += len(line)
    return number, tuple(marks)


def _count_rows(path: Path) -> tuple[int, tuple[int, ...]]:
    with _open_parquet(path) as file:
        return file.metadata.num_rows, ()


def _read_stretch(file: InputFile, field: str, start: int, stop: int) -> Iterator[str]:
    path = Path(file.path)
    if kind_of(path) == "parquet":
        return _read_rows(path, field, start, stop)
    lines = _read_lines(path, file.marks, start, stop)
    if kind_of(path) == "text":
        return lines
    return (_field_of(line, field, f"{path}, line {number}") for number, line in enumerate(lines, start=start + 1))


def _read_lines(path: Path, marks: Sequence[int], start: int, stop: int) -> Iterator[str]:
    mark = start // MARK_EVERY
    with open_bytes(path) as file:
        file.seek(marks[mark])
        first = mark * MARK_EVERY
        lines = itertools.islice(file, start - first, stop - first)
        yield from decode_lines(path, lines, first_number=start + 1)


def _field_of(line: str, field: str, place: str) -> str:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise AlidadeError(f"{place}: not valid JSON: {error}") from None
    if not isinstance(record, dict):
        raise AlidadeError(f"{place}: an object is needed in every line of a JSON lines file")
    return _require_text(record.get(field), field, place)


def _require_text(value: object, field: str, place: str) -> str:
    if not isinstance(value, str):
        raise AlidadeError(f'{place}: the field "{field}" is to be translated or aligned, and it holds no text')
    return value


def _read_rows(path: Path, field: str, start: int, stop: int) -> Iterator[str]:
    with _open_parquet(path) as file:
        if field not in file.schema_arrow.names:
            names = ", ".join(file.schema_arrow.names)
            raise AlidadeError(f'{path}: there is no column "{field}"; there are {names}')
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        ends = list(itertools.accumulate(sizes))
        groups = [group for group, end in enumerate(ends) if end > start and end - sizes[group] < stop]
        number = ends[groups[0]] - sizes[groups[0]]
        for batch in file.iter_batches(PARQUET_ROWS, row_groups=groups, columns=[field]):
            for value in batch.column(0).to_pylist():
                if start <= number < stop:
                    yield _require_text(value, field, f"{path}, row {number + 1}")
                number += 1


def _open_parquet(path: Path) -> Any:
    parquet = require_package("pyarrow.parquet", "parquet", f"{path}: a Parquet file")
    try:
        return parquet.ParquetFile(path)
    except (ValueError, OSError) as error:  # pyarrow's own errors are of these kinds
        raise AlidadeError(f"{path}: cannot be read as Parquet: {error}") from None
