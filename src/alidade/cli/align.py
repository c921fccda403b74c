"""`alidade align`: links of words for a bitext that exists already."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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

if TYPE_CHECKING:
    from alidade.translation import Translation


def align(
    source: Annotated[Path, typer.Option(help="The source side, a sentence a line; plain, .gz or .xz.")],
    target: Annotated[Path, typer.Option(help="The target side, line by line.")],
    model: ModelOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Pharaoh file.", show_default="stdout")] = None,
    reverse_model: Annotated[
        Path | None,
        typer.Option(help="A model folder for the other direction; the two are symmetrised."),
    ] = None,
    symmetrisation: Annotated[
        Literal["mean", "forward", "reverse", "intersection", "union", "grow-diag-final-and"] | None,
        typer.Option(
            help="How the two directions become one.", show_default="mean of posteriors; else grow-diag-final-and"
        ),
    ] = None,
    by: Annotated[
        Literal["posteriors", "path", "attention"] | None,
        typer.Option(
            help="What links words: how likely their positions are by the models' own probabilities, the best path by "
            "the weights of the search, or attention.",
            show_default="posteriors; attention if the model is a baseline",
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Link words that are at least as likely; more links if lower.")
    ] = 0.35,
    is_tokenised: Annotated[
        bool,
        typer.Option("--tokenised", help="Words are what stands between spaces, as in gold alignments."),
    ] = False,
    overrides: SearchSetOption = None,
    batch_size: BatchSizeOption = 64,
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
    source_field: SourceFieldOption = "source",
    target_field: TargetFieldOption = "target",
    shards: ShardsOption = None,
    shard: ShardOption = None,
    ray: RayOption = None,
) -> None:
    """Align a bitext word by word with a trained system.

    Writes a line of links `source-target`, counted from 0, for each pair (Pharaoh format). An assisted system links
    words that are likely enough under both its models; a baseline links what its attention says. Links are best with a
    system for each direction. Long pairs are aligned in parts, and a note says so. Example:

        alidade align --model en-de --reverse-model de-en --source text.en --target text.de --output text.links

    With `--shards` or `--ray`, sources and targets may be patterns of names, as for `alidade translate`.
    """
    from alidade.aligner import align_lines, read_pairs
    from alidade.bulk.records import Column
    from alidade.bulk.work import AlignmentWork
    from alidade.io import track, write_aside
    from alidade.translator import Translator

    if output is not None and output.resolve() in (source.resolve(), target.resolve()):
        raise AlidadeError(f"{output}: this is one side of the bitext, and links would replace it; name another file")
    sharing = ShardOptions(shards, shard, ray)
    changes = search_changes(overrides)
    threads = sharing.threads or threads
    forward = Translator(model, batch_size=batch_size, threads=threads, **changes)
    reverse = (
        None if reverse_model is None else Translator(reverse_model, batch_size=batch_size, threads=threads, **changes)
    )
    if sharing.are_given:
        columns = [Column.of([source], source_field), Column.of([target], target_field)]
        work = AlignmentWork(forward, reverse, symmetrisation, by, threshold, is_tokenised)
        sharing.run(work, columns, output, ".txt", choose_workers(workers, threads))
        return
    aligned = align_lines(
        read_pairs(source, target),
        forward,
        reverse_model=reverse,
        symmetrisation=symmetrisation,
        by=by,
        threshold=threshold,
        is_tokenised=is_tokenised,
        workers=choose_workers(workers, threads),
    )
    if output is not None and sys.stderr.isatty():
        aligned = track(aligned, "aligning", sum(1 for _ in read_lines(source)))
    lines = (f"{pair.alignment}\n" for pair in _with_notes(aligned))
    if output is None:
        for line in lines:
            typer.echo(line, nl=False)
        return
    with write_aside(output) as file:
        file.writelines(lines)


def _with_notes(pairs: Iterable[Translation]) -> Iterator[Translation]:
    for number, pair in enumerate(pairs, start=1):
        for note in pair.notes:
            typer.echo(f"alidade: line {number}: {note}", err=True)
        yield pair
