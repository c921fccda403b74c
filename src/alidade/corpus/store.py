"""A prepared corpus: memory-mapped pieces, words and positions, as `alidade prepare` leaves them for training.

A folder with `corpus.json`, the two subword models, and for each split flat arrays (.npy): the ids of all source
and target pieces one after the other, where each sentence starts, each piece's word, and each target piece's
position. Nothing is read before it is asked for, so opening takes milliseconds whatever the size. `corpus.json` is
written last: a folder that has it is complete.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypedDict

import numpy as np
import numpy.typing as npt

from alidade.config import NormalisationSettings, parse_settings
from alidade.corpus.arrays import Layout, Ragged, Side, map_array, write_array, write_side
from alidade.errors import AlidadeError
from alidade.io import read_json, read_lines, write_aside, write_json
from alidade.text.subwords import Encoding, Subwords

FORMAT = 1
"""Raised when the layout of the folder changes."""

BPE_DROPOUT = "bpe_dropout"
"""The split of training pairs in pieces of BPE-dropout (`corpus/bpe_dropout.py`)."""

IntArray = npt.NDArray[np.int64]
Example = tuple[Sequence[int], Sequence[int], Sequence[int] | None]
"""Source ids, target ids and, if there are any, positions; all without `<s>` and `</s>`."""


class Split:
    """The pairs of one part of a corpus, `train` or `dev`. Arrays have no `<s>` and `</s>`; positions count from 1."""

    def __init__(self, folder: Path, name: str, has_positions: bool) -> None:
        self.folder = folder
        self.name = name
        self.has_positions = has_positions
        self._layout = Layout(folder)
        self._source = _Side(self._layout, name, "source")
        self._target = _Side(self._layout, name, "target")

    def __reduce__(self) -> tuple[type[Self], tuple[Path, str, bool]]:
        return type(self), (self.folder, self.name, self.has_positions)  # the arrays stay in their files

    def __len__(self) -> int:
        return len(self._source.offsets) - 1

    def source(self, index: int) -> IntArray:
        """(J,) ids of the source pieces of a pair."""
        return self._source.ids_of(index)

    def target(self, index: int) -> IntArray:
        """(I,) ids of the target pieces of a pair."""
        return self._target.ids_of(index)

    def positions(self, index: int) -> IntArray:
        """(I,) the source position, 1..J, of each target piece."""
        return self._flat_positions[self._target.span(index)].astype(np.int64)

    def source_words(self, index: int) -> IntArray:
        """(J,) the word of each source piece."""
        return self._source.words_of(index)

    def target_words(self, index: int) -> IntArray:
        """(I,) the word of each target piece."""
        return self._target.words_of(index)

    @functools.cached_property
    def source_lengths(self) -> IntArray:
        """(N,) numbers of source pieces."""
        return np.diff(self._source.offsets)

    @functools.cached_property
    def target_lengths(self) -> IntArray:
        """(N,) numbers of target pieces."""
        return np.diff(self._target.offsets)

    @property
    def sources(self) -> Ragged:
        """The ids of all source pieces."""
        return Ragged(self._source.ids, self._source.offsets)

    @property
    def targets(self) -> Ragged:
        """The ids of all target pieces."""
        return Ragged(self._target.ids, self._target.offsets)

    @property
    def all_positions(self) -> Ragged | None:
        """The positions of all target pieces, if there are any."""
        return Ragged(self._flat_positions, self._target.offsets) if self.has_positions else None

    def source_texts(self) -> Iterator[str]:
        """The source sentences as text."""
        return read_lines(self._layout.text(self.name, "source"))

    def target_texts(self) -> Iterator[str]:
        """The target sentences as text: the references of a dev set."""
        return read_lines(self._layout.text(self.name, "target"))

    @functools.cached_property
    def _flat_positions(self) -> npt.NDArray[Any]:
        if not self.has_positions:
            raise AlidadeError(
                f'{self.folder}: this corpus was prepared without alignments (aligner.kind = "none"); a model that is '
                "assisted by alignments needs them"
            )
        return map_array(self._layout.positions(self.name))


@dataclass(frozen=True)
class PreparedCorpus:
    """What `alidade prepare` made: pairs to train on, a dev set if there is one, and the subwords of both sides."""

    folder: Path
    train: Split
    dev: Split | None
    source_subwords: Subwords
    target_subwords: Subwords
    fingerprint: str
    """Changes with the pieces, the positions or the vocabularies."""
    settings: dict[str, Any]
    """The settings that the corpus was prepared with."""
    bpe_dropout: Split | None = None
    """The training pairs several times over, each time in other pieces, if that was asked for."""

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a folder made by `alidade prepare`."""
        layout = Layout(folder)
        if not layout.manifest.exists():
            raise AlidadeError(f"{folder}: not a prepared corpus (no corpus.json): make one with `alidade prepare`")
        manifest = read_json(layout.manifest)
        if manifest.get("format") != FORMAT:
            raise AlidadeError(
                f"{folder}: its format is {manifest.get('format')}, this program reads {FORMAT}: prepare it again"
            )
        if unknown := manifest["splits"].keys() - {"train", "dev", BPE_DROPOUT}:
            raise AlidadeError(f'{folder}: of an older version (it has a split "{unknown.pop()}"): prepare it again')
        splits = {name: Split(folder, name, split["has_positions"]) for name, split in manifest["splits"].items()}
        return cls(
            folder,
            splits["train"],
            splits.get("dev"),
            Subwords.load(layout.subwords("source"), manifest["source_language"]),
            Subwords.load(layout.subwords("target"), manifest["target_language"]),
            manifest["fingerprint"],
            manifest["settings"],
            splits.get(BPE_DROPOUT),
        )

    @property
    def training_split(self) -> Split:
        """What models are trained on."""
        return self.train if self.bpe_dropout is None else self.bpe_dropout

    @property
    def normalisation(self) -> NormalisationSettings:
        """How its text is written."""
        names = NormalisationSettings.model_fields
        values = {name: value for name, value in self.settings.get("cleaning", {}).items() if name in names}
        return parse_settings(NormalisationSettings, values, source=f"{self.folder}: its settings")

    def source_encoding(self, split: Split, index: int) -> Encoding:
        """A pair's source with its text and words."""
        return self.source_subwords.decode(split.source(index).tolist())

    def target_encoding(self, split: Split, index: int) -> Encoding:
        """A pair's target with its text and words."""
        return self.target_subwords.decode(split.target(index).tolist())


