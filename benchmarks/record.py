"""Lets the scripts beside it write result files as the experiments do: `from record import TRANSLATING, record`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "experiments"))

from runner.results import ALIGNING, TRANSLATING, record

__all__ = ["ALIGNING", "TRANSLATING", "record"]
