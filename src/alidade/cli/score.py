"""`alidade score`: what a system thinks of given pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from alidade.cli.bulk import RayOption, ShardOption, ShardOptions, ShardsOption
from alidade.cli.options import (
    BatchSizeOption,
    ModelOption,
    SearchSetOption,
    SourceFieldOption,
    TargetFieldOption,
    ThreadsOption,
    WorkersOption,
    choose_workers,
    search_changes,
)
from alidade.errors import AlidadeError
from alidade.io import read_lines

BATCHES_A_CHUNK = 8


def score(
    source: Annotated[Path, typer.Option(help="The source side, a sentence a line; plain, .gz or .xz.")],
    target: Annotated[Path, typer.Option(help="The target side, line by line.")],
    model: ModelOption = None,
    positions: Annotated[
        Path | None,
        typer.Option(
            help="For each target piece the source piece, counted from 1; a line a pair.",
            show_default="the best ones",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write log-probabilities of every piece, too.")] = False,
    overrides: SearchSetOption = None,
    batch_size: BatchSizeOption = 32,
    threads: ThreadsOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="For shards: the folder.")] = None,
    source_field: SourceFieldOption = "source",
    target_field: TargetFieldOption = "target",
    shards: ShardsOption = None,
    shard: ShardOption = None,
    ray: RayOption = None,
    workers: WorkersOption = None,
) -> None:
    """Score given translations as the search would.

    Writes for each pair its score (weighted, normalised for length) and the log-probabilities of the lexical and of the
    alignment model, divided by tabs. An assisted system scores the given positions, or the best ones it finds. What
    cannot be translated at all (a blank source) has no score: `-inf`, and `null` in JSON. Example:

        alidade score --model run/system --source text.en --target text.de

    With `--shards` or `--ray`, sources and targets may be patterns of names, as for `alidade translate`.
    """
    from alidade.aligner import read_pairs
    from alidade.aligner import score as score_pairs
    from alidade.bulk.records import Column
    from alidade.bulk.work import ScoreWork, written_score
    from alidade.parallel import chunked
    from alidade.translator import Translator

    sharing = ShardOptions(shards, shard, ray)
    if sharing.are_given and positions is not None:
        raise AlidadeError("--positions: not with shards")
    if output is not None and not sharing.are_given:
        raise AlidadeError("--output is for shards; else scores go to the standard output")
    threads = sharing.threads or threads
    translator = Translator(model, batch_size=batch_size, threads=threads, **search_changes(overrides))
    if sharing.are_given:
        columns = [Column.of([source], source_field), Column.of([target], target_field)]
        work = ScoreWork(translator, as_json)
        sharing.run(work, columns, output, ".jsonl" if as_json else ".txt", choose_workers(workers, threads))
        return
    lines = None if positions is None else list(read_lines(positions))
    pairs = list(read_pairs(source, target))
    if lines is not None and len(lines) != len(pairs):
        raise AlidadeError(f"{positions} has {len(lines)} lines for {len(pairs)} pairs: one is needed for each")
    paths = itertools.repeat(None) if lines is None else _read_positions(positions, lines)
    number = 0
    for chunk in chunked(zip(pairs, paths, strict=False), BATCHES_A_CHUNK * batch_size):
        given = None if lines is None else [path or [] for _, path in chunk]
        for scored in score_pairs([pair for pair, _ in chunk], translator, positions=given, first_number=number + 1):
            number += 1
            for note in scored.notes:
                typer.echo(f"alidade: line {number}: {note}", err=True)
            typer.echo(written_score(scored, as_json), nl=False)


def _read_positions(path: Any, lines: list[str]) -> Iterator[list[int]]:
    for number, line in enumerate(lines, start=1):
        if not all(field.isdecimal() for field in line.split()):
            raise AlidadeError(f"{path}, line {number}: positions are numbers with spaces between them")
        yield [int(field) for field in line.split()]
