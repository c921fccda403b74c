"""`alidade prepare` as a person runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app
from alidade.corpus.store import PreparedCorpus
from alidade.errors import AlidadeError
from interruptible import start_interruptible

CONFIG = """
corpus = "corpus"
source_language = "en"
target_language = "de"
[[bitext]]
source = "train.en"
target = "train.de"
[dev]
source = "train.en"
target = "train.de"
[subwords]
vocabulary_size = 300
[aligner]
kind = "pharaoh"
train_links = "links"
"""


def make_bitext(folder: Path, num_pairs: int) -> Path:
    (folder / "train.en").write_text("".join(f"The dog, number {i}, sleeps.\n" for i in range(num_pairs)))
    (folder / "train.de").write_text("".join(f"Der Hund, Nummer {i}, schläft.\n" for i in range(num_pairs)))
    (folder / "links").write_text("0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7\n" * num_pairs)
    path = folder / "prepare.toml"
    path.write_text(CONFIG)
    return path


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["prepare", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_prepare_then_show(tmp_path: Path) -> None:
    config = make_bitext(tmp_path, 20)
    output = run(config)
    assert "read" in output
    assert "20 pairs" in output
    assert "unchanged" in run(config)
    picture = run(config, "--show", "17")
    assert "Pair 17 of 20" in picture
    assert "Hund" in picture
    assert "sleeps" in picture
    assert "By pieces" in picture
    with pytest.raises(AlidadeError, match="--show 21: the training corpus has 20 pairs"):
        run(config, "--show", "21")


def test_a_setting_on_the_command_line(tmp_path: Path) -> None:
    config = make_bitext(tmp_path, 20)
    run(config, "--set", "bitext=[{source='train.en', target='train.de', cap=5}]", "--set", "aligner={kind='none'}")
    assert len(PreparedCorpus.open(tmp_path / "corpus").train) == 5


def test_pairs_of_bpe_dropout_are_counted(tmp_path: Path) -> None:
    output = run(make_bitext(tmp_path, 20), "--set", "bpe_dropout.copies=3")
    assert "60 pairs of BPE-dropout" in output


def test_show_before_prepare_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match="make one with `alidade prepare`"):
        run(make_bitext(tmp_path, 3), "--show", "1")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_leaves_no_half_file_and_can_go_on(tmp_path: Path, stop: signal.Signals) -> None:
    config = make_bitext(tmp_path, 20_000)
    process = start_interruptible(
        [sys.executable, "-m", "alidade", "prepare", str(config), "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches every process of the session, as in a terminal
    )
    part = tmp_path / "corpus" / "stages" / "encode.parts" / "train" / "00000"  # it is there while encoding goes on
    written = "train.source.ids.npy.partial"
    wait_until(lambda: any(p.stat().st_size > 1000 for p in part.glob(written)) or process.poll() is not None)
    os.killpg(process.pid, stop)
    _, errors = process.communicate(timeout=60)
    corpus = tmp_path / "corpus"
    assert not (corpus / "corpus.json").exists()
    assert not (corpus / "train.source.ids.npy").exists()
    if stop == signal.SIGINT:
        assert process.returncode == 130
        assert errors.splitlines()[-1] == "alidade: stopped"
        assert "Traceback" not in errors
        assert not list(corpus.rglob("*.partial"))
    output = run(config, "--set", "subwords.vocabulary_size=300")
    assert "clean: unchanged, skipped" in output
    assert "subwords: unchanged, skipped" in output
    assert len(PreparedCorpus.open(corpus).train) == 20_000
    assert not list(corpus.rglob("*.partial"))


def wait_until(holds: object, seconds: float = 120) -> None:
    assert callable(holds)
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < seconds, "waited too long"
        time.sleep(0.01)
