"""Reading with errors that name the place; writing that is whole or not at all."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
import threading
from pathlib import Path

import pytest

from alidade import io
from alidade.errors import AlidadeError
from alidade.io import (
    aside_name,
    hash_file,
    hold_folder,
    open_text,
    read_json,
    read_lines,
    write_aside,
    write_folder_aside,
    write_json,
)


def test_plain_gz_and_xz_read_alike(tmp_path: Path) -> None:
    content = "\ufefferste Zeile\r\nzweite\u2028Zeile\n\nletzte".encode()
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    (tmp_path / "a.xz").write_bytes(lzma.compress(content))
    for name in ("plain", "a.gz", "a.xz"):
        assert list(read_lines(tmp_path / name)) == ["erste Zeile", "zweite\u2028Zeile", "", "letzte"]


def test_invalid_utf8_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes("gut\nM\xfcller\n".encode("latin-1"))
    with open_text(path) as lines:
        assert next(lines) == "gut"
        with pytest.raises(AlidadeError, match=r"latin1\.txt, line 2: not UTF-8 \(byte 2 of the line is 0xfc\)"):
            next(lines)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"nowhere\.txt: no such file"):
        list(read_lines(tmp_path / "nowhere.txt"))
    with pytest.raises(AlidadeError, match="this is a folder"):
        list(read_lines(tmp_path))
    with pytest.raises(AlidadeError, match=r"nowhere\.txt: no such file"):
        hash_file(tmp_path / "nowhere.txt")


def test_a_hash_is_of_the_content(tmp_path: Path) -> None:
    one, other = tmp_path / "one.gz", tmp_path / "other.txt"
    for path in (one, other):
        path.write_bytes(b"the same")
    os.utime(other, (0, 0))
    assert hash_file(one) == hash_file(other)
    other.write_bytes(b"not quite")
    assert hash_file(one) != hash_file(other)
    with pytest.raises(AlidadeError, match="this is a folder"):
        hash_file(tmp_path)


@pytest.mark.parametrize("name", ["cut.gz", "cut.xz"])
def test_a_cut_archive_is_an_error(tmp_path: Path, name: str) -> None:
    pack = gzip.compress if name.endswith("gz") else lzma.compress
    (tmp_path / name).write_bytes(pack(b"line\n" * 9999)[:-20])
    with pytest.raises(AlidadeError, match="damaged or cut short"):
        list(read_lines(tmp_path / name))
    (tmp_path / name).write_bytes(b"plain text")
    with pytest.raises(AlidadeError, match="damaged or cut short"):
        list(read_lines(tmp_path / name))


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out.txt"
    with write_aside(path) as file:
        file.write("ganz")
        file.flush()
        assert not path.exists()
    assert path.read_text() == "ganz"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_what_stops_the_writing_leaves_the_old_file(tmp_path: Path, stop: type[BaseException]) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")

    def write_half() -> None:
        with write_aside(path) as file:
            file.write("half")
            raise stop

    with pytest.raises(stop):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    """/dev/full is a disk without room: what is written aside goes there."""
    path = tmp_path / "out.txt"
    aside_name(path).symlink_to("/dev/full")
    with pytest.raises(AlidadeError, match=r"out\.txt: cannot be written: No space left on device"):  # noqa: SIM117
        with write_aside(path) as file:
            file.write("x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_json_comes_back(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"größe": [1, 2]})
    assert read_json(tmp_path / "a.json") == {"größe": [1, 2]}
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(AlidadeError, match=r"a\.json: not valid JSON"):
        read_json(tmp_path / "a.json")


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    with hold_folder(tmp_path / "work"):  # noqa: SIM117
        with pytest.raises(AlidadeError, match="another process is working in this folder"):
            with hold_folder(tmp_path / "work"):
                pass
    with hold_folder(tmp_path / "work"):
        pass


def test_a_folder_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with write_folder_aside(path) as aside:
        (aside / "one").write_text("1")
        assert not path.exists()
    with pytest.raises(ZeroDivisionError), write_folder_aside(path) as aside:  # noqa: PT012
        (aside / "two").write_text("2")
        raise ZeroDivisionError
    assert [file.name for file in path.iterdir()] == ["one"]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_takes_the_place_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_exchange: bool
) -> None:
    if not can_exchange:
        monkeypatch.setattr(io, "_exchange", lambda _one, _other: False)
    for content in ("1", "2", "3"):
        with write_folder_aside(tmp_path / "folder") as aside:
            (aside / "file").write_text(content)
        assert (tmp_path / "folder" / "file").read_text() == content
        assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges folders in one step")
def test_a_reader_always_finds_a_whole_folder(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    is_over, missed = threading.Event(), 0

    def read() -> None:
        nonlocal missed
        while not is_over.is_set():
            missed += not (path / "file").exists()

    with write_folder_aside(path) as aside:
        (aside / "file").write_text("0")
    reader = threading.Thread(target=read)
    reader.start()
    for number in range(300):
        with write_folder_aside(path) as aside:
            (aside / "file").write_text(str(number))
    is_over.set()
    reader.join()
    assert missed == 0
