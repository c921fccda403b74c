"""`alidade tune`: the search's weights, picked on dev data and saved with the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alidade.cli.options import BatchSizeOption, OwnModelOption, ThreadsOption
from alidade.io import read_lines


def tune(
    model: OwnModelOption,
    source: Annotated[Path, typer.Option(help="Dev sentences, one a line.")],
    target: Annotated[Path, typer.Option(help="Their right translations.")],
    sentences: Annotated[int, typer.Option(min=1, help="Use at most this many of them, spread evenly.")] = 500,
    batch_size: BatchSizeOption = 32,
    threads: ThreadsOption = None,
) -> None:
    """Pick the weights of the alignment model and of coverage, and the length normalisation, on dev data.

    Translates the dev sentences with some two dozen settings, takes those with the best BLEU and saves them in the
    model folder's search.json, where `alidade translate` finds them. Example:

        alidade tune --model run/system --source dev.en --target dev.de
    """
    from alidade.errors import AlidadeError
    from alidade.evaluation.tuning import best_of
    from alidade.evaluation.tuning import tune as try_settings

    sources, references = list(read_lines(source)), list(read_lines(target))
    if len(sources) != len(references):
        raise AlidadeError(f"{source} has {len(sources)} lines, {target} has {len(references)}: they must be as many")
    if not sources:
        raise AlidadeError(f"{source} is empty: there is nothing to tune on")
    trials = []
    for trial in try_settings(
        model, sources, references, max_sentences=sentences, batch_size=batch_size, threads=threads
    ):
        trials.append(trial)
        settings = trial.settings
        typer.echo(
            f"BLEU {trial.bleu:.2f} with alignment_weight {settings.alignment_weight}, "
            f"coverage_weight {settings.coverage_weight}, "
            f"length_normalisation {settings.length_normalisation}",
            err=True,
        )
    num_used = min(sentences, len(sources))
    typer.echo(f"{model}: saved the best, BLEU {best_of(trials).bleu:.2f} on {num_used} sentences", err=True)
