"""Where a run stands: how far it is, which validated weights it keeps, and when it is over.

All of it is plain numbers that go into a checkpoint's JSON.
"""

from __future__ import annotations

from alidade.config import Settings, TrainingSettings


class Snapshot(Settings):
    """Weights that were validated and kept, as a model folder."""

    step: int
    loss: float
    """Dev loss of the trained roles, by which snapshots are compared."""


class History(Settings):
    """What a run has to remember between two updates, apart from weights and the optimiser's moments."""

    step: int = 0
    """Updates done."""
    snapshots: tuple[Snapshot, ...] = ()
    """The kept ones, oldest first."""
    validations_since_best: int = 0
    seconds: float = 0.0
    """Time spent so far, over all starts of the run."""

    @property
    def best(self) -> Snapshot | None:
        return min(self.snapshots, key=lambda snapshot: (snapshot.loss, snapshot.step), default=None)

    def latest(self, count: int) -> tuple[Snapshot, ...]:
        """The last ones that were validated, oldest first."""
        return self.snapshots[-count:]

    def after_update(self, seconds: float) -> History:
        return self.model_copy(update={"step": self.step + 1, "seconds": self.seconds + seconds})

    def after_validation(self, loss: float, settings: TrainingSettings) -> History:
        """Take in a validation of the present weights, and forget snapshots that nobody will need."""
        is_best = self.best is None or loss < self.best.loss
        earlier = [snapshot for snapshot in self.snapshots if snapshot.step < self.step]
        snapshots = [*earlier, Snapshot(step=self.step, loss=loss)]
        by_loss = sorted(snapshots, key=lambda snapshot: (snapshot.loss, snapshot.step))
        needed = [*by_loss[: settings.keep_best], *snapshots[-settings.average_last :]]
        return self.model_copy(
            update={
                "snapshots": tuple(snapshot for snapshot in snapshots if snapshot in needed),
                "validations_since_best": 0 if is_best else self.validations_since_best + 1,
            }
        )

    def is_validated(self) -> bool:
        """Whether the present weights are the last snapshot."""
        return bool(self.snapshots) and self.snapshots[-1].step == self.step

    def is_over(self, settings: TrainingSettings) -> bool:
        """Whether all updates are done, or patience is at its end."""
        return self.step >= settings.steps or 0 < settings.patience <= self.validations_since_best
