"""Runs the experiments: a row, a table or all of them, and makes the pages' tables from the results.

    python experiments/run.py multi30k/assisted        # one row, from the raw bitext to its figures
    python experiments/run.py --table translation      # a table
    python experiments/run.py --list                   # all rows and what is known of them
    python experiments/run.py --report                 # the tables here and in README.md, from the results

A row is a file `experiments/rows/multi30k/assisted.toml`. What exists and is up to date is skipped, a run that was
killed goes on where it was; runs that `alidade train` has finished are taken as they are. With `--no-training` rows
whose models are not trained are left out. Results are JSON files under `experiments/results`, kept in the repository;
what is trained and translated for them lies outside of it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from alidade.errors import AlidadeError
from alidade.io import write_aside
from alidade.parallel import available_cores
from runner.front import fill_front
from runner.report import PICTURES, describe_result, make_report
from runner.settings import EXPERIMENTS, TABLES, Library


def main() -> None:
    arguments = parse_arguments()
    library = Library(arguments.experiments)
    results = arguments.results or library.folder / "results"
    try:
        if arguments.report:
            write_report(library, results)
        elif arguments.list:
            for name in library.names(arguments.table):
                print(f"{name:32} {describe_result(results, name)}")
        else:
            run_rows(arguments, library, results)
    except AlidadeError as error:
        sys.exit(f"run.py: {error}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="for example multi30k/assisted")
    parser.add_argument("--table", choices=TABLES, help="all rows of this table")
    parser.add_argument("--all", action="store_true", help="all rows")
    parser.add_argument("--list", action="store_true", help="only list the rows")
    parser.add_argument("--report", action="store_true", help="only write the pages' tables from the results")
    parser.add_argument("--no-training", action="store_true", help="measure only what is trained already")
    parser.add_argument("--set", action="append", metavar="KEY=VALUE", help="override a setting of the row")
    parser.add_argument("--workers", type=int, default=available_cores(), help="processes or threads (all cores)")
    parser.add_argument("--tune-sentences", type=int, default=500, help="dev sentences to tune on, at most")
    parser.add_argument("--results", type=Path, help="the folder of results (results, beside this program)")
    parser.add_argument("--experiments", type=Path, default=EXPERIMENTS, help=argparse.SUPPRESS)
    return parser.parse_args()


def write_report(library: Library, results: Path) -> None:
    """The page of all tables, and the short one on the front page."""
    front = library.folder.parent / "README.md"
    filled = fill_front(front.read_text(encoding="utf-8"), results)
    for path, text in ((library.folder / "README.md", make_report(library, results)), (front, filled)):
        with write_aside(path) as file:
            file.write(text)


def run_rows(arguments: argparse.Namespace, library: Library, results: Path) -> None:
    names = arguments.rows or (library.names(arguments.table) if arguments.table or arguments.all else [])
    if not names:
        raise AlidadeError("name a row such as multi30k/assisted, a --table, or --all; --list lists the rows")
    from runner.measure import measure_row  # needs torch, which the report does not
    from runner.systems import Workshop

    shop = Workshop(
        library,
        results,
        library.folder / PICTURES,
        workers=arguments.workers,
        may_train=not arguments.no_training,
        tune_sentences=arguments.tune_sentences,
    )
    for name in names:
        measure_row(shop, name, arguments.set)


if __name__ == "__main__":
    main()
