"""The links of a corpus that eflomal has aligned, the other way round, for a corpus of the other direction.

    python experiments/alignment/turn_links.py RUNS/alignment-corpora/deen

writes `deen.train.turned.links` and `deen.dev.turned.links` beside the corpus, a line for each *raw* pair, empty for
those that were dropped. They fit if both corpora are prepared with the same settings: the joint vocabulary depends on
the counts of words alone, so both have the same pieces. It saves aligning the bitext a second time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from alidade.alignment.links import Alignment
from alidade.alignment.statistical import read_alignments
from alidade.alignment.symmetrise import symmetrise
from alidade.config import AlignerSettings, parse_settings
from alidade.corpus.arrays import Layout
from alidade.corpus.store import PreparedCorpus
from alidade.io import write_aside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a folder that `alidade prepare` made with eflomal")
    folder = parser.parse_args().corpus
    corpus, layout = PreparedCorpus.open(folder), Layout(folder)
    settings = parse_settings(AlignerSettings, corpus.settings["aligner"], source=str(folder))
    num_raw = json.loads((layout.stages / "clean.json").read_text(encoding="utf-8"))["report"]["raw_pairs"]
    for split, origins in (("train", np.load(layout.origins)), ("dev", None)):
        turned = (alignment.transposed() for alignment in symmetrised(layout, split, settings))
        with write_aside(folder.with_name(f"{folder.name}.{split}.turned.links")) as file:
            lines = turned if origins is None else in_raw_places(turned, origins.tolist(), num_raw)
            file.writelines(f"{alignment}\n" for alignment in lines)


def symmetrised(layout: Layout, split: str, settings: AlignerSettings) -> Iterator[Alignment]:
    """The links of the kept pairs, as training saw them."""
    directions = (read_alignments(layout.links(split, way)) for way in ("forward", "reverse"))
    for forward, reverse in zip(*directions, strict=True):
        yield symmetrise(forward, reverse, settings.symmetrisation)


def in_raw_places(alignments: Iterator[Alignment], origins: list[int], num_raw: int) -> Iterator[Alignment]:
    """The same at the places of their raw pairs; a pair that was kept several times gives its links once."""
    raw = 0
    for origin, alignment in zip(origins, alignments, strict=True):
        if origin < raw:
            continue
        for _ in range(raw, origin):
            yield Alignment()
        yield alignment
        raw = origin + 1
    for _ in range(raw, num_raw):
        yield Alignment()


if __name__ == "__main__":
    main()
