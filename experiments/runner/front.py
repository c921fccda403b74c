"""The short table of the project's front page, README.md: the few figures that a newcomer asks for.

It stands between two comments, `<!-- figures -->` and `<!-- /figures -->`, and is made from the result files like the
page of all tables (`runner/report.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alidade.errors import AlidadeError
from runner.report import CHANGED, ENTERED, MISSING, Shelf
from runner.settings import Library

BETWEEN = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- /figures -->)", flags=re.DOTALL)
LEGEND = {
    CHANGED: "measured before code under it changed",
    ENTERED: "from an older page, before results recorded the code that they depend on",
}

Figure = Callable[[Mapping[str, Any]], float]


def bleu(test: str) -> Figure:
    return lambda figures: float(figures["tests"][test]["BLEU"]["value"])


def gain(system: str, mode: str) -> Figure:
    """In BLEU, by a dictionary, of the system whose name ends so."""

    def value(figures: Mapping[str, Any]) -> float:
        (modes,) = (modes for name, modes in figures["systems"].items() if name.endswith(system))
        return float(modes[mode]["BLEU"] - modes["none"]["BLEU"])

    return value


def speed_up(pruning: str) -> Figure:
    return lambda figures: float(next(one for one in figures["points"] if one["pruning"] == pruning)["speed_up"])


def entry(*keys: str) -> Figure:
    """A figure by its place."""

    def value(figures: Mapping[str, Any]) -> float:
        for key in keys:
            figures = figures[key]
        return float(figures)  # type: ignore[arg-type]

    return value


@dataclass(frozen=True)
class Line:
    """A line of the table: what is measured, ours, and what it is compared with."""

    what: str
    ours: tuple[str, Figure]
    """A result, and the figure in it."""
    reference: tuple[str, Figure] | str
    than: str = ""
    """What the reference is."""
    form: str = ".1f"


LINES = (
    Line(
        "BLEU, English→Romanian, software messages",
        ("enro/shipped", bleu("test")),
        ("enro/shipped-on-plain", bleu("test")),
        "plain transformer",
    ),
    Line(
        "– everyday sentences (Tatoeba)",
        ("enro/shipped", bleu("tatoeba")),
        ("enro/shipped-on-plain", bleu("tatoeba")),
        "plain transformer",
    ),
    Line(
        "– captions, English→German (lower case)",
        ("multi30k/lower-case-assisted", bleu("test2016")),
        ("multi30k/lower-case-continued", bleu("test2016")),
        "plain transformer",
    ),
    Line(
        "– captions, English→French (head dropout)",
        ("multi30k-fr/assisted-head-dropout", bleu("test2016")),
        ("multi30k-fr/transformer-continued", bleu("test2016")),
        "plain transformer",
    ),
    Line(
        "– captions, Chinese→English",
        ("zhen/assisted", bleu("test")),
        ("zhen/transformer-continued", bleu("test")),
        "plain transformer",
    ),
    Line(
        "BLEU gained by a dictionary (`require`)",
        ("dictionary/enro-both", gain("/shipped-on", "require")),
        ("dictionary/enro-both", gain("/shipped-on-plain", "require")),
        "plain transformer",
        form="+.1f",
    ),
    Line(
        "Alignment error, Romanian–English",
        ("alignment/roen-shipped-both-ways", entry("error_rate")),
        ("alignment/roen-eflomal-pieces-all", entry("error_rate")),
        "eflomal",
    ),
    Line("Lossless pruning, speed-up", ("pruning/enro", speed_up("exact")), "1.0 no pruning"),
    Line(
        "Translation, tokens a second",
        ("speed/translation-shipped", entry("plain int8", "32 at a time")),
        ("speed/translation-shipped", entry("CTranslate2 int8", "32 at a time")),
        "CTranslate2",
        form=",.0f",
    ),
    Line(
        "Training, tokens a second",
        ("speed/training-tiny", entry("Alidade", "target tokens a second")),
        ("speed/training-tiny", entry("Marian", "target tokens a second")),
        "Marian",
        form=",.0f",
    ),
)


def fill_front(page: str, results: Path) -> str:
    """The page with its table made again."""
    if BETWEEN.search(page) is None:
        raise AlidadeError("README.md: put <!-- figures --> and <!-- /figures --> where the table is to stand")
    return BETWEEN.sub(lambda _: make_front(results), page)


def make_front(results: Path, lines: Sequence[Line] = LINES) -> str:
    """The table and what its marks mean."""
    shelf = Shelf(Library(), results)
    rows = ["| | ours | reference | measured by |", "| --- | --- | --- | --- |"]
    for line in lines:
        name = line.ours[0]
        result = shelf.result(name)
        command = f"python experiments/run.py {name}" if result is None else result.command
        ours, reference = _figure(shelf, line.ours, line.form), _reference(shelf, line)
        rows.append(f"| {line.what} | {ours} | {reference} | `{command}` |")
    table = "\n".join(rows)
    meanings = [f"{mark} {meaning}" for mark, meaning in LEGEND.items() if mark in table]
    return f"\n{table}\n\n{'; '.join(meanings)}.\n\n" if meanings else f"\n{table}\n\n"


def _reference(shelf: Shelf, line: Line) -> str:
    if isinstance(line.reference, str):
        return line.reference
    return f"{_figure(shelf, line.reference, line.form)} {line.than}"


def _figure(shelf: Shelf, place: tuple[str, Figure], form: str) -> str:
    name, figure = place
    figures = shelf.figures(name)
    if not figures:
        return MISSING
    try:
        return f"{figure(figures):{form}}{shelf.mark(name)}"
    except (LookupError, StopIteration, ValueError) as error:
        raise AlidadeError(
            f"experiments/results/{name}.json has no figure for README.md ({error!r}): its labels have changed, follow "
            "them in experiments/runner/front.py"
        ) from None
