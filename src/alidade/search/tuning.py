"""Tuning: the weights of the two models and the length normalisation that give the best dev BLEU.

Only the ratio of the two weights matters to the search, so the lexical model's stays at one. Coordinate search: the
alignment weight first, then the length normalisation, then the alignment weight's neighbours again; every point is
translated by the real search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from alidade.config import SearchSettings

ALIGNMENT_WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
LENGTH_NORMALISATIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
"""Not further: where dev translations are a little short, ever more looks ever better, and elsewhere they become too
long (experiments/LOG.md)."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One point that was tried."""

    settings: SearchSettings
    bleu: float


def tune(score: Callable[[SearchSettings], float], start: SearchSettings, *, is_assisted: bool) -> Iterator[Trial]:
    """Every point that is tried, in order; the best of them is the result. `score` gives dev BLEU, higher is better."""
    tried: dict[SearchSettings, float] = {}
    best = start.model_copy(update={"lexical_weight": 1.0})
    axes: list[tuple[str, Sequence[float]]] = [("length_normalisation", LENGTH_NORMALISATIONS)]
    if is_assisted:
        axes = [("alignment_weight", ALIGNMENT_WEIGHTS), *axes, ("alignment_weight", ALIGNMENT_WEIGHTS)]
    for number, (name, values) in enumerate(axes):
        near = values if number < 2 else _neighbours(values, getattr(best, name))
        for value in near:
            settings = best.model_copy(update={name: value})
            if settings not in tried:
                tried[settings] = score(settings)
                yield Trial(settings, tried[settings])
        best = max(tried, key=lambda settings: tried[settings])


def _neighbours(values: Sequence[float], value: float) -> Sequence[float]:
    place = min(range(len(values)), key=lambda number: abs(values[number] - value))
    return values[max(place - 1, 0) : place + 2]
