"""`alidade translate`, end to end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alidade.cli import app
from alidade.cli.translate import _divide_last, _lots
from alidade.errors import AlidadeError
from interruptible import start_interruptible
from small_folders import make_folder

TEXT = "ba be\n\nbi bo bu da de\ndi\ndo du fa fe fi fo fu\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("folder") / "model")


def run(*arguments: str | Path, text: str = "") -> Result:
    return CliRunner().invoke(app, ["translate", *map(str, arguments)], input=text)


def run_process(*arguments: str | Path, text: bytes) -> subprocess.CompletedProcess[bytes]:
    """The whole program, from its start to its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "alidade", "translate", *map(str, arguments)], input=text, capture_output=True
    )


def test_lines_in_lines_out(folder: Path) -> None:
    done = run("--model", folder, "--workers", "1", text=TEXT)
    assert done.exit_code == 0
    lines = done.stdout.split("\n")
    assert len(lines) == 6
    assert [line == "" for line in lines] == [False, True, False, False, False, True]


def test_workers_and_files_give_the_same(folder: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text(TEXT * 3)
    alone = run("--model", folder, "--workers", "1", text=TEXT * 3)
    several = run("--model", folder, "--workers", "2", "--batch-size", "1", "--input", source, "--output", target)
    assert several.exit_code == 0, several.stderr
    assert target.read_text() == alone.stdout


@pytest.mark.parametrize("num_lines", [1, 2, 5, 8, 9, 16, 19])
def test_the_last_lot_is_divided_among_the_workers(num_lines: int) -> None:
    lines = [str(number) for number in range(1, num_lines + 1)]
    lots = list(_divide_last(_lots(iter(lines), 8), 8, workers=3))
    assert [line for _, part in lots for line in part] == lines
    assert all(part[0] == str(first) for first, part in lots)
    whole, rest = divmod(num_lines, 8)
    assert [len(part) for _, part in lots[:whole]] == [8] * whole
    assert len(lots) - whole == min(rest, 3)


def test_json_lines(folder: Path) -> None:
    done = run("--model", folder, "--json", "--nbest", "2", "--workers", "1", text=TEXT)
    values = [json.loads(line) for line in done.stdout.splitlines()]
    assert [v["source"] for v in values] == TEXT.splitlines()
    assert len(values[0]["alternatives"]) == 1
    assert values[2]["source_words"] == ["bi", "bo", "bu", "da", "de"]


def test_show_draws_links(folder: Path) -> None:
    done = run("--model", folder, "--show", "--workers", "1", text="ba be\n")
    assert "source" in done.stdout
    assert "from" in done.stdout


def test_prefixes_and_dictionary(folder: Path, tmp_path: Path) -> None:
    prefixes = tmp_path / "prefixes"
    prefixes.write_text("ga\nge gi\n")
    done = run("--model", folder, "--workers", "1", "--prefixes", prefixes, text="ba be\nbi bo\n")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["ga", "ge"]
    done = run("--model", folder, "--workers", "1", "--term", "be=na", "--dictionary-mode", "require", text="ba be\n")
    assert "na" in done.stdout.split()
    assert "dictionary: 1 matches in 1 sentences, 1 used, 0 not used\n" in done.stderr
    done = run("--model", folder, "--workers", "1", "--term", "xx=na", text="ba be\n")
    assert "none of the 1 entries occurs" in done.stderr


@pytest.mark.parametrize("workers", ["1", "2"])
def test_invalid_utf8_names_the_line_and_keeps_what_came_before(folder: Path, workers: str) -> None:
    done = run_process("--model", folder, "--workers", workers, text=b"ba be\nbi bo\n\xff\xfe\nda\n")
    assert done.returncode == 2
    assert b"line 3: not UTF-8" in done.stderr
    assert b"Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_a_long_line_is_cut_with_a_warning(folder: Path) -> None:
    done = run("--model", folder, "--workers", "1", "--beam", "1", text="ba\n" + "be " * 300 + "\n")
    assert done.exit_code == 0
    assert "line 2: long text, cut into" in done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_mistakes_are_told_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    mistakes: list[tuple[list[str | Path], str]] = [
        (["--model", tmp_path], "not a model folder"),
        (["--model", folder, "--set", "beamsize=3"], 'did you mean "beam_size"'),
        (["--model", folder, "--nbest", "9"], "--beam 9"),
        (["--model", folder, "--input", tmp_path / "nowhere"], "no such file"),
    ]
    for arguments, message in mistakes:
        done = run(*arguments, text="ba\n")
        assert isinstance(done.exception, AlidadeError)
        assert message in str(done.exception)


def test_ctrl_c_leaves_what_was_translated(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    command = [sys.executable, "-m", "alidade", "translate", "--model", str(folder), "--batch-size", "1"]
    process = start_interruptible(
        [*command, "--workers", "1", "--output", str(target)], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(b"ba be\nbi bo\n")
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (target.exists() and len(target.read_text().splitlines()) == 2):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert len(target.read_text().splitlines()) == 2
