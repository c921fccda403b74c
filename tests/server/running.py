"""A real server process for tests, on a port of its own, with few workers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx


class Running:
    """A server that answers."""

    def __init__(self, database: Path, *options: str, log: Path | None = None) -> None:
        self.database = database
        self.log = log or database.with_suffix(".log")
        self._file = self.log.open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "alidade", "serve", "--database", str(database), "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=self._file,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http://" in line, self.log.read_text()
        self.address = "http://127.0.0.1:" + line.split("http://127.0.0.1:")[1].split()[0]
        self.client = httpx.Client(base_url=self.address, timeout=120)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def wait_until_ready(self) -> None:
        for _ in range(600):
            with contextlib.suppress(httpx.HTTPError):
                if self.client.get("/readyz").status_code == 200:
                    return
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        raise AssertionError("the server does not get ready")

    def worker_pids(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        pids = [int(pid) for path in {children, *tasks} for pid in path.read_text().split()]
        return [pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def end(self, seconds: float = 40.0) -> int:
        """Stop it as systemd would."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(seconds)
        self._close()
        return code

    def kill(self) -> None:
        """As a power cut would, but for the disk."""
        self.process.kill()
        self.process.wait()
        self._close()

    def _close(self) -> None:
        assert self.process.stdout is not None
        self.client.close()
        self.process.stdout.close()
        self._file.close()


@contextlib.contextmanager
def running(database: Path, *options: str) -> Iterator[Running]:
    server = Running(database, *options)
    try:
        server.wait_until_ready()
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()
