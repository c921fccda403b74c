"""`alidade translate`, end to end."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alidade.cli import app
from alidade.errors import AlidadeError
from alidade.io import aside_name, open_resumable
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
    assert "na" in done.stdout.lower().split()  # with a capital if it comes first
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
        (["--model", folder, "--input", tmp_path / "nowhere"], "no such file"),
    ]
    for arguments, message in mistakes:
        done = run(*arguments, text="ba\n")
        assert isinstance(done.exception, AlidadeError)
        assert message in str(done.exception)


def start(*arguments: str | Path) -> subprocess.Popen[bytes]:
    """The whole program with an open standard input."""
    command = [sys.executable, "-m", "alidade", "translate", *map(str, arguments)]
    return start_interruptible(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


def test_ctrl_c_leaves_what_was_translated_beside(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    process = start("--model", folder, "--workers", "1", "--output", target)
    assert process.stdin is not None
    process.stdin.write(b"ba be\nbi bo\n")
    process.stdin.flush()
    partial = aside_name(target)
    wait_for(lambda: partial.exists() and len(partial.read_text().splitlines()) == 2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert f"what was translated is in {partial}".encode() in errors
    assert not target.exists(), "what is not complete does not look so"


def test_an_open_standard_input_is_answered_at_once(folder: Path) -> None:
    with start("--model", folder, "--workers", "2") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in (b"ba be\n", b"bi bo\nda de\n", b"di"):
            process.stdin.write(text)
            process.stdin.flush()
            for _ in range(text.count(b"\n")):
                assert process.stdout.readline().strip()
        process.stdin.close()
        assert process.stdout.readline().strip(), "the last line needs no line end"


def test_a_file_may_be_translated_in_its_place(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(TEXT)
    expected = run("--model", folder, "--workers", "1", text=TEXT).stdout
    done = run("--model", folder, "--workers", "1", "--input", text, "--output", text)
    assert done.exit_code == 0
    assert text.read_text() == expected
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_what_was_there_stays_until_the_new_file_is_whole(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"ba be\n\xff\n")
    (tmp_path / "out").write_text("old\n")
    done = run("--model", folder, "--workers", "1", "--input", tmp_path / "text", "--output", tmp_path / "out")
    assert isinstance(done.exception, AlidadeError)
    assert (tmp_path / "out").read_text() == "old\n"


def test_devices_are_written_in_place(folder: Path) -> None:
    assert run("--model", folder, "--output", "/dev/null", text="ba be\n").exit_code == 0
    assert not Path("/dev/null").is_file()
    assert not Path("/dev/null.partial").exists()
    done = run("--model", folder, "--output", "/dev/full", text="ba be\n")
    assert isinstance(done.exception, AlidadeError | OSError)
    assert "No space left" in str(done.exception)


@pytest.mark.parametrize("options", [("--nbest", "2"), ("--json", "--term", "bo=ga")])
def test_a_killed_run_goes_on(folder: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    text, whole, output = (tmp_path / name for name in ("text", "whole", "out"))
    text.write_text(TEXT * 10)
    arguments: list[str | Path] = [
        "--model",
        folder,
        "--workers",
        "1",
        "--batch-size",
        "1",
        "--beam",
        "2",
        "--input",
        text,
        *options,
    ]
    assert run(*arguments, "--output", whole).exit_code == 0
    partial = aside_name(output)
    process = start(*arguments, "--output", output)
    wait_for(lambda: partial.exists() and partial.stat().st_size > 100)
    process.kill()
    process.communicate()
    assert not output.exists()
    with partial.open("a") as file:
        file.write("half a li")  # as a kill may leave it
    again = run(*arguments, "--output", output)
    assert again.exit_code == 0, again.stderr
    assert "going on after line" in again.stderr
    assert output.read_text() == whole.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "text", "whole"]


def test_only_the_same_command_goes_on(folder: Path, tmp_path: Path) -> None:
    text, output = tmp_path / "text", tmp_path / "out"
    text.write_bytes(b"ba be\nbi bo\n\xff\n")
    arguments: list[str | Path] = ["--model", folder, "--workers", "1", "--input", text, "--output", output]
    assert isinstance(run(*arguments).exception, AlidadeError)
    assert len(aside_name(output).read_text().splitlines()) == 2
    assert "going on after line 2" in run(*arguments).stderr
    for changed in (["--beam", "2"], ["--nbest", "2"], ["--term", "ba=ga"], ["--json"]):
        assert "going on" not in run(*arguments, *changed).stderr
    text.write_bytes(b"ba be\nbi bo\nda\n")
    done = run(*arguments)
    assert "going on" not in done.stderr
    assert len(output.read_text().splitlines()) == 3


def test_two_processes_do_not_write_one_file(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    with open_resumable(output, None):
        done = run("--model", folder, "--workers", "1", "--output", output, text="ba\n")
    assert isinstance(done.exception, AlidadeError)
    assert "another process is writing this file" in str(done.exception)


def test_every_line_has_as_many_translations(folder: Path) -> None:
    long = "ba be bi bo bu. " * 60
    done = run("--model", folder, "--workers", "1", "--nbest", "3", text=f"ba be\n\n{long}\nbi bo\n")
    lines = done.stdout.split("\n")[:-1]
    assert len(lines) == 12
    assert lines[3:6] == ["", "", ""]
    for first in (0, 6, 9):
        assert len(set(lines[first : first + 3])) == 3, "no translation stands there twice"
    shown = run("--model", folder, "--workers", "1", "--nbest", "3", "--show", text="ba be\n")
    assert shown.stdout.count("source") == 3


def test_json_says_where_words_stand(folder: Path) -> None:
    done = run("--model", folder, "--workers", "1", "--json", text="  ba  be bi \n")
    values = json.loads(done.stdout)
    assert values["original"] == "  ba  be bi "
    assert values["source_words"] == ["ba", "be", "bi"]
    for text, name, words in (
        ("source", "source", "source"),
        ("original", "original", "source"),
        ("translation", "target", "target"),
    ):
        assert [values[text][start:end] for start, end in values[f"{name}_offsets"]] == values[f"{words}_words"]


def test_surplus_prefixes_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "prefixes").write_text("ga\nge\ngi\n")
    done = run("--model", folder, "--workers", "1", "--prefixes", tmp_path / "prefixes", text="ba\nbe\n")
    assert "more prefixes than the 2 lines" in str(done.exception)


def test_a_threshold_is_below_one(folder: Path) -> None:
    done = run("--model", folder, "--threshold", "1.0", text="ba\n")
    assert done.exit_code == 2
    assert "is not below 1" in done.stderr


def test_a_terminal_is_told_what_to_do(folder: Path) -> None:
    parent, child = pty.openpty()
    process = start_interruptible(
        [sys.executable, "-m", "alidade", "translate", "--model", str(folder)], stdin=child, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    assert process.stderr.readline() == b"alidade: reading from the terminal, a sentence a line; Ctrl-D ends\n"
    os.write(parent, b"\x04")
    assert process.wait(timeout=60) == 0
    process.stderr.close()
    os.close(parent)
    os.close(child)


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_command(folder: Path, tmp_path: Path, signal_number: int) -> None:
    (tmp_path / "text").write_text("ba be bi bo bu da de di do du fa fe fi fo fu ga ge\n" * 1500)
    process = start(
        "--model",
        folder,
        "--workers",
        "2",
        "--batch-size",
        "4",
        "--input",
        tmp_path / "text",
        "--output",
        tmp_path / "out",
    )
    wait_for(lambda: aside_name(tmp_path / "out").exists() and aside_name(tmp_path / "out").stat().st_size > 0)
    workers = children_of(process.pid)
    assert len(workers) >= 2
    process.send_signal(signal_number)
    stopped = time.monotonic()
    process.communicate()
    while any(map(is_running, workers)):
        assert time.monotonic() < stopped + 2, "workers go on"
        time.sleep(0.02)
    assert time.monotonic() < stopped + 2
    assert aside_name(tmp_path / "out").exists()


def children_of(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in children]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
