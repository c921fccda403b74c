"""Result files: written with where they come from, marked when the code under them has changed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from alidade.errors import AlidadeError
from runner import results
from runner.results import TRANSLATING, fingerprint, read_result, record

NAMED = ("-c", "user.name=a", "-c", "user.email=a@b.example")
CODE = '''
def double(number):
    """Twice."""
    return 2 * number
'''


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A repository of one room."""
    monkeypatch.setattr(results, "ROOT", tmp_path)
    fingerprint.cache_clear()
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "one.py").write_text(CODE)
    yield tmp_path
    fingerprint.cache_clear()


def test_a_result_says_where_it_comes_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CT2_FORCE_CPU_ISA", "AVX2")
    monkeypatch.setattr(sys, "argv", [str(results.ROOT / "benchmarks" / "training.py"), "--shape", "tiny"])
    record("speed/some", {"ours": {"tokens": 1234.5}}, depends_on=TRANSLATING, folder=tmp_path)
    found = read_result("speed/some", tmp_path)
    assert found is not None
    assert found.figures == {"ours": {"tokens": 1234.5}}
    assert found.command == "python benchmarks/training.py --shape tiny"
    assert "CT2_FORCE_CPU_ISA=AVX2" in found.processor
    assert found.commit
    assert found.code is not None
    assert found.code.keys() == set(TRANSLATING)
    assert found.changed() == []
    assert read_result("speed/other", tmp_path) is None


def test_changed_code_is_noticed(root: Path) -> None:
    record("some", {"value": 1}, depends_on=["room", "room/one.py"], command="measure", folder=root)
    (root / "room" / "one.py").write_text(CODE.replace("2", "3"))
    fingerprint.cache_clear()
    found = read_result("some", root)
    assert found is not None
    assert found.changed() == ["room", "room/one.py"]


@pytest.mark.parametrize(
    ("old", "new"), [("Twice.", "Two times."), ("2 * number", "(2  *  number)  # why"), ("def", "\n\n\ndef")]
)
def test_words_and_layout_are_no_change(root: Path, old: str, new: str) -> None:
    before = fingerprint("room")
    (root / "room" / "one.py").write_text(CODE.replace(old, new))
    fingerprint.cache_clear()
    assert fingerprint("room") == before


def test_a_new_file_is_a_change_and_a_lost_one_too(root: Path) -> None:
    before = fingerprint("room")
    (root / "room" / "two.py").write_text("x = 1\n")
    fingerprint.cache_clear()
    assert fingerprint("room") != before
    assert fingerprint("no-such-room") == "gone"


def test_a_commit_is_told_from_files_that_differ_from_it(root: Path) -> None:
    for command in (["init", "-q"], ["add", "room"], [*NAMED, "commit", "-qm", "One room"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    (root / "other.json").write_text("{}")
    clean = results.describe_commit(["room"])
    assert len(clean) == 7
    (root / "room" / "one.py").write_text("x = 1\n")
    assert results.describe_commit(["room"]) == f"{clean}+"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text('{"figures": {}, "when": "today"}')
    with pytest.raises(AlidadeError, match=r"some\.json: not a result file"):
        read_result("some", tmp_path)


def test_what_is_recorded_must_exist(root: Path) -> None:
    with pytest.raises(AlidadeError, match="rom"):
        record("some", {}, depends_on=["rom"], command="measure", folder=root)


def test_benchmarks_record_in_the_same_way() -> None:
    folder = results.ROOT / "benchmarks"
    done = subprocess.run([sys.executable, "-c", "from record import record"], cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr
