"""Synthetic bitexts whose links are known: for `alidade demo` and for tests of what models can learn.

    copy      the target is the source
    reverse   the target is the source from its end to its start: jumps must be learned
    lexicon   English sentences of a small grammar, in an invented language

The invented language has a word for each English word, and two for a few. It puts adjectives after their noun and
prepositions after their phrase: "near the old tree" becomes "the tree old near". Sentences are drawn at random and
all different, so that a part of them can be held out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from alidade.alignment.links import Alignment
from alidade.alignment.positions import positions_of_pieces
from alidade.config import SubwordSettings
from alidade.corpus.encode import count_units, train_subwords
from alidade.corpus.store import Example, PreparedCorpus, write_corpus
from alidade.text.subwords import Subwords

Task = Literal["copy", "reverse", "lexicon"]
Phrase = list[int]
"""Places of source words, in the order in which they are translated."""

SOURCE_LANGUAGE = "en"
TARGET_LANGUAGE = "art"
"""ISO 639's code for invented languages."""

ARTICLES = ["the", "a"]
ADJECTIVES = ["red", "old", "small", "quiet", "heavy", "bright", "green", "strange", "tired", "young", "cold", "brave"]
NOUNS = ["house", "tree", "river", "ship", "horse", "king", "bird", "stone", "garden", "letter", "child", "teacher"]
VERBS = ["sees", "finds", "loves", "paints", "follows", "builds", "hears", "carries", "guards", "forgets"]
PREPOSITIONS = ["near", "behind", "under", "with"]
TWO_WORDS = frozenset(["ship", "teacher", "paints", "guards", "strange"])
"""English words that the invented language says in two."""


class SyntheticPair(NamedTuple):
    """A sentence, its translation and the links of their words."""

    source: str
    target: str
    alignment: Alignment


def make_pairs(task: Task, count: int, seed: int = 1, max_words: int = 8) -> list[SyntheticPair]:
    """Different pairs of a task. max_words: the longest sentence of copy and reverse."""
    random = np.random.default_rng(seed)
    makers: dict[Task, Callable[[], SyntheticPair]] = {
        "copy": lambda: _copy(_random_words(random, max_words)),
        "reverse": lambda: _reverse(_random_words(random, max_words)),
        "lexicon": lambda: _translate(random),
    }
    pairs: dict[str, SyntheticPair] = {}
    while len(pairs) < count:
        pair = makers[task]()
        pairs[pair.source] = pair
    return list(pairs.values())


def make_corpus(
    folder: Path, train: Sequence[SyntheticPair], dev: Sequence[SyntheticPair], vocabulary_size: int = 400
) -> PreparedCorpus:
    """A prepared corpus of pairs, with one vocabulary for both sides, learned from the training pairs.

    400 pieces have room for every word; fewer cut words into pieces.
    """
    texts = [text for pair in train for text in (pair.source, pair.target)]
    settings = SubwordSettings(vocabulary_size=vocabulary_size, byte_fallback=False, character_coverage=1.0)
    model = train_subwords(count_units(texts, SOURCE_LANGUAGE), settings, threads=1)
    source, target = Subwords(model, SOURCE_LANGUAGE), Subwords(model, TARGET_LANGUAGE)
    return write_corpus(folder, source, target, _examples(train, source, target), _examples(dev, source, target))


def _examples(pairs: Iterable[SyntheticPair], source: Subwords, target: Subwords) -> Iterable[Example]:
    for pair in pairs:
        encodings = source.encode(pair.source), target.encode(pair.target)
        positions = positions_of_pieces(pair.alignment, *encodings, "words")
        yield encodings[0].ids, encodings[1].ids, positions


def _random_words(random: np.random.Generator, max_words: int) -> list[str]:
    words = [*ARTICLES, *ADJECTIVES, *NOUNS, *VERBS, *PREPOSITIONS]
    return [words[number] for number in random.integers(len(words), size=random.integers(2, max_words + 1))]


def _copy(words: list[str]) -> SyntheticPair:
    return SyntheticPair(" ".join(words), " ".join(words), Alignment.of((place, place) for place in range(len(words))))


def _reverse(words: list[str]) -> SyntheticPair:
    last = len(words) - 1
    links = Alignment.of((place, last - place) for place in range(len(words)))
    return SyntheticPair(" ".join(words), " ".join(reversed(words)), links)


def _translate(random: np.random.Generator) -> SyntheticPair:
    """A sentence of the grammar: subject, verb, object, sometimes a place, and a full stop."""
    words: list[str] = []
    order = [*_noun_phrase(words, random), *_say(words, VERBS, random), *_noun_phrase(words, random)]
    if random.random() < 0.5:
        preposition = _say(words, PREPOSITIONS, random)
        order += [*_noun_phrase(words, random), *preposition]
    order += _say(words, ["."], random)

    translations = [(place, word) for place in order for word in invented_words()[words[place]]]
    links = Alignment.of((place, target) for target, (place, _) in enumerate(translations))
    return SyntheticPair(_join(words), _join(word for _, word in translations), links)


def _noun_phrase(words: list[str], random: np.random.Generator) -> Phrase:
    """Add an article, often an adjective, and a noun; the noun is translated before the adjective."""
    article = _say(words, ARTICLES, random)
    adjective = _say(words, ADJECTIVES, random) if random.random() < 0.6 else []
    return [*article, *_say(words, NOUNS, random), *adjective]


def _say(words: list[str], choices: list[str], random: np.random.Generator) -> Phrase:
    """Add one of the words to the sentence; returns its place."""
    words.append(choices[random.integers(len(choices))])
    return [len(words) - 1]


def _join(words: Iterable[str]) -> str:
    return " ".join(words).replace(" .", ".")


@functools.cache
def invented_words() -> dict[str, tuple[str, ...]]:
    """The lexicon. As in Esperanto, endings tell nouns, adjectives and verbs apart."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    stems = [first + second for first in syllables for second in syllables]
    unused = iter(np.random.default_rng(1887).permutation(stems).tolist())
    endings = ((ADJECTIVES, "na"), (NOUNS, "lo"), (VERBS, "ris"), (PREPOSITIONS, "m"))
    return {"the": ("la",), "a": ("un",), ".": (".",)} | {
        word: tuple(next(unused) + ending for _ in range(2 if word in TWO_WORDS else 1))
        for words, ending in endings
        for word in words
    }
