"""The learning rate rises, then falls or stays."""

from pathlib import Path

import pytest

from alidade.config import TrainingSettings
from alidade.training.schedule import learning_rate


def settings(schedule: str) -> TrainingSettings:
    return TrainingSettings.model_validate(
        {"corpus": Path("c"), "folder": Path("f"), "learning_rate": 0.4, "warmup": 100, "schedule": schedule}
    )


@pytest.mark.parametrize(("step", "rate"), [(1, 0.004), (50, 0.2), (100, 0.4), (400, 0.2), (10_000, 0.04)])
def test_inverse_square_root(step: int, rate: float) -> None:
    assert learning_rate(step, settings("inverse-square-root")) == pytest.approx(rate)


@pytest.mark.parametrize(("step", "rate"), [(1, 0.004), (100, 0.4), (10_000, 0.4)])
def test_constant(step: int, rate: float) -> None:
    assert learning_rate(step, settings("constant")) == pytest.approx(rate)
