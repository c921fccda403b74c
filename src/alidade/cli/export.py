"""`alidade export`: a model for another engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from alidade.cli.options import ModelOption


def export(
    model: ModelOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    form: Annotated[Literal["ctranslate2"], typer.Option("--format", help="The engine.")] = "ctranslate2",  # noqa: ARG001
) -> None:
    """Write the `transformer` baseline as a CTranslate2 model.

    Needs the package ctranslate2. CTranslate2 then translates pieces, not text; it gives our search's translations
    with the options `length_penalty` (our length_normalisation), `return_end_token=True` and `disable_unk=True`.

    Example: `alidade export --model run/model --output run/ctranslate2`
    """
    from alidade.errors import AlidadeError
    from alidade.models.ctranslate2_export import export_ctranslate2
    from alidade.models.folder import load_model_folder

    folder = load_model_folder(model)
    if folder.system.lexical is None:
        raise AlidadeError(f"{model}: has no lexical model to export")
    source, target = (
        [subwords.piece(number) for number in range(len(subwords))]
        for subwords in (folder.source_subwords, folder.target_subwords)
    )
    export_ctranslate2(folder.system.lexical, source, target, output)
    typer.echo(f"written to {output}")
