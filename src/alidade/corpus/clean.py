"""The first stage of `alidade prepare`: bitexts in, clean text out, and an account of what was dropped.

Normalising never changes what a person reads: Unicode NFC, no control or invisible characters, single spaces.
Pairs are then judged one by one (`Cleaner`), in parts (`parts.py`). Duplicates, which take a memory, are dropped when
the parts are joined (`SeenPairs`): the first of equal pairs stays, whoever has cleaned them.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import itertools
import operator
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import regex
from rich.console import Console

from alidade.config import BitextSettings, CleaningSettings, PrepareConfig
from alidade.corpus.arrays import SIDES, ArrayWriter, Layout, map_array, write_array
from alidade.corpus.bitext import count_pairs, count_raw_pairs, read_bitext, read_parallel_lines
from alidade.corpus.parts import Parts, do_parts, finished_parts
from alidade.errors import AlidadeError
from alidade.io import read_json, track, write_aside, write_json
from alidade.parallel import CHUNK, Workers, chunked
from alidade.text.languages import is_written_without_spaces, primary_language
from alidade.text.normalise import normalise_as_set

Hashes = npt.NDArray[np.uint64]
HASHES = "hashes.npy"
"""The file in a part of this stage that says which pairs are in it, so that others can be known again."""
SIZES = "sizes.json"
"""How many pairs the bitexts have, raw and chosen: counted once."""
COPIED_BYTES = 1 << 20


class Reason(enum.StrEnum):
    """Why a pair was dropped."""

    EMPTY = "a side is empty"
    TOO_MANY_WORDS = "too many words"
    TOO_MANY_CHARACTERS = "too many characters"
    RATIO = "lengths too different"
    IDENTICAL = "both sides are the same"
    SCRIPT = "wrong script"
    DUPLICATE = "seen before"


class CleanPair(NamedTuple):
    """A pair that is kept, normalised."""

    source: str
    target: str


class Cleaner:
    """Normalises pairs and judges them."""

    def __init__(self, settings: CleaningSettings, source_language: str, target_language: str) -> None:
        self._settings = settings
        self._languages = (source_language, target_language)
        self._lengths = (_length_in(source_language), _length_in(target_language))
        self._scripts = (_script_of(source_language), _script_of(target_language))

    def clean(self, source: str, target: str) -> CleanPair | Reason:
        """The pair as it is kept, or why it is not."""
        pair = self.normalise(source, target)
        return self._complaint(pair) or pair

    def normalise(self, source: str, target: str) -> CleanPair:
        """Both sides as the settings want them written, without a judgement."""
        return CleanPair(
            normalise_as_set(source, self._languages[0], self._settings),
            normalise_as_set(target, self._languages[1], self._settings),
        )

    def _complaint(self, pair: CleanPair) -> Reason | None:
        settings = self._settings
        source, target = pair
        if not source or not target:
            return Reason.EMPTY
        if len(source) > settings.max_characters or len(target) > settings.max_characters:
            return Reason.TOO_MANY_CHARACTERS
        shorter, longer = sorted((self._lengths[0](source), self._lengths[1](target)))
        if longer > settings.max_words:
            return Reason.TOO_MANY_WORDS
        if longer >= settings.ratio_from and longer > settings.max_ratio * shorter:
            return Reason.RATIO
        if settings.drop_identical and source == target:
            return Reason.IDENTICAL
        for text, script in zip(pair, self._scripts, strict=True):
            if script is not None and script.share(text) < settings.min_script_share:
                return Reason.SCRIPT
        return None


class SeenPairs:
    """Which pairs have been seen: eight bytes a pair, in sorted runs of doubling length."""

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

    def are_new(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """For each pair whether it is seen for the first time; they are remembered."""
        is_new = np.zeros(len(hashes), dtype=bool)
        distinct, first = np.unique(hashes, return_index=True)
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, distinct), len(run) - 1)
            is_unseen = run[places] != distinct
            distinct, first = distinct[is_unseen], first[is_unseen]
        is_new[first] = True
        self._remember(distinct)
        return is_new

    def _remember(self, run: Hashes) -> None:
        if not len(run):
            return
        while self._runs and len(self._runs[-1]) <= len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort()  # in its place: the longest run is most of what cleaning holds in memory
        self._runs.append(run)


def hash_pairs(pairs: Sequence[CleanPair]) -> Hashes:
    """Eight bytes for each pair, by which it is known again."""
    digests = [hashlib.blake2b(f"{source}\t{target}".encode(), digest_size=8).digest() for source, target in pairs]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _length_in(language: str) -> Callable[[str], int]:
    """How long a text is: in words between spaces, or in characters where words have none between them."""
    return _count_characters if is_written_without_spaces(language) else _count_words


def _count_characters(text: str) -> int:
    return len(text) - text.count(" ")


def _count_words(text: str) -> int:
    return text.count(" ") + 1


class _Script:
    """The letters that a language is written in."""

    def __init__(self, letters: str) -> None:
        self._letter = regex.compile(rf"[\p{{L}}&&{letters}]", regex.V1)
        self._foreign_letter = regex.compile(rf"[\p{{L}}--{letters}]", regex.V1)

    def share(self, text: str) -> float:
        """The share of a text's letters that belong to the script; 1 if it has no letters."""
        num_foreign = len(self._foreign_letter.findall(text))
        return 1.0 if num_foreign == 0 else 1.0 - num_foreign / (num_foreign + len(self._letter.findall(text)))


