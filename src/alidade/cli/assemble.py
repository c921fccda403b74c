"""`alidade assemble`: a lexical and an alignment model, trained apart, become one system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alidade.errors import AlidadeError


def assemble(
    lexical: Annotated[Path, typer.Option(help="Model folder of the lexical model.")],
    alignment: Annotated[Path, typer.Option(help="Model folder of the alignment model.")],
    output: Annotated[Path, typer.Option(help="The model folder to write.")],
) -> None:
    """Put a lexical and an alignment model into one folder, ready to translate.

    The paper trains the two models on their own; a translation needs both. Example:

        alidade assemble --lexical runs/aligned/model --alignment runs/jumps/model --output runs/system
    """
    from alidade.model_folder import load_model_folder, save_model_folder

    words, positions = load_model_folder(lexical), load_model_folder(alignment)
    if words.description.lexical is None:
        raise AlidadeError(f"{lexical}: this folder has no lexical model; give a transformer-aligned or rnn-biased one")
    if positions.description.alignment is None:
        raise AlidadeError(
            f"{alignment}: this folder has no alignment model; give a transformer-jumps or rnn-jumps one"
        )
    if positions.description.alignment.encoder == "lexical":
        raise AlidadeError(f"{alignment}: its alignment model reads its own lexical model's encoder: use it as it is")
    for side in ("source", "target"):
        if getattr(words.description, side) != getattr(positions.description, side):
            raise AlidadeError(
                f"{lexical} and {alignment} have different {side} vocabularies: train both on one corpus"
            )
    if words.description.normalisation != positions.description.normalisation:
        raise AlidadeError(f"{lexical} and {alignment} know text in different writing: train both on one corpus")
    save_model_folder(
        output,
        {**words.weights_of("lexical"), **positions.weights_of("alignment")},
        words.description.lexical,
        positions.description.alignment,
        words.source_subwords,
        words.target_subwords,
        words.search,
        words.description.normalisation,
    )
    typer.echo(f"{output}: {words.description.lexical.kind} and {positions.description.alignment.kind}", err=True)
