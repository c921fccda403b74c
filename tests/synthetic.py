"""A vocabulary of made-up words that are a piece each."""

from __future__ import annotations

import functools

from alidade.config import SubwordSettings
from alidade.corpus.encode import count_units, train_subwords
from alidade.text.subwords import Subwords

NUM_WORDS = 20


@functools.cache
def word_pieces() -> Subwords:
    """One piece for each of the words ba, be, .. : learned once a session."""
    words = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"][: 2 * NUM_WORDS]
    units = count_units([" ".join(words)] * 50, "en")
    settings = SubwordSettings(vocabulary_size=400, byte_fallback=True)
    return Subwords(train_subwords(units, settings), "en")


def word_ids() -> list[int]:
    """The ids of twice NUM_WORDS words: the source language's, then the target's."""
    subwords = word_pieces()
    words = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"][: 2 * NUM_WORDS]
    ids = [subwords.encode(word).ids for word in words]
    assert all(len(pieces) == 1 for pieces in ids), "each word is one piece"
    return [pieces[0] for pieces in ids]
