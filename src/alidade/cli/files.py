"""`alidade translate FILE…`: files that are known by their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from alidade.errors import AlidadeError

if TYPE_CHECKING:
    from alidade.documents.translate import Options
    from alidade.translator import Translator

MOST_NOTES = 20
"""So many notes on a file are printed."""


def translate_files(files: Sequence[Path], folder: Path | None, translator: Translator, options: Options) -> None:
    """Translate files one after the other and say what came from where."""
    from alidade.documents.formats import format_of
    from alidade.documents.translate import FileTranslator

    if folder is not None and folder.is_file():
        raise AlidadeError(f"--output {folder}: a folder is needed for the translations of files, and this is a file")
    for path in files:
        format_of(path)  # a name that is not known is told before anything is done
    file_translator = FileTranslator(translator, options)
    for path in files:
        report = file_translator.translate(path, folder)
        for note in report.notes[:MOST_NOTES]:
            typer.echo(f"alidade: {path}, {note}", err=True)
        if len(report.notes) > MOST_NOTES:
            typer.echo(f"alidade: {path}: ... and {len(report.notes) - MOST_NOTES} other notes", err=True)
        typer.echo(str(report), err=True)


def refuse_for_files(**given: object) -> None:
    """Say which options are for lines of text only."""
    wrong = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if wrong:
        raise AlidadeError(f"{' and '.join(wrong)}: only for lines of text; leave it out to translate files")
