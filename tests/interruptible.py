"""Processes that Ctrl-C can reach even where the test run itself ignores it, as background jobs of a shell do."""

from __future__ import annotations

import signal
import subprocess
from typing import Any


def start_interruptible(command: list[str], **options: Any) -> subprocess.Popen[Any]:
    """`Popen` with SIGINT as a terminal's child has it: an ignored signal would be inherited."""
    return subprocess.Popen(command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options)
