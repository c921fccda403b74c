"""Progress bars with rate and remaining time; quiet when the output is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

Item = TypeVar("Item")


class RateColumn(ProgressColumn):
    """Items a second, as a person reads them: 12.3k/s."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{format_count(speed)}/s", style="progress.data.speed")


def progress_bar(console: Console | None = None) -> Progress:
    """A bar on stderr with description, count, rate and remaining time; nothing is drawn off a terminal."""
    console = console or Console(stderr=True)
    return Progress(
        TextColumn("[progress.description]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def track(
    iterable: Iterable[Item],
    description: str,
    total: int | None = None,
    *,
    console: Console | None = None,
    weigh: Callable[[Item], int] | None = None,
) -> Iterator[Item]:
    """Yield the items while a bar shows how many have passed; `weigh` says how many things one item stands for."""
    with progress_bar(console) as progress:
        task = progress.add_task(description, total=total)
        for item in iterable:
            yield item
            progress.advance(task, 1 if weigh is None else weigh(item))


def format_count(count: float) -> str:
    """A number of things in at most four digits: 950, 12.3k, 4.5M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.3g}{unit}"
    return f"{count:.3g}"
