"""The paper's figure 4: speed-up and BLEU over the pruning threshold, for every way to prune, in one plot.

    python experiments/pruning.py MODEL SOURCE REFERENCE --sentences 200 --output pruning.png

The speed-up is of the time that one thread needs for the same sentences against no pruning, medians of interleaved
repeats; lexical evaluations for each target token are counted, not timed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from alidade.io import read_lines
from alidade.translation import Translation
from alidade.translator import Translator

THRESHOLDS = (0.01, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
HISTOGRAMS = (1, 2, 3, 5)


@dataclass
class Point:
    """One way to prune and what it gave."""

    pruning: str
    value: float
    translator: Translator
    seconds: list[float] = field(default_factory=list)
    translations: list[Translation] = field(default_factory=list)

    def run(self, sources: list[str]) -> None:
        start = time.process_time()  # of one thread, so that other work on the machine hardly matters
        self.translations = self.translator.translate_all(sources, with_links=False, protect=False)
        self.seconds.append(time.process_time() - start)

    @property
    def texts(self) -> list[str]:
        return [translation.text for translation in self.translations]

    @property
    def evaluations_a_token(self) -> float:
        tokens = sum(len(translation.target) + 1 for translation in self.translations)
        return sum(translation.num_evaluations for translation in self.translations) / tokens


def main() -> None:
    arguments = parse_arguments()
    sources = list(read_lines(arguments.source))[: arguments.sentences]
    references = list(read_lines(arguments.reference))[: arguments.sentences]
    points = make_points(arguments.model)
    for _ in range(arguments.repeats):
        for point in points:
            point.run(sources)
    none = points[0]
    print("| pruning | value | speed-up | evaluations a token | BLEU | same translations |")
    print("| --- | --- | --- | --- | --- | --- |")
    for point in points:
        same = sum(one == other for one, other in zip(point.texts, none.texts, strict=True)) / len(sources)
        print(
            f"| {point.pruning} | {point.value or ''} | {speed_up(point, none):.2f} | {point.evaluations_a_token:.1f} "
            f"| {bleu(point, references):.2f} | {same:.1%} |"
        )
    draw(points, references, arguments.output)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("pruning.png"))
    return parser.parse_args()


def make_points(path: Path) -> list[Point]:
    """No pruning first: the others are measured against it."""
    translator = Translator(path, threads=1)
    _ = translator.system  # in memory once, for all of them

    def point(pruning: str, value: float, **changes: object) -> Point:
        settings = translator.settings.model_copy(update={"pruning": pruning, **changes})
        return Point(pruning, value, translator.with_settings(settings))

    points = [point("none", 0.0)]
    for pruning in ("threshold", "pairs"):
        points += [point(pruning, value, threshold=value) for value in THRESHOLDS]
    return [*points, *(point("histogram", n, histogram=n) for n in HISTOGRAMS), point("exact", 0.0)]


def speed_up(point: Point, none: Point) -> float:
    return statistics.median(none.seconds) / statistics.median(point.seconds)


def bleu(point: Point, references: list[str]) -> float:
    return float(BLEU(lowercase=True).corpus_score(point.texts, [references]).score)


def draw(points: list[Point], references: list[str], path: Path) -> None:
    """Speed-up above, BLEU below, over the threshold; `exact` and `histogram` need none and are horizontal lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    none = points[0]
    curves: list[tuple[Any, Callable[[Point], float]]] = [
        (above, lambda point: speed_up(point, none)),
        (below, lambda point: bleu(point, references)),
    ]
    for axes, value_of in curves:
        for pruning, marker in (("threshold", "o"), ("pairs", "s")):
            chosen = [none, *(point for point in points if point.pruning == pruning)]
            axes.plot(
                [point.value for point in chosen], [value_of(point) for point in chosen], marker=marker, label=pruning
            )
        axes.axhline(value_of(points[-1]), color="black", label="exact")
        for point in points:
            if point.pruning == "histogram":
                axes.axhline(value_of(point), color="grey", linestyle=":", linewidth=0.8)
                axes.annotate(f"histogram {point.value:g}", (THRESHOLDS[-1], value_of(point)), fontsize=7, ha="right")
    above.set_ylabel("speed-up")
    below.set_ylabel("BLEU")
    below.set_xlabel("threshold")
    above.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
