"""Ctrl-C and SIGTERM end a run after the update that is being computed, with a checkpoint."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class StopSignals:
    """A context in which the first signal is only noted; a second one acts as it always does."""

    def __init__(self, *, is_used: bool) -> None:
        """is_used: False for several processes, which would note a signal at different updates and wait for ever."""
        self.is_requested = False
        self._is_used = is_used and threading.current_thread() is threading.main_thread()
        self._usual: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if self._is_used:
            self._usual = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.is_requested = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._usual.items():
            signal.signal(number, handler)
        self._usual = {}
