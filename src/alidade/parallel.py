"""Workers: processes that share the work on a stream, in order and with little of it in memory at a time.

They are spawned, not forked: a fork of a process with threads waits for ever for threads that it does not have. What
they need is therefore sent to them, once for each function, and a function loads what is large (a model) by itself.

All of them hold one end of a pipe and end when the other end closes: when this process is done with them, is stopped by
Ctrl-C, or is killed, whatever they are doing at that moment.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, Self, TypeVar

from alidade.errors import AlidadeError
from alidade.io import Pause

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
        self._life: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is None or self._life is None:
            return
        if kind is not None:
            self._life.close()  # nobody waits for what they are doing
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._life.close()
        self._pool = self._life = None

    def map_in_order(self, function: Callable[[Item], Result], items: Iterable[Item | Pause]) -> Iterator[Result]:
        """function(item) for each item, in order; a single item is not worth a process and is done in this one.

        At most a few items are under way at once, so a stream of any length takes the same memory. A `Pause` among the
        items hands out what is under way. If reading an item fails, the results of those before it come first.
        """
        pending: deque[concurrent.futures.Future[Result]] = deque()
        waiting: Item | None = None
        payload = pickle.dumps(function) if self._count > 1 else b""
        reader = _Reader(items)
        try:
            for item in reader:
                if isinstance(item, Pause):
                    if waiting is not None:
                        yield function(waiting)
                    waiting = None
                    while pending:
                        yield pending.popleft().result()
                elif self._count <= 1:
                    yield function(item)
                elif waiting is None and not pending:
                    waiting = item  # until there is a second one
                else:
                    if waiting is not None:
                        pending.append(self._submit(payload, waiting))
                    waiting = None
                    pending.append(self._submit(payload, item))
                    if len(pending) > 2 * self._count:
                        yield pending.popleft().result()
            if waiting is not None:
                yield function(waiting)
            while pending:
                yield pending.popleft().result()
        except BrokenProcessPool:
            self.__exit__(BaseException)  # another call may start new ones
            raise AlidadeError(
                "a worker has ended before its work: probably memory ran out, so try fewer workers or smaller batches "
                '(in a program of your own: has it `if __name__ == "__main__":` around what it does?)'
            ) from None
        finally:
            for future in pending:
                future.cancel()
        if reader.error is not None:
            raise reader.error

    def _submit(self, payload: bytes, item: Item) -> concurrent.futures.Future[Any]:
        with _interrupts_held():
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                ending, self._life = context.Pipe(duplex=False)
                self._pool = concurrent.futures.ProcessPoolExecutor(
                    self._count, mp_context=context, initializer=_end_with_parent, initargs=(ending,)
                )
            return self._pool.submit(_call, payload, item)


class _Reader:
    """Iterates over items until there are no more, or until there is an error, which it keeps for later."""

    def __init__(self, items: Iterable[Any]) -> None:
        self._items = iter(items)
        self.error: AlidadeError | None = None

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._items
        except AlidadeError as error:
            self.error = error


def _end_with_parent(ending: Connection) -> None:
    """In a worker: end as soon as the other end of the pipe is closed, even in the middle of work.

    Only not while a result is on its way to a parent that lives: with half of it, the parent would wait for the other
    half for ever. Who has no work is ended by the pool.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait_for_its_end() -> None:
        with contextlib.suppress(EOFError, OSError):
            ending.recv_bytes()
        while not _between_calls.acquire(timeout=0.1) and parent.is_alive():
            pass
        os._exit(1)

    _between_calls.acquire()
    threading.Thread(target=wait_for_its_end, daemon=True).start()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while processes may start: they inherit that and never see it, and this one then ends them.

    Python starts its resource tracker with the first of them and lets Ctrl-C through again when it has (bpo-33613), so
    the tracker has to be there before.
    """
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_between_calls = threading.Lock()
"""In a worker: held while it does not work on an item but takes one or hands a result over."""
_known: tuple[bytes, Callable[[Any], Any]] | None = None
"""In a worker: the function that it was sent last."""


def _call(payload: bytes, item: Any) -> Any:
    global _known
    _between_calls.release()
    try:
        if _known is None or _known[0] != payload:
            _known = payload, pickle.loads(payload)  # noqa: S301  # from the process that started this one
        return _known[1](item)
    finally:
        _between_calls.acquire()
