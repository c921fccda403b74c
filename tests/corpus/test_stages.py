"""Stages run when something they depend on has changed, and only then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alidade.corpus.prepare import StageResult, StageRunner


class Counting:
    """A stage that writes a file and counts its runs."""

    def __init__(self, folder: Path) -> None:
        self.output = folder / "output"
        self.promise = folder / "promise"
        self.said: list[str] = []
        self.runs = 0
        self._runner = StageRunner(folder / "stages", [self.promise], self.said.append)

    def run(self, inputs: object) -> StageResult:
        return self._runner.run("stage", inputs, [self.output], self._work)

    def _work(self) -> dict[str, Any]:
        self.runs += 1
        assert not self.promise.exists(), "nobody may rely on the old result now"
        self.output.write_text("result")
        return {"runs": self.runs}


@pytest.fixture
def stage(tmp_path: Path) -> Counting:
    return Counting(tmp_path)


def test_unchanged_inputs_are_skipped(stage: Counting) -> None:
    first = stage.run(["a", {"b": 1}])
    again = stage.run(["a", {"b": 1}])
    assert (first.was_skipped, again.was_skipped, stage.runs) == (False, True, 1)
    assert again.report == {"runs": 1}
    assert again.fingerprint == first.fingerprint
    assert stage.said[1] == "stage: unchanged, skipped"


def test_changed_inputs_run_again(stage: Counting) -> None:
    stage.run("a")
    stage.promise.write_text("complete")
    assert not stage.run("b").was_skipped
    assert not stage.promise.exists()


@pytest.mark.parametrize("damage", ["remove", "cut"])
def test_a_damaged_output_runs_again(stage: Counting, damage: str) -> None:
    stage.run("a")
    if damage == "remove":
        stage.output.unlink()
    else:
        stage.output.write_text("resul")
    assert not stage.run("a").was_skipped


def test_a_stage_that_failed_runs_again(stage: Counting, tmp_path: Path) -> None:
    stage.run("a")
    runner = StageRunner(tmp_path / "stages", [], stage.said.append)

    def fail() -> dict[str, Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run("stage", "b", [stage.output], fail)
    assert not stage.run("a").was_skipped, "what the failed run left is not trusted"
