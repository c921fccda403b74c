"""Processes: in order, few items at a time, and errors come through."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from alidade.errors import AlidadeError
from alidade.parallel import Workers, chunked


def test_chunks() -> None:
    assert list(chunked(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(chunked([], 2)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_order_and_the_stream_is_read_as_it_is_used(workers: int) -> None:
    num_read = 0

    def items() -> Iterator[int]:
        nonlocal num_read
        for item in range(-100, 0):
            num_read += 1
            yield item

    with Workers(workers) as pool:
        results = pool.map_in_order(abs, items())
        assert [next(results) for _ in range(10)] == list(range(100, 90, -1))
        assert num_read <= 10 + 2 * workers + 2
        assert list(results) == list(range(90, 0, -1))


def test_one_item_needs_no_process() -> None:
    with Workers(2) as pool:
        assert list(pool.map_in_order(_process, [0])) == [os.getpid()]


def test_a_readers_error_comes_through() -> None:
    def items() -> Iterator[int]:
        yield from range(20)
        raise AlidadeError("line 21 is bad")

    with Workers(2) as pool, pytest.raises(AlidadeError, match="line 21 is bad"):
        list(pool.map_in_order(abs, items()))


def test_a_workers_error_comes_through() -> None:
    with Workers(2) as pool:
        with pytest.raises(ValueError, match="invalid literal"):
            list(pool.map_in_order(int, ["1", "2", "three", "4"]))
        assert list(pool.map_in_order(int, ["5", "6"])) == [5, 6], "the processes live on"


KILLED = """
import os, signal, time
from alidade.parallel import Workers

def process(_):
    time.sleep(0.2)  # long enough for every worker to get some
    return os.getpid()

if __name__ == "__main__":
    workers = set(Workers(2).map_in_order(process, range(6)))
    print(*workers, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    (tmp_path / "killed.py").write_text(KILLED)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "killed.py")], stdout=subprocess.PIPE, text=True, check=False, timeout=60
    )
    workers = [int(word) for word in done.stdout.split()]
    assert done.returncode == -9
    assert workers
    deadline = time.monotonic() + 30
    while any(map(is_running, workers)):
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)


HOLDING_INTERRUPTS = """
import os, signal, time
from alidade.parallel import Workers

def process(_):
    time.sleep(0.2)  # long enough for every worker to get some
    return os.getpid(), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

if __name__ == "__main__":
    with Workers(2) as workers:
        print(*sorted(set(workers.map_in_order(process, range(6)))))
    print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
"""


def test_no_worker_sees_an_interrupt(tmp_path: Path) -> None:
    """In a new process: the first worker is another case than later ones (`_interrupts_held`)."""
    (tmp_path / "holding.py").write_text(HOLDING_INTERRUPTS)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "holding.py")], stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    workers, parent = done.stdout.splitlines()
    assert "True" in workers
    assert "False" not in workers
    assert parent == "False", "the parent sees it as before"


def test_workers_that_are_stopped_while_they_hand_over_results_do_not_hang() -> None:
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            _interrupt_between_results()


def _interrupt_between_results() -> None:
    with Workers(2) as pool:
        for _ in pool.map_in_order(bytes, [1 << 22] * 100):  # more than a pipe holds, so one is always on its way
            raise KeyboardInterrupt


def is_running(process: int) -> bool:
    """Whether a process does or waits for work; one that has ended may stay listed until somebody collects it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _process(_: int) -> int:
    return os.getpid()
