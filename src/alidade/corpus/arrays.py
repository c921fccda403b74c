"""The files of a prepared corpus: where each lies, and flat arrays that are written and read without being in memory.

Sentences have unequal lengths, so a side's pieces stand one after the other in one .npy file, and another says where
each sentence starts (`Ragged`). A file is written piece by piece, beside its place, and is there whole or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from alidade.errors import AlidadeError
from alidade.io import write_aside

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True, slots=True)
class Layout:
    """Names in a corpus folder: at the top what training reads, under `stages/` what later stages read."""

    folder: Path

    @property
    def manifest(self) -> Path:
        """What makes the folder a corpus; written last."""
        return self.folder / "corpus.json"

    @property
    def stages(self) -> Path:
        """Records of finished stages and their intermediate files."""
        return self.folder / "stages"

    def parts(self, stage: str) -> Path:
        """What a stage has finished so far (`parts.py`)."""
        return self.stages / f"{stage}.parts"

    @property
    def origins(self) -> Path:
        """For each training pair its number in the raw bitexts."""
        return self.stages / "train.origins.npy"

    @property
    def priors(self) -> Path:
        """What the aligner learned, to align other pairs in the same way."""
        return self.stages / "priors.txt"

    def subwords(self, side: Side) -> Path:
        """A side's sentencepiece model."""
        return self.folder / f"subwords.{side}.model"

    def text(self, split: str, side: Side) -> Path:
        """A side's clean sentences."""
        return self.folder / f"{split}.{side}.txt"

    def ids(self, split: str, side: Side) -> Path:
        """The piece ids of all sentences, one after the other."""
        return self.folder / f"{split}.{side}.ids.npy"

    def words(self, split: str, side: Side) -> Path:
        """For each piece the number of its word in the sentence."""
        return self.folder / f"{split}.{side}.words.npy"

    def offsets(self, split: str, side: Side) -> Path:
        """Where each sentence starts among the pieces, and where the last one ends."""
        return self.folder / f"{split}.{side}.offsets.npy"

    def arrays(self, split: str, side: Side) -> list[Path]:
        """All arrays of a side."""
        return [self.ids(split, side), self.words(split, side), self.offsets(split, side)]

    def positions(self, split: str) -> Path:
        """For each target piece its source position."""
        return self.folder / f"{split}.positions.npy"

    def units(self, split: str, side: Side) -> Path:
        """What the aligner reads: words or pieces with spaces between them."""
        return self.stages / f"{split}.{side}.units"

    def links(self, split: str, direction: Literal["forward", "reverse"]) -> Path:
        """What the aligner writes: a line of links for each pair."""
        return self.stages / f"{split}.{direction}.links"


Integers = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of unequal length in one flat array, which may be a memory-mapped file."""

    values: Integers
    starts: Integers
    """Where each row starts in `values`, and at the end where the last one ends."""

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """From rows in memory."""
        arrays = [np.asarray(row, dtype=np.int64) for row in rows]
        starts = np.cumsum([0, *map(len, arrays)])
        return cls(np.concatenate(arrays) if arrays else np.zeros(0, np.int64), starts)

    @property
    def lengths(self) -> Integers:
        """The length of every row."""
        return np.diff(self.starts)

    def padded(self, rows: Integers) -> tuple[NDArray[np.int64], Integers]:
        """Some rows as a matrix, zeros after the end of each, and their lengths."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        columns = np.arange(lengths.max(initial=0))
        is_real = columns < lengths[:, None]
        matrix = np.zeros(is_real.shape, dtype=np.int64)
        matrix[is_real] = self.values[(self.starts[rows, None] + columns)[is_real]]
        return matrix, lengths


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
