"""`alidade assemble`: a lexical and an alignment model, trained apart, become one system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def assemble(
    lexical: Annotated[Path, typer.Option(help="Model folder of the lexical model.")],
    alignment: Annotated[Path, typer.Option(help="Model folder of the alignment model.")],
    output: Annotated[Path, typer.Option(help="The model folder to write.")],
) -> None:
    """Put a lexical and an alignment model into one folder, ready to translate.

    The paper trains the two models on their own; a translation needs both. Example:

        alidade assemble --lexical runs/aligned/model --alignment runs/jumps/model --output runs/system
    """
    from alidade.model_folder import assemble_folder

    folder = assemble_folder(lexical, alignment, output)
    kinds = [role.kind for role in (folder.description.lexical, folder.description.alignment) if role is not None]
    typer.echo(f"{output}: {' and '.join(kinds)}", err=True)
