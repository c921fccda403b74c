"""Synthetic bitexts whose positions are known: copy, reverse, and a lexicon with local reordering."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import Literal

from alidade.config import SubwordSettings
from alidade.text.corpus import Example, PreparedCorpus, write_corpus
from alidade.text.subword_training import count_units, train_subwords
from alidade.text.subwords import Subwords

Task = Literal["copy", "reverse", "lexicon"]
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


def examples(task: Task, count: int, seed: int, max_words: int = 8, *, has_positions: bool = True) -> list[Example]:
    """Pairs of random sentences, with the positions that made them."""
    generator = random.Random(seed)
    ids = word_ids()
    pairs: list[Example] = []
    for _ in range(count):
        words = [generator.randrange(NUM_WORDS) for _ in range(generator.randint(2, max_words))]
        positions = target_order(task, words)
        offset = NUM_WORDS if task == "lexicon" else 0
        target = [ids[words[position - 1] + offset] for position in positions]
        pairs.append(([ids[word] for word in words], target, positions if has_positions else None))
    return pairs


def target_order(task: Task, words: list[int]) -> list[int]:
    """The source positions, from 1, in the order in which they are translated.

    In the lexicon's language, a word of the first half comes after the word that follows it, as an adjective does
    in French.
    """
    order = list(range(1, len(words) + 1))
    if task == "reverse":
        return order[::-1]
    if task == "lexicon":
        place = 0
        while place < len(words) - 1:
            if words[place] < NUM_WORDS // 2:
                order[place], order[place + 1] = order[place + 1], order[place]
                place += 1
            place += 1
    return order


def make_corpus(
    folder: Path, task: Task = "copy", num_train: int = 1000, num_dev: int = 100, *, has_positions: bool = True
) -> PreparedCorpus:
    """A prepared corpus of a task."""
    subwords = word_pieces()
    return write_corpus(
        folder,
        subwords,
        subwords,
        examples(task, num_train, seed=1, has_positions=has_positions),
        examples(task, num_dev, seed=2, has_positions=has_positions),
    )
