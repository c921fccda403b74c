"""Pairs a second of forced alignment on one thread, and the alignment error of its links.

    python benchmarks/alignment.py --gold ../shared/data/gold-alignments/roen

The gold set is given without its suffixes; its name says which language its links count first, `roen` Romanian, and the
system may have either direction. Both precisions align the same pairs in turn, in processor time. `--output FOLDER`
keeps the links as Pharaoh files, and `--compare FOLDER` counts the pairs whose links differ from those of an earlier
state of the program. With --record NAME the figures are kept as experiments/results/speed/NAME.json.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

import typer

from alidade.aligner import align
from alidade.alignment.links import Alignment, GoldAlignment, alignment_error_rate
from alidade.alignment.statistical import read_gold_alignments
from alidade.engine.graph import Precision
from alidade.io import read_lines, write_aside
from alidade.translator import Translator
from record import ALIGNING, record


def main(
    gold: Annotated[Path, typer.Option(help="A gold set, without suffix.")],
    system: Annotated[Path | None, typer.Option(help="An assisted system; the shipped one if left out.")] = None,
    every: Annotated[int, typer.Option(help="Take every so-many-th pair.")] = 1,
    repeats: int = 3,
    output: Annotated[Path | None, typer.Option(help="A folder for the links.")] = None,
    compare: Annotated[Path | None, typer.Option(help="A folder with the links of an earlier run.")] = None,
    name: Annotated[str | None, typer.Option("--record", help="Keep the figures under this name.")] = None,
) -> None:
    """Align the pairs in both precisions and print a table."""
    aligners = {precision: Translator(system, precision=precision) for precision in get_args(Precision)}
    languages = next(iter(aligners.values())).languages
    pairs = list(zip(*[read_lines(Path(f"{gold}.{language}")) for language in languages], strict=True))[::every]
    golds = read_golds(gold, languages)[::every]
    speeds: dict[str, list[float]] = {precision: [] for precision in aligners}
    links: dict[str, list[Alignment]] = {}
    for aligner in aligners.values():
        align(pairs[:1], aligner, is_tokenised=True)  # graphs are made when they are first needed
    for _ in range(repeats):
        for precision, aligner in aligners.items():
            start = time.process_time()
            aligned = align(pairs, aligner, is_tokenised=True)
            speeds[precision].append(len(pairs) / (time.process_time() - start))
            links[precision] = [pair.alignment for pair in aligned if pair.alignment is not None]
    figures = {
        precision: {
            "pairs a second": round(statistics.median(speeds[precision]), 1),
            "alignment error": round(100 * alignment_error_rate(links[precision], golds).error_rate, 2),
        }
        for precision in aligners
    }
    for precision, row in figures.items():
        print(f"{precision:10}{len(pairs)} pairs   " + "   ".join(f"{key}: {value}" for key, value in row.items()))
        if output is not None:
            with write_aside(output / f"{precision}.links") as file:
                file.writelines(f"{alignment}\n" for alignment in links[precision])
        if compare is not None:
            before = [Alignment.parse(line) for line in read_lines(compare / f"{precision}.links")]
            print(f"{'':10}{count_different(links[precision], before)} pairs have other links than before")
    if name is not None:
        record(f"speed/{name}", figures, depends_on=[*ALIGNING, "benchmarks/alignment.py"])


def read_golds(gold: Path, languages: tuple[str, str]) -> list[GoldAlignment]:
    """The gold links with the system's source first."""
    golds = list(read_gold_alignments(Path(f"{gold}.gold"), one_based=True))
    if gold.name == "".join(languages):
        return golds
    return [GoldAlignment(sure=one.sure.transposed(), possible=one.possible.transposed()) for one in golds]


def count_different(links: Sequence[Alignment], before: Sequence[Alignment]) -> int:
    return sum(one != other for one, other in zip(links, before, strict=True))


if __name__ == "__main__":
    typer.run(main)
