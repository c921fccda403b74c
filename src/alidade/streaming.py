"""Streams of lines: read in windows, translated in chunks, by several processes if wanted, and handed out in order.

`Translator.translate_lines` is the way in.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from alidade.dictionary.entries import Dictionary
from alidade.errors import AlidadeError, ArgumentError
from alidade.io import Pause
from alidade.parallel import Workers
from alidade.translation import Translation
from alidade.translator import Mode, Translator, check_text

BATCHES_A_WINDOW = 8
"""A stream is read in windows of so many batches, and sorted by length inside them."""
BATCHES_A_WORKER = 2
"""The same where several workers share a stream: the last one to finish should not keep the others waiting for long."""

_Chunk = tuple[int, list[str], list[str] | None]
"""The number of the first line, the lines, and their prefixes."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to do with the chunks of a stream."""

    translator: Translator
    dictionary: Dictionary | None
    mode: Mode
    num_best: int
    with_links: bool
    protect: bool

    def __call__(self, chunk: _Chunk) -> list[Translation]:
        first_number, lines, prefixes = chunk
        return self.translator.translate_all(
            lines,
            dictionary=self.dictionary,
            mode=self.mode,
            prefixes=prefixes,
            num_best=self.num_best,
            with_links=self.with_links,
            protect=self.protect,
            first_number=first_number,
        )


def stream(
    job: Job, lines: Iterable[str | Pause], prefixes: Iterable[str] | None, first_number: int, workers: int
) -> Iterator[Translation]:
    """The translations of a stream of lines, in order."""
    batch_size = job.translator.batch_size
    window = (BATCHES_A_WINDOW if workers == 1 else BATCHES_A_WORKER) * batch_size
    chunks = _divide_last(_chunks(lines, prefixes, first_number, window), window, batch_size, workers)
    with Workers(workers) as pool:
        for translations in pool.map_in_order(job, chunks):
            yield from translations


def _chunks(
    lines: Iterable[str | Pause], prefixes: Iterable[str] | None, number: int, size: int
) -> Iterator[_Chunk | Pause]:
    """The lines in chunks; what comes before a pause, or an error, is handed out first."""
    chunk: list[str] = []
    given = None if prefixes is None else iter(prefixes)
    try:
        for line in lines:
            if not isinstance(line, Pause):
                chunk.append(check_text(line))
            if len(chunk) == size or (chunk and isinstance(line, Pause)):
                yield number, chunk, _prefixes_of(chunk, given, number)
                number, chunk = number + len(chunk), []
            if isinstance(line, Pause):
                yield line
    except AlidadeError:
        if chunk:
            yield number, chunk, _prefixes_of(chunk, given, number)
        raise
    if chunk:
        yield number, chunk, _prefixes_of(chunk, given, number)
    if given is not None and next(given, None) is not None:
        raise ArgumentError(f"there are more prefixes than the {number - 1 + len(chunk)} lines: give one for each line")


def _divide_last(chunks: Iterable[_Chunk | Pause], size: int, least: int, workers: int) -> Iterator[_Chunk | Pause]:
    """The same lines, the last chunk divided among the workers: a text shorter than a chunk would keep one busy."""
    for chunk in chunks:
        if isinstance(chunk, Pause) or len(chunk[1]) == size:
            yield chunk
        else:
            yield from _divided(chunk, least, workers)


def _divided(chunk: _Chunk, least: int, workers: int) -> Iterator[_Chunk]:
    number, lines, prefixes = chunk
    size = max(least, -(-len(lines) // workers))
    for start in range(0, len(lines), size):
        stretch = slice(start, start + size)
        yield number + start, lines[stretch], None if prefixes is None else prefixes[stretch]


def _prefixes_of(chunk: list[str], prefixes: Iterator[str] | None, number: int) -> list[str] | None:
    if prefixes is None:
        return None
    taken = list(itertools.islice(prefixes, len(chunk)))
    if len(taken) < len(chunk):
        raise ArgumentError(f"there are {number - 1 + len(taken)} prefixes, but line {number + len(taken)} needs one")
    return taken
