"""The manifest of a folder of shards: what is made, of which input, by which model, with which settings.

The first process that works in the folder surveys the input and writes it; all others compare with it what they were
told to do. Whatever differs is refused by name, so shards of two models never lie in one folder.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from alidade.bulk.records import Column, InputFile, survey
from alidade.config import Settings, parse_settings
from alidade.errors import AlidadeError
from alidade.io import hash_file, hold_folder, read_json, write_json
from alidade.parallel import Workers

MANIFEST_FILE = "manifest.json"
RECORDS_A_SHARD = 10_000
"""So large are shards if nobody says how many there are to be."""


class Manifest(Settings):
    """What the shards of a folder are, and all that their content depends on."""

    format: Literal[1] = 1
    shards: int
    records: int
    fields: tuple[str, ...]
    inputs: tuple[tuple[InputFile, ...], ...]
    """The files of each column."""
    origin: dict[str, Any]
    """The kind of work, the model and the settings: whatever else decides the output."""

    @functools.cached_property
    def fingerprint(self) -> str:
        """The same for shards that belong together, wherever the input lies."""
        contents = [[file.content for file in files] for files in self.inputs]
        values = [self.shards, self.fields, contents, self.origin]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def bounds(self, shard: int) -> tuple[int, int]:
        """The first record of a shard, and the first one after it."""
        return shard * self.records // self.shards, (shard + 1) * self.records // self.shards


def open_manifest(
    folder: Path,
    columns: Sequence[Column],
    origin: dict[str, Any],
    shards: int | None,
    workers: Workers,
    announce: Callable[[str], None],
) -> Manifest:
    """The folder's manifest, written now or by an earlier run that was told to do the same.

    shards: how many there are to be; None: as many as there are, or as the input's size suggests.
    """
    origin = json.loads(json.dumps(origin))
    path = folder / MANIFEST_FILE
    with hold_folder(folder, wait=True):
        if path.exists():
            return _compare(path, columns, origin, shards)
        manifest = _survey(columns, origin, shards, workers, announce)
        write_json(path, manifest.model_dump(mode="json"))
    return manifest


def _survey(
    columns: Sequence[Column],
    origin: dict[str, Any],
    shards: int | None,
    workers: Workers,
    announce: Callable[[str], None],
) -> Manifest:
    files = list(dict.fromkeys([file for column in columns for file in column.files]))
    announce(f"counting the records of {len(files)} {'file' if len(files) == 1 else 'files'}")
    found = dict(zip(files, workers.map_in_order(survey, files), strict=True))
    inputs = tuple([tuple([found[file] for file in column.files]) for column in columns])
    sizes = [sum(file.records for file in files) for files in inputs]
    for number, size in enumerate(sizes):
        if size != sizes[0]:
            other = "the target" if number == 1 else columns[number].files[0]
            raise AlidadeError(f"the source has {sizes[0]} records and {other} {size}: each pair needs one of both")
    if not sizes[0]:
        raise AlidadeError("the input is empty: there is nothing to do")
    shards = shards or -(-sizes[0] // RECORDS_A_SHARD)
    if shards > sizes[0]:
        raise AlidadeError(f"--shards {shards}: there are {sizes[0]} records, and a shard needs at least one")
    fields = tuple([column.field for column in columns])
    return Manifest(shards=shards, records=sizes[0], fields=fields, inputs=inputs, origin=origin)


def _compare(path: Path, columns: Sequence[Column], origin: dict[str, Any], shards: int | None) -> Manifest:
    """The manifest that is there, if it is of the same work; the files are read from where they are now."""
    manifest = parse_settings(Manifest, read_json(path), source=str(path))
    names = [name for name in origin.keys() | manifest.origin.keys() if origin.get(name) != manifest.origin.get(name)]
    if shards not in (None, manifest.shards):
        names.append(f"number of shards ({manifest.shards})")
    if manifest.fields != tuple([column.field for column in columns]):
        names.append("fields")
    inputs = [_found_again(column.files, known) for column, known in zip(columns, manifest.inputs, strict=False)]
    if len(columns) != len(manifest.inputs) or None in inputs:
        names.append("input")
    if names:
        raise AlidadeError(
            f"{path.parent}: its shards are of another run, with another {', another '.join(sorted(names))}; "
            "name another folder, or remove this one"
        )
    return manifest.model_copy(update={"inputs": tuple(inputs)})


def _found_again(files: Sequence[Path], known: Sequence[InputFile]) -> tuple[InputFile, ...] | None:
    """The surveys of files that may lie elsewhere by now; None if they hold something else."""
    if len(files) != len(known):
        return None
    for path, file in zip(files, known, strict=True):
        status = path.stat()
        is_untouched = status.st_mtime_ns == file.modified and str(path.resolve()) == file.path
        if status.st_size != file.size or not (is_untouched or hash_file(path) == file.content):
            return None
    return tuple(
        [file.model_copy(update={"path": str(path.resolve())}) for path, file in zip(files, known, strict=True)]
    )
