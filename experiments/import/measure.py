"""What the second stage does to an imported model: translation and links, before and after.

    python experiments/import/measure.py imported=RUNS/import/base continued=RUNS/import/continued/model \\
        assisted=RUNS/import/aligned/model \\
        --data DATA/multi30k --corpus RUNS/import/corpus --gold DATA/gold-alignments/deen

BLEU, TER and chrF on test2016. Nobody has linked captions by hand, so links are compared with eflomal's on the dev
pairs, which it aligns with what it learned on the training pairs: a disagreement, not an error. --gold adds the
alignment error on gold pairs of parliament debates, which are nothing like captions. What a dictionary does is
`experiments/dictionary/terms_table.py`'s to say.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from alidade.aligner import Evidence, align
from alidade.alignment.links import Alignment, GoldAlignment, alignment_error_rate
from alidade.alignment.statistical import read_gold_alignments
from alidade.corpus.links import align_like_corpus
from alidade.corpus.store import PreparedCorpus
from alidade.evaluation.metrics import score_translations
from alidade.io import read_lines
from alidade.translator import Translator

Pairs = list[tuple[str, str]]


def main() -> None:
    arguments = parse_arguments()
    corpus = PreparedCorpus.open(arguments.corpus)
    dev, test = (read_pairs(arguments.data / name) for name in ("dev", "test2016"))
    eflomal = align_like_corpus(corpus, dev)
    wanted = [GoldAlignment(links, Alignment.of([])) for links in eflomal]
    gold_pairs = [] if arguments.gold is None else read_pairs(arguments.gold)
    golds = [] if arguments.gold is None else read_golds(arguments.gold)
    print("| system | BLEU | TER | chrF | links by | disagreement with eflomal | error on gold |\n|" + " --- |" * 7)
    if golds:
        print_row(
            ["eflomal", "", "", "", "", "", percent(align_like_corpus(corpus, gold_pairs, is_tokenised=True), golds)]
        )
    for name, folder in (system.split("=", 1) for system in arguments.systems):
        translator = Translator(Path(folder), threads=1)
        figures = translation_figures(translator, test)
        evidence: tuple[Evidence, ...] = ("attention", "posteriors") if translator.is_assisted else ("attention",)
        for by in evidence:
            on_gold = percent(links_of(translator, gold_pairs, by, is_tokenised=True), golds) if golds else ""
            print_row([name, *figures, by, percent(links_of(translator, dev, by), wanted), on_gold])


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--data", type=Path, required=True, help="where dev and test2016 are")
    parser.add_argument("--corpus", type=Path, required=True, help="the training corpus, aligned by eflomal")
    parser.add_argument("--gold", type=Path, help="a gold set, without suffix")
    return parser.parse_args()


def read_pairs(stem: Path) -> Pairs:
    sides = (read_lines(Path(f"{stem}.{language}")) for language in ("en", "de"))
    return list(zip(*sides, strict=True))


def read_golds(stem: Path) -> list[GoldAlignment]:
    """The gold set is German to English, and its links count from 1."""
    return [gold.transposed() for gold in read_gold_alignments(Path(f"{stem}.gold"), one_based=True)]


def translation_figures(translator: Translator, pairs: Pairs) -> list[str]:
    sources, references = zip(*pairs, strict=True)
    translations = [one.text for one in translator.translate_all(sources, with_links=False, protect=False)]
    return [f"{score.value:.1f}" for score in score_translations(translations, [list(references)])]


def links_of(translator: Translator, pairs: Pairs, by: Evidence, *, is_tokenised: bool = False) -> list[Alignment]:
    aligned = align(pairs, translator, by=by, is_tokenised=is_tokenised)
    return [pair.alignment for pair in aligned if pair.alignment is not None]


def percent(links: list[Alignment], golds: list[GoldAlignment]) -> str:
    return f"{100 * alignment_error_rate(links, golds).error_rate:.1f}"


def print_row(cells: list[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
