"""Shards: the same lines as one run gives, each shard once, whatever happens in between."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alidade.bulk import records
from alidade.bulk.manifest import open_manifest
from alidade.bulk.records import Column, read_records, survey
from alidade.bulk.shards import Progress, Shards, do_shards
from alidade.bulk.work import Chunk, DoneChunk
from alidade.cli import app
from alidade.errors import AlidadeError
from alidade.parallel import Workers
from small_folders import make_folder

LINES = [" ".join(["ba", "be", "bi", "bo", "bu"][: 1 + number % 5]) for number in range(37)]


class Upper:
    """Work that needs no model."""

    chunk_size = 4

    def __init__(self, name: str = "upper") -> None:
        self.origin = {"task": name, "model": name}

    def __call__(self, chunk: Chunk) -> DoneChunk:
        number, texts = chunk
        lines = [f"{number + at} {' '.join(text).upper()}\n" for at, text in enumerate(texts)]
        return DoneChunk(len(texts), lines, [])


def expected(lines: list[str]) -> str:
    return "".join(f"{number} {line.upper()}\n" for number, line in enumerate(lines, start=1))


def make_shards(folder: Path, inputs: list[Path], count: int | None = 5, work: Upper | None = None) -> Shards:
    manifest = open_manifest(
        folder, [Column.of(inputs, "text")], (work or Upper()).origin, count, Workers(1), lambda _: None
    )
    return Shards(folder, manifest)


def do_missing(shards: Shards, work: Upper | None = None) -> list[int]:
    numbers = shards.missing(range(shards.manifest.shards))
    with Progress(shards, numbers) as progress:
        do_shards(shards, numbers, work or Upper(), Workers(1), progress)
    return numbers


def joined(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.glob("*.txt")))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.en"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


@pytest.fixture
def short_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MARK_EVERY", 3)


def write_kind(folder: Path, kind: str, lines: list[str]) -> Path:
    path = folder / f"text.{kind}"
    data = "".join(f"{line}\n" for line in lines)
    objects = [{"id": number, "text": line} for number, line in enumerate(lines)]
    match kind:
        case "en.gz":
            path.write_bytes(gzip.compress(data.encode()))
        case "en.xz":
            path.write_bytes(lzma.compress(data.encode()))
        case "jsonl" | "jsonl.gz":
            data = "".join(json.dumps(record) + "\n" for record in objects)
            path.write_bytes(gzip.compress(data.encode()) if kind.endswith("gz") else data.encode())
        case "parquet":
            pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
            parquet = pytest.importorskip("pyarrow.parquet")
            parquet.write_table(pyarrow.Table.from_pylist(objects), path, row_group_size=7)
        case _:
            path.write_text(data)
    return path


@pytest.mark.usefixtures("short_marks")
@pytest.mark.parametrize("kind", ["en", "en.gz", "en.xz", "jsonl", "jsonl.gz", "parquet"])
def test_any_stretch_of_any_kind_of_file_can_be_read(tmp_path: Path, kind: str) -> None:
    files = [survey(write_kind(tmp_path, kind, LINES)), survey(write_kind(tmp_path, "more", LINES[:5]))]
    assert [file.records for file in files] == [37, 5]
    for start, stop in [(0, 42), (0, 1), (2, 3), (3, 10), (36, 38), (37, 42), (20, 20)]:
        assert list(read_records(files, "text", start, stop)) == (LINES + LINES[:5])[start:stop]


def test_files_of_a_pattern_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"part-{name}.en").write_text(f"{name}\n")
    column = Column.of([tmp_path / "part-*.en"], "text")
    assert [path.name for path in column.files] == ["part-a.en", "part-b.en", "part-c.en"]
    with pytest.raises(AlidadeError, match="no file has a name of this pattern"):
        Column.of([tmp_path / "none-*"], "text")


def test_what_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n{"texts": "b"}\n[]\n{\n')
    file = survey(path)
    for number, complaint in enumerate(['line 2: the field "text"', "line 3: an object", "line 4: not valid"], start=1):
        with pytest.raises(AlidadeError, match=complaint):
            list(read_records([file], "text", number, number + 1))
    (tmp_path / "b.en").write_bytes(b"a\n\xff\n")
    with pytest.raises(AlidadeError, match="line 2: not UTF-8"):
        list(read_records([survey(tmp_path / "b.en")], "text", 1, 2))


@pytest.mark.parametrize("count", [1, 5, 37])
def test_shards_together_are_the_whole(text: Path, tmp_path: Path, count: int) -> None:
    shards = make_shards(tmp_path / "out", [text], count)
    assert do_missing(shards) == list(range(count))
    assert joined(tmp_path / "out") == expected(LINES)
    assert do_missing(make_shards(tmp_path / "out", [text], None)) == []


def test_only_what_is_missing_is_done_again(text: Path, tmp_path: Path) -> None:
    shards = make_shards(tmp_path / "out", [text])
    do_missing(shards)
    shards.marker(1).unlink()
    shards.output(2).unlink()
    shards.output(4).write_text("cut short")
    assert do_missing(shards) == [1, 2, 4]
    assert joined(tmp_path / "out") == expected(LINES)


def test_another_model_other_settings_or_other_input_are_refused_by_name(text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    do_missing(make_shards(folder, [text]))
    with pytest.raises(AlidadeError, match="with another model, another task"):
        make_shards(folder, [text], work=Upper("lower"))
    with pytest.raises(AlidadeError, match=r"another number of shards \(5\)"):
        make_shards(folder, [text], 6)
    moved = tmp_path / "moved.en"
    text.rename(moved)
    assert do_missing(make_shards(folder, [moved])) == []  # the same content elsewhere is the same input
    moved.write_text(moved.read_text().replace("ba", "da", 1))
    with pytest.raises(AlidadeError, match="another input"):
        make_shards(folder, [moved])


def test_a_marker_of_another_run_is_refused(text: Path, tmp_path: Path) -> None:
    do_missing(make_shards(tmp_path / "one", [text]))
    shards = make_shards(tmp_path / "two", [text], work=Upper("lower"))
    for path in (tmp_path / "one").glob("00000*"):
        path.rename(tmp_path / "two" / path.name)
    with pytest.raises(AlidadeError, match="made by another model"):
        shards.missing(range(5))


class Full(Upper):
    """Work on a disk that fills up in the third shard."""

    def __call__(self, chunk: Chunk) -> DoneChunk:
        if chunk[0] in range(15, 23):
            raise OSError(28, "No space left on device")
        return super().__call__(chunk)


def test_a_full_disk_costs_one_shard_and_leaves_no_half_of_it(text: Path, tmp_path: Path) -> None:
    shards = make_shards(tmp_path / "out", [text])
    with pytest.raises(AlidadeError, match=r"1 of 5 shards could not be done.*shard 2: .*No space left on device"):
        do_missing(shards, Full())
    assert sorted(path.suffix for path in (tmp_path / "out").glob("00002*")) == []
    assert do_missing(shards) == [2]
    assert joined(tmp_path / "out") == expected(LINES)


def test_what_a_killed_writer_left_is_removed(text: Path, tmp_path: Path) -> None:
    shards = make_shards(tmp_path / "out", [text])
    stale = tmp_path / "out" / "00000-of-00005.txt.elsewhere-1.partial"
    stale.write_text("half a sh")
    do_missing(shards)
    assert not stale.exists()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("bulk") / "model")


def run(*arguments: str | Path | int) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_commands_write_in_shards_what_they_write_at_once(model: Path, text: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("".join(f"{line}\n" for line in reversed(LINES)))
    pair = ("--source", text, "--target", target)
    for command, given in {"translate": ("--input", text), "align": pair, "score": pair}.items():
        once = run(command, "--model", model, *given, "--workers", "1")
        folder = tmp_path / command
        for shard in range(3):
            done = run(
                *(command, "--model", model, *given, "--output", folder, "--workers", "1"),
                *("--shards", 3, "--shard", shard),
            )
            assert done.exit_code == 0, done.stderr
        assert joined(folder) == once.stdout
        assert f"{folder}: nothing is left to do" in run(
            command, "--model", model, *given, "--output", folder, "--shards", 3
        ).stderr.replace("\n", " ")


def test_a_record_may_have_line_breaks_where_lines_hold_objects(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"body": "ba be\nbi bo"}) + "\n" + json.dumps({"body": "ba"}) + "\n")
    given = ("--model", model, "--input", path, "--field", "body", "--workers", "1")
    done = run("translate", *given, "--shards", 1, "--output", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    first, second = [json.loads(line) for line in (tmp_path / "out" / "00000-of-00001.jsonl").read_text().splitlines()]
    assert "\n" in first["text"]
    assert second["text"]


def test_what_does_not_go_with_shards_is_refused(model: Path, text: Path, tmp_path: Path) -> None:
    given = ("translate", "--model", model, "--input", text, "--shards", "2")
    with pytest.raises(AlidadeError, match="name it with --output"):
        CliRunner().invoke(app, [*map(str, given)], catch_exceptions=False)
    for options, complaint in {
        ("--output", tmp_path / "out", "--shard", 2): "there are 2 shards, 0 to 1",
        ("--output", tmp_path / "out", "--show"): "show: not with --shards",
        ("--output", text): "and this is a file",
        ("--output", tmp_path / "out", text): "files: not with --shards",
    }.items():
        assert complaint in str(run(*given, *options).exception)


@pytest.fixture
def slow_run(model: Path, text: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that does 37 shards of one line each."""
    arguments = ["translate", "--model", model, "--input", text, "--output", tmp_path / "out", "--shards", "37"]
    process = subprocess.Popen(
        [sys.executable, "-m", "alidade", *map(str, arguments), "--workers", "1"], stderr=subprocess.PIPE
    )
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_goes_on(
    slow_run: subprocess.Popen[bytes], number: signal.Signals, model: Path, text: Path, tmp_path: Path
) -> None:
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").glob("*.done")) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(slow_run.pid, number)
    slow_run.wait()
    given = ("translate", "--model", model, "--input", text, "--workers", "1")
    done = run(*given, "--output", tmp_path / "out", "--shards", 37)
    assert done.exit_code == 0, done.stderr
    assert joined(tmp_path / "out") == run(*given).stdout
    assert not list((tmp_path / "out").glob("*.partial"))
