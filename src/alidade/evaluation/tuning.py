"""Tuning: the weights of the two models and of coverage, and the length normalisation, that give the best dev BLEU.

Only the ratio of the weights matters to the search, so the lexical model's stays at one. Coordinate search: the
alignment weight first, then the length normalisation, then the weight of coverage, then the neighbours of the first and
the last again; every point is translated by the real search. What is best is saved in the model folder, where
translating finds it. A model for several kinds of text is tuned on a set of each: the mean of their BLEU decides, so
that long sentences do not outvote short ones.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from alidade.config import SearchSettings
from alidade.errors import AlidadeError
from alidade.evaluation.metrics import corpus_bleu, require_parallel, tokenisation_of_language
from alidade.model_folder import save_search_settings
from alidade.translator import Translator

Item = TypeVar("Item")

ALIGNMENT_WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
LENGTH_NORMALISATIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
"""Not further: where dev translations are a little short, ever more looks ever better, and elsewhere they become too
long (experiments/LOG.md)."""


COVERAGE_WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
AS_GOOD = 0.1
"""What is within so much BLEU of the best is as good, on a few hundred sentences. Of such settings the one with the
highest alignment weight is taken: words point more surely there (tags follow them), and fewer positions are tried."""
START_OF_COVERAGE = 0.15
"""Where the search begins: without coverage the best alignment weight is another one, and not the best of all."""


@dataclass(frozen=True, slots=True)
class DevSet:
    """Sentences of one kind of text and their right translations."""

    sources: Sequence[str]
    references: Sequence[str]

    def sample(self, most: int) -> DevSet:
        """At most so many of its sentences."""
        return DevSet(spread_evenly(self.sources, most), spread_evenly(self.references, most))


@dataclass(frozen=True, slots=True)
class Trial:
    """One point that was tried."""

    settings: SearchSettings
    bleu: float
    """The mean over the dev sets."""


def tune(
    model: Path | str,
    dev_sets: Sequence[DevSet],
    *,
    max_sentences: int = 500,
    batch_size: int = 32,
    threads: int | None = None,
) -> Iterator[Trial]:
    """Try settings on dev sentences, at most so many of each set, and save the best in the model folder at the end.

    Yields every trial as soon as it is done; the last thing that happens is the saving.
    """
    for dev_set in dev_sets:
        require_parallel(dev_set.references, [dev_set.sources], "source")
    path = Path(model)
    translator = Translator(path, batch_size=batch_size, threads=threads)
    check_writable(path)  # before the work, not after it
    samples = [dev_set.sample(max_sentences) for dev_set in dev_sets]
    tokenisation = tokenisation_of_language(translator.languages[1])

    def score(settings: SearchSettings) -> float:
        trying = translator.with_settings(settings)
        return fmean(bleu_of(trying, sample) for sample in samples)

    def bleu_of(trying: Translator, sample: DevSet) -> float:
        texts = [translation.text for translation in trying.translate_all(sample.sources, with_links=False)]
        return corpus_bleu(texts, sample.references, lower_case=True, tokenisation=tokenisation).value

    trials = []
    alignment = translator.system.alignment if translator.is_assisted else None
    knows_skips = alignment is not None and bool(alignment.skip_cost.any())
    for trial in try_settings(score, translator.settings, is_assisted=translator.is_assisted, knows_skips=knows_skips):
        trials.append(trial)
        yield trial
    save_search_settings(path, best_of(trials).settings)


def best_of(trials: Sequence[Trial]) -> Trial:
    """Of the trials that are as good as the best, the one with the highest alignment weight, and of those the best."""
    most = max(trial.bleu for trial in trials)
    as_good = [trial for trial in trials if trial.bleu >= most - AS_GOOD]
    return max(as_good, key=lambda trial: (trial.settings.alignment_weight, trial.bleu))


def try_settings(
    score: Callable[[SearchSettings], float], start: SearchSettings, *, is_assisted: bool, knows_skips: bool
) -> Iterator[Trial]:
    """Every point that is tried, in order; the best of them is the result. `score` gives dev BLEU, higher is better.

    knows_skips: whether the alignment model says what it costs to leave a piece out.
    """
    tried: dict[SearchSettings, float] = {}
    start_of_coverage = (start.coverage_weight or START_OF_COVERAGE) if knows_skips else 0.0
    best = start.model_copy(update={"lexical_weight": 1.0, "coverage_weight": start_of_coverage})
    axes: list[tuple[str, Sequence[float]]] = [("length_normalisation", LENGTH_NORMALISATIONS)]
    if is_assisted:
        axes = [("alignment_weight", ALIGNMENT_WEIGHTS), *axes]
    if knows_skips:
        axes.append(("coverage_weight", COVERAGE_WEIGHTS))
    seen: set[str] = set()
    for name, values in [*axes, *[axis for axis in axes if axis[0].endswith("_weight")]]:
        near = _neighbours(values, getattr(best, name)) if name in seen else values
        seen.add(name)
        for value in near:
            settings = best.model_copy(update={name: value})
            if settings not in tried:
                tried[settings] = score(settings)
                yield Trial(settings, tried[settings])
        best = max(tried, key=lambda settings: tried[settings])


def spread_evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many items, from the first to the last in even steps."""
    count = min(most, len(items))
    return [items[number * len(items) // count] for number in range(count)]


def check_writable(folder: Path) -> None:
    """Raise unless a file can be written into a folder."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise AlidadeError(
            f"{folder}: cannot be written to ({error.strerror}), and what is tuned is to be saved there; copy the "
            "model folder to a place of your own"
        ) from None


def _neighbours(values: Sequence[float], value: float) -> Sequence[float]:
    place = min(range(len(values)), key=lambda number: abs(values[number] - value))
    return values[max(place - 1, 0) : place + 2]
