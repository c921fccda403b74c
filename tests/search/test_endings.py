"""When sentences end: hypotheses that skip words and finish early must not end a sentence before its best one."""

from __future__ import annotations

from typing import Any

import pytest

from alidade.config import SearchSettings
from alidade.search.endings import SentenceEndings
from alidade.text.vocabulary import EOS


@pytest.mark.parametrize("is_patient", [True, False])
def test_a_patient_sentence_waits_for_a_better_hypothesis(is_patient: bool) -> None:
    endings = SentenceEndings(SearchSettings(beam_size=2), num_best=1, max_length=20, is_patient=is_patient)
    for step in (2, 3):
        endings.add(step, (-8.0, 1, EOS, 1, -4.0, -4.0), None)
    assert endings.is_over(3, live_scores=[-0.1]) is not is_patient
    assert endings.is_over(3, live_scores=[-9.0])


def test_attainable_goes_on_while_the_worst_of_the_best_can_be_beaten() -> None:
    settings = SearchSettings(beam_size=2, stopping="attainable")
    endings = SentenceEndings(settings, num_best=1, max_length=20)
    for step, score in ((1, -2.0), (3, -8.0)):  # -1 and -2 for each piece
        endings.add(step, (score, 1, EOS, 1, score, 0.0), None)
    assert not endings.is_over(3, live_scores=[-7.9])
    assert endings.is_over(3, live_scores=[-8.0])
    endings.add(4, (-7.5, 1, EOS, 1, -7.5, 0.0), None)  # -1.5 for each: the one with -2 is no longer among the best two
    assert not endings.is_over(4, live_scores=[-7.4])
    assert endings.is_over(4, live_scores=[-7.6])


@pytest.mark.parametrize(("is_patient", "num_places"), [(False, 1), (True, 3)])
def test_shrinking_leaves_places_empty(is_patient: bool, num_places: int) -> None:
    endings = SentenceEndings(SearchSettings(beam_size=3, stopping="shrinking"), 1, 20, is_patient=is_patient)
    for step in (2, 3):
        endings.add(step, (-8.0, 1, EOS, 1, -4.0, -4.0), None)
    assert endings.num_places == num_places
    assert not endings.is_over(3, live_scores=[-8.0])


@pytest.mark.parametrize("stopping", ["attainable", "shrinking"])
def test_a_greedy_search_stops_at_its_first_ending(stopping: Any) -> None:
    endings = SentenceEndings(SearchSettings(beam_size=1, stopping=stopping), num_best=1, max_length=20)
    endings.add(2, (-8.0, 1, EOS, 1, -4.0, -4.0), None)
    assert endings.is_over(2, live_scores=[-8.1])


def test_a_sentence_ends_at_its_length_limit() -> None:
    endings = SentenceEndings(SearchSettings(beam_size=2), num_best=1, max_length=5, is_patient=True)
    assert not endings.is_over(3, live_scores=[-0.1])
    assert endings.is_over(4, live_scores=[-0.1])


def test_a_live_hypothesis_owes_what_it_was_credited_with() -> None:
    """One that owes as much as the finished ones have paid back is no better than they are."""
    endings = SentenceEndings(SearchSettings(beam_size=2), 1, max_length=20, source_length=4, is_patient=True)
    for step in (2, 3):
        endings.add(step, (-4.0, 1, EOS, 1, -4.0, 0.0), None, debt=8.0)
    assert not endings.is_over(3, live_scores=[-3.0, -4.0])
    assert endings.is_over(3, live_scores=[-3.0, -4.0], debt_of=lambda _: 12.0)
    assert not endings.is_over(3, live_scores=[-3.0, -4.0], debt_of=[12.0, 4.0].__getitem__)