def _script_of(language: str) -> _Script | None:
    """A language's script, if it is one that is known."""
    for script, languages in _SCRIPTS.items():
        if primary_language(language) in languages.split():
            return _Script(script)
    return None


_SCRIPTS = {
    r"\p{Latin}": "en de fr es it pt nl sv da no nb nn fi et lv lt pl cs sk sl hr hu ro sq tr ga cy mt is ca eu gl vi "
    "id ms sw af az uz",
    r"\p{Cyrillic}": "ru uk bg mk be kk ky mn tg",
    r"\p{Greek}": "el",
    r"\p{Han}": "zh",
    r"[\p{Han}\p{Hiragana}\p{Katakana}ー]": "ja",
    r"[\p{Hangul}\p{Han}]": "ko",
    r"\p{Arabic}": "ar fa ur ps",
    r"\p{Hebrew}": "he yi",
    r"\p{Devanagari}": "hi mr ne",
    r"\p{Thai}": "th",
}


class CleanedChunk(NamedTuple):
    """What became of some pairs of one bitext."""

    bitext: int
    num_read: int
    kept: list[CleanPair]
    origins: list[int]
    """The number of each kept pair in all raw bitexts together."""
    hashes: Hashes
    """Of the kept pairs, if duplicates are dropped."""
    dropped: Counter[str]


def clean_parts(config: PrepareConfig, parts: Parts, workers: Workers, console: Console) -> None:
    """Write the clean pairs of all parts, duplicates among them."""
    with parts.in_turn():
        raw_sizes, total = _count_bitexts(config, parts.folder / SIZES)
    cleaner = Cleaner(config.cleaning, config.source_language, config.target_language)
    clean_chunk = functools.partial(_clean_chunk, cleaner, is_hashed=config.cleaning.drop_duplicates)

    def clean(folder: Path, pairs: Iterator[_RawPair], size: int) -> dict[str, Any]:
        chunks = workers.map_in_order(clean_chunk, _chunks_of_bitexts(pairs))
        accounts = [_Account() for _ in config.bitext]
        with _write_clean(Layout(folder)) as writer, write_array(folder / HASHES, np.uint64) as hashes:
            for chunk in track(chunks, "cleaning", size, console=console, weigh=lambda chunk: chunk.num_read):
                writer.append(chunk.kept, chunk.origins)
                hashes.append(chunk.hashes)
                accounts[chunk.bitext].add(chunk)
            hashes.finish()
        return {"bitexts": [account.as_dict() for account in accounts]}

    parts.wait_for(do_parts(parts, "train", _read_bitexts(config, raw_sizes), total, clean))


def _count_bitexts(config: PrepareConfig, sizes: Path) -> tuple[list[int], int]:
    """How many pairs each bitext has, and how many of all are chosen."""
    if not sizes.exists():
        languages = (config.source_language, config.target_language)
        raw = [count_raw_pairs(bitext, languages) for bitext in config.bitext]
        chosen = [
            count_pairs(bitext, languages) if bitext.only else size
            for bitext, size in zip(config.bitext, raw, strict=True)
        ]
        capped = [
            size if bitext.cap is None else min(size, bitext.cap)
            for bitext, size in zip(config.bitext, chosen, strict=True)
        ]
        write_json(sizes, {"raw": raw, "chosen": sum(capped)})
    counted = read_json(sizes)
    return counted["raw"], counted["chosen"]


def join_clean_parts(config: PrepareConfig, layout: Layout) -> dict[str, Any]:
    """Write the clean text of all splits; returns how many pairs were read, dropped (and why) and written."""
    if config.dev is not None:
        _normalise_dev(config, Cleaner(config.cleaning, config.source_language, config.target_language), layout)
    raw_sizes, _ = _count_bitexts(config, layout.parts("clean") / SIZES)
    first_origins = np.cumsum([0, *raw_sizes[:-1]])
    weights = np.array([bitext.weight for bitext in config.bitext])
    seen = SeenPairs() if config.cleaning.drop_duplicates else None
    accounts = [_Account() for _ in config.bitext]
    with _write_clean(layout) as writer:
        for part in finished_parts(layout.parts("clean") / "train"):
            origins = map_array(Layout(part).origins)
            bitexts = np.searchsorted(first_origins, origins, side="right") - 1
            is_new = np.ones(len(origins), dtype=bool) if seen is None else seen.are_new(map_array(part / HASHES))
            writer.append_part(Layout(part), np.where(is_new, weights[bitexts], 0))
            duplicates = np.bincount(bitexts[~is_new], minlength=len(accounts)).tolist()
            reports = read_json(part / "done.json")["bitexts"]
            for account, counts, num_seen in zip(accounts, reports, duplicates, strict=True):
                account.add_counts(counts, num_seen)
        report = _report(config, accounts, sum(raw_sizes))
        _require_pairs(report)
    return report


