"""Streams: windows, chunks, pauses and errors, without a model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from alidade.errors import AlidadeError
from alidade.io import PAUSE, Pause
from alidade.streaming import _chunks, _divide_last


@pytest.mark.parametrize("num_lines", [1, 2, 5, 8, 9, 16, 19])
@pytest.mark.parametrize("least", [1, 3])
def test_the_last_chunk_is_divided_among_the_workers(num_lines: int, least: int) -> None:
    lines = [str(number) for number in range(1, num_lines + 1)]
    chunks = list(_divide_last(_chunks(lines, lines, 1, 8), 8, least, workers=3))
    assert not any(isinstance(chunk, Pause) for chunk in chunks)
    parts = [chunk for chunk in chunks if not isinstance(chunk, Pause)]
    assert [line for _, part, _ in parts for line in part] == lines
    assert all(part[0] == str(first) and part == prefixes for first, part, prefixes in parts)
    whole, rest = divmod(num_lines, 8)
    assert [len(part) for _, part, _ in parts[:whole]] == [8] * whole
    assert len(parts) - whole <= 3
    assert all(len(part) >= min(least, rest) for _, part, _ in parts[whole:-1])


def test_a_pause_hands_out_what_there_is() -> None:
    lines: list[str | Pause] = ["a", "b", PAUSE, PAUSE, "c", "d", "e", "f", PAUSE]
    chunks = list(_chunks(lines, None, 1, 3))
    assert chunks == [(1, ["a", "b"], None), PAUSE, PAUSE, (3, ["c", "d", "e"], None), (6, ["f"], None), PAUSE]


def test_what_comes_before_an_error_is_handed_out() -> None:
    def lines() -> Iterator[str]:
        yield from "abc"
        raise AlidadeError("line 4 is bad")

    chunks = _chunks(lines(), None, 1, 8)
    assert next(chunks) == (1, ["a", "b", "c"], None)
    with pytest.raises(AlidadeError, match="line 4 is bad"):
        next(chunks)
