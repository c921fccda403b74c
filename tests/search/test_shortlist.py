"""Shortlists in the search, with models that are tables."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from alidade.config import SearchSettings
from alidade.search.beam import BeamSearch, Request
from alidade.search.hypotheses import SearchResult
from alidade.search.lexicon import Lexicon
from alidade.text.vocabulary import BOS, EOS
from table_models import table_system

VOCABULARY = 150
SOURCES = [[4, 5, 6], [7], [6, 6, 5, 4, 7, 5], [5, 4], [4, 4, 4, 4], [7, 6, 5], [8, 9]]
FREQUENT = [20, 21, 22]


def lexicon_of(lists: dict[int, list[int]], frequent: list[int]) -> Lexicon:
    listed = [lists.get(piece, []) for piece in range(VOCABULARY)]
    starts = np.cumsum([0, *map(len, listed)])
    return Lexicon(starts, np.array([word for words in listed for word in words]), np.array(frequent), ("", ""))


SHORT = lexicon_of({piece: [10 * piece + n for n in range(5)] for piece in range(4, 9)}, FREQUENT)
FULL = lexicon_of({piece: list(range(4, VOCABULARY)) for piece in range(4, 10)}, FREQUENT)


def search(
    lexicon: Lexicon,
    shortlist: str,
    requests: list[Request] | None = None,
    *,
    is_assisted: bool = True,
    **changes: object,
) -> list[SearchResult]:
    settings = SearchSettings.model_validate({"beam_size": 4, "pruning": "none", "shortlist": shortlist} | changes)
    system = table_system(VOCABULARY, is_assisted=is_assisted)
    return BeamSearch(system, settings, lexicon).search(requests or [Request(s) for s in SOURCES], num_best=4)


def assert_same(first: list[SearchResult], second: list[SearchResult]) -> None:
    for one, other in zip(first, second, strict=True):
        assert [h.words for h in one.hypotheses] == [h.words for h in other.hypotheses]
        assert [h.positions for h in one.hypotheses] == [h.positions for h in other.hypotheses]
        assert [h.score for h in one.hypotheses] == pytest.approx([h.score for h in other.hypotheses], abs=1e-5)


MODES = [(False, "sentence"), (True, "sentence"), (True, "position")]


@pytest.mark.parametrize(("is_assisted", "shortlist"), MODES)
def test_the_whole_vocabulary_changes_nothing(is_assisted: bool, shortlist: str) -> None:
    everything = search(FULL, "none", is_assisted=is_assisted)
    assert_same(search(FULL, shortlist, is_assisted=is_assisted), everything)


@pytest.mark.parametrize(("is_assisted", "shortlist"), MODES)
def test_only_listed_words_are_written(is_assisted: bool, shortlist: str) -> None:
    num_words = 0
    for source, result in zip(SOURCES, search(SHORT, shortlist, is_assisted=is_assisted), strict=True):
        for hypothesis in result.hypotheses:
            num_words += len(hypothesis.words)
            positions = hypothesis.positions if shortlist == "position" else [None] * len(hypothesis.words)
            for word, position in zip(hypothesis.words, positions, strict=True):
                pieces = source if position is None else [source[position - 1]]
                assert word in {*FREQUENT, *np.concatenate([SHORT.of_piece(piece) for piece in pieces]).tolist()}
    assert num_words > 50


def test_a_position_lists_less_than_its_sentence() -> None:
    by_sentence, by_position = (search(SHORT, shortlist) for shortlist in ("sentence", "position"))
    strangers = [
        word
        for source, result in zip(SOURCES, by_sentence, strict=True)
        for word, position in zip(result.best.words, result.best.positions, strict=True)
        if word not in {*FREQUENT, *SHORT.of_piece(source[position - 1]).tolist()}
    ]
    assert strangers
    assert [r.best.words for r in by_sentence] != [r.best.words for r in by_position]


@pytest.mark.parametrize(("is_assisted", "shortlist"), MODES)
@pytest.mark.parametrize("pruning", ["none", "exact"])
def test_a_batch_is_its_sentences_one_by_one(is_assisted: bool, shortlist: str, pruning: str) -> None:
    together = search(SHORT, shortlist, is_assisted=is_assisted, pruning=pruning)
    alone = [search(SHORT, shortlist, [Request(s)], is_assisted=is_assisted, pruning=pruning)[0] for s in SOURCES]
    assert_same(together, alone)


@pytest.mark.parametrize("shortlist", ["sentence", "position"])
@pytest.mark.parametrize("length_normalisation", [0.0, 1.0])
def test_exact_is_none(shortlist: str, length_normalisation: float) -> None:
    none, exact = (
        search(SHORT, shortlist, pruning=pruning, length_normalisation=length_normalisation)
        for pruning in ("none", "exact")
    )
    assert_same(none, exact)


@pytest.mark.parametrize(("is_assisted", "shortlist"), MODES)
def test_prefixes_and_wanted_words_are_listed(is_assisted: bool, shortlist: str) -> None:
    requests = [Request(source, prefix=(140, 141)) for source in SOURCES]
    results = search(SHORT, shortlist, requests, is_assisted=is_assisted)
    assert all(hypothesis.words[:2] == (140, 141) for result in results for hypothesis in result.hypotheses)
    assert all(result.best.score > -50 for result in results)
    requests = [Request(source, wanted=range(100, 140)) for source in SOURCES]
    results = search(SHORT, shortlist, requests, is_assisted=is_assisted)
    assert any(word in range(100, 140) for result in results for word in result.best.words)


@pytest.mark.parametrize("shortlist", ["sentence", "position"])
def test_probabilities_are_those_among_the_sentences_words(shortlist: str) -> None:
    lexical = table_system(VOCABULARY, is_assisted=True).lexical
    for source, result in zip(SOURCES, search(SHORT, shortlist), strict=True):
        listed = {*range(4), *FREQUENT, *np.concatenate([SHORT.of_piece(piece) for piece in source]).tolist()}
        columns = torch.tensor(sorted(listed))
        words, positions = result.best.words, result.best.positions
        for i, (word, position) in enumerate(zip(words, positions, strict=True)):
            logits = lexical.logits((BOS, *source, EOS), ((BOS, *words[:i]), positions[:i]), position)
            expected = logits[word] - logits[columns].logsumexp(dim=0)
            assert result.best.lexical_logp[i] == pytest.approx(float(expected), abs=1e-5)
