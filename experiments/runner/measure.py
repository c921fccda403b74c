"""One row from its settings to its results file, whatever table it belongs to."""

from __future__ import annotations

import datetime as dt
import os
import platform
import re
from pathlib import Path
from typing import Any

from alidade.io import read_json, write_json
from runner.others import draw_picture, measure_alignment, measure_dictionary, measure_pruning
from runner.settings import AlignmentRow, DictionaryRow, PictureRow, PruningRow, Row, TranslationRow
from runner.systems import MissingCellError, Workshop
from runner.translation import measure_translation


def measure_row(shop: Workshop, name: str, overrides: list[str] | None = None) -> bool:
    """Do what a row needs and write its results; returns whether it could be measured."""
    row = shop.library.row(name, overrides)
    path = shop.results / f"{name}.json"
    try:
        figures = _measure(shop, name, row)
    except MissingCellError as missing:
        if not path.exists() or "missing" in read_json(path):  # an older figure is better than none
            write_json(path, {"missing": str(missing)})
        shop.console.print(f"{name}: missing: {missing}", soft_wrap=True)
        return False
    previous = read_json(path) if path.exists() else {}
    if previous.get("figures") != figures or previous.get("overrides", []) != (overrides or []):
        when = {"date": dt.datetime.now(dt.UTC).date().isoformat(), "machine": describe_machine()}
        write_json(path, {**when, "overrides": overrides or [], "figures": figures})
    shop.console.print(f"{name}: {path}", soft_wrap=True)
    return True


def _measure(shop: Workshop, name: str, row: Row) -> dict[str, Any]:
    match row:
        case TranslationRow():
            return measure_translation(shop, name, row)
        case DictionaryRow():
            return measure_dictionary(shop, name, row)
        case PruningRow():
            return measure_pruning(shop, name, row)
        case AlignmentRow():
            return measure_alignment(shop, name, row)
        case PictureRow():
            return draw_picture(shop, name, row)


def describe_machine() -> str:
    """The processor and the number of its cores."""
    try:
        models = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        models = []
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"
