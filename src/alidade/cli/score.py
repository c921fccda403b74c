"""`alidade score`: what a system thinks of given pairs."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alidade.cli.options import BatchSizeOption, ModelOption, SearchSetOption, ThreadsOption, search_changes
from alidade.errors import AlidadeError
from alidade.io import read_lines

if TYPE_CHECKING:
    from alidade.search.forced import PairScore

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
) -> None:
    """Score given translations as the search would.

    Writes for each pair its score (weighted, normalised for length) and the log-probabilities of the lexical and of the
    alignment model, divided by tabs. An assisted system scores the given positions, or the best ones it finds. What
    cannot be translated at all (a blank source) has no score: `-inf`, and `null` in JSON. Example:

        alidade score --model run/system --source text.en --target text.de
    """
    from alidade.aligner import read_pairs
    from alidade.aligner import score as score_pairs
    from alidade.parallel import chunked
    from alidade.translator import Translator

    translator = Translator(model, batch_size=batch_size, threads=threads, **search_changes(overrides))
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
            typer.echo(_to_json(scored) if as_json else _to_line(scored))


def _to_line(pair: PairScore) -> str:
    return f"{pair.score:.4f}\t{pair.lexical_score:.4f}\t{pair.alignment_score:.4f}"


def _to_json(pair: PairScore) -> str:
    values: dict[str, Any] = {
        "score": _finite(pair.score),
        "lexical_score": _finite(pair.lexical_score),
        "alignment_score": _finite(pair.alignment_score),
        "positions": list(pair.positions),
        "lexical_logp": [_finite(logp) for logp in pair.lexical_logp],
        "alignment_logp": [_finite(logp) for logp in pair.alignment_logp],
    }
    if pair.notes:
        values["notes"] = list(pair.notes)
    return json.dumps(values, allow_nan=False)


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _read_positions(path: Any, lines: list[str]) -> Iterator[list[int]]:
    for number, line in enumerate(lines, start=1):
        if not all(field.isdecimal() for field in line.split()):
            raise AlidadeError(f"{path}, line {number}: positions are numbers with spaces between them")
        yield [int(field) for field in line.split()]
