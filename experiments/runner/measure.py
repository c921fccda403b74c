"""One row from its settings to its result file, whatever table it belongs to."""

from __future__ import annotations

from typing import Any

from runner.others import draw_picture, measure_alignment, measure_dictionary, measure_pruning
from runner.results import ALIGNING, ROOT, TRANSLATING, WITH_TERMS, fingerprints, read_result, record
from runner.settings import AlignmentRow, DictionaryRow, Library, PictureRow, PruningRow, Row, TranslationRow
from runner.systems import MissingCellError, Workshop
from runner.translation import measure_translation


def measure_row(shop: Workshop, name: str, overrides: list[str] | None = None) -> bool:
    """Do what a row needs and write its result; returns whether it could be measured."""
    row = shop.library.row(name, overrides)
    try:
        figures, rooms = _measure(shop, name, row)
    except MissingCellError as missing:  # an older result stays: it is better than none, and says how old it is
        shop.console.print(f"{name}: missing: {missing}", soft_wrap=True)
        return False
    depends_on = [*rooms, *_settings_files(shop.library, name, row)]
    command = " ".join(["python experiments/run.py", name, *(f"--set {override}" for override in overrides or [])])
    previous = read_result(name, shop.results)
    known = previous and (previous.figures, previous.code, previous.command)
    if known != (figures, fingerprints(depends_on), command):
        record(name, figures, depends_on=depends_on, command=command, folder=shop.results)
    shop.console.print(f"{name}: {shop.results / name}.json", soft_wrap=True)
    return True


def _measure(shop: Workshop, name: str, row: Row) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The figures of a row, and the code that they depend on."""
    match row:
        case TranslationRow():
            return measure_translation(shop, name, row), TRANSLATING
        case DictionaryRow():
            return measure_dictionary(shop, name, row), WITH_TERMS
        case PruningRow():
            return measure_pruning(shop, name, row), TRANSLATING
        case AlignmentRow():
            return measure_alignment(shop, name, row), ALIGNING
        case PictureRow():
            return draw_picture(shop, name, row), TRANSLATING


def _settings_files(library: Library, name: str, row: Row) -> list[str]:
    """The row's own settings and, for a system, those that it was trained with, as far as they are the project's."""
    files = [library.row_file(name)]
    if isinstance(row, TranslationRow):
        files += [library.training_file(row.task, run) for run in row.train]
    return [str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT)]
