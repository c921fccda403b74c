"""Cleaning: which pairs of a bitext are worth training on, and putting their text right.

Normalising never changes what a person reads: Unicode NFC, no control or invisible characters, single spaces.
Pairs are then judged one by one; duplicates, which take a memory, are judged apart (`SeenPairs`).
"""

from __future__ import annotations

import enum
import hashlib
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from alidade.config import CleaningSettings, NormalisationSettings


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


def normalise_text(text: str) -> str:
    """Unicode NFC, no control or invisible characters, single spaces between words and none around them."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if not text.isprintable():
        text = _INVISIBLE.sub("", text)
    return " ".join(text.split())


def normalise_as_set(text: str, language: str, settings: NormalisationSettings) -> str:
    """A text written as the settings want it: in training, and again in translation with what was trained."""
    text = normalise_text(text)
    if settings.romanian_comma_below and language == "ro":
        text = text.translate(_COMMA_BELOW)
    if language in settings.strip_diacritics:
        text = strip_diacritics(text)
    return text.lower() if settings.lower_case else text


def strip_diacritics(text: str) -> str:
    """Letters without their accents, commas and cedillas."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join([c for c in decomposed if unicodedata.category(c) != "Mn"]))


def _hash_pair(pair: CleanPair) -> int:
    digest = hashlib.blake2b(f"{pair.source}\t{pair.target}".encode(), digest_size=8)
    return int.from_bytes(digest.digest())


def _length(text: str, language: str) -> int:
    """Length in words between spaces, or in characters where words have none between them."""
    return len(text.replace(" ", "")) if _is_unspaced(language) else text.count(" ") + 1


def _is_unspaced(language: str) -> bool:
    return language[:2] in {"zh", "ja", "th", "km", "lo", "my"}


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
        if language[:2] in languages.split() and len(language.replace("_", "-").split("-")[0]) == 2:
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
# Control characters that are no white space, soft hyphens, zero-width spaces, marks of direction and byte order.
# The zero-width joiners stay: emoji and some scripts are written with them.
_INVISIBLE = regex.compile(
    r"[[\p{Cc}--\s]\u00AD\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]", regex.V1
)
_COMMA_BELOW = str.maketrans("ŞşŢţ", "ȘșȚț")
