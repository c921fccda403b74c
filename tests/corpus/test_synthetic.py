"""The synthetic bitexts are what they say they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from alidade.corpus.synthetic import (
    ADJECTIVES,
    NOUNS,
    PREPOSITIONS,
    SyntheticPair,
    Task,
    invented_words,
    make_corpus,
    make_pairs,
)
from alidade.text.words import split_words


def words_of(pair: SyntheticPair) -> tuple[list[str], list[str]]:
    source, target = split_words(pair.source, "en"), split_words(pair.target, "art")
    return [word.text for word in source], [word.text for word in target]


@pytest.mark.parametrize("task", ["copy", "reverse", "lexicon"])
def test_pairs_are_different_and_the_same_for_a_seed(task: Task) -> None:
    pairs = make_pairs(task, 300)
    assert len({pair.source for pair in pairs}) == 300
    assert pairs[:50] == make_pairs(task, 50)
    assert pairs != make_pairs(task, 300, seed=2)


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_linked_words_are_the_same(task: Task) -> None:
    for pair in make_pairs(task, 100):
        source, target = words_of(pair)
        assert source == (target if task == "copy" else target[::-1])
        assert len(pair.alignment) == len(source)
        assert all(source[link.source] == target[link.target] for link in pair.alignment)


def test_linked_words_translate_each_other() -> None:
    for pair in make_pairs("lexicon", 200):
        source, target = words_of(pair)
        translations: list[list[str]] = [[] for _ in source]
        for link in pair.alignment:
            translations[link.source].append(target[link.target])
        assert [tuple(words) for words in translations] == [invented_words()[word] for word in source]
        assert sorted(link.target for link in pair.alignment) == list(range(len(target)))


def test_adjectives_follow_nouns_and_prepositions_their_phrase() -> None:
    kinds: set[str] = set()
    for pair in make_pairs("lexicon", 200):
        source, _ = words_of(pair)
        first_target = {link.source: link.target for link in sorted(pair.alignment, key=lambda link: -link.target)}
        for place, word in enumerate(source):
            if word in ADJECTIVES:
                assert source[place + 1] in NOUNS
                assert first_target[place] > first_target[place + 1]
            if word in PREPOSITIONS:
                assert first_target[place] > max(first_target[later] for later in range(place + 1, len(source) - 1))
            kinds.update(kind for kind, words in (("adj", ADJECTIVES), ("prep", PREPOSITIONS)) if word in words)
    assert kinds == {"adj", "prep"}


def test_no_two_words_are_invented_alike() -> None:
    invented = [word for words in invented_words().values() for word in words]
    assert len(set(invented)) == len(invented)


@pytest.mark.parametrize("vocabulary_size", [150, 400])
def test_a_corpus_has_the_pairs_and_their_positions(tmp_path: Path, vocabulary_size: int) -> None:
    pairs = make_pairs("lexicon", 320)
    corpus = make_corpus(tmp_path, pairs[:300], pairs[300:], vocabulary_size)
    assert corpus.dev is not None
    assert list(corpus.dev.target_texts()) == [pair.target for pair in pairs[300:]]
    for index, pair in enumerate(pairs[300:]):
        source_words, target_words = corpus.dev.source_words(index), corpus.dev.target_words(index)
        linked = {
            (int(source_words[position - 1]), int(word))
            for position, word in zip(corpus.dev.positions(index), target_words, strict=True)
        }
        assert linked == set(pair.alignment.links)
