"""`alidade prepare`: raw bitext in, a prepared corpus out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alidade.cli.options import ConfigArgument, SetOption, WorkersOption

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from alidade.corpus.prepare import Preparation


def prepare(
    config: ConfigArgument,
    overrides: SetOption = None,
    show: Annotated[
        int | None,
        typer.Option("--show", min=1, help="Only show training pair N of the prepared corpus."),
    ] = None,
    workers: WorkersOption = None,
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards",
            min=1,
            help="So many processes, on as many machines, prepare the corpus together.",
            show_default=False,
        ),
    ] = None,
    shard: Annotated[
        int | None, typer.Option("--shard", min=0, help="This one's number, counted from 0.", show_default=False)
    ] = None,
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait for the other shards where nothing can be done without them."),
    ] = False,
) -> None:
    """Make a bitext ready to train on.

    Reads the bitexts that CONFIG.toml names (two line-parallel files, TSV or TMX; plain, .gz or .xz), cleans them,
    learns subwords, aligns the words of both sides, and writes the folder that `alidade train` reads. Stages whose
    inputs have not changed are skipped, so a second run is quick and a stopped one goes on where it was. The aligner
    eflomal takes no seed: two folders prepared from the same bitext differ in a few positions.

    **Example:** `alidade prepare experiments/multi30k/prepare.toml --set subwords.vocabulary_size=5000`

    then `alidade prepare experiments/multi30k/prepare.toml --show 17` to look at a pair.

    Several machines with a common file system can share the work: the same command on each, with its number.

        alidade prepare prepare.toml --shards 10 --shard 3 --wait

    Each does every tenth part of a stage. Where all parts are needed to go on, it waits for the others; without
    `--wait` it ends with exit code 75, and the same command goes on later. What only one can do, the first one does.
    The corpus is the same as one process would make; that one, without `--shards`, can go on at any time
    (docs/cluster.md).
    """
    from rich.console import Console

    from alidade.config import PrepareConfig, load_config
    from alidade.corpus.parts import Shard
    from alidade.corpus.prepare import Preparation
    from alidade.errors import AlidadeError
    from alidade.parallel import available_cores

    if (shards is None) != (shard is None):
        raise AlidadeError("--shards says how many processes there are and --shard which of them this is: give both")
    if wait and shards is None:
        raise AlidadeError("--wait is for shards: say which one this is, with --shards and --shard")
    settings = load_config(PrepareConfig, config, overrides)
    if show is not None:
        _show_pair(settings.corpus, show)
        return
    together = Shard(shard or 0, shards or 1, waits=wait)
    preparation = Preparation(settings, workers or available_cores(), shard=together)
    preparation.run()
    _print_account(preparation, Console())


def _show_pair(folder: Path, number: int) -> None:
    """Print a pair by words and, where words are split, by pieces with the positions that models learn."""
    from rich.console import Console

    from alidade.alignment.links import Alignment
    from alidade.corpus.store import PreparedCorpus
    from alidade.errors import AlidadeError
    from alidade.evaluation.terminal import LinkedPair

    corpus = PreparedCorpus.open(folder)
    if number > len(corpus.train):
        raise AlidadeError(f"--show {number}: the training corpus has {len(corpus.train)} pairs")
    source = corpus.source_encoding(corpus.train, number - 1)
    target = corpus.target_encoding(corpus.train, number - 1)
    positions = corpus.train.positions(number - 1).tolist()
    console = Console()
    console.print(f"Pair {number} of {len(corpus.train)}, by words")
    links = {
        (source.word_of_piece[position - 1], target.word_of_piece[piece]) for piece, position in enumerate(positions)
    }
    words = [word.text for word in source.words], [word.text for word in target.words]
    console.print(LinkedPair(*words, Alignment.of(links)))
    console.print("By pieces: each target piece and its position")
    piece_links = [(position - 1, piece) for piece, position in enumerate(positions)]
    console.print(LinkedPair(source.pieces, target.pieces, Alignment.of(piece_links)))


def _print_account(preparation: Preparation, console: Console) -> None:
    """What was read and dropped, and what came out."""
    cleaned = preparation.results["clean"].report
    subwords = preparation.results["subwords"].report
    encoded = preparation.results["encode"].report["train"]
    console.print(_table_of_drops(cleaned))
    console.print(
        f"{encoded['pairs']:,} pairs with {encoded['source_pieces']:,} source and {encoded['target_pieces']:,} target "
        f"pieces; vocabularies of {subwords['source_pieces']:,} and {subwords['target_pieces']:,} pieces"
        f"{' (joint)' if subwords['joint'] else ''}"
    )
    if "bpe_dropout" in preparation.results:
        copies = preparation.results["bpe_dropout"].report
        console.print(
            f"{copies['pairs']:,} pairs of BPE-dropout, with {copies['source_pieces']:,} source and "
            f"{copies['target_pieces']:,} target pieces: models are trained on these"
        )
    console.print(f"The prepared corpus is in {preparation.config.corpus.resolve()}", soft_wrap=True, markup=False)


def _table_of_drops(cleaned: dict[str, Any]) -> Table:
    from rich.markup import escape
    from rich.table import Column, Table

    bitexts = cleaned["bitexts"]
    reasons = list(dict.fromkeys(reason for bitext in bitexts for reason in bitext["dropped"]))
    table = Table(Column("pairs", no_wrap=True), title="What cleaning kept and dropped", title_justify="left")
    for bitext in bitexts:
        table.add_column(escape(bitext["name"]), justify="right", max_width=28)
    for label in ("read", *reasons, "kept", "written"):
        counts = [bitext["dropped"].get(label, 0) if label in reasons else bitext[label] for bitext in bitexts]
        table.add_row(f"dropped: {label}" if label in reasons else label, *(f"{count:,}" for count in counts))
    return table
