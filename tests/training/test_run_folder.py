"""Which snapshots are kept, and when a run is over."""

from pathlib import Path
from typing import Any

from alidade.config import TrainingSettings
from alidade.training.run_folder import History


def settings(**values: Any) -> TrainingSettings:
    return TrainingSettings(corpus=Path("c"), folder=Path("f"), **values)


def validated(losses: list[float], wanted: TrainingSettings) -> History:
    """A run with a validation after every update."""
    history = History()
    for loss in losses:
        history = history.after_update(seconds=1.0).after_validation(loss, wanted)
    return history


def test_the_best_and_the_last_snapshots_are_kept() -> None:
    history = validated([5.0, 2.0, 1.0, 3.0, 4.0, 6.0], settings(keep_best=2, average_last=2))
    assert [snapshot.step for snapshot in history.snapshots] == [2, 3, 5, 6]
    assert history.best is not None
    assert history.best.step == 3
    assert [snapshot.step for snapshot in history.latest(2)] == [5, 6]


def test_of_equal_losses_the_first_is_best() -> None:
    history = validated([1.0, 1.0], settings(average_last=2))
    assert history.best is not None
    assert history.best.step == 1
    assert history.validations_since_best == 1


def test_patience_counts_validations_without_gain() -> None:
    wanted = settings(patience=2, steps=100)
    assert not validated([3.0, 2.0, 2.5], wanted).is_over(wanted)
    assert validated([3.0, 2.0, 2.5, 2.1], wanted).is_over(wanted)
    assert not validated([3.0, 2.0, 2.5, 1.9], wanted).is_over(wanted)


def test_without_patience_only_steps_end_a_run() -> None:
    wanted = settings(patience=0, steps=5)
    assert not validated([1.0, 2.0, 3.0, 4.0], wanted).is_over(wanted)
    assert validated([1.0, 2.0, 3.0, 4.0, 5.0], wanted).is_over(wanted)


def test_a_validation_repeated_after_a_resume_counts_once() -> None:
    wanted = settings(average_last=3)
    history = validated([3.0, 2.0], wanted)
    again = history.after_validation(2.0, wanted)
    assert [snapshot.step for snapshot in again.snapshots] == [1, 2]


def test_history_survives_json() -> None:
    history = validated([3.0, 2.0, 0.1 + 0.2], settings(average_last=3))
    assert History.model_validate_json(history.model_dump_json()) == history
