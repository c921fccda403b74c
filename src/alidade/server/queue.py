"""The queue: texts of all clients wait here and become batches by length for the workers.

A thread for each worker process takes the next batch as soon as its worker is free. What a person waits for goes first;
documents get the rest, and one batch in eight in any case. A worker that dies is replaced and its batch done again,
text by text, so that one text that kills workers takes no other with it.

A text whose client has gone away (its future is cancelled) is passed over.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from typing import Any

from alidade.errors import AlidadeError
from alidade.server.metrics import Metrics
from alidade.server.settings import Limits
from alidade.server.work import Text, Work
from alidade.server.workers import TextError, WorkerLostError, WorkerProcess

log = logging.getLogger("alidade.server")

FILLING_SECONDS = 0.01
"""While other workers are busy, a batch that is not full waits so long for more texts."""
LOOKED_AT = 512
"""Among so many of the waiting texts a batch looks for those of like length."""
BATCH_CHARACTERS = 8000
SHARE = 16
"""What waits is shared among the workers, but nobody takes less than this: smaller batches cost more time a text, and
larger ones leave other workers without any while their clients read the last answers."""
BACKGROUND_SHARE = 8
"""One batch in so many is a document's, if one waits."""
MOST_LOSSES = 3
"""A text that was in the hands of so many lost workers is given to no other."""


class QueueFullError(Exception):
    """So much is waiting that no more is taken."""


class ClosedError(Exception):
    """The server is stopping."""


@dataclass(slots=True, eq=False)
class Job:
    """A text that waits for a worker."""

    work: Work
    text: Text
    is_background: bool
    future: Future[Any] = field(default_factory=Future)
    arrival: float = field(default_factory=time.monotonic)
    num_lost: int = 0
    """How many workers were lost with it."""
    is_alone: bool = False
    """It shares no batch: something in one was bad."""
    due: int = 0
    """The number of the batch from which on its length matters no more: it has been overtaken enough."""

    @property
    def size(self) -> int:
        return len(self.text.text) + len(self.text.second) + 1


