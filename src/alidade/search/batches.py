"""Sentences in batches of about the same length, and results back in the sentences' order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def batches_by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """The numbers of the sentences in batches, the longest first, so that too little memory shows at once."""
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    for first in range(0, len(order), batch_size):
        yield order[first : first + batch_size]


def map_batches(
    function: Callable[[list[Item]], Sequence[Result]],
    items: Sequence[Item],
    length_of: Callable[[Item], int],
    batch_size: int,
) -> list[Result]:
    """function(batch) for batches of items of about the same length; the results in the items' order."""
    results: dict[int, Result] = {}
    for batch in batches_by_length([length_of(item) for item in items], batch_size):
        results.update(zip(batch, function([items[number] for number in batch]), strict=True))
    return [results[number] for number in range(len(items))]
