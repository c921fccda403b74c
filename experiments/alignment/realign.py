"""Re-alignment: align a part of the training bitext with the trained systems, train on that, and compare.

    python experiments/alignment/realign.py RUNS/alignment-corpora/roen RUNS/alignment-systems/roen \\
        RUNS/realignment/roen --reverse RUNS/alignment-systems/enro --every 8

Every 8th training pair makes two corpora with the pieces of the first one: `before` has the aligner's links of these
pairs, `after` the links that the systems find, symmetrised if there is one for each direction. On each, the second
stage and the alignment model are trained as `train_direction.py` does it, from the same baseline; `gold_table.py` and
`alidade evaluate` then say what it changed. What exists already is not made again.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from train_direction import alidade, train_direction
from turn_links import symmetrised

from alidade.config import AlignerSettings, PrepareConfig, parse_settings
from alidade.files import write_aside
from alidade.text.corpus import PreparedCorpus
from alidade.text.layout import Layout
from alidade.text.prepare import Preparation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a corpus that eflomal has aligned on pieces")
    parser.add_argument("systems", type=Path, help="what `train_direction.py` has trained on it")
    parser.add_argument("folder", type=Path, help="where texts, corpora and models go")
    parser.add_argument("--reverse", type=Path, help="systems of the other direction")
    parser.add_argument("--every", type=int, default=8, help="take every n-th training pair")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a training setting")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.resolve()
    write_bitext(arguments.corpus, arguments.every, folder)
    models: list[str | Path] = ["--model", arguments.systems / "system"]
    if arguments.reverse is not None:
        models += ["--reverse-model", arguments.reverse / "system"]
    for split in ("train", "dev"):
        links = folder / f"{split}.after.links"
        if not links.exists():
            sides: list[str | Path] = ["--source", folder / f"{split}.source", "--target", folder / f"{split}.target"]
            alidade("align", *models, *sides, "--output", links)
    for name, unit in (("before", "pieces"), ("after", "words")):
        prepare(arguments.corpus, folder, name, unit)
        baseline = folder / f"{name}-systems" / "transformer" / "model"
        if not baseline.exists():
            shutil.copytree(arguments.systems / "transformer" / "model", baseline)
        train_direction(folder / name, folder / f"{name}-systems", arguments.set)


def write_bitext(corpus_folder: Path, every: int, folder: Path) -> None:
    """A part of the training pairs and all dev pairs, with the aligner's links."""
    corpus, layout = PreparedCorpus.open(corpus_folder), Layout(corpus_folder)
    aligner = parse_settings(AlignerSettings, corpus.settings["aligner"], source=str(corpus_folder))
    assert corpus.dev is not None, "it was trained on, so it has dev pairs"
    for split, step in ((corpus.train, every), (corpus.dev, 1)):
        lines: dict[str, Iterable[object]] = {
            "source": split.source_texts(),
            "target": split.target_texts(),
            "before.links": symmetrised(layout, split.name, aligner),
        }
        for name, all_lines in lines.items():
            with write_aside(folder / f"{split.name}.{name}") as file:
                file.writelines(f"{line}\n" for line in islice(all_lines, 0, None, step))


def prepare(corpus_folder: Path, folder: Path, name: str, unit: str) -> None:
    """A corpus of these pairs with one of the two kinds of links: else as the first one, and with its pieces."""
    settings = PreparedCorpus.open(corpus_folder).settings | {
        "corpus": folder / name,
        "bitext": [{"source": folder / "train.source", "target": folder / "train.target"}],
        "dev": {"source": folder / "dev.source", "target": folder / "dev.target"},
        "subwords": {"like": corpus_folder.resolve()},
        "aligner": {
            "kind": "pharaoh",
            "unit": unit,
            "train_links": folder / f"train.{name}.links",
            "dev_links": folder / f"dev.{name}.links",
        },
    }
    Preparation(parse_settings(PrepareConfig, settings, source=str(corpus_folder))).run()


if __name__ == "__main__":
    main()
