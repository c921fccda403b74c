"""The learning rate rises, then falls or stays."""

from pathlib import Path

import pytest

from alidade.config import TrainingSettings
from alidade.training.objective import learning_rate


def settings(schedule: str, **others: int) -> TrainingSettings:
    given = {"corpus": Path("c"), "folder": Path("f"), "learning_rate": 0.4, "warmup": 100, "schedule": schedule}
    return TrainingSettings.model_validate(given | others)


@pytest.mark.parametrize(("step", "rate"), [(1, 0.004), (50, 0.2), (100, 0.4), (400, 0.2), (10_000, 0.04)])
def test_inverse_square_root(step: int, rate: float) -> None:
    assert learning_rate(step, settings("inverse-square-root")) == pytest.approx(rate)


@pytest.mark.parametrize(("step", "rate"), [(1, 0.004), (100, 0.4), (10_000, 0.4)])
def test_constant(step: int, rate: float) -> None:
    assert learning_rate(step, settings("constant")) == pytest.approx(rate)


@pytest.mark.parametrize(("step", "share"), [(1, 1), (800, 1), (801, 1), (901, 0.5), (1000, 0.005)])
@pytest.mark.parametrize("schedule", ["inverse-square-root", "constant"])
def test_cools_down_in_the_last_updates(schedule: str, step: int, share: float) -> None:
    cooled = learning_rate(step, settings(schedule, steps=1000, cooldown=199))
    assert cooled == pytest.approx(share * learning_rate(step, settings(schedule, steps=1000)))
