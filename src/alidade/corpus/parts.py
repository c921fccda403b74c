"""Parts of a long stage of `alidade prepare`: what is finished of it survives a kill.

A stage that goes through many pairs leaves its output in folders of half a million pairs each, which become one when
all are there. The folders belong to the stage's inputs: if these change, nothing of them is used.
"""

from __future__ import annotations

import collections
import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from alidade.io import write_aside, write_json

PART_PAIRS = 500_000
"""Pairs in a part: some minutes of work."""

Item = TypeVar("Item")


def keep_parts(folder: Path, fingerprint: str) -> None:
    """Make a folder for parts; those of other inputs are removed."""
    note = folder / "fingerprint"
    if folder.exists() and not (note.exists() and note.read_text() == fingerprint):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with write_aside(note) as file:
        file.write(fingerprint)


def do_parts(
    folder: Path, items: Iterator[Item], total: int, do: Callable[[Path, Iterator[Item], int], dict[str, Any]]
) -> list[Path]:
    """Do all parts that are missing; returns the folders of all.

    do: given the folder of a part, its items and how many they are, it returns a report.
    """
    parts: list[Path] = []
    for number, start in enumerate(range(0, total, PART_PAIRS)):
        part = folder / f"{number:05d}"
        size = min(PART_PAIRS, total - start)
        stretch = itertools.islice(items, size)
        if (part / "done.json").exists():
            collections.deque(stretch, maxlen=0)
        else:
            write_json(part / "done.json", do(part, stretch, size))
        parts.append(part)
    return parts
