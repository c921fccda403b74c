"""Sentences: where one ends and the next begins, with the rules of the text's language.

sentencex (MIT, by Wikimedia) knows the abbreviations and quotes of some three hundred languages. Lines are ours: a line
break ends a sentence unless the next line goes on with a small letter, as wrapped text does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex
import sentencex

Span = tuple[int, int]


def split_sentences(text: str, language: str, kept: Sequence[Span] = ()) -> list[Span]:
    """The sentences of a text as spans, without the white space around them; none ends inside a kept span."""
    spans: list[Span] = []
    for start, end in _lines(text):
        for sentence in _sentences(text[start:end], language):
            trimmed = _trim(text, start, start + len(sentence))
            start += len(sentence)
            if trimmed is not None:
                spans.append(trimmed)
    return _without_cuts(spans, kept) if kept else spans


def _sentences(line: str, language: str) -> list[str]:
    """The sentences of a line; their texts together are the line."""
    if not _ENDS_INSIDE.search(line):
        return [line]
    sentences = list(sentencex.segment(language, line))
    return sentences if "".join(sentences) == line else [line]


_ENDS_INSIDE = regex.compile(r"[\p{Terminal_Punctuation}\p{Sentence_Terminal}…].", regex.DOTALL)
_LINE_END = regex.compile(r"\n\s*(?!\s|\p{Ll})|\n[^\S\n]*\n\s*")
"""A blank line, or a line break before anything but a small letter."""


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for match in _LINE_END.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _trim(text: str, start: int, end: int) -> Span | None:
    stretch = text[start:end]
    start += len(stretch) - len(stretch.lstrip())
    end = start + len(stretch.strip())
    return (start, end) if start < end else None


def _without_cuts(spans: list[Span], kept: Sequence[Span]) -> list[Span]:
    """Sentences joined where the border between them lies inside a kept span."""
    joined = spans[:1]
    for start, end in spans[1:]:
        if any(first < joined[-1][1] and last > start for first, last in kept):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
