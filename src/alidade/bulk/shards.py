"""Shards: numbered parts of a large piece of work, each done by whoever comes first, and never twice.

    manifest.json           what the shards are made of (`manifest.py`)
    00003-of-00100.txt      a finished shard
    00003-of-00100.done     the marker that says so: its size and hash, and the manifest's fingerprint

A shard is written under a name of its writer's own, forced to the disk and renamed, and its marker comes last. Whatever
happens to a writer, a shard without a marker is done again, from its beginning. Two that do the same shard at the same
time, because a scheduler took one for dead, write the same; the second one replaces the first one's.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from alidade.bulk.manifest import Manifest
from alidade.bulk.records import read_records
from alidade.bulk.work import Chunk, Work
from alidade.errors import AlidadeError
from alidade.io import force_to_disk, format_count, progress_bar, read_json, write_json
from alidade.parallel import Workers, chunked

Advance = Callable[[int], None]
"""Told how many more records are done."""


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of one folder."""

    folder: Path
    manifest: Manifest
    suffix: str = ".txt"

    def output(self, shard: int) -> Path:
        """Where a shard lies when it is finished."""
        return self.folder / f"{self._name(shard)}{self.suffix}"

    def marker(self, shard: int) -> Path:
        """The file that says that a shard is finished."""
        return self.folder / f"{self._name(shard)}.done"

    def size(self, shard: int) -> int:
        """How many records a shard has."""
        start, stop = self.manifest.bounds(shard)
        return stop - start

    def is_done(self, shard: int) -> bool:
        """Whether a shard is finished and whole; one that was made from something else is an error."""
        marker, output = self.marker(shard), self.output(shard)
        if not marker.exists() or not output.exists():
            return False
        values = read_json(marker)
        if values.get("fingerprint") != self.manifest.fingerprint:
            raise AlidadeError(
                f"{marker}: this shard was made by another model, with other settings or from other input; remove it, "
                "or name another folder"
            )
        return bool(values.get("bytes") == output.stat().st_size)

    def missing(self, shards: Iterable[int]) -> list[int]:
        """Those of the shards that are still to be done."""
        return [shard for shard in shards if not self.is_done(shard)]

    def do(self, shard: int, work: Work, workers: Workers, advance: Advance) -> None:
        """Do one shard and mark it as finished."""
        started = time.perf_counter()
        output = self.output(shard)
        partial = output.with_name(f"{output.name}.{socket.gethostname()}-{os.getpid()}.partial")
        try:
            with partial.open("wb") as file:
                report = _write(file, workers.map_in_order(work, self._chunks(shard, work.chunk_size)), advance)
            partial.replace(output)
            seconds = round(time.perf_counter() - started, 2)
            fingerprint = self.manifest.fingerprint
            write_json(self.marker(shard), {"fingerprint": fingerprint, "seconds": seconds, **report})
            force_to_disk(self.folder)
        except OSError as error:
            if not self.is_done(shard):  # by another writer, who has cleaned up behind both
                raise AlidadeError(f"{output}: cannot be written: {error.strerror or error}") from None
        finally:
            partial.unlink(missing_ok=True)
        for stale in self.folder.glob(f"{output.name}.*.partial"):
            stale.unlink(missing_ok=True)

    def _chunks(self, shard: int, size: int) -> Iterator[Chunk]:
        start, stop = self.manifest.bounds(shard)
        columns = [
            read_records(files, field, start, stop)
            for files, field in zip(self.manifest.inputs, self.manifest.fields, strict=True)
        ]
        number = start + 1
        for records in chunked(zip(*columns, strict=True), size):
            yield number, records
            number += len(records)

    def _name(self, shard: int) -> str:
        return f"{shard:05d}-of-{self.manifest.shards:05d}"


def _write(file: IO[bytes], done: Iterable[Any], advance: Advance) -> dict[str, Any]:
    """Write the lines of all chunks and force them to the disk; returns what a marker says of them."""
    digest = hashlib.sha256()
    num_bytes = num_records = 0
    notes: list[str] = []
    for chunk in done:
        data = "".join(chunk.lines).encode(errors="surrogatepass")
        file.write(data)
        file.flush()  # a full disk shows at once, not after hours
        digest.update(data)
        num_bytes += len(data)
        num_records += chunk.num_records
        notes += chunk.notes
        advance(chunk.num_records)
    os.fsync(file.fileno())
    return {"records": num_records, "bytes": num_bytes, "content": digest.hexdigest(), "notes": notes}


def do_shards(shards: Shards, numbers: Sequence[int], work: Work, workers: Workers, progress: Progress) -> None:
    """Do shards one after the other, each with all workers; one that fails does not keep the others from being done."""
    for shard in numbers:
        try:
            shards.do(shard, work, workers, progress.advance)
        except AlidadeError as error:
            progress.fail(shard, str(error))
        else:
            progress.finish(shard)


class Progress:
    """Tells a person how far the work is: a bar on a terminal, elsewhere a line for each shard."""

    def __init__(self, shards: Shards, numbers: Sequence[int]) -> None:
        self._shards = shards
        self._total = sum(shards.size(shard) for shard in numbers)
        self._done = self._num_finished = 0
        self._num_shards = len(numbers)
        self._errors: list[str] = []
        self._bar = progress_bar()

    def __enter__(self) -> Self:
        self.start_clock()
        self._bar.start()
        self._task = self._bar.add_task("records", total=self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        if kind is None and self._errors:
            raise AlidadeError(
                f"{len(self._errors)} of {self._num_shards} shards could not be done, and the same command does them: "
                + "; ".join(self._errors[:3])
            )

    def start_clock(self) -> None:
        """Whatever comes before the work does not count in its rate."""
        self._started = time.perf_counter()

    def advance(self, count: int) -> None:
        """So many more records are done."""
        self._done += count
        self._bar.advance(self._task, count)

    def finish(self, shard: int) -> None:
        """A shard is done."""
        self._num_finished += 1
        if self._bar.disable:
            rate = self._done / max(time.perf_counter() - self._started, 1e-9)
            left = _duration((self._total - self._done) / max(rate, 1e-9))
            self._say(
                f"shard {shard} done, {self._num_finished} of {self._num_shards}; "
                f"{format_count(rate)} records a second, {left} left"
            )

    def fail(self, shard: int, reason: str) -> None:
        """A shard could not be done."""
        self._errors.append(f"shard {shard}: {reason}")
        self._say(f"shard {shard}: {reason}")

    def _say(self, message: str) -> None:
        self._bar.console.print(f"alidade: {message}", highlight=False, soft_wrap=True, markup=False)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
