"""`alidade translate`: lines in, translations out."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from alidade.cli.bulk import RayOption, ShardOption, ShardOptions, ShardsOption
from alidade.cli.files import refuse_for_files, translate_files
from alidade.cli.options import (
    BatchSizeOption,
    DeviceOption,
    InflectOption,
    ModelOption,
    PrecisionOption,
    SearchSetOption,
    ThreadsOption,
    choose_workers,
    require_below_one,
    search_changes,
)
from alidade.errors import AlidadeError
from alidade.io import Pause, aside_name, decode_lines, hash_file, is_special, open_resumable, read_lines
from alidade.io import read_stream as read_stream_of

if TYPE_CHECKING:
    from alidade.bulk.records import Column
    from alidade.dictionary.entries import Dictionary
    from alidade.streaming import Job
    from alidade.translation import Translation
    from alidade.translator import Translator

PruningName = Literal["none", "threshold", "pairs", "histogram", "exact"]
Write = Callable[[str], object]


def translate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="Files that are known by their names (PO, XLIFF, JSON, HTML, DOCX …); without any, lines of text.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = None,
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            "-i",
            help="Text to translate, a sentence a line; for shards also JSON lines and Parquet, patterns of names "
            "(`'part-*.en.gz'`), and several of them.",
            show_default="stdin",
        ),
    ] = None,
    output_file: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where translations go; for files and shards, a folder.", show_default="stdout"
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Write a JSON object a line: words, pieces, links, scores, alternatives."),
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Draw each pair and its links for people to read.")] = False,
    beam_size: Annotated[int | None, typer.Option("--beam", min=1, help="Hypotheses at a time; 1 is greedy.")] = None,
    num_best: Annotated[
        int,
        typer.Option("--nbest", min=1, help="Write so many different translations of each line, the best first."),
    ] = 1,
    pruning: Annotated[
        PruningName | None, typer.Option(help="Which positions to evaluate; `exact` loses nothing.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0.0, callback=require_below_one, help="For `threshold` and `pairs`: the least probability."),
    ] = None,
    overrides: SearchSetOption = None,
    prefixes: Annotated[
        Path | None,
        typer.Option(
            "--prefixes",
            help="First words of each translation, a line for each; the rest is completed.",
        ),
    ] = None,
    dictionaries: Annotated[
        list[Path] | None,
        typer.Option("--dictionary", "-d", help="Wanted translations: a TSV, CSV or TBX file."),
    ] = None,
    terms: Annotated[
        list[str] | None, typer.Option("--term", metavar="SOURCE=TARGET", help="A wanted translation.")
    ] = None,
    inflect: InflectOption = False,
    mode: Annotated[
        Literal["suggest", "require"],
        typer.Option("--dictionary-mode", help="Take the dictionary's entries where they fit, or all of them."),
    ] = "suggest",
    protect: Annotated[
        bool,
        typer.Option(
            "--protect/--no-protect",
            help="Keep placeholders, tags, addresses and the like, and translate sentence by sentence.",
        ),
    ] = True,
    everything: Annotated[
        bool, typer.Option("--all", help="In files, translate what is translated already, too.")
    ] = False,
    memories: Annotated[
        list[Path] | None, typer.Option("--memory", help="For files: earlier translations, a TMX file.")
    ] = None,
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
    precision: PrecisionOption = None,
    device: DeviceOption = "cpu",
    field: Annotated[
        str, typer.Option("--field", help="For shards of JSON lines or Parquet files: where the text stands.")
    ] = "text",
    shards: ShardsOption = None,
    shard: ShardOption = None,
    ray: RayOption = None,
) -> None:
    """Translate lines of text.

    Reads a sentence a line and writes its translation, in the same order; empty lines stay empty. With `--nbest 3` each
    line becomes three, empty ones where there are no more translations. Lines that come slowly are answered at once.

    A file given by `--output` gets its name when it is complete. If the command is stopped, the same command goes on
    where it was, as long as the text came from `--input` and nothing has changed.

    Files given by their names are translated unit by unit: only what is untranslated, everything else byte for byte.
    A translation goes into the folder `--output`; without it, into the file itself if that has a place for it (PO,
    XLIFF, TMX, TS), else into a file beside it. Examples:

        echo "A man is sleeping." | alidade translate

        alidade translate --model run/model --input test.en --output test.de --dictionary terms.tsv

        alidade translate --model run/model --json < test.en | jq .alignment

        alidade translate po/ro.po strings.xml page.html --output translated

    Much text is done in shards, by as many machines as there are; docs/cluster.md tells how:

        alidade translate --input 'text/*.en.gz' --output translated --shards 100 --shard 7

        alidade translate --input 'text/*.en.gz' --output translated --shards 100 --ray
    """
    from alidade.bulk.records import Column
    from alidade.streaming import Job
    from alidade.translator import Translator

    sharing = ShardOptions(shards, shard, ray)
    if sharing.are_given:
        _refuse_for_shards(files=files, prefixes=prefixes, show=show)
    input_file = None if sharing.are_given else _only(inputs)
    if files:
        refuse_for_files(input=input_file, prefixes=prefixes, json=as_json, show=show, nbest=num_best > 1)
    is_interactive = input_file is None and not files and sys.stdin.isatty()
    # As measured ("Speed of translation" in experiments/LOG.md): for many sentences, workers with a thread each are at
    # least as quick as threads in one process; for one sentence at a time, threads are all that helps.
    threads = sharing.threads or threads
    workers = 1 if is_interactive and workers is None else choose_workers(workers, threads)
    changes = search_changes(overrides, beam_size=beam_size, pruning=pruning, threshold=threshold)
    translator = Translator(
        model, batch_size=batch_size, threads=threads, precision=precision, device=device, **changes
    )
    dictionary = _load_dictionary(dictionaries, terms, translator, inflect=inflect)
    if files:
        from alidade.documents.translate import Options

        options = Options(everything, dictionary, mode, protect, memories or (), workers=workers)
        translate_files(files, output_file, translator, options)
        return
    form = "json" if as_json else "show" if show else "text"
    job = Job(translator, dictionary, mode, num_best, form != "text", protect)
    if sharing.are_given:
        _translate_shards(sharing, job, Column.of(inputs or [], field), output_file, form, workers, device)
        return
    given_prefixes = None if prefixes is None else list(read_lines(prefixes))
    origin = None
    if input_file is not None and output_file is not None and not is_special(output_file):
        origin = _origin(job, input_file, given_prefixes, form)
    if is_interactive:
        typer.echo("alidade: reading from the terminal, a sentence a line; Ctrl-D ends", err=True)
    with _open_output(output_file, origin, num_best if form == "text" else 1) as (write, num_done):
        translations = translator.translate_lines(
            itertools.islice(_lines(input_file), num_done, None),
            dictionary=dictionary,
            mode=mode,
            prefixes=None if given_prefixes is None else given_prefixes[num_done:],
            num_best=num_best,
            with_links=form != "text",
            protect=protect,
            first_number=num_done + 1,
            workers=workers,
        )
        _write_all(_tracked(translations, input_file, num_done), write, form, num_best, num_done, dictionary)


def _only(inputs: list[Path] | None) -> Path | None:
    if inputs and len(inputs) > 1:
        raise AlidadeError(f"{len(inputs)} inputs: several are translated in shards; say how many, with --shards")
    return inputs[0] if inputs else None


def _refuse_for_shards(**given: object) -> None:
    """An option that means nothing for shards is an error, not a thing that silently does nothing."""
    for name, value in given.items():
        if value:
            raise AlidadeError(f"{name}: not with --shards or --ray, which take lines of text from --input")


def _translate_shards(
    sharing: ShardOptions, job: Job, column: Column, output: Path | None, form: str, workers: int, device: str
) -> None:
    from alidade.bulk.work import TranslationWork

    if not column.files:
        raise AlidadeError("shards are read from files: name them with --input")
    work = TranslationWork(job, "json" if form == "json" else "object" if column.has_fields else "text")
    suffix = ".txt" if work.form == "text" else ".jsonl"
    sharing.run(work, [column], output, suffix, workers, uses_gpus=device == "cuda")


def _lines(input_file: Path | None) -> Iterator[str | Pause]:
    if input_file is not None:
        return read_lines(input_file)
    try:
        return read_stream_of("standard input", sys.stdin.fileno())
    except OSError:  # something in a program's memory
        return decode_lines("standard input", sys.stdin.buffer)


def _tracked(translations: Iterator[Translation], input_file: Path | None, num_done: int) -> Iterator[Translation]:
    from alidade.io import track

    if input_file is None or not sys.stderr.isatty():
        return translations
    return track(translations, "translating", sum(1 for _ in read_lines(input_file)) - num_done)


def _write_all(
    translations: Iterable[Translation],
    write: Write,
    form: str,
    num_best: int,
    num_done: int,
    dictionary: Dictionary | None,
) -> None:
    from alidade.dictionary.entries import Dictionary
    from alidade.dictionary.report import DictionarySummary

    summary = DictionarySummary(dictionary or Dictionary(()))
    for number, translation in enumerate(translations, start=num_done + 1):
        write(_record(translation, form, num_best))
        for note in translation.notes:
            typer.echo(f"alidade: line {number}: {note}", err=True)
        summary.add(translation.matches, translation.uses)
    if dictionary is not None:
        typer.echo(str(summary), err=True)


def _record(translation: Translation, form: str, num_best: int) -> str:
    """What is written for one line."""
    from alidade.bulk.work import written_translation

    if form == "show":
        return "".join([_picture(candidate) for candidate in (translation, *translation.alternatives)])
    return written_translation(translation, "json" if form == "json" else "text", num_best)


def _picture(translation: Translation) -> str:
    import io

    from rich.console import Console

    from alidade.evaluation.terminal import picture_of

    has_colours = sys.stdout.isatty()
    console = Console(file=io.StringIO(), force_terminal=has_colours or None)
    console.print(picture_of(translation), "", sep="\n")
    return str(console.file.getvalue())  # type: ignore[attr-defined]


def _load_dictionary(
    paths: list[Path] | None, terms: list[str] | None, translator: Translator, *, inflect: bool
) -> Dictionary | None:
    if not paths and not terms:
        return None
    from alidade.dictionary.files import load_dictionary

    dictionary = load_dictionary(paths or (), terms or (), languages=translator.languages, inflect=inflect)
    for complaint in dictionary.complaints:
        typer.echo(f"alidade: {complaint}", err=True)
    return dictionary


def _origin(job: Job, input_file: Path, prefixes: list[str] | None, form: str) -> dict[str, Any] | None:
    """All that translations depend on; pictures are no records that could be counted."""
    from alidade.bulk.work import hash_text, origin_of_translations

    if form == "show":
        return None
    return origin_of_translations(job, form) | {
        "input": hash_file(input_file),
        "prefixes": None if prefixes is None else hash_text("\n".join(prefixes)),
    }


@contextlib.contextmanager
def _open_output(path: Path | None, origin: dict[str, Any] | None, lines_a_record: int) -> Iterator[tuple[Write, int]]:
    """How to write a record, and how many are written already."""
    if path is None:
        with _standard_output() as write:
            yield write, 0
        return
    try:
        with open_resumable(path, origin, lines_a_record=lines_a_record) as output:
            if output.num_done:
                typer.echo(f"alidade: {path}: going on after line {output.num_done}", err=True)
            yield output.write, output.num_done
    except BaseException:
        partial = aside_name(path.resolve())
        if partial.exists():
            rest = "; the same command goes on from there" if origin is not None else ""
            typer.echo(f"alidade: what was translated is in {partial}{rest}", err=True)
        raise


@contextlib.contextmanager
def _standard_output() -> Iterator[Write]:
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # a TextIOWrapper, unless a test replaced it

    def write(record: str) -> None:
        sys.stdout.write(record)
        sys.stdout.flush()

    try:
        yield write
    except BrokenPipeError:  # `| head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
