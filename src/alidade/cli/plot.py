"""`alidade plot`: the paper's figure 1, attention of one or several systems side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alidade.errors import AlidadeError

if TYPE_CHECKING:
    from alidade.dictionary.entries import Dictionary
    from alidade.evaluation.plots import Panel
    from alidade.translator import Translator


def plot(
    sentence: Annotated[str, typer.Argument(help="The source sentence.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture: .png, .svg or .pdf.")],
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model folder; give several to compare them.",
            show_default="$ALIDADE_MODEL, or the model that is shipped",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Show attention for this target sentence instead of each model's translation.")
    ] = None,
    titles: Annotated[
        list[str] | None, typer.Option("--title", help="A title for each model.", show_default="the folders' names")
    ] = None,
    terms: Annotated[
        list[str] | None,
        typer.Option("--term", metavar="SOURCE=TARGET", help="A wanted translation: adds a panel with it, marked."),
    ] = None,
    font: Annotated[Path | None, typer.Option(help="A font file for characters that no installed font has.")] = None,
) -> None:
    """Draw which source words each target word attends to.

    Attention is summed over all layers and heads; an assisted system's hypothesised position counts once for each
    assisted layer (the paper's section 5). Words, not pieces. Example:

        alidade plot "A man is sleeping." --model baseline --model assisted --term man=Herr --output figure.png
    """
    from alidade.dictionary.files import load_dictionary
    from alidade.evaluation.plots import plot_attention
    from alidade.model_folder import default_model
    from alidade.translator import Translator

    models = models or [default_model()]
    if titles and len(titles) != len(models):
        raise AlidadeError(f"{len(titles)} titles for {len(models)} models: give one --title for each --model")
    translators = [Translator(model) for model in models]
    names = titles or [_name(model) for model in models]
    panels = [_panel(translator, name, sentence, target) for translator, name in zip(translators, names, strict=True)]
    if terms:
        dictionary = load_dictionary((), terms)
        panels.append(_panel(translators[-1], f"{names[-1]}, dictionary", sentence, target, dictionary))
    hint = plot_attention(panels, output, font=font)
    if hint:
        typer.echo(f"alidade: {hint}", err=True)
    typer.echo(f"{output}: {len(panels)} panels", err=True)


def _name(model: Path) -> str:
    """runs/assisted/model is called assisted."""
    path = model.resolve()
    return path.parent.name if path.name in ("model", "best") else path.name


def _panel(
    translator: Translator, title: str, sentence: str, target: str | None, dictionary: Dictionary | None = None
) -> Panel:
    from alidade.aligner import align
    from alidade.evaluation.plots import panel_of

    if target is None:
        translation = translator.translate(sentence, dictionary=dictionary, mode="require", protect=False)
    else:
        (translation,) = align([(sentence, target)], translator)
    return panel_of(translator, translation, title)
