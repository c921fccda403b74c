"""The first stage of `alidade prepare`: bitexts in, clean text out, and an account of what was dropped.

Normalising never changes what a person reads: Unicode NFC, no control or invisible characters, single spaces.
Pairs are then judged one by one (`Cleaner`); duplicates, which take a memory, are judged apart (`SeenPairs`).
"""

from __future__ import annotations

import enum
import functools
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import regex
from rich.console import Console

from alidade.config import CleaningSettings, PrepareConfig
from alidade.corpus.arrays import Layout, write_array
from alidade.corpus.bitext import Pair, count_pairs, count_raw_pairs, read_bitext, read_parallel_lines
from alidade.errors import AlidadeError
from alidade.io import track, write_aside
from alidade.parallel import CHUNK, Workers, chunked
from alidade.text.languages import is_written_without_spaces, primary_language
from alidade.text.normalise import normalise_as_set


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
        if not pair.source or not pair.target:
            return Reason.EMPTY
        if max(map(len, pair)) > settings.max_characters:
            return Reason.TOO_MANY_CHARACTERS
        lengths = [_length(text, language) for text, language in zip(pair, self._languages, strict=True)]
        if max(lengths) > settings.max_words:
            return Reason.TOO_MANY_WORDS
        if max(lengths) >= settings.ratio_from and max(lengths) > settings.max_ratio * min(lengths):
            return Reason.RATIO
        if settings.drop_identical and pair.source == pair.target:
            return Reason.IDENTICAL
        for text, script in zip(pair, self._scripts, strict=True):
            if script is not None and script.share(text) < settings.min_script_share:
                return Reason.SCRIPT
        return None


class SeenPairs:
    """Which pairs have been seen: eight bytes a pair, in sorted runs of doubling length."""

    def __init__(self) -> None:
        self._runs: list[npt.NDArray[np.uint64]] = []

    def are_new(self, pairs: Sequence[CleanPair]) -> list[bool]:
        """For each pair whether it is seen for the first time; they are remembered."""
        hashes = np.array([_hash_pair(pair) for pair in pairs], dtype=np.uint64)
        is_new = np.zeros(len(hashes), dtype=bool)
        distinct, first = np.unique(hashes, return_index=True)
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, distinct), len(run) - 1)
            is_unseen = run[places] != distinct
            distinct, first = distinct[is_unseen], first[is_unseen]
        is_new[first] = True
        self._remember(distinct)
        return is_new.tolist()

    def _remember(self, run: npt.NDArray[np.uint64]) -> None:
        if not len(run):
            return
        while self._runs and len(self._runs[-1]) <= len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]))
        self._runs.append(run)


def _hash_pair(pair: CleanPair) -> int:
    digest = hashlib.blake2b(f"{pair.source}\t{pair.target}".encode(), digest_size=8)
    return int.from_bytes(digest.digest())


def _length(text: str, language: str) -> int:
    """Length in words between spaces, or in characters where words have none between them."""
    return len(text.replace(" ", "")) if is_written_without_spaces(language) else text.count(" ") + 1


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
