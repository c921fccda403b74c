"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
