"""The learning rate of each update: a pure function of its number, so that a resumed run needs no state for it."""

from __future__ import annotations

import math

from alidade.config import TrainingSettings


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """The learning rate of update number `step`, counted from 1.

    It rises linearly to its peak during the warm-up; then it falls with the inverse square root of the step, or
    stays. In the cool-down, the last updates, it goes on linearly from there to (almost) nothing.
    """
    rise = min(step / settings.warmup, 1.0)
    left = min((settings.steps + 1 - step) / (settings.cooldown + 1), 1.0)
    if settings.schedule == "constant":
        return settings.learning_rate * rise * left
    return settings.learning_rate * min(rise, math.sqrt(settings.warmup / step)) * left
