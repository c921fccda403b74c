"""Long texts in parts, so that one of them does not keep a worker from everybody else for half a minute.

A blank line ends a sentence in any case (`text/sentences.py`), so nothing is lost by translating what is before and
what is after it apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from alidade.server.work import Text, Work
from alidade.text.sentences import SENTENCES

LONG = 1000
"""Characters of a part; a paragraph that is longer stays whole."""
_BLANK_LINES = regex.compile(r"\n[^\S\n]*\n\s*")


def can_part(work: Work) -> bool:
    """Not where links, alternatives or the n-th occurrence of a phrase speak of the text as a whole, nor against what
    the client says of sentences."""
    is_plain = work.kind == "text" and work.num_best == 1 and work.splitting == SENTENCES
    return is_plain and all(entry.occurrence is None for entry in work.entries)


def part(text: str) -> tuple[list[str], list[str]]:
    """The parts of a text, and what stands between them."""
    if len(text) <= LONG:
        return [text], []
    parts, gaps = [], []
    start = 0
    for match in _BLANK_LINES.finditer(text):
        if match.start() - start >= LONG and match.end() < len(text):
            parts.append(text[start : match.start()])
            gaps.append(match[0])
            start = match.end()
    return [*parts, text[start:]], gaps


class PartedTexts:
    """Texts as parts for the queue, and their translations as texts again."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._parted = [part(text.text) for text in texts]
        self.parts = [Text(one) for parts, _ in self._parted for one in parts]

    def join(self, results: Sequence[list[str]]) -> list[list[str]]:
        found = iter(results)
        joined = []
        for parts, gaps in self._parted:
            text = "".join([next(found)[0] + gap for _, gap in zip(parts, [*gaps, ""], strict=True)])
            joined.append([text])
        return joined