class _Side:
    """The flat arrays of one side of a split."""

    def __init__(self, layout: Layout, split: str, side: Side) -> None:
        self._layout = layout
        self._split = split
        self._side = side

    @functools.cached_property
    def ids(self) -> npt.NDArray[Any]:
        return map_array(self._layout.ids(self._split, self._side))

    @functools.cached_property
    def words(self) -> npt.NDArray[Any]:
        return map_array(self._layout.words(self._split, self._side))

    @functools.cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        return map_array(self._layout.offsets(self._split, self._side))

    def span(self, index: int) -> slice:
        return slice(int(self.offsets[index]), int(self.offsets[index + 1]))

    def ids_of(self, index: int) -> IntArray:
        return self.ids[self.span(index)].astype(np.int64)

    def words_of(self, index: int) -> IntArray:
        return self.words[self.span(index)].astype(np.int64)


class SplitManifest(TypedDict):
    """What `corpus.json` says of a split."""

    size: int
    has_positions: bool
    content: list[str]
    """Hashes of the arrays."""


def write_manifest(
    layout: Layout,
    source: Subwords,
    target: Subwords,
    splits: Mapping[str, SplitManifest],
    settings: dict[str, Any] | None = None,
) -> None:
    """Write `corpus.json`, which makes the folder a corpus."""
    parts = [source.fingerprint, target.fingerprint, *(str(split["content"]) for split in splits.values())]
    manifest = {
        "format": FORMAT,
        "source_language": source.language,
        "target_language": target.language,
        "fingerprint": hashlib.sha256(" ".join(parts).encode()).hexdigest(),
        "splits": splits,
        "settings": settings or {},
    }
    write_json(layout.manifest, manifest)


def write_corpus(
    folder: Path, source: Subwords, target: Subwords, train: Iterable[Example], dev: Iterable[Example] = ()
) -> PreparedCorpus:
    """Make a prepared corpus of pairs whose positions are known already: synthetic ones, for tests and the demo."""
    layout = Layout(folder)
    layout.manifest.unlink(missing_ok=True)
    source.save(layout.subwords("source"))
    target.save(layout.subwords("target"))
    splits = {"train": _write_examples(layout, "train", source, target, list(train))}
    if dev_examples := list(dev):
        splits["dev"] = _write_examples(layout, "dev", source, target, dev_examples)
    write_manifest(layout, source, target, splits)
    return PreparedCorpus.open(folder)


def _write_examples(
    layout: Layout, name: str, source: Subwords, target: Subwords, examples: Sequence[Example]
) -> SplitManifest:
    content = [
        _write_examples_side(layout, name, "source", source, [example[0] for example in examples]),
        _write_examples_side(layout, name, "target", target, [example[1] for example in examples]),
    ]
    has_positions = bool(examples) and all(example[2] is not None for example in examples)
    if has_positions:
        with write_array(layout.positions(name), np.uint16) as writer:
            for _, target_ids, positions in examples:
                assert positions is not None
                assert len(positions) == len(target_ids), "every target piece needs exactly one position"
                writer.append(np.asarray(positions, dtype=np.int64))
            content.append(writer.finish())
    return {"size": len(examples), "has_positions": has_positions, "content": content}


def _write_examples_side(
    layout: Layout, name: str, side: Side, subwords: Subwords, sentences: Sequence[Sequence[int]]
) -> str:
    with (
        write_aside(layout.text(name, side)) as text_file,
        write_side(layout, name, side, subwords.vocabulary_size) as writer,
    ):
        for ids in sentences:
            encoding = subwords.decode(ids)
            text_file.write(encoding.text + "\n")
            writer.append(ids, encoding.word_of_piece, [len(ids)])
        return writer.finish()
