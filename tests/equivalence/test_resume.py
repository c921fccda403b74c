"""A run that is killed, at whatever moment, arrives at the weights of a run that was not, to the last bit."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from alidade.config import TrainConfig
from alidade.errors import AlidadeError
from alidade.hardware import has_onednn
from alidade.io import hold_folder
from alidade.training.loop import train
from small_runs import ALIGNED, JUMPS, TRANSFORMER, final_weights, logged, run_config, write_config


def assert_same_weights(first: Path, second: Path) -> None:
    ours, theirs = final_weights(first), final_weights(second)
    assert ours.keys() == theirs.keys()
    for name, weight in ours.items():
        assert torch.equal(weight, theirs[name]), name


def start(config: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "alidade", "train", str(config)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})


def kill_when(process: subprocess.Popen[bytes], path: Path, at_the_latest: Path) -> None:
    """kill -9 as soon as a file is there; one that is gone again within a millisecond may be missed."""
    while not path.exists() and not at_the_latest.exists():
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize(
    "moment",
    [
        "checkpoints/00000030.partial/weights.safetensors",  # while a checkpoint is being written
        "checkpoints/00000030",
        "validated/00000040/model.json",  # after a validation that no checkpoint knows of
    ],
)
def test_a_killed_run_ends_as_one_that_was_not(lexicon_corpus: Path, tmp_path: Path, moment: str) -> None:
    settings = {"lexical": ALIGNED, "average_last": 2, "steps": 120, "validate_every": 20, "save_every": 15}
    whole = run_config(tmp_path / "whole", lexicon_corpus, **settings)
    killed = run_config(tmp_path / "killed", lexicon_corpus, **settings)
    train(whole)

    file = write_config(tmp_path / "killed.toml", killed)
    process = start(file)
    kill_when(process, tmp_path / "killed" / moment, at_the_latest=tmp_path / "killed" / "checkpoints" / "00000060")
    assert not (tmp_path / "killed" / "model").exists()
    resumed = start(file)
    _, message = resumed.communicate()
    assert resumed.returncode == 0, message.decode()

    assert_same_weights(tmp_path / "killed", tmp_path / "whole")
    deterministic = ("step", "loss", "lexical.perplexity")
    for kind in ("train", "dev"):
        curves = [
            [{name: line[name] for name in deterministic if name in line} for line in logged(folder, kind)]
            for folder in (tmp_path / "killed", tmp_path / "whole")
        ]
        assert [line["step"] for line in curves[0]] == [line["step"] for line in curves[1]]
    assert curves[0] == curves[1]  # the dev figures are the same to the last digit


def test_sigterm_leaves_a_checkpoint_of_the_last_update(lexicon_corpus: Path, tmp_path: Path) -> None:
    config = run_config(
        tmp_path / "run", lexicon_corpus, steps=100_000, validate_every=5, save_every=100_000, patience=0
    )
    process = start(write_config(tmp_path / "run.toml", config))
    while not (tmp_path / "run" / "validated").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, message = process.communicate()
    assert process.returncode == 130
    assert b"run the same command again to go on" in message
    assert list((tmp_path / "run" / "checkpoints").iterdir())


def stop_after(config: TrainConfig, steps: int) -> None:
    train(config.model_copy(update={"training": config.training.model_copy(update={"steps": steps})}))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_raising_the_number_of_updates_goes_on(
    lexicon_corpus: Path, tmp_path: Path, precision: str, capfd: pytest.CaptureFixture[str]
) -> None:
    roles = {"lexical": TRANSFORMER, "alignment": JUMPS}
    whole = run_config(tmp_path / "whole", lexicon_corpus, **roles, precision=precision)
    parted = run_config(tmp_path / "parted", lexicon_corpus, **roles, precision=precision)
    train(whole)
    stop_after(parted, 8)
    train(parted)
    assert_same_weights(tmp_path / "parted", tmp_path / "whole")
    is_slow = precision == "bfloat16" and not has_onednn(torch.bfloat16)
    assert ("cannot multiply bfloat16" in capfd.readouterr().err) == is_slow


def test_a_finished_run_does_nothing(lexicon_corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = run_config(tmp_path / "run", lexicon_corpus)
    train(config)
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*") if path.is_file()}
    capfd.readouterr()
    train(config)
    assert "finished at update 12, nothing is left to do" in capfd.readouterr().err
    assert times == {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.5}, "training.learning_rate = 0.01, now it is 0.5"),
        ({"seed": 2}, "training.seed = 1, now it is 2"),
        ({"lexical": TRANSFORMER | {"dropout": 0.5}}, "lexical.dropout = 0.1, now it is 0.5"),
    ],
)
def test_changed_settings_are_refused(
    lexicon_corpus: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    stop_after(run_config(tmp_path / "run", lexicon_corpus), 3)
    with pytest.raises(AlidadeError, match=message):
        train(run_config(tmp_path / "run", lexicon_corpus, **changes))


def test_a_damaged_checkpoint_is_named(lexicon_corpus: Path, tmp_path: Path) -> None:
    config = run_config(tmp_path / "run", lexicon_corpus)
    stop_after(config, 6)
    weights = tmp_path / "run" / "checkpoints" / "00000006" / "moments.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(AlidadeError, match=r"moments.safetensors: damaged or missing .* remove the folder"):
        train(config)


def test_a_second_run_in_the_folder_is_refused(lexicon_corpus: Path, tmp_path: Path) -> None:
    config = run_config(tmp_path / "run", lexicon_corpus)
    with hold_folder(tmp_path / "run"), pytest.raises(AlidadeError, match="another process is working in this folder"):
        train(config)
    assert not (tmp_path / "run" / "checkpoints").exists()
    train(config)


@pytest.mark.parametrize("file", ["validated/00000004/weights.safetensors", "checkpoints/00000012/moments.safetensors"])
def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(
    lexicon_corpus: Path, tmp_path: Path, file: str
) -> None:
    settings: dict[str, Any] = {"average_last": 3, "save_every": 12}
    train(run_config(tmp_path / "whole", lexicon_corpus, **settings))
    largest = (tmp_path / "whole" / file).stat().st_size - 1  # a file that grows beyond it is as if the disk were full

    config = write_config(tmp_path / "run.toml", run_config(tmp_path / "run", lexicon_corpus, **settings))
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({largest}, {largest}))"
    program = f"{limit}; from alidade.cli import main; main()"
    limited = subprocess.run([sys.executable, "-c", program, "train", str(config)], capture_output=True, text=True)
    assert limited.returncode == 2
    assert "cannot be written" in limited.stderr
    assert "Traceback" not in limited.stderr
    assert [path for path in (tmp_path / "run").rglob("*") if path.name.endswith((".partial", ".old"))] == []

    resumed = start(config)
    assert resumed.communicate()[1] is not None
    assert resumed.returncode == 0
    assert_same_weights(tmp_path / "run", tmp_path / "whole")
