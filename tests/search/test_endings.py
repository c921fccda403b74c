"""When sentences end: hypotheses that skip words and finish early must not end a sentence before its best one."""

from __future__ import annotations

import pytest

from alidade.config import SearchSettings
from alidade.search.endings import SentenceEndings
from alidade.text.vocabulary import EOS


@pytest.mark.parametrize("is_patient", [True, False])
def test_a_patient_sentence_waits_for_a_better_hypothesis(is_patient: bool) -> None:
    endings = SentenceEndings(SearchSettings(beam_size=2), num_best=1, max_length=20, is_patient=is_patient)
    for step in (2, 3):
        endings.add(step, (-8.0, 1, EOS, 1, -4.0, -4.0), None)
    assert endings.is_over(3, best_live_score=-0.1) is not is_patient
    assert endings.is_over(3, best_live_score=-9.0)


def test_a_sentence_ends_at_its_length_limit() -> None:
    endings = SentenceEndings(SearchSettings(beam_size=2), num_best=1, max_length=5, is_patient=True)
    assert not endings.is_over(3, best_live_score=-0.1)
    assert endings.is_over(4, best_live_score=-0.1)
