"""`alidade align`: links of words for a bitext that exists already."""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Iterable, Iterator, Sequence
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
    from alidade.alignment.links import Alignment
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
    links: Annotated[
        list[Path] | None,
        typer.Option(
            help="Links of the same pairs by another aligner (eflomal, fast_align, ...), a line of `source-target` for "
            "each pair; they decide together with the model. Repeatable: best are the files of both directions.",
            show_default=False,
        ),
    ] = None,
    corpora: Annotated[
        list[Path] | None,
        typer.Option(
            "--corpus",
            help="A corpus that `alidade prepare` has aligned with eflomal: with what it learned there, eflomal aligns "
            "the pairs in both directions, and decides together with the model. Repeatable: corpora with other "
            "vocabularies are further opinions.",
            show_default=False,
        ),
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
    words that are likely enough under both its models; a baseline links what its attention says. Long pairs are aligned
    in parts, and a note says so. Example:

        alidade align --model en-de --source text.en --target text.de --output text.links

    Links are better with a second opinion: a system of the other direction (`--reverse-model`), or a statistical
    aligner, which errs in other places: eflomal with what it learned while a corpus was prepared (`--corpus`), or
    files of links (`--links`). The model's probability of a link and the share of the others that have it count alike:
    words are linked if the mean is more than a half, and a word that would have no link takes its best one from the
    threshold on. An empty line of a file has no say. Words are counted as `alidade` splits them, or with `--tokenised`
    as the spaces do. Examples:

        alidade align --corpus corpus --source text.en --target text.de --output text.links
        alidade align --tokenised --links forward.links --links reverse.links --source tok.en --target tok.de

    With `--shards` or `--ray`, sources, targets and links may be patterns of names, as for `alidade translate`.
    """
    from alidade.aligner import AlignmentJob, align_lines, read_pairs
    from alidade.bulk.records import Column
    from alidade.bulk.work import AlignmentWork
    from alidade.io import track, write_aside
    from alidade.translator import Translator

    others = links or []
    if output is not None and output.resolve() in [path.resolve() for path in (source, target, *others)]:
        raise AlidadeError(
            f"{output}: this is one side of the bitext or a file of links, and would be replaced; name another file"
        )
    sharing = ShardOptions(shards, shard, ray)
    changes = search_changes(overrides)
    threads = sharing.threads or threads
    forward = Translator(model, batch_size=batch_size, threads=threads, **changes)
    reverse = (
        None if reverse_model is None else Translator(reverse_model, batch_size=batch_size, threads=threads, **changes)
    )
    if sharing.are_given:
        if corpora:
            raise AlidadeError("eflomal aligns all pairs in one process: give --corpus without --shards and --ray")
        fields = (source, source_field), (target, target_field), *[(path, "links") for path in others]
        columns = [Column.of([path], field) for path, field in fields]
        job = AlignmentJob(forward, reverse, symmetrisation, by, threshold, is_tokenised)
        work = AlignmentWork(job, tuple(map(str, others)))
        sharing.run(work, columns, output, ".txt", choose_workers(workers, threads))
        return
    aligned = align_lines(
        read_pairs(source, target),
        forward,
        reverse_model=reverse,
        links=_links_of_others(others, corpora or [], source, target, forward.languages, is_tokenised),
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


def _links_of_others(
    files: Sequence[Path],
    corpora: Sequence[Path],
    source: Path,
    target: Path,
    languages: tuple[str, str],
    is_tokenised: bool,
) -> dict[str, Iterator[Alignment]]:
    """What other aligners say, by name; files are read, and eflomal runs, while the pairs are aligned."""
    from alidade.aligner import read_pairs
    from alidade.alignment.statistical import read_alignments
    from alidade.corpus.links import DRAWINGS, links_like_corpus
    from alidade.corpus.store import PreparedCorpus

    links = {str(path): read_alignments(path) for path in files}
    for corpus in corpora:
        opened = PreparedCorpus.open(corpus)
        drawn = links_like_corpus(opened, read_pairs(source, target), languages, is_tokenised=is_tokenised)
        copies = itertools.tee(drawn, 2 * DRAWINGS)
        links |= {f"{corpus}, {n}": map(operator.itemgetter(n), copy) for n, copy in enumerate(copies)}
    return links


def _with_notes(pairs: Iterable[Translation]) -> Iterator[Translation]:
    for number, pair in enumerate(pairs, start=1):
        for note in pair.notes:
            typer.echo(f"alidade: line {number}: {note}", err=True)
        yield pair
