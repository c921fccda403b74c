"""Small subword models for the dictionary's tests: words that occur often are one piece, the rest is spelled."""

from __future__ import annotations

import pytest

from alidade.config import SubwordSettings
from alidade.corpus.encode import train_subwords
from alidade.text.subwords import Subwords

WHOLE_WORDS = (
    *("the", "a", "strong", "man", "sees", "red", "wine", "in", "New", "York", "and", "dog"),
    *("ein", "der", "starker", "Mann", "sieht", "Wein", "rot", "und", "Hund", "auf"),
)
MARKS = (",", ".", "(", ")")


def make_subwords(language: str, *, byte_fallback: bool = True) -> Subwords:
    """Pieces for whole words, marks and single letters."""
    units = {f" {word}": 500 for word in WHOLE_WORDS} | dict.fromkeys((*MARKS, " ("), 400)
    units |= dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 3)
    settings = SubwordSettings(vocabulary_size=400 if byte_fallback else 140, byte_fallback=byte_fallback)
    return Subwords(train_subwords(units, settings, threads=1), language)


@pytest.fixture(scope="session")
def source_subwords() -> Subwords:
    return make_subwords("en")


@pytest.fixture(scope="session")
def target_subwords() -> Subwords:
    return make_subwords("de")


@pytest.fixture(scope="session")
def target_subwords_without_bytes() -> Subwords:
    return make_subwords("de", byte_fallback=False)
