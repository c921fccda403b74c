"""Two stages of `alidade prepare`: aligning the words or pieces, and turning links into positions.

A bitext that is too large for the aligner's memory is aligned in chunks, twice. At first every chunk starts from what a
sample has taught (the aligner's priors); then from what all other chunks have.

Other pairs, of a dev or test set, are aligned in the way in which the corpus was (`align_like_corpus`): the aligner
starts from what it learned on the corpus (its priors), which is as good as aligning the pairs together with the
training bitext, and takes seconds.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import itertools
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.console import Console

from alidade.alignment.links import Alignment
from alidade.alignment.positions import Unit, positions_of_pieces
from alidade.alignment.statistical import EflomalAligner, add_priors, read_alignments, subtract_priors
from alidade.alignment.symmetrise import Symmetrisation, symmetrise
from alidade.config import AlignerSettings, CleaningSettings, parse_settings
from alidade.corpus.arrays import SIDES, Layout, map_array, write_array
from alidade.corpus.encode import SharedSubwords, read_split
from alidade.corpus.parts import Parts, do_parts, finished_parts
from alidade.corpus.store import PreparedCorpus
from alidade.errors import AlidadeError
from alidade.io import count_lines, read_lines, track, write_aside
from alidade.parallel import CHUNK, Workers, chunked
from alidade.text.languages import is_same_language
from alidade.text.normalise import normalise_as_set
from alidade.text.subwords import Encoding, Subwords
from alidade.text.tokenised import encode_tokenised

BYTES_A_UNIT = 100
"""What eflomal's program and the program around it take for each unit of both sides, and a bit more: 33 were measured
for the former with two threads, and it takes more with six."""
MEMORY_AT_FIRST = 60_000_000
"""What they take before they read anything."""

MAX_UNITS = 1024
"""A sentence with more of them makes eflomal give up: such a pair goes without links."""
PAIRS_AT_ONCE = 20_000
"""Pairs that are aligned together with what a corpus has taught: some hundred megabytes."""

DRAWINGS = 6
"""So often eflomal draws the links of a pair with what a corpus has taught: each time other ones where it is not sure.
Six of one sampler each cost as much as two of three, the usual number, and tell more (experiments/LOG.md)."""

UNSEEDED = "eflomal takes no seed: aligned once more, the same pairs get a few other links"


class _LinkedLines(NamedTuple):
    """A pair and its links as they stand in files: one line, or one for each direction."""

    source: str
    target: str
    links: tuple[str, ...]
    place: str
    """File and line of the links, for errors."""


def align_units(
    subwords: tuple[Subwords, Subwords],
    unit: Unit,
    num_chunks: int,
    layout: Layout,
    splits: tuple[str, ...],
    workers: Workers,
    console: Console,
) -> dict[str, Any]:
    """Align the training bitext in both directions, or join its chunks, then the dev set with what was learned."""
    aligner = EflomalAligner()
    shared = SharedSubwords.of(subwords, layout)
    for split in splits:
        if split == "train" and num_chunks > 1:
            _join_chunks(layout, num_chunks)
            continue
        source, target = (layout.units(split, side) for side in SIDES)
        forward, reverse = layout.links(split, "forward"), layout.links(split, "reverse")
        try:
            num_pairs = count_lines(layout.text(split, "source"))
            _write_units(shared, unit, read_split(layout, split), num_pairs, (source, target), workers, console)
            console.print(f"align: eflomal aligns {num_pairs:,} pairs of {split} by {unit}")
            with console.status("aligning"):
                if split == "train":
                    aligner.align_files(source, target, forward, reverse, layout.priors)
                else:
                    aligner.align_with_priors(source, target, forward, reverse, layout.priors)
        finally:
            source.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
    return {"note": UNSEEDED, "chunks": num_chunks}


def num_chunks(layout: Layout, max_memory: int) -> int:
    """In how many chunks the training bitext must be aligned so that none takes more megabytes than this.

    Counted by pieces; where words are aligned, of which there are fewer, chunks are smaller than they might be.
    """
    num_units = sum(int(map_array(layout.offsets("train", side))[-1]) for side in SIDES)
    return max(1, -(-num_units * BYTES_A_UNIT // (max_memory * 1_000_000 - MEMORY_AT_FIRST)))


class _LinksChunk(NamedTuple):
    """A chunk of the training bitext."""

    folder: Path
    number: int
    start: int
    stop: int

    @property
    def learned(self) -> Path:
        """What the chunk teaches, as far as it is known when it has been aligned for the first time."""
        return self.folder / "learned"

    @property
    def forward(self) -> Path:
        return self.folder / "forward"

    @property
    def reverse(self) -> Path:
        return self.folder / "reverse"


def align_chunks(
    subwords: tuple[Subwords, Subwords],
    unit: Unit,
    num_chunks: int,
    layout: Layout,
    parts: Parts,
    workers: Workers,
    console: Console,
) -> None:
    """Learn priors from every n-th pair, of n chunks, and align all chunks with them, then once more with what the
    others have taught; what is there already stays."""
    shared = SharedSubwords.of(subwords, layout)
    chunks = _chunks_of_links(layout, num_chunks)
    sample_priors, all_priors = _sample_priors(layout), _all_priors(layout)
    if not sample_priors.exists():
        with parts.alone():
            if not sample_priors.exists():
                _learn_from_sample(shared, unit, num_chunks, layout, workers, console)
    console.print(f"align: eflomal aligns {chunks[-1].stop:,} pairs in {num_chunks} chunks, twice")

    def align(align_chunk: Callable[[_LinksChunk], None], last_files: dict[Path, int], what: str) -> None:
        missing = [chunk for chunk, last in zip(chunks, last_files, strict=True) if not last.exists()]
        own = [chunk for chunk in missing if parts.owns(chunk.number)]
        if own:
            parts.stop_if_finished()
        for _ in track(workers.map_in_order(align_chunk, own), what, len(own), console=console):
            pass
        parts.wait_for(last_files)

    first = functools.partial(_align_chunk, shared, unit, layout, sample_priors)
    align(first, {chunk.learned: chunk.number for chunk in chunks}, "aligning chunks")
    if not all_priors.exists():
        with parts.alone():
            if not all_priors.exists():
                add_priors([chunk.learned for chunk in chunks], all_priors)
    again = functools.partial(_align_chunk_again, shared, unit, layout, all_priors)
    align(again, {chunk.reverse: chunk.number for chunk in chunks}, "aligning chunks again")


def _learn_from_sample(
    shared: SharedSubwords, unit: Unit, num_chunks: int, layout: Layout, workers: Workers, console: Console
) -> None:
    parts = layout.parts("align")
    num_pairs = count_lines(layout.text("train", "source"))
    sample = itertools.islice(read_split(layout, "train"), 0, None, num_chunks)
    files = parts / "sample.source", parts / "sample.target"
    size = -(-num_pairs // num_chunks)
    _write_units(shared, unit, sample, size, files, workers, console)
    console.print(f"align: eflomal learns from {size:,} of {num_pairs:,} pairs by {unit}")
    with console.status("learning from a sample"):
        links = parts / "sample.forward", parts / "sample.reverse"
        EflomalAligner().align_files(*files, *links, _sample_priors(layout))


def _join_chunks(layout: Layout, num_chunks: int) -> None:
    for way in ("forward", "reverse"):
        with write_aside(layout.links("train", way), "wb") as file:
            for chunk in _chunks_of_links(layout, num_chunks):
                file.write((chunk.folder / way).read_bytes())
    with write_aside(layout.priors, "wb") as file:
        file.write(_all_priors(layout).read_bytes())


def _sample_priors(layout: Layout) -> Path:
    return layout.parts("align") / "priors.sample"


def _all_priors(layout: Layout) -> Path:
    return layout.parts("align") / "priors.all"


def _chunks_of_links(layout: Layout, num_chunks: int) -> list[_LinksChunk]:
    return [
        _LinksChunk(layout.parts("align") / f"{number:05d}", number, start, stop)
        for number, (start, stop) in enumerate(itertools.pairwise(_bounds(layout, num_chunks)))
        if start < stop
    ]


def _bounds(layout: Layout, num_chunks: int) -> list[int]:
    """Where chunks of about as many units each begin, and where the last one ends."""
    source, target = [map_array(layout.offsets("train", side)) for side in SIDES]
    num_pairs = len(source) - 1

    def units_before(pair: int) -> int:
        return int(source[pair] + target[pair])

    # By halving, which looks at few places of arrays that may be larger than the memory.
    wanted = [units_before(num_pairs) * number // num_chunks for number in range(1, num_chunks)]
    return [0, *[bisect.bisect_left(range(num_pairs), units, key=units_before) for units in wanted], num_pairs]


def _align_chunk(shared: SharedSubwords, unit: Unit, layout: Layout, priors: Path, chunk: _LinksChunk) -> None:
    """In a worker: align the pairs of a chunk with what was learned from the sample, and count what they teach."""
    with _units_of_links_chunk(shared, unit, layout, chunk) as units, tempfile.TemporaryDirectory() as folder:
        links = Path(folder) / "forward", Path(folder) / "reverse"
        EflomalAligner().align_with_priors(*units, *links, priors, chunk.learned)


def _align_chunk_again(shared: SharedSubwords, unit: Unit, layout: Layout, priors: Path, chunk: _LinksChunk) -> None:
    """In a worker: align the pairs of a chunk with what was learned from all others.

    As if all were aligned together, and it were this chunk's turn to be sampled.
    """
    others = chunk.folder / "others"
    with _units_of_links_chunk(shared, unit, layout, chunk) as units:
        subtract_priors(priors, chunk.learned, others)
        EflomalAligner().align_with_priors(*units, chunk.forward, chunk.reverse, others)
        others.unlink()


@contextlib.contextmanager
def _units_of_links_chunk(
    shared: SharedSubwords, unit: Unit, layout: Layout, chunk: _LinksChunk
) -> Iterator[tuple[Path, Path]]:
    """Both sides of a chunk as the aligner reads them."""
    if multiprocessing.parent_process() is not None:
        os.environ["OMP_NUM_THREADS"] = "1"  # others work beside this one
    chunk.folder.mkdir(exist_ok=True)
    files = chunk.folder / "source", chunk.folder / "target"
    with write_aside(files[0]) as source_file, write_aside(files[1]) as target_file:
        for pairs in chunked(itertools.islice(read_split(layout, "train"), chunk.start, chunk.stop), CHUNK):
            source_lines, target_lines = _units_of_chunk(shared, unit, pairs)
            source_file.writelines(source_lines)
            target_file.writelines(target_lines)
    yield files
    for path in files:
        path.unlink()


def store_position_parts(
    subwords: tuple[Subwords, Subwords],
    aligner: AlignerSettings,
    layout: Layout,
    splits: Sequence[str],
    cleaned: dict[str, Any],
    parts: Parts,
    workers: Workers,
    console: Console,
) -> None:
    """Write the positions of the target pieces of all parts of some splits."""
    place = functools.partial(
        _positions_of_chunk, SharedSubwords.of(subwords, layout), aligner.symmetrisation, aligner.unit
    )
    last_files: dict[Path, int] = {}
    for split in splits:

        def store(folder: Path, pairs: Iterator[_LinkedLines], size: int, split: str = split) -> dict[str, Any]:
            chunks = workers.map_in_order(place, chunked(pairs, CHUNK))
            with write_array(Layout(folder).positions(split), np.uint16) as writer:
                for _, positions in track(chunks, f"positions of {split}", size, console=console, weigh=lambda c: c[0]):
                    writer.append(positions)
                return {"pieces": writer.size, "content": writer.finish()}

        total = count_lines(layout.text(split, "source"))
        last_files |= do_parts(parts, split, _linked_pairs(aligner, layout, split, cleaned), total, store)
    parts.wait_for(last_files)


def join_position_parts(layout: Layout, splits: Sequence[str]) -> dict[str, Any]:
    """Write the positions of some splits; returns sizes and hashes."""
    report: dict[str, Any] = {}
    for split in splits:
        with write_array(layout.positions(split), np.uint16) as writer:
            for part in finished_parts(layout.parts("positions") / split):
                writer.append(map_array(Layout(part).positions(split)))
            report[split] = {"pieces": writer.size, "content": writer.finish()}
    return report


def _positions_of_chunk(
    shared: SharedSubwords, method: Symmetrisation, unit: Unit, pairs: list[_LinkedLines]
) -> tuple[int, npt.NDArray[np.int32]]:
    source_subwords, target_subwords = shared.load()
    positions: list[int] = []
    for pair in pairs:
        source, target = source_subwords.encode(pair.source), target_subwords.encode(pair.target)
        alignment = _read_links(pair, method)
        alignment.require_inside(_num_units(source, unit), _num_units(target, unit), pair.place)
        positions += positions_of_pieces(alignment, source, target, unit)
    return len(pairs), np.array(positions, dtype=np.int32)


def _read_links(pair: _LinkedLines, method: Symmetrisation) -> Alignment:
    try:
        first, *others = [Alignment.parse(line) for line in pair.links]
    except AlidadeError as error:
        raise AlidadeError(f"{pair.place}: {error}") from None
    return symmetrise(first, others[0], method) if others else first


def _num_units(encoding: Encoding, unit: Unit) -> int:
    return len(encoding.words) if unit == "words" else len(encoding.pieces)


def _linked_pairs(
    aligner: AlignerSettings, layout: Layout, split: str, cleaned: dict[str, Any]
) -> Iterator[_LinkedLines]:
    if aligner.kind == "eflomal":
        return _pairs_of_aligner(layout, split)
    path = aligner.train_links if split == "train" else aligner.dev_links
    assert path is not None
    if split == "train":
        origins = np.load(layout.origins, mmap_mode="r")
        return _pairs_of_file(layout, split, path, origins, cleaned["raw_pairs"])
    num_pairs = count_lines(layout.text(split, "source"))
    return _pairs_of_file(layout, split, path, np.arange(num_pairs), num_pairs)


def _pairs_of_aligner(layout: Layout, split: str) -> Iterator[_LinkedLines]:
    forward, reverse = layout.links(split, "forward"), layout.links(split, "reverse")
    lines = zip(read_split(layout, split), read_lines(forward), read_lines(reverse), strict=True)
    for number, (pair, forward_line, reverse_line) in enumerate(lines, start=1):
        yield _LinkedLines(*pair, (forward_line, reverse_line), f"{forward}, line {number}")


def _pairs_of_file(
    layout: Layout, split: str, path: Path, origins: npt.NDArray[np.int64], num_raw: int
) -> Iterator[_LinkedLines]:
    """Pairs with their lines of another aligner's file, which has a line for each *raw* pair, dropped ones too."""
    if (num_lines := count_lines(path)) != num_raw:
        raise AlidadeError(
            f"{path} has {num_lines} lines but the raw bitext has {num_raw} pairs: it needs a line for each of them"
        )
    lines = enumerate(read_lines(path))
    at, line = next(lines)
    for pair, origin in zip(read_split(layout, split), origins, strict=True):
        while at < origin:  # origins never fall
            at, line = next(lines)
        yield _LinkedLines(*pair, (line,), f"{path}, line {at + 1}")


