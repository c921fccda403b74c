"""The `alidade` command: one module a command, registered here.

Commands import torch and the rest of the package inside their functions, so that `alidade --help` is quick.
Whatever a person can cause ends as one sentence on stderr and exit code 2 (`main`).
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from alidade import __version__
from alidade.cli import dictionary, evaluate, serve
from alidade.cli.align import align
from alidade.cli.assemble import assemble
from alidade.cli.demo import demo
from alidade.cli.export import export
from alidade.cli.import_ import import_
from alidade.cli.options import Group
from alidade.cli.plot import plot
from alidade.cli.prepare import prepare
from alidade.cli.score import score
from alidade.cli.train import train
from alidade.cli.translate import translate
from alidade.cli.tune import tune
from alidade.errors import AlidadeError, WaitingError

app = typer.Typer(
    name="alidade",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="""Translation in which every target word points at the source word that it translates.

    `alidade demo` shows what it does. `alidade translate` takes lines of text, with the model that is shipped or one of
    your own; `prepare` and `train` make one from a bitext. Every command explains itself with `--help`.
    """,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"alidade {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Options of every command; `main` takes --debug itself, wherever it stands."""


# In the order in which a newcomer meets them.
app.command()(demo)
app.command()(prepare)
app.command()(train)
app.command()(assemble)
app.command()(tune)
app.command()(translate)
app.command()(align)
app.command()(score)
app.command()(plot)
app.command()(export)
app.command("import")(import_)
app.add_typer(dictionary.app, name="dictionary")
app.add_typer(evaluate.app, name="evaluate")
app.add_typer(serve.app, name="serve")


def main() -> None:
    """Run the command; an error that a person can mend is one sentence on stderr and exit code 2."""
    arguments, wants_traceback = _take_debug(sys.argv[1:])
    try:
        app(arguments)
    except (AlidadeError, OSError) as error:
        if wants_traceback:
            raise
        typer.echo(f"alidade: {_sentence(error)}", err=True)
        sys.exit(_GIVE_AGAIN if isinstance(error, WaitingError) else 2)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            typer.echo("alidade: stopped", err=True)
        raise


def _take_debug(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments without --debug, which may stand anywhere before a --, and whether it was there."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [argument for argument in arguments[:end] if argument != "--debug"]
    return options + arguments[end:], len(options) < end


_INTERRUPTED = 130
"""typer's exit code after Ctrl-C."""
_GIVE_AGAIN = 75
"""EX_TEMPFAIL of sysexits.h: nothing is wrong, but the command has to be given again."""


def _sentence(error: AlidadeError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
