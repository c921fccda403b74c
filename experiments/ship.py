"""Puts a row's model into the package, with its card.

    python experiments/run.py enro/shipped-on        # train, tune, measure in eight bits
    python experiments/ship.py --row enro/shipped-on # copy it to its place
    python experiments/run.py enro/shipped           # measure what is in the box now

The card's figures are the row's results; a card without figures is not written.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from alidade.errors import AlidadeError
from alidade.io import read_json, write_folder_aside
from alidade.model_folder import SHIPPED_FOLDER, SHIPPED_MODEL, ModelFolder, load_model_folder
from runner.results import RESULTS, Result, read_result
from runner.settings import EXPERIMENTS, Library

MAX_MEGABYTES = 25.0

CARD = """\
# English→Romanian, the model in the box

{what}.
{num_weights:.1f} million weights in {megabytes:.1f} MB. `alidade translate` and `alidade.Translator()` use it when no
other model is named.

## Trained on

{num_pairs:,} pairs, as `experiments/enro/prepare.toml` takes them, everyday sentences and captions three times; then
with `prepare-everyday.toml`, in which everyday sentences count eight times, captions five times, and manuals in part,
at last with `prepare-news.toml`, in which encyclopaedia and parliament count six times, and with alignment heads that
are off in three of ten batches:

- messages of free software: Debian's catalogues, LibreOffice, Firefox, Mozilla, odoo, QGIS, MediaWiki, WordPress,
  LineageOS, OsmAnd, Discourse, Decidim, OpenStreetMap, lichess, calibre, games and others, under the free-software
  licences of their packages;
- technical prose: manual pages, Microsoft Docs, documentation of QGIS, GIMP, Debian, Python and PHP,
  ethereum.org, the EU's procurement terms (eForms), under free-software licences, CC BY and CC BY-SA;
- other sentences: Tatoeba (CC BY), RO-STS (CC BY-SA), MLQE-PE, XQuAD (CC BY-SA), the first 10,000 lines of Europarl.

Romanian is written with ș and ț (comma below). The model was grown (`experiments/enro/grow.py`) from the one that was
shipped before it, 192 wide, which had learnt from 242,931 of these pairs in 7,700 updates (124 minutes), and its
alignment model in 2,000 (15 minutes); then both were trained on:

{training}

## What to expect

It was trained for a short time on processor cores: of use for messages of software, elsewhere a demonstration.

It has seen most of all messages, menus and help texts of software, then short everyday sentences and captions. It has
seen little news and no literature or law, few names and few rare words, and it writes something all the same: the
figures for newstest2016 show how far that goes. English often does not tell what Romanian must, gender and politeness
for instance; then the model guesses. Check what it writes.

## Figures

Measured {date} on {machine}; beam {beam}. BLEU and TER are sacrebleu's, case-insensitive (13a, tercom).
newstest2016, the paper's test set, is far from the training data.

| test set | BLEU | TER | chrF |
| --- | --- | --- | --- |
{figures}
Dev perplexity {perplexity:.2f}, given the aligner's positions. The weights are stored in eight bits with a scale for
each row; `experiments/README.md` has the commands.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", default="enro/shipped-on", help="whose model it is (enro/shipped-on)")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--experiments", type=Path, default=EXPERIMENTS, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=SHIPPED_FOLDER / SHIPPED_MODEL)
    arguments = parser.parse_args()
    try:
        print(ship(Library(arguments.experiments), arguments.row, arguments.results, arguments.output))
    except AlidadeError as error:
        sys.exit(f"ship.py: {error}")


def ship(library: Library, row: str, results: Path, output: Path) -> str:
    """Copy the row's model and write its card; says what was written."""
    result = read_result(row, results)
    if result is None:
        raise AlidadeError(f"{row} has no results: run `python experiments/run.py {row}` first")
    if library.translation_row(row).model is not None:
        raise AlidadeError(
            f"{row} measures a finished model: name the row that it is trained in, such as enro/shipped-on"
        )
    source = _system_folder(library, row)
    megabytes = _megabytes(source)
    if megabytes > MAX_MEGABYTES:
        raise AlidadeError(f"{source} has {megabytes:.1f} MB, and at most {MAX_MEGABYTES:.0f} are shipped")
    corpus = library.task(library.translation_row(row).task).runs / "corpus"
    _put(source, output, make_card(load_model_folder(source), result, _num_pairs(corpus), megabytes))
    return f"{output}: {megabytes:.1f} MB"


def _system_folder(library: Library, row: str) -> Path:
    task, name = row.split("/")
    return library.task(task).runs / "systems" / name / "model"


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


def _put(source: Path, output: Path, card: str) -> None:
    """Copy a model folder to its place, with a card."""
    with write_folder_aside(output) as aside:
        shutil.copytree(source, aside, dirs_exist_ok=True)
        (aside / "README.md").write_text(card, encoding="utf-8")


def make_card(folder: ModelFolder, result: Result, num_pairs: int, megabytes: float) -> str:
    """The model's README.md."""
    figures = result.figures
    updates, minutes = figures["training"]["updates"], figures["training"]["minutes"]
    rows = [
        f"| {test} | " + " | ".join([f"{scores[metric]['value']:.1f}" for metric in ("BLEU", "TER", "chrF2")]) + " |\n"
        for test, scores in figures["tests"].items()
    ]
    runs = [f"- `{run}`: {count:,} updates in {minutes.get(run, '?')} minutes" for run, count in updates.items()]
    return CARD.format(
        what=_describe(folder),
        num_weights=sum(weight.size for weight in folder.weights().values()) / 1e6,
        megabytes=megabytes,
        num_pairs=num_pairs,
        training="\n".join(runs),
        date=result.date,
        machine=result.processor,
        beam=folder.search.beam_size,
        figures="".join(rows),
        perplexity=figures["training"]["lexical.perplexity"],
    )


def _describe(folder: ModelFolder) -> str:
    lexical, alignment = folder.description.lexical, folder.description.alignment
    parts = [f"A {settings.kind} of width {settings.width}" for settings in (lexical,) if settings is not None]
    if alignment is not None:
        encoder = "the same encoder" if alignment.encoder == "lexical" else "an encoder of its own"
        parts.append(f"a {alignment.kind} of width {alignment.width} with {encoder}")
    return " and ".join(parts)


def _num_pairs(corpus: Path) -> int:
    return int(read_json(corpus / "corpus.json")["splits"]["train"]["size"])


if __name__ == "__main__":
    main()
