"""`alidade import`: a model of Marian, OPUS-MT or Hugging Face becomes a model folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from alidade.config import TransformerSettings


LEARNING_RATE = 2e-4
"""Of further training: low, since the model has learned already."""


def import_(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A release of Marian (zip file or folder) or a folder of Hugging Face's MarianMTModel.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model folder to write.")],
    source_language: Annotated[
        str | None, typer.Option(help="If the model does not say so itself.", show_default=False)
    ] = None,
    target_language: Annotated[
        str | None, typer.Option(help="If the model does not say so itself.", show_default=False)
    ] = None,
    target_tag: Annotated[
        str | None,
        typer.Option(
            metavar="TAG", help="Which language to write, `deu` for `>>deu<<`, if it knows several.", show_default=False
        ),
    ] = None,
) -> None:
    """Turn a model of Marian, OPUS-MT or Hugging Face into a model folder, which every command reads.

    Such a model translates, aligns by its attention and obeys a dictionary as a baseline does. Trained further with
    `init_from`, it becomes assisted; the settings that this needs are printed. Nothing of MODEL is run. Example:

        alidade import opus-mt-en-de --output en-de > train.toml
    """
    from alidade.exchange.importing import import_model
    from alidade.model_folder import load_description

    imported = import_model(
        model,
        output,
        source_language=source_language,
        target_language=target_language,
        target_tag=target_tag,
    )
    typer.echo(_stage_two(imported.settings, output), nl=False)
    description = load_description(output)
    num_weights = sum(weight.size for weight in imported.weights.values()) / 1e6
    languages = f"{description.source.language} to {description.target.language}"
    typer.echo(f"written to {output}: {languages}, {num_weights:.1f} million weights", err=True)


def _stage_two(settings: TransformerSettings, base: Path) -> str:
    """The settings of the second stage of training, as TOML: what `alidade train` needs beside a prepared corpus."""
    shape = {name: getattr(settings, name) for name in ("width", "feed_forward", "heads")}
    layers = {name: getattr(settings, name) for name in ("encoder_layers", "decoder_layers")}
    sections = {
        "lexical": {"kind": "transformer-aligned"}
        | settings.model_dump(mode="json", exclude_defaults=True, exclude={"kind"})
        | shape
        | layers,
        "alignment": {"kind": "transformer-jumps", "encoder": "lexical", **shape, "decoder_layers": 2},
        "training": {"corpus": "corpus", "folder": "run", "init_from": str(base), "learning_rate": LEARNING_RATE},
    }
    return "\n".join(
        "".join([f"[{name}]\n", *[f"{key} = {json.dumps(value)}\n" for key, value in values.items()]])
        for name, values in sections.items()
    )
