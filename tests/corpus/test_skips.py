"""What it costs to leave out source pieces, counted from a corpus."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alidade.corpus import skips
from alidade.corpus.arrays import Ragged
from alidade.corpus.skips import PRIOR_COUNT, skip_costs
from alidade.text.vocabulary import BOS, EOS, PAD

THE, DOG, RARE = 4, 5, 6


class FewPairs:
    """Forty times "the dog": the dog is always pointed at, the article once in four times."""

    sources = Ragged.of([[THE, DOG]] * 40)
    all_positions = Ragged.of([[2, 1, 2] if number % 4 == 0 else [2] for number in range(40)])

    def __len__(self) -> int:
        return 40


@pytest.mark.parametrize("at_once", [100, 7])
def test_costs_are_log_odds(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(skips, "PAIRS_AT_ONCE", at_once)
    costs = skip_costs(FewPairs(), 8)  # type: ignore[arg-type]  # what is read of a split
    share = 50 / 80
    assert costs[DOG] == pytest.approx(math.log((40 + PRIOR_COUNT * share) / (PRIOR_COUNT * (1 - share))), abs=1e-5)
    assert costs[RARE] == pytest.approx(math.log(share / (1 - share)), abs=1e-5)
    assert costs[THE] == 0  # it is left out more often than not
    np.testing.assert_array_equal(costs[[PAD, BOS, EOS]], 0)
