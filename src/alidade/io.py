"""Files and progress: reading text with errors that name the place, writing files and folders that are never half
there, and progress bars with rate and remaining time, quiet when the output is no terminal.

A file is written beside its place, as NAME.partial, and gets its name when it is complete. One that takes long to write
can be resumed: `open_resumable`.
"""

from __future__ import annotations

import contextlib
import ctypes
import enum
import fcntl
import gzip
import hashlib
import json
import lzma
import os
import select
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from alidade.errors import AlidadeError

if TYPE_CHECKING:
    from io import BufferedReader


Item = TypeVar("Item")


class RateColumn(ProgressColumn):
    """Items a second, as a person reads them: 12.3k/s."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{format_count(speed)}/s", style="progress.data.speed")


def progress_bar(console: Console | None = None) -> Progress:
    """A bar on stderr with description, count, rate and remaining time; nothing is drawn off a terminal."""
    console = console or Console(stderr=True)
    return Progress(
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def track(
    iterable: Iterable[Item],
    description: str,
    total: int | None = None,
    *,
    console: Console | None = None,
    weigh: Callable[[Item], int] | None = None,
) -> Iterator[Item]:
    """Yield the items while a bar shows how many have passed; `weigh` says how many things one item stands for."""
    with progress_bar(console) as progress:
        task = progress.add_task(description, total=total)
        for item in iterable:
            yield item
            progress.advance(task, 1 if weigh is None else weigh(item))


def format_count(count: float) -> str:
    """A number of things in at most four digits: 950, 12.3k, 4.5M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.3g}"


