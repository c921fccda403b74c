"""Alignment error on a gold set: eflomal's links, the baseline's attention, the assisted system's forced alignment.

    python experiments/alignment/gold_table.py DATA/gold-alignments/deen RUNS/alignment-corpora/deen \\
        --forward RUNS/alignment-systems/deen --reverse RUNS/alignment-systems/ende

The gold set is given without its suffixes (`.de`, `.en`, `.gold`; the corpus knows the languages), its links count from
1. A direction's folder is one that `train_direction.py` has filled; with both, the links are symmetrised as well.
`--output` keeps all links as Pharaoh files. eflomal aligns the gold pairs with what it learned on the training corpus.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from alidade.aligner import Evidence, align
from alidade.alignment.links import Alignment, GoldAlignment, alignment_error_rate
from alidade.alignment.statistical import read_gold_alignments
from alidade.alignment.symmetrise import Symmetrisation, symmetrise
from alidade.corpus.links import align_like_corpus
from alidade.corpus.store import PreparedCorpus
from alidade.errors import AlidadeError
from alidade.io import read_lines, write_aside
from alidade.translation import Translation
from alidade.translator import Translator

Links = list[Alignment]
Pairs = list[tuple[str, str]]
METHODS: tuple[Symmetrisation, ...] = ("intersection", "union", "grow-diag-final-and")


def main() -> None:
    arguments = parse_arguments()
    corpus = PreparedCorpus.open(arguments.corpus)
    languages = corpus.source_subwords.language, corpus.target_subwords.language
    sides = [list(read_lines(Path(f"{arguments.gold}.{language}"))) for language in languages]
    pairs = list(zip(*sides, strict=True))
    golds = list(read_gold_alignments(Path(f"{arguments.gold}.gold"), one_based=True))
    print("| links | symmetrisation | alignment error rate | precision | recall |\n| --- | --- | --- | --- | --- |")
    for name, method, links in all_links(corpus, pairs, arguments.forward, arguments.reverse):
        print_row(name, method, links, golds)
        if arguments.output is not None:
            with write_aside(arguments.output / f"{name}.{method}.links".replace(" ", "-")) as file:
                file.writelines(f"{alignment}\n" for alignment in links)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", type=Path, help="the gold set, without suffix")
    parser.add_argument("corpus", type=Path, help="the training corpus in the gold set's direction, aligned by eflomal")
    parser.add_argument("--forward", type=Path, help="systems of the gold set's direction")
    parser.add_argument("--reverse", type=Path, help="systems of the other direction")
    parser.add_argument("--output", type=Path, help="a folder for the links")
    return parser.parse_args()


def all_links(
    corpus: PreparedCorpus, pairs: Pairs, forward: Path | None, reverse: Path | None
) -> Iterator[tuple[str, str, Links]]:
    """Name, symmetrisation and links, for whatever is there."""
    yield "eflomal", corpus.settings["aligner"]["symmetrisation"], align_like_corpus(corpus, pairs, is_tokenised=True)
    evidence: tuple[tuple[str, str, Evidence], ...] = (
        ("baseline attention", "transformer/model", "attention"),
        ("assisted path", "system", "path"),
        ("assisted posteriors", "system", "posteriors"),
    )
    for name, folder, by in evidence:
        there = None if forward is None else align_one_way(open_model(forward / folder), pairs, by)
        back = None if reverse is None else turn(align_one_way(open_model(reverse / folder), turn_pairs(pairs), by))
        for direction, links in (("forward", there), ("reverse", back)):
            if links is not None:
                yield name, direction, links
        if there is not None and back is not None:
            for method in METHODS:
                yield name, method, [symmetrise(*both, method) for both in zip(there, back, strict=True)]
    if forward is not None and reverse is not None:
        systems = open_model(forward / "system"), open_model(reverse / "system")
        yield (
            "assisted posteriors",
            "mean",
            links_of(align(pairs, systems[0], reverse_model=systems[1], is_tokenised=True)),
        )


def open_model(folder: Path) -> Translator:
    if not folder.exists():
        raise AlidadeError(f"{folder}: no such model; experiments/alignment/train_direction.py makes it")
    return Translator(folder)


def align_one_way(translator: Translator, pairs: Pairs, by: Evidence) -> Links:
    return links_of(align(pairs, translator, is_tokenised=True, by=by))


def links_of(aligned: list[Translation]) -> Links:
    return [pair.alignment for pair in aligned if pair.alignment is not None]


def turn(links: Links) -> Links:
    return [alignment.transposed() for alignment in links]


def turn_pairs(pairs: Pairs) -> Pairs:
    return [(target, source) for source, target in pairs]


def print_row(name: str, method: str, links: Links, golds: list[GoldAlignment]) -> None:
    rate = alignment_error_rate(links, golds)
    figures = [f"{100 * figure:.1f}" for figure in (rate.error_rate, rate.precision, rate.recall)]
    print(f"| {' | '.join([name, method, *figures])} |", flush=True)


if __name__ == "__main__":
    main()
