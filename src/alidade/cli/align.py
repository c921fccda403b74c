"""`alidade align`: links of words for a bitext that exists already."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from alidade.cli.options import (
    BatchSizeOption,
    ModelOption,
    SearchSetOption,
    ThreadsOption,
    WorkersOption,
    search_changes,
    set_threads,
)
from alidade.errors import AlidadeError
from alidade.io import read_lines

if TYPE_CHECKING:
    from alidade.aligner import Evidence, Joining
    from alidade.alignment.links import Alignment
    from alidade.translator import Translator

BATCHES_A_LOT = 8


def align(
    source: Annotated[Path, typer.Option(help="The source side, a sentence a line; plain, .gz or .xz.")],
    target: Annotated[Path, typer.Option(help="The target side, line by line.")],
    model: ModelOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Pharaoh file.", show_default="stdout")] = None,
    reverse_model: Annotated[
        Path | None, typer.Option(help="A model folder for the other direction; the two are symmetrised.")
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
            help="What links words: how likely their positions are, the best path, or attention.",
            show_default="posteriors; attention if the model is a baseline",
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Link words that are at least as likely; more links if lower.")
    ] = 0.3,
    is_tokenised: Annotated[
        bool, typer.Option("--tokenised", help="Words are what stands between spaces, as in gold alignments.")
    ] = False,
    overrides: SearchSetOption = None,
    batch_size: BatchSizeOption = 64,
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Align a bitext word by word with a trained system.

    Writes a line of links `source-target`, counted from 0, for each pair (Pharaoh format). An assisted system links
    words that are likely enough under both its models; a baseline links what its attention says. Links are best with a
    system for each direction. Example:

        alidade align --model en-de --reverse-model de-en --source text.en --target text.de --output text.links
    """
    from alidade.io import track, write_aside
    from alidade.parallel import available_cores, map_in_forks
    from alidade.translator import Translator

    workers = workers or (available_cores() if threads is None else 1)
    set_threads(threads if workers == 1 else 1)
    changes = search_changes(overrides)
    forward = Translator(model, batch_size=batch_size, **changes)
    reverse = None if reverse_model is None else Translator(reverse_model, batch_size=batch_size, **changes)
    pairs = list(read_pairs(source, target))
    align_lot = partial(_align_lot, forward, reverse, symmetrisation, is_tokenised, by, threshold)
    lots = _lots(pairs, min(BATCHES_A_LOT * batch_size, -(-len(pairs) // workers)))
    alignments = itertools.chain.from_iterable(map_in_forks(align_lot, lots, workers))
    if output is None:
        for alignment in alignments:
            typer.echo(str(alignment))
        return
    with write_aside(output) as file:
        for alignment in track(alignments, "aligning", len(pairs)):
            file.write(f"{alignment}\n")


def _align_lot(
    forward: Translator,
    reverse: Translator | None,
    joining: Joining | None,
    is_tokenised: bool,
    by: Evidence | None,
    threshold: float,
    pairs: list[tuple[str, str]],
) -> list[Alignment]:
    from alidade.aligner import align as align_pairs

    options: dict[str, Any] = {"is_tokenised": is_tokenised, "by": by, "threshold": threshold}
    aligned = align_pairs(pairs, forward, reverse_model=reverse, symmetrisation=joining, **options)
    return [pair.alignment for pair in aligned if pair.alignment is not None]


def read_pairs(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    """The pairs of two line-parallel files."""
    number = 0
    for number, (one, other) in enumerate(itertools.zip_longest(read_lines(source), read_lines(target)), start=1):
        if one is None or other is None:
            shorter, longer = (source, target) if one is None else (target, source)
            raise AlidadeError(
                f"{shorter} has {number - 1} lines, {longer} has more: a bitext needs as many on each side"
            )
        yield one, other
    if number == 0:
        raise AlidadeError(f"{source} and {target} are empty: there is nothing to align")


def _lots(pairs: list[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    for first in range(0, len(pairs), size):
        yield pairs[first : first + size]