@contextlib.contextmanager
def open_text(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a UTF-8 file (plain, .gz or .xz) without their line ends.

    A byte that is not UTF-8 is an error that names file and line. Only \\n and \\r\\n end a line.
    """
    with open_bytes(path) as file:
        yield decode_lines(path, file)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, one by one; see `open_text`."""
    with open_text(path) as lines:
        yield from lines


def count_lines(path: Path) -> int:
    """How many lines a file has, the last one also without a line end."""
    count, last = 0, b"\n"
    with open_bytes(path) as file:
        while block := file.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


@contextlib.contextmanager
def open_bytes(path: Path, *, unpack: bool = True) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked if its name ends in .gz or .xz, unless `unpack` is false."""
    if path.is_dir():
        raise AlidadeError(f"{path}: this is a folder, a file is needed")
    try:
        with _unpacked(path) if unpack else path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise AlidadeError(f"{error.filename or path}: no such file") from None
    except (gzip.BadGzipFile, lzma.LZMAError, EOFError) as error:
        raise AlidadeError(f"{path}: damaged or cut short, it cannot be unpacked ({error})") from None


@contextlib.contextmanager
def write_aside(path: Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a file to write that gets its name only when it is complete.

    It is written beside its place and then renamed, so a reader sees the old file or the new one. Whatever goes
    wrong, a full disk or Ctrl-C, the unfinished file is removed and an old one stays as it was.
    """
    if is_special(path):
        with path.open(mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
        return
    path = path.resolve()  # of a link, what it leads to is written
    aside = aside_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open(mode, encoding=None if "b" in mode else "utf-8", newline=None if "b" in mode else "\n") as file:
            yield file
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        if error.filename not in (None, str(aside)):
            raise  # another file's trouble
        raise AlidadeError(f"{path}: cannot be written: {error.strerror or error}") from None
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def write_folder_aside(path: Path) -> Iterator[Path]:
    """A folder to fill that gets its name only when it is complete; see `write_aside`. An older one is replaced."""
    aside = aside_name(path)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        aside.mkdir(parents=True)
        yield aside
        replace_folder(aside, path)
    except OSError as error:
        shutil.rmtree(aside, ignore_errors=True)
        if error.filename is not None and not Path(os.fsdecode(error.filename)).is_relative_to(aside):
            raise  # another file's trouble
        raise AlidadeError(f"{path}: cannot be written: {error.strerror or error}") from None
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def replace_folder(new: Path, path: Path) -> None:
    """Give a complete folder its name, in the place of an older one.

    Linux exchanges the two in one step, so that a reader always finds a whole folder. Elsewhere the older one is named
    `.old` for the moment that the new one needs to take its place, and is still there if all ends in between.
    """
    if not path.exists():
        new.rename(path)
        return
    old = new
    if not _exchange(new, path):
        old = path.with_name(f"{path.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        path.rename(old)
        new.rename(path)
    shutil.rmtree(old)


def _exchange(one: Path, other: Path) -> bool:
    """Let two paths change places in one step; False if this system or file system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform.startswith("linux") else None
    return rename is not None and rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE) == 0


_HERE = -100
"""AT_FDCWD: a relative path starts at the working directory."""
_RENAME_EXCHANGE = 2


def aside_name(path: Path) -> Path:
    """Where a file is written until it is complete; the next attempt overwrites what a kill has left there."""
    return path.with_name(f"{path.name}.partial")


def is_special(path: Path) -> bool:
    """Whether a path is a device or a pipe, which cannot be written aside: /dev/null must stay what it is."""
    return path.exists() and not path.is_file() and not path.is_dir()


class ResumableFile:
    """A file of records that is being written aside, and how many of them were there already."""

    def __init__(self, file: IO[str], num_done: int) -> None:
        self._file = file
        self.num_done = num_done

    def write(self, record: str) -> None:
        """Add a whole record, lines and all; whatever happens from now on, it is kept."""
        self._file.write(record)
        self._file.flush()


@contextlib.contextmanager
def open_resumable(path: Path, origin: dict[str, Any] | None, *, lines_a_record: int = 1) -> Iterator[ResumableFile]:
    """Open a file to write that gets its name only when it is complete, and that goes on where it was stopped.

    origin: all that the records depend on, as plain values; it is kept beside the unfinished file, and only a file of
    the same origin is gone on with. None: never. What was stopped stays as NAME.partial.
    """
    if is_special(path):
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield ResumableFile(file, 0)
        return
    path = path.resolve()
    aside, note = aside_name(path), path.with_name(f"{path.name}.partial.json")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("a+b") as raw:
            _hold_file(raw, path)
            try:
                num_done = _resume(raw, note, origin, lines_a_record)
                with open(raw.fileno(), "a", encoding="utf-8", newline="\n", closefd=False) as file:
                    yield ResumableFile(file, num_done)
                aside.replace(path)
                note.unlink(missing_ok=True)
            finally:
                if aside.exists() and aside.stat().st_size == 0:  # nothing to go on with
                    aside.unlink()
                    note.unlink(missing_ok=True)
    except OSError as error:
        if error.filename not in (None, str(aside)):
            raise  # another file's trouble
        raise AlidadeError(f"{path}: cannot be written: {error.strerror or error}") from None


def _resume(file: IO[bytes], note: Path, origin: dict[str, Any] | None, lines_a_record: int) -> int:
    """Keep the whole records of an unfinished file if they have the same origin, else none; says how many."""
    if origin is not None and note.is_file() and read_json(note) == json.loads(json.dumps(origin)):
        return _cut_after_records(file, lines_a_record)
    note.unlink(missing_ok=True)
    file.truncate(0)
    if origin is not None:
        write_json(note, origin)
    return 0


def _hold_file(file: IO[Any], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise AlidadeError(f"{path}: another process is writing this file; wait for it or stop it") from None


def _cut_after_records(file: IO[bytes], lines_a_record: int) -> int:
    """Cut a file off after its last whole record; says how many there are."""
    file.seek(0)
    num_lines = end = place = 0
    for line in file:
        place += len(line)
        if line.endswith(b"\n"):
            num_lines += 1
            if num_lines % lines_a_record == 0:
                end = place
    file.truncate(end)
    return num_lines // lines_a_record


def force_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class HeldFolderError(AlidadeError):
    """Another process is working in a folder."""


@contextlib.contextmanager
def hold_folder(folder: Path, *, wait: bool = False, share: bool = False) -> Iterator[None]:
    """Keep other processes from working in a folder; the operating system lets go even after a kill.

    wait: until another process lets go of it, instead of giving up. share: with all others that share it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+") as file:  # NFS wants a file that can be read for a lock that is shared
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if share else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise HeldFolderError(
                f"{folder}: another process is working in this folder; wait for it or stop it"
            ) from None
        yield


def write_json(path: Path, values: Any) -> None:
    """Write plain values as readable JSON, complete or not at all."""
    with write_aside(path) as file:
        json.dump(values, file, ensure_ascii=False, indent=2)
        file.write("\n")


def read_json(path: Path) -> Any:
    """Read a JSON file, or say what is wrong with it."""
    with open_bytes(path) as file:
        try:
            return json.load(file)
        except ValueError as error:
            raise AlidadeError(f"{path}: not valid JSON: {error}") from None


def hash_file(path: Path) -> str:
    """What tells whether a file has changed, wherever it lies and whenever it was copied there."""
    with open_bytes(path, unpack=False) as file:
        return hashlib.file_digest(cast("BufferedReader", file), "sha256").hexdigest()


def _unpacked(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "rb"))
    if path.suffix == ".xz":
        return cast("BinaryIO", lzma.open(path, "rb"))
    return path.open("rb")


def hash_folder(path: Path) -> str:
    """What tells whether anything in a folder's own files has changed."""
    files = sorted(file for file in path.iterdir() if file.is_file())
    return hashlib.sha256("".join([f"{file.name} {hash_file(file)}\n" for file in files]).encode()).hexdigest()


class Pause(enum.Enum):
    """In a stream: nothing more comes for now, so whoever reads it should hand out what there is."""

    NOW = enum.auto()


PAUSE: Final = Pause.NOW
PAUSE_SECONDS = 0.05
"""A stream that has been silent for so long pauses."""


def read_stream(name: str, descriptor: int) -> Iterator[str | Pause]:
    """The lines of a pipe or a terminal as they come, with a `Pause` whenever none come for a while."""
    number = 0
    rest: list[bytes] = []
    while True:
        if not select.select([descriptor], [], [], PAUSE_SECONDS)[0]:
            yield PAUSE
            select.select([descriptor], [], [])
        data = os.read(descriptor, 1 << 16)
        *lines, last = data.split(b"\n")
        for line in lines:
            number += 1
            yield _decode_line(name, number, b"".join([*rest, line]))
            rest = []
        rest.append(last)
        if not data:
            break
    if any(rest):
        yield _decode_line(name, number + 1, b"".join(rest))


def decode_lines(path: Path | str, file: Iterable[bytes], *, first_number: int = 1) -> Iterator[str]:
    """The lines of an open UTF-8 file, which errors call `path`; see `open_text`."""
    for number, line in enumerate(file, start=first_number):
        yield _decode_line(path, number, line)


def _decode_line(path: Path | str, number: int, line: bytes) -> str:
    content = line.removesuffix(b"\n").removesuffix(b"\r")
    if number == 1:
        content = content.removeprefix(b"\xef\xbb\xbf")  # a byte-order mark is not text
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AlidadeError(
            f"{path}, line {number}: not UTF-8 (byte {error.start + 1} of the line is "
            f"0x{content[error.start]:02x}); convert the file to UTF-8, for example with iconv"
        ) from None
