"""No source position writes the same piece twice, and no word follows itself, whatever else a search is told."""

from __future__ import annotations

from itertools import pairwise

import pytest

from alidade.config import SearchSettings
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Hypothesis, Request
from alidade.search.restrictions import NoPairs
from table_models import table_system

SOURCES = [[4, 5, 6], [7], [6, 6, 5, 4, 7, 5], [5, 4], [4, 4, 4, 4], [7, 6, 5]]
VOCABULARY = 9


def search(requests: list[Request], **changes: object) -> list[Hypothesis]:
    """Few words and a reward for length: without more ado, all translations would loop."""
    settings = SearchSettings.model_validate({"beam_size": 4, "length_normalisation": 1.5} | changes)
    results = BeamSearch(table_system(VOCABULARY, is_assisted=True), settings).search(requests, num_best=4)
    return [hypothesis for result in results for hypothesis in result.hypotheses]


def num_repeats(hypothesis: Hypothesis) -> int:
    written = list(zip(hypothesis.pieces, hypothesis.positions, strict=True))
    return len(written) - len(set(written))


@pytest.mark.parametrize("pruning", ["none", "exact", "pairs"])
def test_nothing_is_written_twice_at_a_position(pruning: str) -> None:
    requests = [Request(source) for source in SOURCES]
    looping = search(requests, pruning=pruning, can_repeat=True)
    assert sum(map(num_repeats, looping)) > len(looping)
    hypotheses = search(requests, pruning=pruning)
    assert len(hypotheses) == len(looping)
    assert not any(map(num_repeats, hypotheses))


def test_the_same_word_may_stand_for_different_positions() -> None:
    hypotheses = search([Request(source) for source in SOURCES])
    assert any(len(set(hypothesis.pieces)) < len(hypothesis.pieces) for hypothesis in hypotheses)


def test_a_given_beginning_may_repeat_itself_and_counts() -> None:
    """One source word, so that all of it is written at one position."""
    prefix = (5, 5, 6)
    for hypothesis in search([Request([7], prefix), Request([4, 5], ())]):
        if hypothesis.pieces[:3] == prefix and set(hypothesis.positions) == {1}:
            assert not {5, 6} & set(hypothesis.pieces[3:])
            break
    else:
        pytest.fail("no translation begins as it was told")


WORDS, SHORT, CONTINUING = {4, 5, 6}, {6}, {7, 8}


def words_of(pieces: tuple[int, ...]) -> list[tuple[int, ...]]:
    words: list[tuple[int, ...]] = []
    for piece in pieces:
        if piece in CONTINUING and words:
            words[-1] += (piece,)
        else:
            words.append((piece,))
    return words


def paths(hypotheses: list[Hypothesis]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [(one.pieces, one.positions) for one in hypotheses]


def num_pairs(hypothesis: Hypothesis) -> int:
    """Words that follow themselves, but for a short one."""
    return sum([one == other and one != (6,) for one, other in pairwise(words_of(hypothesis.pieces))])


def search_without_pairs(requests: list[Request], may_have: list[bool], **changes: object) -> list[Hypothesis]:
    settings = SearchSettings.model_validate(
        {"beam_size": 4, "length_normalisation": 1.5, "can_repeat": True} | changes
    )
    found = BeamSearch(table_system(VOCABULARY, is_assisted=True), settings).search(
        requests, num_best=4, restrictions=[NoPairs(may_have, WORDS, SHORT, CONTINUING)]
    )
    return [hypothesis for result in found for hypothesis in result.hypotheses]


@pytest.mark.parametrize("pruning", ["none", "exact"])
def test_no_word_follows_itself_unless_its_sentence_may(pruning: str) -> None:
    requests = [Request(source) for source in SOURCES]
    free = search_without_pairs(requests, [True] * len(SOURCES), pruning=pruning)
    assert paths(free) == paths(search(requests, can_repeat=True, pruning=pruning))
    assert {len(one) for h in free for one, other in pairwise(words_of(h.pieces)) if one == other} >= {1, 2}
    held = search_without_pairs(requests, [False] * len(SOURCES), pruning=pruning)
    assert not any(map(num_pairs, held))
    assert any(one == other == (6,) for h in held for one, other in pairwise(words_of(h.pieces)))


def test_a_batch_without_pairs_is_its_sentences_one_by_one() -> None:
    may_have = [number % 3 == 0 for number in range(len(SOURCES))]
    together = search_without_pairs([Request(source) for source in SOURCES], may_have)
    alone = [
        hypothesis
        for source, may in zip(SOURCES, may_have, strict=True)
        for hypothesis in search_without_pairs([Request(source)], [may])
    ]
    assert paths(together) == paths(alone)


def test_exact_pruning_without_pairs_is_no_pruning() -> None:
    requests = [Request(source) for source in SOURCES]
    none, exact = [search_without_pairs(requests, [False] * 6, pruning=pruning) for pruning in ("none", "exact")]
    assert paths(none) == paths(exact)


def test_a_beginning_may_be_given_with_its_positions() -> None:
    prefix, positions = (5, 6, 4), (2, 1, 1)
    for hypothesis in search([Request([7, 4, 5], prefix, positions), Request([4, 5], ())])[:4]:
        assert hypothesis.pieces[:3] == prefix
        assert hypothesis.positions[:3] == positions