class Queue:
    """Texts in, results out, through worker processes."""

    def __init__(
        self,
        start_worker: Callable[[], WorkerProcess],
        num_workers: int,
        batch_size: int,
        limits: Limits,
        metrics: Metrics,
    ) -> None:
        self._start_worker = start_worker
        self._batch_size = batch_size
        self._limits = limits
        self._metrics = metrics
        self._changed = threading.Condition()
        self._waiting: tuple[deque[Job], deque[Job]] = deque(), deque()
        """What people wait for, and documents."""
        self._waiting_size = 0
        self._turns = itertools.count(1)
        self._num_batches = 0
        self._num_busy = 0
        self._num_ready = 0
        self._is_closed = False
        self._start_error: AlidadeError | None = None
        self.pids: dict[int, int | None] = {}
        self._threads = [
            threading.Thread(target=self._tend, args=(number,), daemon=True) for number in range(num_workers)
        ]
        metrics.watch_queue(self.num_waiting, lambda: self._num_ready, lambda: self._num_busy)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def is_ready(self) -> bool:
        return self._num_ready > 0 and not self._is_closed

    def wait_until_ready(self, seconds: float) -> None:
        """Until a worker can work; an error if none will."""
        with self._changed:
            self._changed.wait_for(lambda: self._num_ready > 0 or self._start_error is not None, seconds)
        if self._start_error is not None:
            raise self._start_error

    @property
    def is_full(self) -> bool:
        return len(self._waiting[0]) >= self._limits.waiting_texts

    def num_waiting(self) -> int:
        return len(self._waiting[0]) + len(self._waiting[1])

    def submit(self, work: Work, texts: Sequence[Text], *, is_background: bool = False) -> list[Future[Any]]:
        """A future for each text, or none at all if there is no room for all of them."""
        jobs = [Job(work, text, is_background) for text in texts]
        size = sum(job.size for job in jobs)
        with self._changed:
            if self._is_closed:
                raise ClosedError
            if not is_background:
                is_full = len(self._waiting[0]) + len(jobs) > self._limits.waiting_texts
                if is_full or self._waiting_size + size > self._limits.waiting_characters:
                    raise QueueFullError
                self._waiting_size += size
            lane = self._waiting[is_background]
            for position, job in enumerate(jobs, start=len(lane)):
                job.due = self._num_batches + position // self._batch_size + 1
            lane.extend(jobs)
            self._changed.notify_all()
        return [job.future for job in jobs]

    def forget(self, futures: Sequence[Future[Any]]) -> None:
        """Free the places of texts that nobody waits for any more."""
        for future in futures:
            future.cancel()
        with self._changed:
            for lane in self._waiting:
                gone = [job for job in lane if job.future.cancelled()]
                for job in gone:
                    lane.remove(job)
                    self._left(job)

    def close(self, seconds: float) -> None:
        """Refuse what comes, drop documents (they are in the store), finish what people wait for, end the workers."""
        with self._changed:
            self._is_closed = True
            dropped = list(self._waiting[1])
            self._waiting[1].clear()
            self._changed.notify_all()
        for job in dropped:
            _fail(job, ClosedError())
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _left(self, job: Job) -> None:
        if not job.is_background:
            self._waiting_size -= job.size

    # What follows runs in the threads, one for each worker.

    def _tend(self, number: int) -> None:
        """Keep one worker alive and at work until the queue is closed."""
        worker: WorkerProcess | None = None
        try:
            while True:
                worker = worker or self._new_worker(number)
                if worker is None:
                    return
                batch = self._next_batch()
                if batch is None:
                    return
                try:
                    if not self._run(worker, batch):
                        worker.end()
                        worker = None
                        self._count_ready(-1)
                finally:
                    with self._changed:
                        self._num_busy -= 1
        finally:
            if worker is not None:
                worker.end()

    def _new_worker(self, number: int) -> WorkerProcess | None:
        pause = 0.1
        while not self._is_closed:
            try:
                worker = self._start_worker()
            except WorkerLostError:
                log.error("a worker ended while it started; trying again")
                time.sleep(pause)
                pause = min(2 * pause, 10.0)
                continue
            except AlidadeError as error:
                with self._changed:
                    self._start_error = error
                    self._changed.notify_all()
                return None
            self.pids[number] = worker.pid
            self._count_ready(1)
            return worker
        return None

    def _count_ready(self, change: int) -> None:
        with self._changed:
            self._num_ready += change
            self._changed.notify_all()

    def _next_batch(self) -> list[Job] | None:
        """The next texts to work on, all with the same work and of like length; None: the queue is closed and empty."""
        with self._changed:
            while True:
                if not any(self._waiting):
                    if self._is_closed:
                        return None
                    self._changed.wait()
                    continue
                rest = self._seconds_to_fill()
                if rest <= 0:
                    break
                self._changed.wait(rest)
            wants_background = bool(self._waiting[1]) and next(self._turns) % BACKGROUND_SHARE == 0
            lane = self._waiting[1] if wants_background or not self._waiting[0] else self._waiting[0]
            batch = self._choose(lane)
            self._num_busy += 1
        return batch

    def _seconds_to_fill(self) -> float:
        """How long to wait for more: not at all when nobody else is working, or when there is enough."""
        if self._num_busy == 0 or self.num_waiting() >= min(SHARE, self._batch_size) or self._is_closed:
            return 0.0
        oldest = min(lane[0].arrival for lane in self._waiting if lane)
        return oldest + FILLING_SECONDS - time.monotonic()

    def _choose(self, lane: deque[Job]) -> list[Job]:
        """The oldest text, those that have been overtaken, and those most like it in length: a worker's share.

        In turn a text would be in the batch of its place in the queue; others may go before it for one batch more.
        Once the queue is half full they may not: texts of like length take a twentieth less time together, but whoever
        is overtaken waits for a batch more, and for one with long texts alone, which takes twice the time of others.
        """
        self._num_batches += 1
        oldest = lane[0]
        if oldest.is_alone:
            lane.popleft()
            self._left(oldest)
            return [oldest]
        alike = [job for job in itertools.islice(lane, LOOKED_AT) if job.work == oldest.work and job is not oldest]
        if 2 * len(lane) < self._limits.waiting_texts:
            due = self._num_batches
            alike.sort(key=lambda job: (0, job.due) if job.due < due else (1, abs(job.size - oldest.size)))
        batch, size = [oldest], oldest.size
        share = max(SHARE, math.ceil((len(alike) + 1) / len(self._threads)))
        for job in alike[: min(share, self._batch_size) - 1]:
            if size + job.size > BATCH_CHARACTERS:
                break
            batch.append(job)
            size += job.size
        for job in batch:
            lane.remove(job)
            self._left(job)
        return batch

    def _run(self, worker: WorkerProcess, batch: list[Job]) -> bool:
        """Do a batch; False: the worker is lost, and the texts are waiting again or have failed for good."""
        jobs = [job for job in batch if not job.future.cancelled()]
        if not jobs:
            return True
        start = time.monotonic()
        try:
            results = worker.run(jobs[0].work, [job.text for job in jobs], self._limits.batch_seconds)
        except WorkerLostError:
            self._metrics.workers_lost.inc()
            log.error("a worker was lost with a batch of %d; another one does it again", len(jobs))
            self._put_back(jobs)
            return False
        except AlidadeError as error:
            for job in jobs:
                _fail(job, error)
            return True
        except TextError as error:
            if len(jobs) > 1:  # one of them: the others shall have their translations
                self._do_alone(jobs)
                return True
            log.error("a text could not be worked on:\n%s", error)
            _fail(jobs[0], error)
            return True
        self._metrics.saw_batch(jobs[0].work.kind, len(jobs), time.monotonic() - start)
        for job, result in zip(jobs, results, strict=True):
            with contextlib.suppress(InvalidStateError):  # the client has gone away
                job.future.set_result(result)
        return True

    def _put_back(self, jobs: list[Job]) -> None:
        """A worker was lost with them: they wait again, but for those that have been lost too often."""
        for job in jobs:
            job.num_lost += 1
            if job.num_lost >= MOST_LOSSES:
                _fail(job, TextError("this text ends every worker that reads it"))
        self._do_alone([job for job in jobs if job.num_lost < MOST_LOSSES])

    def _do_alone(self, jobs: list[Job]) -> None:
        """Back to the front of the queue, from now on each by itself."""
        with self._changed:
            for job in reversed(jobs):
                job.is_alone = True
                self._waiting[job.is_background].appendleft(job)
                if not job.is_background:
                    self._waiting_size += job.size
            self._changed.notify_all()


def _fail(job: Job, error: Exception) -> None:
    with contextlib.suppress(InvalidStateError):
        job.future.set_exception(error)
