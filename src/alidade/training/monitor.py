"""What people see of a run: a live bar and table on a terminal, else a line for each validation; and figures in files,
as JSON lines (`train.jsonl`) and for TensorBoard (`tensorboard/`).
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table
from torch.utils.tensorboard.writer import SummaryWriter

from alidade.io import format_count, read_lines, write_aside
from alidade.models.system import Role
from alidade.training.objective import Tally, figures_of

SHOWN_VALIDATIONS = 8

Figures = Mapping[str, float]


class Meter:
    """Sums the figures of updates until somebody reads them. Time in which nothing is trained is not counted."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._loss = 0.0
        self._tallies: dict[Role, Tally] = {}
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
            self._tallies[role] = Tally(nll, num_correct, num_tokens) + self._tallies.get(role, Tally(0.0, 0.0, 0))
        self._num_tokens += num_tokens
        self._num_updates += 1
        self._seconds += seconds
        self._last = last

    def read(self) -> Figures:
        """The means since the last reading, by name; then start again."""
        figures = {
            "loss": self._loss / self._num_tokens,
            **figures_of(self._tallies),
            "tokens_per_second": self._num_tokens / self._seconds,
            "updates_per_second": self._num_updates / self._seconds,
            **self._last,
        }
        self._reset()
        return figures


class Monitor:
    """Shows a run and logs its figures, in the context of a `with`."""

    def __init__(self, folder: Path, total_steps: int, step: int, console: Console, *, is_used: bool = True) -> None:
        """step: updates done already; figures of later ones, from before a kill, are dropped.

        is_used: False for a process that is not the first one; it shows and logs nothing.
        """
        self._folder = folder
        self._console = console
        self._is_used = is_used
        self._is_live = is_used and console.is_terminal
        self._total = total_steps
        self._step = step
        self._train: Figures = {}
        self._validations: list[tuple[int, Figures, bool]] = []
        self._bar = Progress(
            TextColumn("update {task.completed}/{task.total}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[figures]}"),
            console=console,
            expand=True,
        )
        self._task: TaskID = self._bar.add_task("train", total=total_steps, completed=step, figures="")
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._render)
        self._lines: IO[str] | None = None
        self._tensorboard: SummaryWriter | None = None

    def __enter__(self) -> Self:
        if self._is_used:
            path = self._folder / "train.jsonl"
            _forget_after(path, self._step)
            self._lines = path.open("a", encoding="utf-8", buffering=1)
            self._tensorboard = SummaryWriter(str(self._folder / "tensorboard"), purge_step=self._step + 1)
        if self._is_live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_live:
            self._live.stop()
        if self._lines is not None and self._tensorboard is not None:
            self._lines.close()
            self._tensorboard.close()

    def say(self, message: str) -> None:
        """A sentence that stays."""
        if self._is_used:
            self._console.print(message, highlight=False, soft_wrap=True)

    def note_update(self, step: int, figures: Figures) -> None:
        """The figures of the last updates."""
        self._train = figures
        self._bar.update(self._task, completed=step, figures=self._describe_speed(step))
        self._log("train", step, figures)

    def note_validation(self, step: int, figures: Figures, *, is_best: bool) -> None:
        self._validations.append((step, figures, is_best))
        if not self._is_live:
            trained = f"{_describe(self._train)}, {self._describe_speed(step)}; " if self._train else ""
            best = ", the best so far" if is_best else ""
            self.say(f"update {step}/{self._total}: {trained}dev {_describe(figures)}{best}")
        self._log("dev", step, figures)

    def _log(self, kind: Literal["train", "dev"], step: int, figures: Figures) -> None:
        if self._lines is None or self._tensorboard is None:
            return
        self._lines.write(json.dumps({"kind": kind, "step": step, **figures}) + "\n")
        for name, value in figures.items():
            self._tensorboard.add_scalar(f"{kind}/{name}", value, step)

    def _describe_speed(self, step: int) -> str:
        speed = format_count(self._train["tokens_per_second"])
        left = (self._total - step) / self._train["updates_per_second"]
        return f"loss {self._train['loss']:.3f}, {speed} tokens/s, {dt.timedelta(seconds=round(left))} left"

    def _render(self) -> Group:
        if not self._train and not self._validations:
            return Group(self._bar)
        dev = self._validations[-1][1] if self._validations else {}
        names = [name for name in {**self._train, **dev} if _is_quality(name)]
        table = Table("update", *(name.replace(".", " ") for name in names), "", box=None, header_style="bold")
        for step, figures, is_best in self._validations[-SHOWN_VALIDATIONS:]:
            table.add_row(str(step), *_cells(figures, names), "dev, best so far" if is_best else "dev")
        table.add_row("now", *_cells(self._train, names), "training")
        return Group(table, self._bar)


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


def _is_quality(name: str) -> bool:
    """Whether a figure says how good a model is, and not how quickly it is trained."""
    return name.split(".")[-1] in {"perplexity", "accuracy", "bleu"}


def _cells(figures: Figures, names: list[str]) -> list[str]:
    return [f"{figures[name]:.3f}" if name in figures else "" for name in names]


def _describe(figures: Figures) -> str:
    """`lexical perplexity 12.31, lexical accuracy 0.532`"""
    quality = {name.replace(".", " "): value for name, value in figures.items() if _is_quality(name)}
    return ", ".join(f"{name} {value:.4g}" for name, value in quality.items())