def _write_units(
    shared: SharedSubwords,
    unit: Unit,
    pairs: Iterable[tuple[str, str]],
    num_pairs: int,
    files: tuple[Path, Path],
    workers: Workers,
    console: Console,
) -> None:
    """Write the aligner's input: a pair's words or pieces with spaces between them."""
    chunks = workers.map_in_order(functools.partial(_units_of_chunk, shared, unit), chunked(pairs, CHUNK))
    with write_aside(files[0]) as source_file, write_aside(files[1]) as target_file:
        for source_lines, target_lines in track(
            chunks, "splitting", num_pairs, console=console, weigh=lambda chunk: len(chunk[0])
        ):
            source_file.writelines(source_lines)
            target_file.writelines(target_lines)


def _units_of_chunk(shared: SharedSubwords, unit: Unit, pairs: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    source_subwords, target_subwords = shared.load()
    return (
        [_unit_line(source_subwords.encode(source), unit) for source, _ in pairs],
        [_unit_line(target_subwords.encode(target), unit) for _, target in pairs],
    )


def _unit_line(encoding: Encoding, unit: Unit) -> str:
    units = [word.text for word in encoding.words] if unit == "words" else encoding.pieces
    return f"{' '.join(units)}\n"


def align_like_corpus(
    corpus: PreparedCorpus, pairs: Sequence[tuple[str, str]], *, is_tokenised: bool = False
) -> list[Alignment]:
    """The links of the words of (source, target) sentences, symmetrised as the corpus's were.

    is_tokenised: words are what stands between spaces, as in gold alignments.
    """
    pairs_like_corpus = _PairsLikeCorpus.of(corpus, pairs, is_tokenised)
    method = pairs_like_corpus.aligner.symmetrisation
    return [
        pairs_like_corpus.words(number, symmetrise(forward, reverse, method))
        for number, (forward, reverse) in enumerate(pairs_like_corpus.align(EflomalAligner()))
    ]


def links_like_corpus(
    corpus: PreparedCorpus,
    pairs: Iterable[tuple[str, str]],
    languages: tuple[str, str],
    *,
    is_tokenised: bool = False,
) -> Iterator[tuple[Alignment, ...]]:
    """Several alignments of the words of each pair: those of both directions in several drawings of the aligner.

    How many of them have a link says how likely it is. languages: of the pairs, which are aligned in chunks, each when
    its first pair is asked for.
    """
    own = corpus.source_subwords.language, corpus.target_subwords.language
    if not all(map(is_same_language, own, languages)):
        raise AlidadeError(
            f"{corpus.folder}: is a corpus from {own[0]} to {own[1]}, and the pairs are from {languages[0]} to "
            f"{languages[1]}"
        )
    for chunk in chunked(pairs, PAIRS_AT_ONCE):
        pairs_like_corpus = _PairsLikeCorpus.of(corpus, chunk, is_tokenised)
        drawings = [pairs_like_corpus.align(EflomalAligner(num_samplers=1)) for _ in range(DRAWINGS)]
        for number, drawn in enumerate(zip(*drawings, strict=True)):
            yield tuple([pairs_like_corpus.words(number, alignment) for both in drawn for alignment in both])


class _PairsLikeCorpus(NamedTuple):
    """Pairs in the units of a corpus."""

    sources: list[Encoding]
    targets: list[Encoding]
    aligner: AlignerSettings
    priors: Path

    @classmethod
    def of(cls, corpus: PreparedCorpus, pairs: Sequence[tuple[str, str]], is_tokenised: bool) -> _PairsLikeCorpus:
        aligner, cleaning = _settings_of(corpus)
        return cls(
            [_encode(source, corpus.source_subwords, cleaning, is_tokenised) for source, _ in pairs],
            [_encode(target, corpus.target_subwords, cleaning, is_tokenised) for _, target in pairs],
            aligner,
            Layout(corpus.folder).priors,
        )

    def align(self, aligner: EflomalAligner) -> Iterator[tuple[Alignment, Alignment]]:
        """Links of units, forward and reverse, by what the aligner learned from the corpus."""
        unit = self.aligner.unit
        with tempfile.TemporaryDirectory(prefix="alidade-") as name:
            source, target = Path(name) / "source", Path(name) / "target"
            links = Path(name) / "forward", Path(name) / "reverse"
            with write_aside(source) as source_file, write_aside(target) as target_file:
                for both in zip(self.sources, self.targets, strict=True):
                    is_too_long = max(_num_units(encoding, unit) for encoding in both) > MAX_UNITS
                    for encoding, file in zip(both, (source_file, target_file), strict=True):
                        file.write("\n" if is_too_long else _unit_line(encoding, unit))
            aligner.align_with_priors(source, target, *links, self.priors)
            yield from zip(*map(read_alignments, links), strict=True)

    def words(self, number: int, alignment: Alignment) -> Alignment:
        """Links of words from links of a pair's units."""
        if self.aligner.unit == "words":
            return alignment
        source, target = self.sources[number].word_of_piece, self.targets[number].word_of_piece
        return Alignment.of([(source[link.source], target[link.target]) for link in alignment])


def _settings_of(corpus: PreparedCorpus) -> tuple[AlignerSettings, CleaningSettings]:
    """How the corpus was aligned and cleaned; only eflomal leaves something to align others with."""
    source_name = f"{corpus.folder}: its settings"
    aligner = parse_settings(AlignerSettings, corpus.settings.get("aligner", {}), source=source_name)
    if aligner.kind != "eflomal":
        raise AlidadeError(
            f'{corpus.folder}: was prepared with aligner.kind = "{aligner.kind}", and only eflomal leaves priors to '
            "align other pairs with; give their links as a Pharaoh file instead"
        )
    return aligner, parse_settings(CleaningSettings, corpus.settings.get("cleaning", {}), source=source_name)


def _encode(text: str, subwords: Subwords, cleaning: CleaningSettings, is_tokenised: bool) -> Encoding:
    normalise = functools.partial(normalise_as_set, language=subwords.language, settings=cleaning)
    if not is_tokenised:
        return subwords.encode(normalise(text))
    return encode_tokenised([normalise(word) or word for word in text.split()], subwords)  # none may vanish
