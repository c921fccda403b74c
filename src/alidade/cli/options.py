"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

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
PrecisionOption = Annotated[
    Literal["float32", "int8"] | None,
    typer.Option("--precision", help="Of the models' products.", show_default="what suits this processor"),
]
DeviceOption = Annotated[
    Literal["cpu", "cuda"],
    typer.Option("--device", help="Where the models run; `cuda` needs the package onnxruntime-gpu, and is untested."),
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
SourceFieldOption = Annotated[
    str, typer.Option("--source-field", help="For shards of JSON lines or Parquet files: where the source stands.")
]
TargetFieldOption = Annotated[
    str, typer.Option("--target-field", help="For shards of JSON lines or Parquet files: where the target stands.")
]
InflectOption = Annotated[
    bool,
    typer.Option(
        "--inflect", help="The dictionary's entries match, and are written, in any inflected form (needs simplemma)."
    ),
]


def require_below_one(value: float | None) -> float | None:
    """A threshold of one would let nothing pass."""
    if value is not None and value >= 1.0:
        raise typer.BadParameter(f"{value} is not below 1")
    return value


OPTIONAL_VALUES = {"--ray": "local"}
"""Options that may stand without a value, which typer does not know, and what they then mean."""


class Group(TyperGroup):
    """A group of commands whose help shows no type for flags, as if a value had to follow them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_values(args))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for option in [] if command is None else command.get_params(ctx):
            _hide_type_of_flag(option)
        return command

    def get_params(self, ctx: Any) -> Any:
        options = super().get_params(ctx)
        for option in options:
            _hide_type_of_flag(option)
        return options


def _with_values(arguments: list[str]) -> list[str]:
    """The arguments, with a value after each option that was given without one."""
    filled: list[str] = []
    for argument, following in zip(arguments, [*arguments[1:], "-"], strict=True):
        filled.append(argument)
        if argument in OPTIONAL_VALUES and following.startswith("-"):
            filled.append(OPTIONAL_VALUES[argument])
    return filled


def _hide_type_of_flag(option: Any) -> None:
    if getattr(option, "is_flag", False):
        option.metavar = " "


def search_changes(overrides: list[str] | None, **given: Any) -> dict[str, Any]:
    """The settings of the search that the command line changes; None is not given."""
    from alidade.config import override_value

    changes = {name: value for name, value in given.items() if value is not None}
    for override in overrides or []:
        override_value(changes, override)
    return changes


def choose_workers(workers: int | None, threads: int | None) -> int:
    """One for each core, unless somebody has said how many, or has asked for threads instead."""
    from alidade.parallel import available_cores

    return workers or (available_cores() if threads is None else 1)
