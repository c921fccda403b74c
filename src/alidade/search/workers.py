"""Several processes that translate, sharing one copy of the weights.

The processes are forked from one that has loaded the model, so its memory is theirs as long as nobody writes to it.
Each works on one thread: together they are faster than threads inside one operation (`benchmarks/translation.py`).
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import torch

from alidade.errors import AlidadeError

Item = TypeVar("Item")
Result = TypeVar("Result")

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
    torch.set_num_threads(1)


def _call(item: Any) -> Any:
    assert _function is not None
    return _function(item)
