"""Parts of a long stage of `alidade prepare`: what is finished of it survives a kill, and machines can share them.

A stage that goes through many pairs leaves its output in folders of half a million pairs each, which become one when
all are there. The folders belong to the stage's inputs: if these change, nothing of them is used.

Several processes (`Shard`), on as many machines with a common file system, can prepare one corpus: each does the parts
with its numbers. What only one can do, joining the parts above all, is done by whoever comes first when they are there.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from alidade.errors import AlidadeError, WaitingError
from alidade.io import HeldFolderError, hold_folder, write_aside, write_json

PART_PAIRS = 500_000
"""Pairs in a part: some minutes of work."""
PARTS_FORMAT = 2
"""What is in a part: since 2, clean pairs are there once, whatever their weight, and with their duplicates."""
LOCKS = "locks"
"""The folder of the stages with the locks of shards."""
WAITING_SECONDS = 5.0
"""How often a process that waits for others looks whether they are done."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of so many processes that prepare a corpus together; by default there is only this one."""

    number: int = 0
    count: int = 1
    waits: bool = False
    """For the others, instead of ending where nothing can be done without them."""

    def __post_init__(self) -> None:
        if not 0 <= self.number < self.count:
            raise AlidadeError(f"--shard {self.number}: there are {self.count} shards, 0 to {self.count - 1}")

    @contextlib.contextmanager
    def hold(self, stages: Path) -> Iterator[None]:
        """Keep others out of a corpus's stages, all but the other shards."""
        if self.count == 1:
            with hold_folder(stages):
                yield
            return
        with hold_folder(stages, share=True), contextlib.ExitStack() as stack:
            with self.in_turn(stages):
                self._refuse_other_counts(stages / LOCKS)
                stack.enter_context(hold_folder(stages / LOCKS / f"{self.number}-of-{self.count}"))
            yield

    def in_turn(self, stages: Path) -> contextlib.AbstractContextManager[None]:
        """For what takes a moment: one shard after the other."""
        return contextlib.nullcontext() if self.count == 1 else hold_folder(stages / LOCKS, wait=True)

    def _refuse_other_counts(self, locks: Path) -> None:
        """Two processes with other numbers of shards would write the same parts at the same time."""
        for other in locks.glob("*-of-*"):
            if not other.name.endswith(f"-of-{self.count}"):
                with hold_folder(other):
                    pass


class StageFinished(Exception):  # noqa: N818 - no error, but news from another process
    """Another process has joined the parts of the stage."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one stage, and which of them are this process's."""

    folder: Path
    shard: Shard
    is_finished: Callable[[], bool]
    """Whether the stage is, parts and all."""
    announce: Callable[[str], None]

    @contextlib.contextmanager
    def in_turn(self) -> Iterator[None]:
        """For what takes a moment and all need: one process after the other."""
        with self.shard.in_turn(self.folder.parent):
            self.stop_if_finished()
            yield

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """For what one process does while the others wait, or end."""
        with contextlib.ExitStack() as stack:

            def take() -> str:
                try:
                    stack.enter_context(hold_folder(self.folder.parent / LOCKS / "alone"))
                except HeldFolderError:
                    return "another shard is at what only one can do"
                return ""

            if self.shard.count > 1:
                self._wait(take)
            self.stop_if_finished()
            yield

    def stop_if_finished(self) -> None:
        """There may be no parts any more because another process has joined them."""
        if self.shard.count > 1 and self.is_finished():
            raise StageFinished

    def owns(self, number: int) -> bool:
        """Whether a part is this process's."""
        return number % self.shard.count == self.shard.number

    def wait_for(self, paths: Mapping[Path, int]) -> None:
        """Go on when all files are there; each belongs to the part with a number."""

        def missing() -> str:
            shards = sorted({number % self.shard.count for path, number in paths.items() if not path.exists()})
            if shards:
                self.stop_if_finished()
            return f"shards {', '.join(map(str, shards))} have parts to do" if shards else ""

        self._wait(missing)

    def _wait(self, reason: Callable[[], str]) -> None:
        said = ""
        while now := reason():
            message = f"{self.folder.stem}: {now}"
            if not self.shard.waits:
                raise WaitingError(f"{message}; give this command again when they are done, or with --wait")
            if message != said:
                self.announce(f"{message}; waiting")
            said = message
            time.sleep(WAITING_SECONDS)


def keep_parts(folder: Path, fingerprint: str) -> None:
    """Make a folder for parts; those of other inputs, or in another format, are removed."""
    note, wanted = folder / "fingerprint", f"{fingerprint} {PARTS_FORMAT}"
    if folder.exists() and not (note.exists() and note.read_text() == wanted):
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not note.exists():
        with write_aside(note) as file:
            file.write(wanted)


def do_parts(
    parts: Parts,
    name: str,
    items: Iterator[Item],
    total: int,
    do: Callable[[Path, Iterator[Item], int], dict[str, Any]],
) -> dict[Path, int]:
    """Do those parts of this process that are missing; returns the last file and the number of each part, of all.

    name: of what is in the parts. do: given the folder of a part, its items and how many they are, it returns a report.
    """
    sizes = [min(PART_PAIRS, total - start) for start in range(0, total, PART_PAIRS)]
    last_files = {parts.folder / name / f"{number:05d}" / "done.json": number for number in range(len(sizes))}
    missing = [number for done, number in last_files.items() if parts.owns(number) and not done.exists()]
    for done, number in itertools.islice(last_files.items(), max(missing, default=-1) + 1):
        stretch = itertools.islice(items, sizes[number])
        if number in missing:
            parts.stop_if_finished()
            write_json(done, do(done.parent, stretch, sizes[number]))
        else:
            collections.deque(stretch, maxlen=0)
    return last_files


def finished_parts(folder: Path) -> list[Path]:
    """The folders of all parts, in order, when all are there."""
    return [done.parent for done in sorted(folder.glob("*/done.json"))]
