"""Where the files of a prepared corpus lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

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
