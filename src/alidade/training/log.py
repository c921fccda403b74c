"""A run's figures as JSON lines (`train.jsonl`) and for TensorBoard (`tensorboard/`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from torch.utils.tensorboard.writer import SummaryWriter

from alidade.files import read_lines, write_aside

Figures = Mapping[str, float]


class Log:
    """Writes figures while they come; one that is resumed drops what lies after its checkpoint."""

    def __init__(self, folder: Path, step: int) -> None:
        """step: the last update that stays."""
        self._path = folder / "train.jsonl"
        _forget_after(self._path, step)
        self._file = self._path.open("a", encoding="utf-8", buffering=1)
        self._tensorboard = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def write(self, kind: Literal["train", "dev"], step: int, figures: Figures) -> None:
        self._file.write(json.dumps({"kind": kind, "step": step, **figures}) + "\n")
        for name, value in figures.items():
            self._tensorboard.add_scalar(f"{kind}/{name}", value, step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        self._tensorboard.close()


def _forget_after(path: Path, step: int) -> None:
    if not path.exists():
        return
    kept = [line for line in read_lines(path) if _step_of(line) <= step]
    with write_aside(path) as file:
        file.writelines(f"{line}\n" for line in kept)


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except ValueError:
        return float("inf")  # the line that was being written when the run was killed
