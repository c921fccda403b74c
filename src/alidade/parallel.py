"""Work on a stream in several processes: in order, with little of it in memory at a time.

Several processes that translate, sharing one copy of the weights.

The processes are forked from one that has loaded the model, so its memory is theirs as long as nobody writes to it.
Each works on one thread: together they are faster than threads inside one operation (`benchmarks/translation.py`).
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeVar

from alidade.errors import AlidadeError

CHUNK = 2000
"""Lines that travel together to a process and back: enough to be worth the way."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_cores() -> int:
    """How many processes can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def chunked(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one shorter."""
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk


class Workers:
    """Processes that work on streams; they start when there is work for more than one and end with the `with`."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: concurrent.futures.ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def map_in_order(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) for each item, in order; a single item is not worth a process.

        At most a few items are under way at once, so a stream of any length takes the same memory.
        """
        iterator = iter(items)
        head = list(itertools.islice(iterator, 2))
        iterator = itertools.chain(head, iterator)
        if self._count <= 1 or len(head) < 2:
            yield from map(function, iterator)
            return
        pending: deque[concurrent.futures.Future[Result]] = deque()
        for item in iterator:
            pending.append(self._submit(function, item))
            if len(pending) > 2 * self._count:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    def _submit(self, function: Callable[[Item], Result], item: Item) -> concurrent.futures.Future[Result]:
        if self._pool is None:
            self._pool = concurrent.futures.ProcessPoolExecutor(
                self._count, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent
            )
        with _interrupts_held():
            return self._pool.submit(function, item)


def _end_with_parent() -> None:
    """In a worker: end when the process that gives the work is killed, instead of waiting for work for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_for_its_end() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait_for_its_end, daemon=True).start()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while processes may start: they inherit that and never see it, and this one then ends them."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


_function: Callable[[Any], Any] | None = None


def map_in_forks(function: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    """function(item) for each item, in order, in `workers` processes that have the function's memory; one is this one.

    At most a few items are under way at once, so a stream of any length takes the same memory. If reading an item
    fails, the results of those before it come first.
    """
    if workers == 1:
        yield from map(function, items)
        return
    global _function  # what a fork inherits needs no pickling, and a model is not to be copied
    _function = function
    context = multiprocessing.get_context("fork")
    pool = concurrent.futures.ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker)
    pending: deque[concurrent.futures.Future[Result]] = deque()
    iterator = iter(items)
    error: AlidadeError | None = None
    try:
        while True:
            try:
                item = next(iterator)
            except StopIteration:
                break
            except AlidadeError as reason:
                error = reason
                break
            pending.append(pool.submit(_call, item))
            if len(pending) > 2 * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        if error is not None:
            raise error
    except concurrent.futures.process.BrokenProcessPool:
        raise AlidadeError(
            "a worker was killed, probably because memory ran out; try fewer --workers or a smaller --batch-size"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        _function = None


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; the first one ends the others


def _call(item: Any) -> Any:
    assert _function is not None
    return _function(item)
