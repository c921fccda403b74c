"""`alidade serve`: the server, and the keys of those who may use it."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alidade.cli.options import Group
from alidade.errors import require_package

if TYPE_CHECKING:
    from alidade.server.store import Store

app = typer.Typer(cls=Group, invoke_without_command=True, help="Serve translations over HTTP.")
keys = typer.Typer(cls=Group, no_args_is_help=True, help="Who may use the server.")
app.add_typer(keys, name="keys")

DatabaseOption = Annotated[
    Path | None,
    typer.Option(
        "--database",
        help="Where keys, dictionaries and documents are kept (SQLite).",
        show_default="~/.local/state/alidade/server.sqlite",
    ),
]


@app.callback()
def serve(
    context: typer.Context,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            "-m",
            help="A model folder; several for several pairs of languages.",
            show_default="$ALIDADE_MODEL, or the model that is shipped",
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any that is free.")] = 5000,
    database: DatabaseOption = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that translate.", show_default="one a core")
    ] = None,
    waiting: Annotated[
        int, typer.Option("--waiting", min=1, help="Texts that may wait; beyond them the answer is 429.")
    ] = 4000,
    body_seconds: Annotated[
        float, typer.Option("--body-seconds", min=0.1, help="A client has so long to send its request.")
    ] = 30.0,
    url: Annotated[
        str | None, typer.Option("--url", help="The address that clients know, if something stands in front.")
    ] = None,
    opens_page: Annotated[
        bool, typer.Option("--open", help="Show the page in a browser, if there is a screen.")
    ] = False,
) -> None:
    """Serve translations over HTTP: a page for people, DeepL's interface, LibreTranslate's, and our own (see /docs).

    Without keys the server is for this machine alone. Example:

        alidade serve

        alidade serve keys add office && alidade serve --host 0.0.0.0
    """
    if context.invoked_subcommand is not None:
        context.obj = database
        return
    for package in ("fastapi", "uvicorn", "multipart", "prometheus_client"):
        require_package(package, "serve", "`alidade serve`")
    from alidade.parallel import available_cores
    from alidade.server.app import bind, check_host, make_service, serve
    from alidade.server.settings import Limits, ServerSettings, default_database
    from alidade.server.store import Store

    path = database or default_database()
    store = Store(path)
    check_host(host, bool(store.all_keys()))
    store.close()
    listening = bind(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = (url or f"http://{shown}:{listening.getsockname()[1]}").rstrip("/")
    limits = Limits(waiting_texts=waiting, body_seconds=body_seconds)
    service = make_service(
        ServerSettings(path, tuple(models or [None]), workers or available_cores(), address=address, limits=limits)
    )
    pairs = ", ".join([f"{source} to {target}" for source, target in service.catalogue.pairs])
    typer.echo(f"alidade: {pairs} on {address} (for programs: {address}/docs)")
    if opens_page:
        _show(address)
    serve(service, listening)


def _show(address: str) -> None:
    """In a browser with a window: one for the terminal would take the server's place."""
    has_screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
    if has_screen:
        webbrowser.open(address)


def _store(context: typer.Context, database: Path | None) -> Store:
    from alidade.server.settings import default_database
    from alidade.server.store import Store

    return Store(database or context.obj or default_database())


@keys.command("add")
def add_key(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="For whom.", show_default=False)],
    characters: Annotated[
        int | None, typer.Option("--characters", min=0, help="Characters a month, at most.", show_default="no limit")
    ] = None,
    database: DatabaseOption = None,
) -> None:
    """Make a key and print it; it is shown only this once."""
    typer.echo(_store(context, database).add_key(name, characters))


@keys.command("list")
def list_keys(context: typer.Context, database: DatabaseOption = None) -> None:
    """Show the names of all keys, and how much they have used this month."""
    store = _store(context, database)
    for key in store.all_keys():
        limit = "no limit" if key.character_limit is None else f"of {key.character_limit}"
        typer.echo(f"{key.name}\t{store.characters(key.id)} characters this month, {limit}")


@keys.command("remove")
def remove_key(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Whose.", show_default=False)],
    database: DatabaseOption = None,
) -> None:
    """Remove a key; requests with it are refused from now on."""
    _store(context, database).remove_key(name)
