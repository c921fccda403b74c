"""`alidade tune`: the search's weights, picked on dev data and saved with the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alidade.cli.options import BatchSizeOption, OwnModelOption, ThreadsOption
from alidade.io import read_lines

if TYPE_CHECKING:
    from alidade.evaluation.tuning import DevSet


def tune(
    model: OwnModelOption,
    source: Annotated[
        list[Path], typer.Option(help="Dev sentences, one a line; give it again for each further kind of text.")
    ],
    target: Annotated[list[Path], typer.Option(help="Their right translations, as often and in the same order.")],
    sentences: Annotated[int, typer.Option(min=1, help="Use at most this many of each file, spread evenly.")] = 500,
    batch_size: BatchSizeOption = 32,
    threads: ThreadsOption = None,
) -> None:
    """Pick the weights of the alignment model and of coverage, and the length normalisation, on dev data.

    Translates the dev sentences with some two dozen settings, takes those with the best BLEU minus TER (of those
    within 0.5 of it, the highest alignment weight: links are surer) and saves them in the model folder's search.json,
    where `alidade translate` finds them. Example:

        alidade tune --model run/system --source dev.en --target dev.de

    With several files the mean over them decides, so that each kind of text counts alike:

        alidade tune --model run/system --source ui.en --target ui.de --source manual.en --target manual.de
    """
    from alidade.errors import AlidadeError
    from alidade.evaluation.tuning import best_of
    from alidade.evaluation.tuning import tune as try_settings

    if len(source) != len(target):
        raise AlidadeError(
            f"--source was given {len(source)} times, --target {len(target)}: they belong together in pairs"
        )
    dev_sets = [_read_dev_set(*files) for files in zip(source, target, strict=True)]
    trials = []
    for trial in try_settings(model, dev_sets, max_sentences=sentences, batch_size=batch_size, threads=threads):
        trials.append(trial)
        settings = trial.settings
        typer.echo(
            f"BLEU {trial.bleu:.2f}, TER {trial.ter:.2f} with alignment_weight {settings.alignment_weight}, "
            f"coverage_weight {settings.coverage_weight}, "
            f"length_normalisation {settings.length_normalisation}",
            err=True,
        )
    num_used = sum(min(sentences, len(dev_set.sources)) for dev_set in dev_sets)
    best = best_of(trials)
    typer.echo(f"{model}: saved the best, BLEU {best.bleu:.2f}, TER {best.ter:.2f} on {num_used} sentences", err=True)


def _read_dev_set(source: Path, target: Path) -> DevSet:
    from alidade.errors import AlidadeError
    from alidade.evaluation.tuning import DevSet

    sources, references = list(read_lines(source)), list(read_lines(target))
    if len(sources) != len(references):
        raise AlidadeError(f"{source} has {len(sources)} lines, {target} has {len(references)}: they must be as many")
    if not sources:
        raise AlidadeError(f"{source} is empty: there is nothing to tune on")
    return DevSet(sources, references)
