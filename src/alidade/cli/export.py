"""`alidade export`: a model for another engine, or a smaller one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from alidade.cli.options import OwnModelOption

if TYPE_CHECKING:
    from alidade.model_folder import ModelFolder


def export(
    model: OwnModelOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    form: Annotated[
        Literal["ctranslate2", "hugging-face", "float16", "int8"],
        typer.Option("--format", help="Another engine's format, or how many bits a weight gets in our own."),
    ] = "ctranslate2",
) -> None:
    """Write a model for CTranslate2 or Hugging Face, or as a smaller model folder.

    `--format int8` and `float16` write any system as a model folder of a quarter or half the size, which every command
    reads as it reads others; it is as fast as before. Translations are the same in
    float16 and mostly the same in int8.

    `--format ctranslate2` writes the `transformer` baseline for CTranslate2. It needs the package ctranslate2, which
    then translates pieces, not text; it gives our search's translations with the options `length_penalty` (our
    length_normalisation), `return_end_token=True` and `disable_unk=True`.

    `--format hugging-face` writes the `transformer` baseline as a folder for AutoModelForSeq2SeqLM and AutoTokenizer of
    the package transformers: a MarianMTModel if it is post-norm, a PegasusForConditionalGeneration, which is its
    pre-norm twin, if not. Examples:

        alidade export --model run/system --format int8 --output small

        alidade export --model run/model --output run/ctranslate2
    """
    from alidade.model_folder import WEIGHTS_FILE, copy_model_folder, load_model_folder

    folder = load_model_folder(model)
    if form == "ctranslate2":
        _export_ctranslate2(folder, output)
    elif form == "hugging-face":
        _export_hugging_face(folder, output)
    else:
        copy_model_folder(folder, output, form)
        before, after = ((path / WEIGHTS_FILE).stat().st_size / 1e6 for path in (model, output))
        typer.echo(f"written to {output}: weights of {after:.1f} MB instead of {before:.1f} MB")
        return
    typer.echo(f"written to {output}")


def _export_hugging_face(folder: ModelFolder, output: Path) -> None:
    from alidade.exchange.hugging_face import export_hugging_face

    export_hugging_face(folder, output)


def _export_ctranslate2(folder: ModelFolder, output: Path) -> None:
    from alidade.config import TransformerSettings
    from alidade.errors import AlidadeError
    from alidade.exchange.ctranslate2 import export_ctranslate2
    from alidade.models.system import load_system

    settings = folder.description.lexical
    if isinstance(settings, TransformerSettings):
        ours = TransformerSettings(heads=settings.heads, width=settings.width, pre_norm=settings.pre_norm).conventions
        for name, value in settings.conventions.items():
            if value != ours[name]:
                raise AlidadeError(f"{folder.path}: {name} = {value!r} cannot be exported to CTranslate2")
    lexical = load_system(folder).lexical
    if lexical is None:
        raise AlidadeError(f"{folder.path}: has no lexical model to export")
    source, target = (
        [subwords.piece(number) for number in range(len(subwords))]
        for subwords in (folder.source_subwords, folder.target_subwords)
    )
    export_ctranslate2(lexical, source, target, output)
