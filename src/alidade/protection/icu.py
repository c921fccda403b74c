"""ICU's plurals and selects: `{count, plural, one {# file} other {# files}}` as what is kept and what is translated.

The branches of a plural follow the target language: a category that it has and the source has not gets what "other"
says, one that it has not is left out, as strict readers of such messages demand. Branches for exact numbers and of
selects stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from alidade.text.placeholders import closing_brace
from alidade.text.plurals import CATEGORIES, plural_categories


class Stretch(NamedTuple):
    """A part of an argument."""

    text: str
    is_translated: bool = False
    counted_in: str = ""
    """The language in which it speaks of large numbers only, since others have a branch of their own."""


class _Branch(NamedTuple):
    gap: str
    """What stands before it: white space, or an offset."""
    selector: str
    text: str


def is_plural(argument: str) -> bool:
    """Whether `#` is a number in an argument's branches."""
    return _START.match(argument)["kind"] != "select"  # type: ignore[index]


def icu_stretches(argument: str, language: str) -> Iterator[Stretch]:
    """An ICU plural or select in stretches that make it up; language: that of the translation."""
    start = _START.match(argument)
    assert start is not None, "found by its start"
    branches, end = _branches(argument, start.end())
    counted_in = ""
    if start["kind"] != "select":
        categories = plural_categories(language, "cardinal" if start["kind"] == "plural" else "ordinal")
        branches = _in_categories(branches, categories)
        counted_in = language if start["kind"] == "plural" and "few" in categories else ""
    yield Stretch(start[0])
    for branch in branches:
        yield Stretch(f"{branch.gap}{branch.selector}{{")
        yield Stretch(branch.text, True, counted_in if branch.selector.strip() == "other" else "")
        yield Stretch("}")
    yield Stretch(argument[end:])


_START = regex.compile(r"\{\s*[\w.]+\s*,\s*(?P<kind>\w+)\s*,")
_SELECTOR = regex.compile(r"(?P<gap>\s*(?:offset\s*:\s*\d+\s*)?)(?P<selector>[^\s{}]*\s*)\{")


def _branches(argument: str, place: int) -> tuple[list[_Branch], int]:
    """The branches of an argument, and where the last of them ends."""
    branches = []
    while match := _SELECTOR.match(argument, place):
        end = closing_brace(argument, match.end() - 1)
        if end is None:
            break
        branches.append(_Branch(match["gap"], match["selector"], argument[match.end() : end - 1]))
        place = end
    return branches, place


def _in_categories(branches: Sequence[_Branch], categories: Sequence[str]) -> list[_Branch]:
    """The branches of a plural in another language; as they are if none of them is "other", which ICU demands."""
    present = {branch.selector.strip(): branch for branch in branches}
    if "other" not in present:
        return [*branches]
    result: list[_Branch] = []
    for branch in branches:
        name = branch.selector.strip()
        if name == "other":
            space = regex.sub(r"\S.*\S", "", branch.gap)
            added = [_Branch(space, branch.selector.replace("other", one), branch.text) for one in categories]
            result += [one for one in added if one.selector.strip() not in present]
        if name in categories or name not in CATEGORIES:
            result.append(branch)
    if result[0].gap != branches[0].gap:  # the offset stands before the first one, whichever that is
        result[0] = result[0]._replace(gap=branches[0].gap)
    return result
