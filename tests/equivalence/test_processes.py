"""The same global batch gives the same gradients, however many processes and parts compute it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from alidade.training.loop import train
from small_runs import ALIGNED, JUMPS, logged, run_config, write_config

JOINT = {"lexical": ALIGNED | {"dropout": 0.0}, "alignment": JUMPS | {"dropout": 0.0, "encoder": "lexical"}}
UPDATES = {"steps": 30, "validate_every": 10, "save_every": 10, "average_last": 2, "bleu_every": 30}


NO_MEETING = ("DistNetworkError", "RendezvousConnectionError", "RendezvousTimeoutError", "EADDRINUSE")
"""What torchrun says if another program has taken the port that it had found free."""


def torchrun(config: Path, num_processes: int) -> None:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={num_processes}"]
    for _ in range(2):
        result = subprocess.run(
            [sys.executable, *launcher, "-m", "alidade", "train", str(config)],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=False,
            capture_output=True,
            text=True,
        )
        if not any(error in result.stderr for error in NO_MEETING):
            break
    assert result.returncode == 0, result.stderr


def _without_times(line: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in line.items() if name != "kind" and not name.endswith("_per_second")}


def assert_same_course(folder: Path, expected: Path) -> None:
    for kind, count in (("train", 3), ("dev", 3)):
        lines, expected_lines = logged(folder, kind), logged(expected, kind)
        assert len(lines) == len(expected_lines) == count
        for line, expected_line in zip(lines, expected_lines, strict=True):
            assert _without_times(line) == pytest.approx(_without_times(expected_line), rel=1e-4)


@pytest.fixture(scope="module")
def one_process(lexicon_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one")
    train(run_config(folder, lexicon_corpus, **JOINT, **UPDATES))
    return folder


def test_accumulation_gives_the_course_of_one_part(lexicon_corpus: Path, one_process: Path, tmp_path: Path) -> None:
    train(run_config(tmp_path / "parts", lexicon_corpus, **JOINT, **UPDATES, accumulate=3))
    assert_same_course(tmp_path / "parts", one_process)


def test_two_processes_give_the_course_of_one(lexicon_corpus: Path, one_process: Path, tmp_path: Path) -> None:
    config = run_config(tmp_path / "two", lexicon_corpus, **JOINT, **UPDATES, accumulate=2)
    torchrun(write_config(tmp_path / "two.toml", config), num_processes=2)
    assert_same_course(tmp_path / "two", one_process)
    assert "bleu" in logged(tmp_path / "two", "dev")[-1]  # both processes translate a half
    assert not list((tmp_path / "two").glob("dev.*"))
