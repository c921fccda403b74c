"""Shards on Ray: the same lines, also when a worker is killed, and then the driver. Needs the extra `ray`."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from small_folders import make_folder

pytest.importorskip("ray", reason="the extra `ray` is not installed")


TRANSLATE = (sys.executable, "-m", "alidade", "translate")


def hash_of(folder: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.txt")))).hexdigest()


def actors_of(driver: int) -> list[int]:
    """The processes of Ray's actors that this driver has started, by their titles."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            title, status = (path / "cmdline").read_bytes(), (path / "stat").read_text()
        except OSError:
            continue
        if title.startswith(b"ray::MapWorker") and _is_below(int(status.rsplit(")", 1)[1].split()[1]), driver):
            found.append(int(path.name))
    return found


def _is_below(process: int, ancestor: int) -> bool:
    while process > 1 and process != ancestor:
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return process == ancestor


def wait_for(folder: Path, pattern: str, count: int, process: subprocess.Popen[bytes]) -> None:
    """Until so many files are there, or the process has ended."""
    while len(list(folder.glob(pattern))) < count and process.poll() is None:
        time.sleep(0.01)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")
def test_a_killed_worker_and_a_killed_driver_cost_nothing(tmp_path: Path) -> None:
    model = make_folder(tmp_path / "model")
    text = tmp_path / "text"
    text.write_text("".join(" ".join(["ba", "be", "bi", "bo", "bu"][: 1 + i % 5]) + "\n" for i in range(600)))
    given = (*TRANSLATE, "--model", model, "--input", text, "--shards", "6", "--output")
    subprocess.run([*given, tmp_path / "plain", "--workers", "1"], check=True, capture_output=True)
    with subprocess.Popen([*given, tmp_path / "ray", "--ray"], stderr=subprocess.DEVNULL) as driver:
        try:
            wait_for(tmp_path / "ray", "*.partial", 1, driver)
            os.kill(actors_of(driver.pid)[0], signal.SIGKILL)
            wait_for(tmp_path / "ray", "*.done", 4, driver)
        finally:
            driver.kill()
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "ray").glob("*.done")}
    assert len(done) >= 4  # more shards than were begun when the worker was killed
    subprocess.run([*given, tmp_path / "ray", "--ray"], check=True, capture_output=True)
    assert all(path.stat().st_mtime_ns == when for path, when in done.items())
    assert hash_of(tmp_path / "ray") == hash_of(tmp_path / "plain")
    assert len(list((tmp_path / "ray").glob("*.done"))) == 6
