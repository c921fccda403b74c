"""`alidade demo`: the main job from end to end, without any data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SENTENCES = (
    "Two children are playing in front of the old house.",
    "The file could not be saved because the disk is full.",
    "Please restart the computer to finish the installation.",
)
TERMS = ("children=puști|puștii", "disk=volumul|volum", "installation=configurarea|configurare")
"""Wanted translations; the model chooses the form that suits the sentence."""


def demo(
    folder: Annotated[Path, typer.Option(help="Where the picture goes.", show_default="the present folder")] = Path(),
) -> None:
    """Translate a few English sentences into Romanian with the shipped model, with and without a dictionary.

    Shows in the terminal which word comes from which, and draws the attention of the last sentence as
    `alidade-demo.png`.
    """
    from rich.console import Console

    from alidade.dictionary.files import load_dictionary
    from alidade.evaluation.plots import panel_of, plot_attention
    from alidade.evaluation.terminal import picture_of
    from alidade.translator import Translator

    console = Console(highlight=False)
    translator = Translator()
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