class _CleanWriter:
    """Writes clean pairs, and where they come from."""

    def __init__(self, source: IO[bytes], target: IO[bytes], origins: ArrayWriter) -> None:
        self._source, self._target, self._origins = source, target, origins

    def append(self, pairs: Sequence[CleanPair], origins: Sequence[int]) -> None:
        """Add pairs."""
        self._source.write("".join([f"{pair.source}\n" for pair in pairs]).encode())
        self._target.write("".join([f"{pair.target}\n" for pair in pairs]).encode())
        self._origins.append(np.array(origins, dtype=np.int64))

    def append_part(self, part: Layout, times: npt.NDArray[np.int64]) -> None:
        """Add the pairs of another folder, each so many times."""
        for file, side in ((self._source, SIDES[0]), (self._target, SIDES[1])):
            with part.text("train", side).open("rb") as text:
                if (times == 1).all():
                    shutil.copyfileobj(text, file, COPIED_BYTES)
                else:
                    file.writelines(map(operator.mul, text, times.tolist()))
        self._origins.append(np.repeat(map_array(part.origins), times))


@contextlib.contextmanager
def _write_clean(layout: Layout) -> Iterator[_CleanWriter]:
    with (
        write_aside(layout.text("train", "source"), "wb") as source,
        write_aside(layout.text("train", "target"), "wb") as target,
        write_array(layout.origins, np.int64) as origins,
    ):
        yield _CleanWriter(source, target, origins)
        origins.finish()


class _Account:
    """Counts the pairs of one bitext."""

    def __init__(self) -> None:
        self.num_read = self.num_kept = 0
        self.dropped: Counter[str] = Counter()

    def add(self, chunk: CleanedChunk) -> None:
        self.num_read += chunk.num_read
        self.num_kept += len(chunk.kept)
        self.dropped.update(chunk.dropped)

    def add_counts(self, counts: dict[str, Any], num_duplicates: int) -> None:
        """Add what another account says (`as_dict`), which does not know about duplicates."""
        self.num_read += counts["read"]
        self.num_kept += counts["kept"] - num_duplicates
        self.dropped.update(counts["dropped"])
        if num_duplicates:
            self.dropped[Reason.DUPLICATE.value] += num_duplicates

    def as_dict(self) -> dict[str, Any]:
        return {"read": self.num_read, "dropped": dict(self.dropped), "kept": self.num_kept}


def _report(config: PrepareConfig, accounts: list[_Account], raw_pairs: int) -> dict[str, Any]:
    bitexts = [
        {"name": _name_of(bitext), **account.as_dict(), "written": account.num_kept * bitext.weight}
        for bitext, account in zip(config.bitext, accounts, strict=True)
    ]
    return {
        "raw_pairs": raw_pairs,
        "read": sum(account.num_read for account in accounts),
        "written": sum(bitext["written"] for bitext in bitexts),
        "bitexts": bitexts,
    }


def _name_of(bitext: BitextSettings) -> str:
    return f"{bitext.source.name} ({', '.join(bitext.only)})" if bitext.only else bitext.source.name


class _RawPair(NamedTuple):
    """A pair as it stands in a bitext."""

    bitext: int
    origin: int
    """Its number in all raw bitexts together."""
    source: str
    target: str


def _read_bitexts(config: PrepareConfig, raw_sizes: list[int]) -> Iterator[_RawPair]:
    first = 0
    for number, bitext in enumerate(config.bitext):
        for pair in read_bitext(bitext, (config.source_language, config.target_language)):
            yield _RawPair(number, first + pair.number, pair.source, pair.target)
        first += raw_sizes[number]


def _chunks_of_bitexts(pairs: Iterator[_RawPair]) -> Iterator[list[_RawPair]]:
    """Some pairs at a time, all of one bitext."""
    for _, pairs_of_bitext in itertools.groupby(pairs, lambda pair: pair.bitext):
        yield from chunked(pairs_of_bitext, CHUNK)


def _clean_chunk(cleaner: Cleaner, pairs: list[_RawPair], *, is_hashed: bool) -> CleanedChunk:
    kept: list[CleanPair] = []
    origins: list[int] = []
    dropped: Counter[str] = Counter()
    for pair in pairs:
        result = cleaner.clean(pair.source, pair.target)
        if isinstance(result, Reason):
            dropped[result.value] += 1
        else:
            kept.append(result)
            origins.append(pair.origin)
    hashes = hash_pairs(kept if is_hashed else [])
    return CleanedChunk(pairs[0].bitext, len(pairs), kept, origins, hashes, dropped)


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
            print(pair.source, file=source_file)
            print(pair.target, file=target_file)
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
