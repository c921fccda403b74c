"""Tuning: the weights of the two models and of coverage, and the length normalisation, that are best on dev data.

BLEU minus TER decides, not BLEU alone: of which setting is better on a few hundred sentences, it says more surely which
one is better on others (experiments/LOG.md, "What to tune for").

Only the ratio of the weights matters to the search, so the lexical model's stays at one. Coordinate search: the
alignment weight first, then the length normalisation, then the weight of coverage. The first and the last depend on
each other, since both say what a position is worth: so the neighbours of the best point in both at once, until none is
better. Every point is translated by the real search. What is best is saved in the model folder, where translating finds
it. A model for several kinds of text is tuned on a set of each: the mean over the sets decides, so that long sentences
do not outvote short ones.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeVar

from alidade.config import SearchSettings
from alidade.errors import AlidadeError
from alidade.evaluation.metrics import Tokenisation, make_metrics, require_parallel, tokenisation_of_language
from alidade.model_folder import save_search_settings
from alidade.translator import Translator

Item = TypeVar("Item")

ALIGNMENT_WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
LENGTH_NORMALISATIONS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
"""Not further: where dev translations are a little short, ever more looks ever better, and elsewhere they become too
long (experiments/LOG.md)."""

COVERAGE_WEIGHTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
AS_GOOD = 0.5
"""What is within so much of the best on a few hundred sentences is as good on others (experiments/LOG.md). Of such
settings the one with the highest alignment weight is taken: words point more surely there (tags follow them), and fewer
positions are tried."""
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
    ter: float
    """Both are means over the dev sets."""

    @property
    def score(self) -> float:
        """What is to be as high as possible."""
        return self.bleu - self.ter


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

    def try_(settings: SearchSettings) -> Trial:
        trying = translator.with_settings(settings)
        scores = [measure(trying, sample, tokenisation) for sample in samples]
        return Trial(settings, *map(fmean, zip(*scores, strict=True)))

    trials = []
    alignment = translator.system.alignment if translator.is_assisted else None
    knows_skips = alignment is not None and bool(alignment.skip_cost.any())
    for trial in try_settings(try_, translator.settings, is_assisted=translator.is_assisted, knows_skips=knows_skips):
        trials.append(trial)
        yield trial
    save_search_settings(path, best_of(trials).settings)


def measure(translator: Translator, dev_set: DevSet, tokenisation: Tokenisation) -> tuple[float, float]:
    """BLEU and TER of its translations; TER counts words, so it is left out where a script has none."""
    texts = [translation.text for translation in translator.translate_all(dev_set.sources, with_links=False)]
    metrics = make_metrics(lower_case=True, tokenisation=tokenisation)
    names = ["BLEU"] if tokenisation == "char" else ["BLEU", "TER"]
    bleu, *ter = [metrics[name].corpus_score(texts, [list(dev_set.references)]).score for name in names]
    return bleu, sum(ter)


def best_of(trials: Sequence[Trial]) -> Trial:
    """Of the trials that are as good as the best, the one with the highest alignment weight, and of those the best."""
    most = max(trial.score for trial in trials)
    as_good = [trial for trial in trials if trial.score >= most - AS_GOOD]
    return max(as_good, key=lambda trial: (trial.settings.alignment_weight, trial.score))


def try_settings(
    try_: Callable[[SearchSettings], Trial], start: SearchSettings, *, is_assisted: bool, knows_skips: bool
) -> Iterator[Trial]:
    """Every point that is tried, in order; the best of them is the result.

    knows_skips: whether the alignment model says what it costs to leave a piece out.
    """
    tried: dict[SearchSettings, Trial] = {}
    start_of_coverage = (start.coverage_weight or START_OF_COVERAGE) if knows_skips else 0.0
    best = start.model_copy(update={"lexical_weight": 1.0, "coverage_weight": start_of_coverage})
    axes: dict[str, Sequence[float]] = {"alignment_weight": ALIGNMENT_WEIGHTS} if is_assisted else {}
    axes["length_normalisation"] = LENGTH_NORMALISATIONS
    if knows_skips:
        axes["coverage_weight"] = COVERAGE_WEIGHTS
    weights = [name for name in axes if name.endswith("_weight")]

    def try_new(points: Iterable[SearchSettings]) -> Iterator[Trial]:
        for settings in points:
            if settings not in tried:
                tried[settings] = try_(settings)
                yield tried[settings]

    for name, values in axes.items():
        yield from try_new([best.model_copy(update={name: value}) for value in values])
        best = max(tried.values(), key=lambda trial: trial.score).settings
    before = None
    while best != before:
        near = [[(name, value) for value in _neighbours(axes[name], getattr(best, name))] for name in weights]
        yield from try_new([best.model_copy(update=dict(point)) for point in itertools.product(*near)])
        before, best = best, max(tried.values(), key=lambda trial: trial.score).settings


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
