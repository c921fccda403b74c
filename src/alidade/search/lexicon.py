"""The aligner's lexicon: the target pieces that each source piece was aligned to in training, the most frequent first.

It is counted on the positions of a prepared corpus, so a source piece lists what was written while b_i pointed at it:
just what a row of the search may write at that position. `alidade shortlist` saves it in the model folder, and
`search/shortlist.py` restricts the search to it.

Dimensions: V pieces of the source vocabulary, n listed pieces, f frequent ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from alidade.errors import AlidadeError
from alidade.files import aside_name
from alidade.text.corpus import PreparedCorpus, Split
from alidade.text.subwords import Subwords
from alidade.text.vocabulary import UNK

LEXICON_FILE = "shortlist.safetensors"
FORMAT = "1"
TOKENS_AT_ONCE = 1 << 22
"""Target pieces counted at once: some 200 MB."""

ALWAYS = 1 << 60
"""A count that stays ahead of all others."""

Integers = npt.NDArray[np.int64]
_Counts = tuple[Integers, Integers]
"""Codes of (source, target) pieces, `source * size of the target vocabulary + target`, ascending; their counts."""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What the search may write, by source piece."""

    starts: Integers
    """(V + 1,) where each source piece's list starts, and where the last one ends."""
    listed: Integers
    """(n,) target pieces, list after list, the most frequent first; a piece of both vocabularies lists itself."""
    frequent: Integers
    """(f,) the target pieces that may be written anywhere, the most frequent first."""
    fingerprints: tuple[str, str]
    """Of the source and the target vocabulary."""

    def of_piece(self, source_piece: int) -> Integers:
        """The target pieces that a source piece lists."""
        return self.listed[self.starts[source_piece] : self.starts[source_piece + 1]]

    def save(self, model_folder: Path) -> None:
        """Write it into a model folder, whole or not at all."""
        path = model_folder / LEXICON_FILE
        arrays = {"starts": self.starts, "listed": self.listed, "frequent": self.frequent}
        source, target = self.fingerprints
        save_file(
            {name: array.astype(np.int32) for name, array in arrays.items()},
            aside_name(path),
            {"format": FORMAT, "source": source, "target": target},
        )
        aside_name(path).replace(path)

    @classmethod
    def load(cls, model_folder: Path) -> Lexicon:
        """Read it from a model folder."""
        path = model_folder / LEXICON_FILE
        if not path.is_file():
            raise AlidadeError(
                f"{model_folder}: this model folder has no shortlist; make one with "
                f"`alidade shortlist --corpus CORPUS --model {model_folder}`, or translate with `--shortlist none`"
            )
        try:
            with safe_open(path, framework="numpy") as file:
                about = file.metadata() or {}
                starts, listed, frequent = (
                    file.get_tensor(name).astype(np.int64) for name in ("starts", "listed", "frequent")
                )
        except SafetensorError as error:
            raise AlidadeError(f"{path}: damaged ({error}); make it again with `alidade shortlist`") from None
        if about.get("format") != FORMAT:
            raise AlidadeError(f"{path}: its format is {about.get('format')!r}, {FORMAT!r} is needed; make it again")
        return cls(starts, listed, frequent, (about["source"], about["target"]))


def count_lexicon(corpus: PreparedCorpus, *, num_listed: int, num_frequent: int) -> Lexicon:
    """Count a corpus's positions: the `num_listed` most frequent pieces of each source piece are listed."""
    if not corpus.train.has_positions:
        raise AlidadeError(
            f'{corpus.folder}: prepared without alignments (aligner.kind = "none"); a shortlist is counted on them'
        )
    size = len(corpus.target_subwords)
    codes, counts = _count_links(corpus.train, size)
    same = _same_pieces(corpus.source_subwords, corpus.target_subwords)
    codes, counts = _merge((codes, counts), (same, np.full(len(same), ALWAYS)))
    starts, listed = _most_frequent(*np.divmod(codes, size), counts, len(corpus.source_subwords), num_listed)
    totals = np.zeros(size, dtype=np.int64)
    for chunk in _chunks(corpus.train):
        totals += np.bincount(corpus.train.targets.values[chunk.tokens], minlength=size)
    totals[: UNK + 1] = 0
    frequent = np.argsort(-totals, kind="stable")[:num_frequent]
    return Lexicon(
        starts,
        listed,
        frequent[totals[frequent] > 0],
        (corpus.source_subwords.fingerprint, corpus.target_subwords.fingerprint),
    )


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some neighbouring pairs of a corpus."""

    pairs: slice
    tokens: slice
    """Their target pieces."""


def _chunks(split: Split) -> Iterator[_Chunk]:
    starts = split.targets.starts
    first = 0
    while first < len(split):
        last = int(np.searchsorted(starts, starts[first] + TOKENS_AT_ONCE, side="right")) - 1
        last = max(last, first + 1)
        yield _Chunk(slice(first, last), slice(int(starts[first]), int(starts[last])))
        first = last


def _count_links(split: Split, target_size: int) -> _Counts:
    """How often pieces are aligned to each other."""
    sources, targets, positions = split.sources, split.targets, split.all_positions
    assert positions is not None
    total: _Counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    for chunk in _chunks(split):
        source_starts = np.asarray(sources.starts[chunk.pairs], dtype=np.int64)
        first_cells = np.repeat(source_starts, targets.lengths[chunk.pairs])
        aligned = sources.values[first_cells + positions.values[chunk.tokens] - 1].astype(np.int64)
        codes, counts = np.unique(aligned * target_size + targets.values[chunk.tokens], return_counts=True)
        total = _merge(total, (codes, counts))
    return total


def _merge(one: _Counts, other: _Counts) -> _Counts:
    codes, places = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    counts = np.zeros(len(codes), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([one[1], other[1]]))
    return codes, counts


def _same_pieces(source: Subwords, target: Subwords) -> Integers:
    """The codes of the pieces that both vocabularies have and that list themselves, so that names can be copied."""
    numbers = {target.piece(number): number for number in range(UNK + 1, len(target))}
    both = [(number, numbers.get(source.piece(number))) for number in range(UNK + 1, len(source))]
    return np.array([one * len(target) + other for one, other in both if other is not None], dtype=np.int64)


def _most_frequent(
    source: Integers, target: Integers, counts: Integers, source_size: int, num_listed: int
) -> tuple[Integers, Integers]:
    """The lists of all source pieces: where they start, and their target pieces."""
    order = np.lexsort((target, -counts, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)
    is_kept = rank < num_listed
    starts = np.concatenate([[0], np.cumsum(np.bincount(source[is_kept], minlength=source_size))])
    return starts, target[is_kept]
