"""Stages of a long preparation: each is skipped when nothing that it depends on has changed.

A stage has a fingerprint of its inputs: its settings, the files that it reads, the stages before it. When it has
finished it leaves a record with this fingerprint; a stage that was stopped in the middle leaves none and is done
again. Its files are written aside and renamed (`files.write_aside`), so none is ever half there.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alidade.files import read_json, write_json


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage did, now or in an earlier run."""

    name: str
    fingerprint: str
    report: dict[str, Any]
    seconds: float
    was_skipped: bool


class StageRunner:
    """Runs stages that keep their records in one folder."""

    def __init__(self, records: Path, invalidates: Sequence[Path], announce: Callable[[str], None]) -> None:
        self._records = records
        self._invalidates = invalidates
        self._announce = announce

    def run(
        self, name: str, inputs: object, outputs: Sequence[Path], work: Callable[[], dict[str, Any]]
    ) -> StageResult:
        """Do the work unless an earlier run has done it from the same inputs.

        inputs: plain values; whatever changes them makes the stage run again. work returns its report, plain values.
        Before a stage runs, files that promise a complete result (`invalidates`) are removed.
        """
        fingerprint = _fingerprint(name, inputs)
        path = self._records / f"{name}.json"
        record = read_json(path) if path.exists() else {}
        if record.get("fingerprint") == fingerprint and record.get("sizes") == _sizes(outputs):
            self._announce(f"{name}: unchanged, skipped")
            return StageResult(name, fingerprint, record["report"], record["seconds"], was_skipped=True)
        for promise in (path, *self._invalidates):
            promise.unlink(missing_ok=True)
        started = time.perf_counter()
        report = work()
        seconds = round(time.perf_counter() - started, 2)
        write_json(path, {"fingerprint": fingerprint, "sizes": _sizes(outputs), "seconds": seconds, "report": report})
        self._announce(f"{name}: done in {seconds:.1f} s")
        return StageResult(name, fingerprint, report, seconds, was_skipped=False)


def _fingerprint(name: str, inputs: object) -> str:
    return hashlib.sha256(json.dumps([name, inputs], sort_keys=True, default=str).encode()).hexdigest()


def _sizes(paths: Sequence[Path]) -> dict[str, int]:
    """The sizes of files; a missing one has the impossible size -1, so that its stage runs."""
    return {path.name: path.stat().st_size if path.exists() else -1 for path in paths}
