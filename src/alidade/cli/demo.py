"""`alidade demo`: the main job from end to end, without any data."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

SENTENCES = (
    "Two children are playing in front of the old house.",
    "The file could not be saved because the disk is full.",
    "Please restart the computer to finish the installation.",
)
TERMS = ("children=puști|puștii", "disk=volumul|volum", "installation=configurarea|configurare")
"""Wanted translations; the model chooses the form that suits the sentence."""


def demo(
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the picture goes, or what is trained.", show_default="the present folder, or nowhere"),
    ] = None,
    is_trained: Annotated[
        bool, typer.Option("--train", help="Train on a synthetic bitext, although a model is shipped.")
    ] = False,
    steps: Annotated[int, typer.Option(min=1, help="Updates to train for.")] = 400,
) -> None:
    """Translate a few English sentences into Romanian with the shipped model, with and without a dictionary.

    Shows in the terminal which word comes from which, and draws the attention of the last sentence as
    `alidade-demo.png`. Without a shipped model, or with `--train`, a small system is trained on a synthetic bitext
    first and translates from that.
    """
    from rich.console import Console

    from alidade.models.shipped import shipped_model

    console = Console(highlight=False)
    model = shipped_model()
    if model is not None and not is_trained:
        _translate(model, folder or Path(), console)
        return
    from alidade.cli.demo_training import train_and_translate

    if folder is not None:
        train_and_translate(folder, steps, console)
        return
    with tempfile.TemporaryDirectory() as temporary:
        train_and_translate(Path(temporary), steps, console)


def _translate(model: Path, folder: Path, console: Console) -> None:
    from alidade.cli.plot import panel_of
    from alidade.dictionary.files import load_dictionary
    from alidade.evaluation.plots import plot_attention
    from alidade.evaluation.terminal import picture_of
    from alidade.translation import Translator

    translator = Translator(model)
    description = translator.model.description
    console.print(f"[bold]1. Translating[/] from {description.source.language} to {description.target.language}:")
    plain = translator.translate_all(SENTENCES)
    for translation in plain:
        console.print(picture_of(translation), "", sep="\n")

    console.print("[bold]2. With a dictionary[/] whose words must be used:", *TERMS, sep="\n   ")
    guided = translator.translate_all(SENTENCES, dictionary=load_dictionary((), TERMS), mode="require")
    for translation in guided:
        console.print(picture_of(translation), "", sep="\n")

    picture = folder / "alidade-demo.png"
    panels = [panel_of(translator, plain[-1], "plain"), panel_of(translator, guided[-1], "with the dictionary")]
    plot_attention(panels, picture)
    console.print(f"[bold]3. Attention[/] of the last sentence, drawn: {picture}")
    console.print(
        '[bold]Next[/]: echo "Your own text." | alidade translate --show; train on your own bitext: see README.md.'
    )
