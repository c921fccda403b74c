"""`alidade tune`: the search's weights, picked on dev data and saved with the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alidade.cli.options import BatchSizeOption, OwnModelOption, ThreadsOption, set_threads
from alidade.errors import AlidadeError
from alidade.io import read_lines

if TYPE_CHECKING:
    from alidade.config import SearchSettings


def tune(
    model: OwnModelOption,
    source: Annotated[Path, typer.Option(help="Dev sentences, one a line.")],
    target: Annotated[Path, typer.Option(help="Their right translations.")],
    sentences: Annotated[int, typer.Option(min=1, help="Use at most this many of them, spread evenly.")] = 500,
    batch_size: BatchSizeOption = 32,
    threads: ThreadsOption = None,
) -> None:
    """Pick the alignment model's weight and the length normalisation on dev data.

    Translates the dev sentences with some fifteen settings, takes those with the best BLEU and saves them in the model
    folder's search.json, where `alidade translate` finds them. Example:

        alidade tune --model run/system --source dev.en --target dev.de
    """
    from sacrebleu.metrics.bleu import BLEU

    from alidade.model_folder import save_search_settings
    from alidade.search.tuning import tune as try_settings
    from alidade.translator import Translator

    set_threads(threads)
    sources, references = list(read_lines(source)), list(read_lines(target))
    if len(sources) != len(references):
        raise AlidadeError(f"{source} has {len(sources)} lines, {target} has {len(references)}: they must be as many")
    if not sources:
        raise AlidadeError(f"{source} is empty: there is nothing to tune on")
    step = max(1, len(sources) // sentences)
    sources, references = sources[::step][:sentences], references[::step][:sentences]
    bleu = BLEU(lowercase=True)
    translator = Translator(model, batch_size=batch_size)

    def score(settings: SearchSettings) -> float:
        changed = Translator(translator.model, settings, batch_size=batch_size)
        translations = changed.translate_all(sources, with_links=False, protect=False)
        return float(bleu.corpus_score([translation.text for translation in translations], [references]).score)

    trials = []
    for trial in try_settings(score, translator.settings, is_assisted=translator.is_assisted):
        trials.append(trial)
        weights = f"length_normalisation {trial.settings.length_normalisation}"
        if translator.is_assisted:
            weights = f"alignment_weight {trial.settings.alignment_weight}, {weights}"
        typer.echo(f"BLEU {trial.bleu:.2f} with {weights}", err=True)
    best = max(trials, key=lambda trial: trial.bleu)
    save_search_settings(model, best.settings)
    typer.echo(f"{model}: saved the best, BLEU {best.bleu:.2f} on {len(sources)} sentences", err=True)
