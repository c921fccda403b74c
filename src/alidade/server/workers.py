"""Worker processes: each has the models in its memory and does one batch at a time.

They are spawned, hear nothing of Ctrl-C, and end when the pipe to the server closes, whatever happens to the server.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from alidade.errors import AlidadeError
from alidade.server.work import Text, Work, Worker

START_SECONDS = 120.0
log = logging.getLogger("alidade.server")


class WorkerLostError(Exception):
    """The process has ended, or has been ended because it took too long."""


class TextError(Exception):
    """A batch failed for a reason that lies in our program, not in the request."""


class WorkerProcess:
    """A process that works; started again by its owner when it is lost."""

    def __init__(self, models: Sequence[Path | None], database: Path, batch_size: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other_end = context.Pipe()
        life, self._life = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_serve, args=(other_end, life, tuple(models), database, batch_size), daemon=True
        )
        self._process.start()
        other_end.close()
        life.close()
        self._receive(START_SECONDS)

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def run(self, work: Work, texts: Sequence[Text], seconds: float) -> list[Any]:
        """The results of a batch. AlidadeError: what the request can mend."""
        try:
            self._connection.send((work, list(texts)))
        except OSError:
            raise WorkerLostError from None
        results: list[Any] = self._receive(seconds)
        return results

    def _receive(self, seconds: float) -> Any:
        try:
            if not self._connection.poll(seconds):
                raise WorkerLostError
            kind, value = self._connection.recv()
        except (EOFError, OSError):
            raise WorkerLostError from None
        if kind == "error":
            raise AlidadeError(value)
        if kind == "failure":
            raise TextError(value)
        return value

    def end(self) -> None:
        """End the process now, whatever it is doing."""
        self._life.close()
        self._connection.close()
        self._process.kill()
        self._process.join()


def _serve(
    connection: Connection, life: Connection, models: tuple[Path | None, ...], database: Path, batch_size: int
) -> None:
    """The life of a worker process."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_server, args=(life,), daemon=True).start()
    try:
        worker = Worker(models, database, batch_size)
    except AlidadeError as error:
        connection.send(("error", str(error)))
        return
    connection.send(("ready", None))
    while True:
        try:
            work, texts = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(_answer(worker, work, texts))


def _answer(worker: Worker, work: Work, texts: Sequence[Text]) -> tuple[str, Any]:
    try:
        return "done", worker.run(work, texts)
    except AlidadeError as error:
        return "error", str(error)
    except Exception:
        return "failure", traceback.format_exc()


def _end_with_server(life: Connection) -> None:
    """End at once when the server's end of the pipe closes, even in the middle of a batch."""
    try:
        life.recv_bytes()
    except (EOFError, OSError):
        os._exit(1)
