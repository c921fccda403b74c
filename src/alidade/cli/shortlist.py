"""`alidade shortlist`: the aligner's lexicon, counted and saved with a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alidade.errors import AlidadeError


def shortlist(
    model: Annotated[Path, typer.Option("--model", "-m", help="The model folder to save it in.")],
    corpus: Annotated[Path, typer.Option(help="The prepared corpus that the model was trained on.")],
    listed: Annotated[int, typer.Option(min=1, help="Target pieces that are listed for each source piece.")] = 50,
    frequent: Annotated[int, typer.Option(min=1, help="The most frequent target pieces, allowed everywhere.")] = 1000,
) -> None:
    """Count which target pieces each source piece was aligned to, for quicker translation.

    Saves the lists in the model folder; `alidade translate --shortlist sentence` (or `position`) then writes nothing
    else. That is quicker for large vocabularies, and may change translations. Example:

        alidade shortlist --corpus corpus --model run/system
    """
    from alidade.models.folder import load_description
    from alidade.search.lexicon import LEXICON_FILE, count_lexicon
    from alidade.text.corpus import PreparedCorpus

    description, prepared = load_description(model), PreparedCorpus.open(corpus)
    vocabularies = [description.source.fingerprint, description.target.fingerprint]
    if [prepared.source_subwords.fingerprint, prepared.target_subwords.fingerprint] != vocabularies:
        raise AlidadeError(
            f"{corpus} and {model} have different subwords: give the corpus that the model was trained on"
        )
    lexicon = count_lexicon(prepared, num_listed=listed, num_frequent=frequent)
    lexicon.save(model)
    mean = len(lexicon.listed) / (len(lexicon.starts) - 1)
    typer.echo(
        f"{model / LEXICON_FILE}: {mean:.0f} target pieces listed for a source piece on average, and the "
        f"{len(lexicon.frequent)} most frequent ones",
        err=True,
    )
