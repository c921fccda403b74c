"""No source position writes the same piece twice, whatever else a search is told."""

from __future__ import annotations

import pytest

from alidade.config import SearchSettings
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Hypothesis, Request
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
