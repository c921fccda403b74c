"""`alidade score`: what a system thinks of given pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alidade.cli.align import read_pairs
from alidade.cli.options import (
    BatchSizeOption,
    ModelOption,
    SearchSetOption,
    ThreadsOption,
    search_changes,
    set_threads,
)
from alidade.errors import AlidadeError
from alidade.io import read_lines

if TYPE_CHECKING:
    from alidade.search.forced import PairScore


def score(
    source: Annotated[Path, typer.Option(help="The source side, a sentence a line; plain, .gz or .xz.")],
    target: Annotated[Path, typer.Option(help="The target side, line by line.")],
    model: ModelOption = None,
    positions: Annotated[
        Path | None,
        typer.Option(
            help="For each target piece the source piece, counted from 1; a line a pair.", show_default="the best ones"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write log-probabilities of every piece, too.")] = False,
    overrides: SearchSetOption = None,
    batch_size: BatchSizeOption = 32,
    threads: ThreadsOption = None,
) -> None:
    """Score given translations as the search would.

    Writes for each pair its score (weighted, normalised for length) and the log-probabilities of the lexical and of the
    alignment model, divided by tabs. An assisted system scores the given positions, or the best ones it finds. Example:

        alidade score --model run/system --source text.en --target text.de
    """
    from alidade.search.forced import score_pairs
    from alidade.translator import Translator

    set_threads(threads)
    translator = Translator(model, batch_size=batch_size, **search_changes(overrides))
    folder = translator.model
    pairs = list(read_pairs(source, target))
    sources = [folder.source_subwords.encode(folder.normalise_source(one)).ids for one, _ in pairs]
    targets = [folder.target_subwords.encode(folder.normalise_target(other)).ids for _, other in pairs]
    paths = None if positions is None else _read_positions(positions, sources, targets)
    for pair in score_pairs(translator.system, sources, targets, paths, translator.settings, batch_size):
        typer.echo(
            _to_json(pair) if as_json else f"{pair.score:.4f}\t{pair.lexical_score:.4f}\t{pair.alignment_score:.4f}"
        )


def _to_json(pair: PairScore) -> str:
    return json.dumps(
        {
            "score": pair.score,
            "lexical_score": pair.lexical_score,
            "alignment_score": pair.alignment_score,
            "positions": list(pair.positions),
            "lexical_logp": list(pair.lexical_logp),
            "alignment_logp": list(pair.alignment_logp),
        }
    )


def _read_positions(path: Path, sources: list[tuple[int, ...]], targets: list[tuple[int, ...]]) -> list[list[int]]:
    lines = list(read_lines(path))
    if len(lines) != len(targets):
        raise AlidadeError(f"{path} has {len(lines)} lines for {len(targets)} pairs: one is needed for each")
    paths = []
    for number, (line, source, target) in enumerate(zip(lines, sources, targets, strict=True), start=1):
        fields = line.split()
        if len(fields) != len(target) or not all(
            field.isdecimal() and 1 <= int(field) <= len(source) for field in fields
        ):
            raise AlidadeError(
                f"{path}, line {number}: {len(target)} numbers from 1 to {len(source)} are needed, one for each piece "
                "of the target"
            )
        paths.append([int(field) for field in fields])
    return paths
