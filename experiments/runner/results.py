"""Result files: what was measured, by which command, of which commit, when, on which processor, and from which code.

A result is a file `experiments/results/NAME.json` that is kept in the repository; the tables of README.md and
experiments/README.md are made from these files alone (`python experiments/run.py --report`). Whatever measures writes
one, a script under benchmarks/ as well (`from record import record` there):

    record(
        "speed/translation-captions",
        {"ours, plain": {"32 at a time": 1697.2, "one at a time": 250.9}, "CTranslate2 int8, plain": {...}},
        depends_on=[*TRANSLATING, "benchmarks/translation.py"],
    )

Results under `speed/` are tables: a label for each row, then a value for each column; the report shows them as they
are. Numbers are stored as measured and rounded on the page.

`depends_on` names files and folders of the repository, relative to it. Each gets a fingerprint of its Python code
without comments, docstrings and layout, or of its settings, so that the report can mark a figure whose code has changed
since. Results that were entered from an older page have none and are marked as well.
"""

from __future__ import annotations

import ast
import datetime as dt
import functools
import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from alidade.errors import AlidadeError
from alidade.io import hash_file, read_json, write_json

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments" / "results"

TRANSLATING = (
    "src/alidade/search",
    "src/alidade/engine",
    "src/alidade/protection",
    "src/alidade/text",
    "src/alidade/part_search.py",
)
"""What decides how a given system translates, and how fast."""
WITH_TERMS = (*TRANSLATING, "src/alidade/dictionary")
TUNING = "src/alidade/evaluation/tuning.py"
"""What decides which settings of the search a system gets."""
ALIGNING = (*TRANSLATING, "src/alidade/alignment", "src/alidade/aligner.py", "src/alidade/corpus/links.py")

_LIMITS = ("CT2_FORCE_CPU_ISA", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")
"""Environment variables that take instructions away from the processor."""


class Result(BaseModel):
    """What a result file holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str
    commit: str
    date: str
    processor: str
    code: dict[str, str] | None = None
    """Fingerprints of what the figures depend on, by path; None if they were entered from a page that had none."""
    note: str = ""
    """What a reader of the figures must know."""
    figures: dict[str, Any]

    def changed(self) -> list[str]:
        """What it depends on that is not as it was."""
        return [path for path, then in (self.code or {}).items() if then != fingerprint(path)]


def record(
    name: str,
    figures: Mapping[str, Any],
    *,
    depends_on: Sequence[str],
    command: str | None = None,
    note: str = "",
    folder: Path = RESULTS,
) -> Path:
    """Write a result file; says where.

    name: where it stands below `experiments/results`, without `.json`. figures: plain values. command: by default the
    one that this process was started with.
    """
    result = Result(
        command=command or describe_command(),
        commit=describe_commit(depends_on),
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        processor=describe_processor(),
        code=fingerprints(depends_on),
        note=note,
        figures=dict(figures),
    )
    path = folder / f"{name}.json"
    write_json(path, result.model_dump(exclude_defaults=True))
    return path


def read_result(name: str, folder: Path = RESULTS) -> Result | None:
    """A result, or None if it has not been measured yet."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    try:
        return Result.model_validate(read_json(path))
    except ValueError as error:
        raise AlidadeError(f"{path}: not a result file: {error}") from None


def fingerprints(places: Sequence[str]) -> dict[str, str]:
    """Those of several files and folders, all of which must exist."""
    for place in places:
        if not (ROOT / place).exists():
            raise AlidadeError(f"{place}: a result cannot depend on this, the repository has no such file or folder")
    return {place: fingerprint(place) for place in places}


@functools.cache
def fingerprint(path: str) -> str:
    """What changes when the code of a file or folder of the repository does; "gone" if there is no such thing."""
    place = ROOT / path
    if place.is_dir():
        parts = [fingerprint(str(file.relative_to(ROOT))) for file in sorted(place.rglob("*.py"))]
        return _digest("\n".join(parts))
    if not place.is_file():
        return "gone"
    if place.suffix == ".toml":
        return _digest(json.dumps(tomllib.loads(place.read_text(encoding="utf-8")), sort_keys=True))
    if place.suffix != ".py":
        return hash_file(place)[:16]
    return _digest("\n".join(_code(ast.parse(place.read_bytes()))))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _code(node: ast.AST) -> Iterator[str]:
    """A syntax tree without docstrings and empty fields, of which each version of Python has others."""
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                if not _is_docstring(item):
                    yield name
                    yield from _code(item)
            elif item is not None:
                yield f"{name}={item!r}"
    yield "."


def _is_docstring(node: ast.AST) -> bool:
    """Also one below an attribute: a text that stands for itself does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def describe_command() -> str:
    """The command line of this process, as one would type it in the checkout."""
    program, *arguments = (_from_root(argument) for argument in sys.argv)
    return f"python {shlex.join([program, *arguments])}"


def _from_root(argument: str) -> str:
    is_place = Path(argument).is_absolute() or argument == sys.argv[0]
    return os.path.relpath(argument, ROOT) if is_place and Path(argument).exists() else argument


def describe_commit(places: Sequence[str] = ()) -> str:
    """The commit that is checked out, with a plus if these files and folders differ from it."""
    commands = (["rev-parse", "--short=7", "HEAD"], ["status", "--porcelain", "--", *places])
    commit, changes = (
        subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        for command in commands
    )
    return f"{commit}+" if commit and changes else commit or "unknown"


def describe_processor() -> str:
    """The processor, its cores, and the instructions that it was not allowed to use."""
    try:
        models = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        models = []
    limits = [f"{name}={os.environ[name]}" for name in _LIMITS if name in os.environ]
    return ", ".join([models[0] if models else platform.machine(), f"{os.cpu_count()} cores", *limits])
