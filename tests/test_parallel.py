"""Processes: in order, few items at a time, and errors come through."""

from __future__ import annotations

import os
from collections.abc import Iterator

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


def _process(_: int) -> int:
    return os.getpid()
