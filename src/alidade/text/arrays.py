"""Flat arrays of a corpus: written piece by piece, whole or not at all, and read without being loaded."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from alidade.errors import AlidadeError
from alidade.files import write_aside
from alidade.text.layout import Layout, Side


def map_array(path: Path) -> npt.NDArray[Any]:
    """An array that stays in its file until a part of it is used."""
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise AlidadeError(f"{path}: missing from the prepared corpus: prepare it again") from None
    except ValueError as error:
        raise AlidadeError(f"{path}: not a whole array ({error}): prepare the corpus again") from None
    return array


class ArrayWriter:
    """A flat .npy array that is written piece by piece."""

    def __init__(self, file: IO[bytes], dtype: npt.DTypeLike) -> None:
        self._file = file
        self._dtype = np.dtype(dtype)
        self._digest = hashlib.sha256()
        self.size = 0
        self._write_header()

    def append(self, values: npt.ArrayLike) -> None:
        """Add values to the end."""
        given = np.asarray(values)
        most = np.iinfo(self._dtype).max
        if given.size and given.max() > most:
            raise AlidadeError(f"a sentence is too long: it has more than {most} pieces")
        array = np.ascontiguousarray(given, dtype=self._dtype)
        data = array.tobytes()
        self._file.write(data)
        self._digest.update(data)
        self.size += array.size

    def finish(self) -> str:
        """Complete the file and return a hash of its content."""
        self._file.seek(0)
        self._write_header()  # NumPy leaves room for the length to grow
        return self._digest.hexdigest()

    def _write_header(self) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (self.size,)}
        np.lib.format.write_array_header_1_0(self._file, header)


class SideWriter:
    """Writes the pieces of one side of a split."""

    def __init__(self, ids: ArrayWriter, words: ArrayWriter, offsets: ArrayWriter) -> None:
        self._ids, self._words, self._offsets = ids, words, offsets
        self._offsets.append([0])

    @property
    def num_sentences(self) -> int:
        return self._offsets.size - 1

    @property
    def num_pieces(self) -> int:
        return self._ids.size

    def append(self, ids: npt.ArrayLike, words: npt.ArrayLike, lengths: npt.ArrayLike) -> None:
        """Add sentences: all their ids and words one after the other, and how many each has."""
        start = self._ids.size
        self._ids.append(ids)
        self._words.append(words)
        self._offsets.append(start + np.cumsum(np.asarray(lengths, dtype=np.int64)))

    def finish(self) -> str:
        """Complete the files and return a hash of their content."""
        return " ".join([writer.finish() for writer in (self._ids, self._words, self._offsets)])


@contextlib.contextmanager
def write_array(path: Path, dtype: npt.DTypeLike) -> Iterator[ArrayWriter]:
    """A writer for one flat array, complete or not there."""
    with write_aside(path, "wb") as file:
        yield ArrayWriter(file, dtype)


@contextlib.contextmanager
def write_side(layout: Layout, split: str, side: Side, vocabulary_size: int) -> Iterator[SideWriter]:
    """A writer for the arrays of one side of a split."""
    id_type = np.uint16 if vocabulary_size <= np.iinfo(np.uint16).max + 1 else np.uint32
    with (
        write_array(layout.ids(split, side), id_type) as ids,
        write_array(layout.words(split, side), np.uint16) as words,
        write_array(layout.offsets(split, side), np.int64) as offsets,
    ):
        yield SideWriter(ids, words, offsets)
