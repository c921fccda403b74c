"""Two stages of `alidade prepare`: learning subwords from the clean text, and encoding it with them.

sentencepiece reads units with their counts instead of sentences: a unit is a word as `Subwords` encodes it, with a
leading space if one precedes it. Pieces then cannot cross a word's border in any language, and a corpus of any size
is learned from in the memory that its distinct words take.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import sentencepiece
from rich.console import Console

from alidade.config import PrepareConfig, SubwordSettings
from alidade.corpus.arrays import SIDES, Layout, Side, SideWriter, map_array, write_side
from alidade.corpus.bitext import read_parallel_lines
from alidade.corpus.parts import Parts, do_parts, finished_parts
from alidade.errors import AlidadeError
from alidade.io import count_lines, open_text, track, write_aside
from alidade.parallel import CHUNK, Workers, chunked
from alidade.text.subwords import SPACE, Subwords
from alidade.text.vocabulary import BOS, EOS, PAD, UNK
from alidade.text.words import split_chunk

NUM_BYTES = 256


def count_units(texts: Iterable[str], language: str) -> Counter[str]:
    """How often each unit occurs in texts, units after a space counted apart from those after another unit."""
    chunks = Counter(itertools.chain.from_iterable(map(str.split, texts)))
    units: Counter[str] = Counter()
    for chunk, count in chunks.items():
        first, *rest = split_chunk(chunk, language)
        units[f" {first.text}"] += count
        for word in rest:
            units[word.text] += count
    return units


def train_subwords(units: Mapping[str, int], settings: SubwordSettings, threads: int = 4) -> bytes:
    """A sentencepiece model learned from counted units. Fewer pieces than wanted come out of a very small corpus.

    The number of threads becomes part of the model, so it must not depend on the machine.
    """
    learnable = {unit: count for unit, count in units.items() if SPACE not in unit and "\t" not in unit}
    if not learnable:
        raise AlidadeError("there is no text to learn subwords from")
    least = 4 + (NUM_BYTES if settings.byte_fallback else 0)
    if settings.vocabulary_size <= least:
        raise AlidadeError(
            f"subwords.vocabulary_size = {settings.vocabulary_size} is too small: {least} ids are taken by <pad>, <s>, "
            "</s>, <unk>" + (" and the bytes of byte_fallback" if settings.byte_fallback else "")
        )
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            # Sorted, so that the model depends on the counts alone.
            sentence_iterator=(f"{unit}\t{count}" for unit, count in sorted(learnable.items())),
            input_format="tsv",
            model_writer=model,
            model_type=settings.kind,
            vocab_size=settings.vocabulary_size,
            hard_vocab_limit=False,
            character_coverage=settings.character_coverage,
            byte_fallback=settings.byte_fallback,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            split_by_unicode_script=False,  # the units are words already: "don't" and "%s" may be pieces
            split_by_number=False,
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            num_threads=threads,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise AlidadeError(f"subwords could not be learned: {error}; see the settings under [subwords]") from None
    return model.getvalue()


class SidePieces(NamedTuple):
    """The pieces of some sentences of one side, one after the other."""

    ids: npt.NDArray[np.int32]
    words: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]


class PairsWriter:
    """Writes the pieces of both sides of a split."""

    def __init__(self, source: SideWriter, target: SideWriter) -> None:
        self._source, self._target = source, target

    def append(self, source: SidePieces, target: SidePieces) -> None:
        """Add pairs."""
        self._source.append(*source)
        self._target.append(*target)

    def finish(self) -> dict[str, Any]:
        """Complete the files; returns sizes and hashes."""
        return {
            "pairs": self._source.num_sentences,
            "source_pieces": self._source.num_pieces,
            "target_pieces": self._target.num_pieces,
            "content": [self._source.finish(), self._target.finish()],
        }


@contextlib.contextmanager
def write_pairs(layout: Layout, split: str, subwords: tuple[Subwords, Subwords]) -> Iterator[PairsWriter]:
    """A writer for the arrays of a split."""
    with (
        write_side(layout, split, "source", subwords[0].vocabulary_size) as source,
        write_side(layout, split, "target", subwords[1].vocabulary_size) as target,
    ):
        yield PairsWriter(source, target)


class SharedSubwords(NamedTuple):
    """How a process finds the subwords of both sides: cheap to send, and loaded once a process."""

    source: Path
    target: Path
    languages: tuple[str, str]
    fingerprints: tuple[str, str]

    @classmethod
    def of(cls, subwords: tuple[Subwords, Subwords], layout: Layout) -> SharedSubwords:
        source, target = subwords
        return cls(
            layout.subwords("source"),
            layout.subwords("target"),
            (source.language, target.language),
            (source.fingerprint, target.fingerprint),
        )

    def load(self) -> tuple[Subwords, Subwords]:
        return _load_shared(self)


@functools.lru_cache(maxsize=1)
def _load_shared(shared: SharedSubwords) -> tuple[Subwords, Subwords]:
    source_language, target_language = shared.languages
    return Subwords.load(shared.source, source_language), Subwords.load(shared.target, target_language)


def learn_subwords(
    config: PrepareConfig, layout: Layout, num_pairs: int, workers: Workers, console: Console
) -> dict[str, Any]:
    """Learn one sentencepiece model for both sides, or one for each; or take those of another folder."""
    settings = config.subwords
    if settings.like is not None:
        models = [path.read_bytes() for path in subwords_like(settings.like)]
    else:
        source_units = _count_side(config, layout, "source", num_pairs, workers, console)
        target_units = _count_side(config, layout, "target", num_pairs, workers, console)
        with console.status("learning subwords"):
            if settings.joint:
                models = [train_subwords(source_units + target_units, settings)] * 2
            else:
                models = [train_subwords(units, settings) for units in (source_units, target_units)]
    with (
        write_aside(layout.subwords("source"), "wb") as source_file,
        write_aside(layout.subwords("target"), "wb") as target_file,
    ):
        source_file.write(models[0])
        target_file.write(models[1])
    sizes = [Subwords(model, "").vocabulary_size for model in models]
    return {"source_pieces": sizes[0], "target_pieces": sizes[1], "joint": models[0] == models[1]}


def subwords_like(folder: Path) -> list[Path]:
    """The sentencepiece models of both sides in a corpus or model folder, which name them alike."""
    paths = [Layout(folder).subwords(side) for side in SIDES]
    for path in paths:
        if not path.is_file():
            raise AlidadeError(
                f"subwords.like = {folder}: there is no {path.name}; name a folder that `alidade prepare` or "
                "`alidade train` made"
            )
    return paths


def encode_parts(
    subwords: tuple[Subwords, Subwords],
    layout: Layout,
    splits: tuple[str, ...],
    parts: Parts,
    workers: Workers,
    console: Console,
) -> None:
    """Write the arrays of pieces of all parts of all splits."""
    encode_chunk = functools.partial(_encode_chunk, SharedSubwords.of(subwords, layout))
    last_files: dict[Path, int] = {}
    for split in splits:

        def encode(folder: Path, pairs: Iterator[tuple[str, str]], size: int, split: str = split) -> dict[str, Any]:
            chunks = workers.map_in_order(encode_chunk, chunked(pairs, CHUNK))
            with write_pairs(Layout(folder), split, subwords) as writer:
                for source, target in track(
                    chunks, f"encoding {split}", size, console=console, weigh=lambda c: len(c[0].lengths)
                ):
                    writer.append(source, target)
                return writer.finish()

        total = count_lines(layout.text(split, "source"))
        last_files |= do_parts(parts, split, read_split(layout, split), total, encode)
    parts.wait_for(last_files)


def join_encoded_parts(subwords: tuple[Subwords, Subwords], layout: Layout, splits: tuple[str, ...]) -> dict[str, Any]:
    """Write the arrays of pieces of all splits; returns sizes and hashes."""
    report: dict[str, Any] = {}
    for split in splits:
        with write_pairs(layout, split, subwords) as writer:
            for part in map(Layout, finished_parts(layout.parts("encode") / split)):
                writer.append(_read_side(part, split, "source"), _read_side(part, split, "target"))
            report[split] = writer.finish()
    return report


def _read_side(part: Layout, split: str, side: Side) -> SidePieces:
    ids, words, offsets = [map_array(path) for path in part.arrays(split, side)]
    return SidePieces(ids, words, np.diff(offsets))


def _encode_chunk(shared: SharedSubwords, pairs: list[tuple[str, str]]) -> tuple[SidePieces, SidePieces]:
    source, target = shared.load()
    return (
        side_pieces([source.encode_ids(text) for text, _ in pairs]),
        side_pieces([target.encode_ids(text) for _, text in pairs]),
    )


def side_pieces(encoded: list[tuple[list[int], list[int]]]) -> SidePieces:
    """From the ids and words of each sentence."""
    ids = itertools.chain.from_iterable([ids for ids, _ in encoded])
    words = itertools.chain.from_iterable([words for _, words in encoded])
    lengths = np.array([len(ids) for ids, _ in encoded], dtype=np.int64)
    count = int(lengths.sum())
    return SidePieces(np.fromiter(ids, np.int32, count), np.fromiter(words, np.int32, count), lengths)


def _count_side(
    config: PrepareConfig, layout: Layout, side: Side, num_pairs: int, workers: Workers, console: Console
) -> Counter[str]:
    """Counts of a side's units, in at most `training_sentences` sentences that lie in even steps."""
    language = config.source_language if side == "source" else config.target_language
    step = -(-num_pairs // config.subwords.training_sentences)
    counted: Counter[str] = Counter()
    with open_text(layout.text("train", side)) as lines:
        chunks = chunked(itertools.islice(lines, 0, None, step), CHUNK)
        counts = workers.map_in_order(functools.partial(_count_chunk, language), chunks)
        for _, units in track(
            counts, f"counting {side} words", num_pairs // step, console=console, weigh=lambda c: c[0]
        ):
            counted.update(units)
    return counted


def _count_chunk(language: str, texts: list[str]) -> tuple[int, Counter[str]]:
    return len(texts), count_units(texts, language)


def read_split(layout: Layout, split: str) -> Iterator[tuple[str, str]]:
    """The clean sentences of a split, side by side."""
    return read_parallel_lines(layout.text(split, "source"), layout.text(split, "target"))
