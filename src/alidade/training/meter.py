"""Sums the figures of updates until somebody reads them."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

from alidade.models.system import Role
from alidade.training.log import Figures


class Meter:
    """Figures since the last reading. Time in which nothing is trained is not counted."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._loss = 0.0
        self._nll: dict[Role, float] = {}
        self._num_correct: dict[Role, float] = {}
        self._num_tokens = 0
        self._num_updates = 0
        self._seconds = 0.0
        self._last: Figures = {}

    def add_update(self, sums: Mapping[Role, Sequence[float]], num_tokens: int, seconds: float, **last: float) -> None:
        """Take in an update: of each role the sums of loss, negative log-likelihood and correct tokens.

        `last` are figures of which the latest value is reported.
        """
        for role, (loss, nll, num_correct) in sums.items():
            self._loss += loss
            self._nll[role] = self._nll.get(role, 0.0) + nll
            self._num_correct[role] = self._num_correct.get(role, 0.0) + num_correct
        self._num_tokens += num_tokens
        self._num_updates += 1
        self._seconds += seconds
        self._last = last

    def read(self) -> Figures:
        """The means since the last reading, by name; then start anew."""
        figures = {"loss": self._loss / self._num_tokens}
        for role, nll in self._nll.items():
            figures[f"{role}.perplexity"] = math.exp(min(nll / self._num_tokens, 700.0))
            figures[f"{role}.accuracy"] = self._num_correct[role] / self._num_tokens
        figures["tokens_per_second"] = self._num_tokens / self._seconds
        figures["updates_per_second"] = self._num_updates / self._seconds
        figures |= self._last
        self._reset()
        return figures


class Stopwatch:
    """Seconds since it was last looked at."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        now = time.perf_counter()
        seconds, self._last = now - self._last, now
        return seconds
