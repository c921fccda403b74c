"""`alidade translate`: lines in, translations out."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

import typer

from alidade.cli.options import (
    BatchSizeOption,
    ModelOption,
    SearchSetOption,
    ThreadsOption,
    search_changes,
    set_threads,
)
from alidade.errors import AlidadeError
from alidade.io import decode_lines, read_lines
from alidade.parallel import available_cores

if TYPE_CHECKING:
    from alidade.dictionary.entries import Dictionary
    from alidade.translation import Translation
    from alidade.translator import Translator

BATCHES_A_LOT = 8
"""So many batches are read at once, to be sorted by length."""

PruningName = Literal["none", "threshold", "pairs", "histogram", "exact"]
ShortlistName = Literal["none", "sentence", "position"]


def translate(
    model: ModelOption = None,
    input_file: Annotated[
        Path | None, typer.Option("--input", "-i", help="Text to translate, a sentence a line.", show_default="stdin")
    ] = None,
    output_file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where translations go.", show_default="stdout")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write a JSON object a line: words, pieces, links, scores, alternatives.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Draw each pair and its links for people to read.")] = False,
    beam_size: Annotated[int | None, typer.Option("--beam", min=1, help="Hypotheses at a time; 1 is greedy.")] = None,
    num_best: Annotated[int, typer.Option("--nbest", min=1, help="Translations of each line, at most --beam.")] = 1,
    pruning: Annotated[
        PruningName | None, typer.Option(help="Which positions to evaluate; `exact` loses nothing.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="For `threshold` and `pairs`: the least probability.")
    ] = None,
    overrides: SearchSetOption = None,
    prefixes: Annotated[
        Path | None,
        typer.Option("--prefixes", help="First words of each translation, a line for each; the rest is completed."),
    ] = None,
    dictionaries: Annotated[
        list[Path] | None, typer.Option("--dictionary", "-d", help="Wanted translations: a TSV, CSV or TBX file.")
    ] = None,
    terms: Annotated[
        list[str] | None, typer.Option("--term", metavar="SOURCE=TARGET", help="A wanted translation.")
    ] = None,
    mode: Annotated[
        Literal["suggest", "require"],
        typer.Option("--dictionary-mode", help="Take the dictionary's entries where they fit, or all of them."),
    ] = "suggest",
    batch_size: BatchSizeOption = 32,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="Processes that translate, with a thread each if there are several.",
            show_default="all cores; 1 at a terminal",
        ),
    ] = None,
    threads: ThreadsOption = None,
) -> None:
    """Translate lines of text.

    Reads a sentence a line and writes its translation, in the same order; empty lines stay empty. With `--nbest` each
    line gets that many lines. Examples:

        echo "A man is sleeping." | alidade translate

        alidade translate --model run/model --input test.en --output test.de --dictionary terms.tsv

        alidade translate --model run/model --json < test.en | jq .alignment
    """
    from alidade.dictionary.entries import Dictionary
    from alidade.dictionary.report import DictionarySummary
    from alidade.io import track
    from alidade.translator import Translator

    changes = search_changes(overrides, beam_size=beam_size, pruning=pruning, threshold=threshold)
    is_interactive = input_file is None and sys.stdin.isatty()
    # As measured ("Speed of translation" in experiments/LOG.md): for many sentences, workers with a thread each are at
    # least as quick as threads in one process; for one sentence at a time, threads are all that helps.
    workers = (1 if is_interactive or threads is not None else available_cores()) if workers is None else workers
    set_threads(threads if workers == 1 else 1)
    translator = Translator(model, batch_size=batch_size, **changes)
    if num_best > translator.settings.beam_size:
        raise AlidadeError(f"--nbest {num_best} needs a beam of at least {num_best}: --beam {num_best}")
    task = _Task(
        translator,
        num_best=num_best,
        with_links=as_json or show,
        dictionary=_load_dictionary(dictionaries, terms, translator),
        mode=mode,
        prefixes=None if prefixes is None else list(read_lines(prefixes)),
    )
    lot_size = 1 if is_interactive or batch_size == 1 else BATCHES_A_LOT * batch_size
    lots = _divide_last(_lots(_lines(input_file), lot_size), lot_size, workers)
    translations = _translate_lots(task, lots, workers)
    if input_file is not None:
        total = sum(1 for _ in read_lines(input_file)) if sys.stderr.isatty() else None
        translations = track(translations, "translating", total)
    write = _write_json if as_json else _write_picture if show else _write_text
    summary = DictionarySummary(task.dictionary or Dictionary(()))
    with _open_output(output_file) as output:
        for number, translation in enumerate(translations, start=1):
            write(translation, output)
            for note in translation.notes:
                typer.echo(f"alidade: line {number}: {note}", err=True)
            summary.add(translation.matches, translation.uses)
    if task.dictionary is not None:
        typer.echo(str(summary), err=True)


@dataclass(frozen=True, slots=True)
class _Task:
    """What to do with a lot of lines."""

    translator: Translator
    num_best: int
    with_links: bool
    dictionary: Dictionary | None
    mode: Literal["suggest", "require"]
    prefixes: list[str] | None

    def __call__(self, lot: _Lot) -> list[Translation]:
        first, lines = lot
        prefixes = None
        if self.prefixes is not None:
            prefixes = self.prefixes[first - 1 : first - 1 + len(lines)]
            if len(prefixes) < len(lines):
                raise AlidadeError(
                    f"--prefixes has {len(self.prefixes)} lines, but line {first + len(prefixes)} needs one"
                )
        return self.translator.translate_all(
            lines,
            prefixes=prefixes,
            num_best=self.num_best,
            with_links=self.with_links,
            dictionary=self.dictionary,
            mode=self.mode,
            first_number=first,
        )


_Lot = tuple[int, list[str]]
"""The number of the first line, from 1, and the lines."""


def _lines(input_file: Path | None) -> Iterator[str]:
    return decode_lines("standard input", sys.stdin.buffer) if input_file is None else read_lines(input_file)


def _lots(lines: Iterator[str], size: int) -> Iterator[_Lot]:
    """The lines in lots; what comes before an error is handed out first."""
    first, lot = 1, []
    try:
        for line in lines:
            lot.append(line)
            if len(lot) == size:
                yield first, lot
                first, lot = first + size, []
    except AlidadeError:
        if lot:
            yield first, lot
        raise
    if lot:
        yield first, lot


def _divide_last(lots: Iterator[_Lot], size: int, workers: int) -> Iterator[_Lot]:
    """The same lines, the last lot divided among the workers: a text shorter than a lot would keep only one busy."""
    for first, lines in lots:
        part = size if len(lines) == size else -(-len(lines) // workers)
        for start in range(0, len(lines), part):
            yield first + start, lines[start : start + part]


def _translate_lots(task: _Task, lots: Iterator[_Lot], workers: int) -> Iterator[Translation]:
    from alidade.parallel import map_in_forks

    for lot in map_in_forks(task, lots, workers):
        yield from lot


def _load_dictionary(paths: list[Path] | None, terms: list[str] | None, translator: Translator) -> Dictionary | None:
    if not paths and not terms:
        return None
    from alidade.dictionary.files import load_dictionary

    languages = translator.model.source_subwords.language, translator.model.target_subwords.language
    dictionary = load_dictionary(paths or (), terms or (), languages=languages)
    for complaint in dictionary.complaints:
        typer.echo(f"alidade: {complaint}", err=True)
    return dictionary


@contextlib.contextmanager
def _open_output(path: Path | None) -> Iterator[TextIO]:
    """Where to write. A file is written in place, so that whatever stops the command leaves what was translated."""
    if path is not None:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # a TextIOWrapper, unless a test replaced it
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_text(translation: Translation, output: TextIO) -> None:
    for candidate in (translation, *translation.alternatives):
        output.write(f"{candidate.text}\n")
    output.flush()


def _write_json(translation: Translation, output: TextIO) -> None:
    output.write(json.dumps(translation.to_json(), ensure_ascii=False) + "\n")
    output.flush()


def _write_picture(translation: Translation, output: TextIO) -> None:
    from rich.console import Console

    from alidade.evaluation.terminal import picture_of

    Console(file=output).print(picture_of(translation), "", sep="\n")
