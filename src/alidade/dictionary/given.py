"""Whatever a Python user may give as a dictionary: one that is loaded, the path of a file, or {source: target}."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from alidade.dictionary.entries import Dictionary, Entry, make_entry
from alidade.dictionary.files import load_dictionary, parse_entry
from alidade.errors import ArgumentError

DictionaryLike = Dictionary | str | Path | Mapping[str, str | Sequence[str]]
"""A dictionary, the path of a file with one, or {source: target}; several allowed targets are a list, or "a|b"; "!a"
forbids a target, and "=" keeps the source as it stands."""


def read_dictionary(given: DictionaryLike, languages: tuple[str, str] | None = None) -> Dictionary:
    """A dictionary from whatever may be given as one; `languages` are for files that have several."""
    if isinstance(given, Dictionary):
        return given
    if isinstance(given, str | Path):
        path = Path(given)
        state = (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else None
        return _read_file(path, state, languages)
    if isinstance(given, Mapping):
        return Dictionary([_entry_of_item(source, target) for source, target in given.items()])
    raise ArgumentError(
        "dictionary: a Dictionary, the path of a file or a mapping {source: target} is needed, "
        f"not {type(given).__name__}"
    )


@functools.lru_cache(maxsize=4)
def _read_file(path: Path, _: tuple[int, int] | None, languages: tuple[str, str] | None) -> Dictionary:
    """Read once for as long as the file stays as it is."""
    return load_dictionary([path], languages=languages)


def _entry_of_item(source: object, target: object) -> Entry:
    if isinstance(source, str) and isinstance(target, str):
        return parse_entry(source, target, origin=f'dictionary, "{source}"')
    forms = target
    if not (isinstance(source, str) and isinstance(forms, list | tuple) and all(isinstance(f, str) for f in forms)):
        raise ArgumentError(
            f"dictionary: {source!r}: {target!r} is no entry; a text and its translation, or a list of them, are needed"
        )
    return make_entry(source, forms, origin=f'dictionary, "{source}"')
