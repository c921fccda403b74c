"""The first stage of `alidade prepare`: bitexts in, clean text out, and an account of what was dropped."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

from rich.console import Console

from alidade.config import PrepareConfig
from alidade.errors import AlidadeError
from alidade.files import write_aside
from alidade.parallel import CHUNK, Workers, chunked
from alidade.progress import track
from alidade.text.arrays import write_array
from alidade.text.bitext import Pair, count_pairs, count_raw_pairs, read_bitext, read_parallel_lines
from alidade.text.cleaning import Cleaner, CleanPair, Reason, SeenPairs
from alidade.text.layout import Layout


class CleanedChunk(NamedTuple):
    """What became of some pairs of one bitext."""

    bitext: int
    num_read: int
    kept: list[CleanPair]
    origins: list[int]
    """The number of each kept pair in all raw bitexts together."""
    dropped: Counter[str]


def clean_bitexts(config: PrepareConfig, layout: Layout, workers: Workers, console: Console) -> dict[str, Any]:
    """Write the clean text of all splits; returns how many pairs were read, dropped (and why) and written."""
    languages = (config.source_language, config.target_language)
    cleaner = Cleaner(config.cleaning, *languages)
    raw_sizes = [count_raw_pairs(bitext, languages) for bitext in config.bitext]
    total = sum(
        min(count_pairs(bitext, languages), bitext.cap or raw_sizes[i]) for i, bitext in enumerate(config.bitext)
    )
    if config.dev is not None:
        _normalise_dev(config, cleaner, layout)
    accounts = [_Account(str(bitext.source.name), bitext.only) for bitext in config.bitext]
    seen = SeenPairs() if config.cleaning.drop_duplicates else None
    chunks = workers.map_in_order(functools.partial(_clean_chunk, cleaner), _read_chunks(config, raw_sizes))
    with (
        write_aside(layout.text("train", "source")) as source_file,
        write_aside(layout.text("train", "target")) as target_file,
        write_array(layout.origins, "int64") as origins,
    ):
        for chunk in track(chunks, "cleaning", total, console=console, weigh=lambda chunk: chunk.num_read):
            kept = chunk if seen is None else _drop_seen(chunk, seen)
            weight = config.bitext[chunk.bitext].weight
            _write_pairs(source_file, target_file, kept.kept, weight)
            origins.append([origin for origin in kept.origins for _ in range(weight)])
            accounts[chunk.bitext].add(kept, weight)
        origins.finish()
        report = _report(accounts, sum(raw_sizes))
        _require_pairs(report)
    return report


class _Account:
    """Counts the pairs of one bitext."""

    def __init__(self, name: str, domains: Sequence[str]) -> None:
        self.name = f"{name} ({', '.join(domains)})" if domains else name
        self.read = self.kept = self.written = 0
        self.dropped: Counter[str] = Counter()

    def add(self, chunk: CleanedChunk, weight: int) -> None:
        self.read += chunk.num_read
        self.kept += len(chunk.kept)
        self.written += len(chunk.kept) * weight
        self.dropped.update(chunk.dropped)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "read": self.read,
            "dropped": dict(self.dropped),
            "kept": self.kept,
            "written": self.written,
        }


def _report(accounts: list[_Account], raw_pairs: int) -> dict[str, Any]:
    return {
        "raw_pairs": raw_pairs,
        "read": sum(account.read for account in accounts),
        "written": sum(account.written for account in accounts),
        "bitexts": [account.as_dict() for account in accounts],
    }


def _read_chunks(config: PrepareConfig, raw_sizes: list[int]) -> Iterator[tuple[int, int, list[Pair]]]:
    """Number of the bitext, number of its first raw pair among all, and some of its pairs."""
    first = 0
    for number, bitext in enumerate(config.bitext):
        for pairs in chunked(read_bitext(bitext, (config.source_language, config.target_language)), CHUNK):
            yield number, first, pairs
        first += raw_sizes[number]


def _clean_chunk(cleaner: Cleaner, chunk: tuple[int, int, list[Pair]]) -> CleanedChunk:
    bitext, first, pairs = chunk
    cleaned = CleanedChunk(bitext, len(pairs), [], [], Counter())
    for pair in pairs:
        result = cleaner.clean(pair.source, pair.target)
        if isinstance(result, Reason):
            cleaned.dropped[result.value] += 1
        else:
            cleaned.kept.append(result)
            cleaned.origins.append(first + pair.number)
    return cleaned


def _drop_seen(chunk: CleanedChunk, seen: SeenPairs) -> CleanedChunk:
    new = [i for i, is_new in enumerate(seen.are_new(chunk.kept)) if is_new]
    dropped = chunk.dropped + Counter({Reason.DUPLICATE.value: len(chunk.kept) - len(new)})
    return chunk._replace(kept=[chunk.kept[i] for i in new], origins=[chunk.origins[i] for i in new], dropped=dropped)


def _write_pairs(source_file: IO[str], target_file: IO[str], pairs: list[CleanPair], weight: int) -> None:
    source_file.writelines([f"{pair.source}\n" * weight for pair in pairs])
    target_file.writelines([f"{pair.target}\n" * weight for pair in pairs])


def _normalise_dev(config: PrepareConfig, cleaner: Cleaner, layout: Layout) -> None:
    assert config.dev is not None
    source, target = config.dev.source, config.dev.target
    number = 0
    with (
        write_aside(layout.text("dev", "source")) as source_file,
        write_aside(layout.text("dev", "target")) as target_file,
    ):
        for number, lines in enumerate(read_parallel_lines(source, target), start=1):
            pair = cleaner.normalise(*lines)
            for text, path in zip(pair, (source, target), strict=True):
                if not text:
                    raise AlidadeError(f"{path}, line {number}: empty; a dev set needs a sentence in every line")
            _write_pairs(source_file, target_file, [pair], 1)
        if number == 0:
            raise AlidadeError(f"{source}: the dev set is empty; leave [dev] out if there is none")


def _require_pairs(report: dict[str, Any]) -> None:
    if report["written"]:
        return
    if not report["read"]:
        raise AlidadeError("the corpus is empty: the bitexts have no pair")
    dropped: Counter[str] = Counter()
    for bitext in report["bitexts"]:
        dropped.update(bitext["dropped"])
    reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.most_common())
    raise AlidadeError(
        f"the corpus is empty: all {report['read']} pairs were dropped ({reasons}); see the settings under [cleaning]"
    )
