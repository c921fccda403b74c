"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

ConfigArgument = Annotated[
    Path,
    typer.Argument(metavar="CONFIG.toml", help="Settings; paths in them are relative to the file.", show_default=False),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one setting, for example `--set training.steps=100`. May be given several times.",
        show_default=False,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Processes to work in.", show_default="all cores"),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-m",
        help="A model folder, made by `alidade train` or `assemble`.",
        show_default="$ALIDADE_MODEL, or the model that is shipped",
    ),
]
OwnModelOption = Annotated[
    Path, typer.Option("--model", "-m", help="A model folder, made by `alidade train` or `assemble`.")
]
BatchSizeOption = Annotated[int, typer.Option("--batch-size", min=1, help="Sentences translated at a time.")]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads of one process.", show_default="all cores")
]
SearchSetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Override one setting of the search, for example `--set length_normalisation=0.6`. Repeatable.",
        show_default=False,
    ),
]
InflectOption = Annotated[
    bool,
    typer.Option(
        "--inflect", help="The dictionary's entries match, and are written, in any inflected form (needs simplemma)."
    ),
]


def search_changes(overrides: list[str] | None, **given: Any) -> dict[str, Any]:
    """The settings of the search that the command line changes; None is not given."""
    from alidade.config import override_value

    changes = {name: value for name, value in given.items() if value is not None}
    for override in overrides or []:
        override_value(changes, override)
    return changes


def set_threads(threads: int | None) -> None:
    """How many threads torch works with from now on; None: as many as it likes."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
