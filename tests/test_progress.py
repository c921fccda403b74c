"""Progress bars show rate and remaining time on a terminal, and nothing elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from alidade.io import format_count, track


def test_quiet_off_a_terminal() -> None:
    output = io.StringIO()
    assert list(track("abc", "working", 3, console=Console(file=output))) == ["a", "b", "c"]
    assert output.getvalue() == ""


def test_a_bar_counts_what_items_stand_for() -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100)
    assert list(track([[1, 2], [3]], "working", 3, console=console, weigh=len)) == [[1, 2], [3]]
    assert "working" in output.getvalue()
    assert "3/3" in output.getvalue()
    assert "/s" in output.getvalue()


@pytest.mark.parametrize(("count", "text"), [(3.14159, "3.14"), (950, "950"), (12345, "12.3k"), (4.5e6, "4.5M")])
def test_counts_are_short(count: float, text: str) -> None:
    assert format_count(count) == text
