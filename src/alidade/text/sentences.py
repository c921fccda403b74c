"""Sentences: where one ends and the next begins, and what to do with one that is too long to translate at once.

sentencex (MIT, by Wikimedia) knows the abbreviations and quotes of some three hundred languages. Lines are ours: a line
break ends a sentence unless the next line goes on with a small letter, as wrapped text does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex
import sentencex

from alidade.text.subwords import Encoding, Subwords

Span = tuple[int, int]


BLOCKS = frozenset({"p", "div", "li", "td", "th", "tr", "ul", "ol", "table", "h1", "h2", "h3", "h4", "h5", "h6", "hr"})
"""Elements of HTML that no sentence goes beyond."""


@dataclass(frozen=True, slots=True)
class Splitting:
    """Where sentences of a text may end."""

    at_marks: bool = True
    """At full stops and the like."""
    at_lines: bool = True
    """At line breaks."""
    tags: frozenset[str] = BLOCKS
    """At the tags of these elements, always."""
    whole_tags: frozenset[str] = frozenset()
    """Never inside these elements."""


SENTENCES = Splitting()
UNSPLIT = Splitting(at_marks=False, at_lines=False, tags=frozenset())


def split_sentences(
    text: str, language: str, kept: Sequence[Span] = (), cuts: Sequence[int] = (), splitting: Splitting = SENTENCES
) -> list[Span]:
    """The sentences of a text as spans, without the white space around them.

    kept: spans inside which none ends. cuts: places where one ends in any case, from left to right.
    """
    spans: list[Span] = []
    for first, last in itertools.pairwise([0, *cuts, len(text)]):
        for start, end in _lines(text, first, last) if splitting.at_lines else [(first, last)]:
            for sentence in _sentences(text[start:end], language) if splitting.at_marks else [text[start:end]]:
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


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    for match in _LINE_END.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


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


SENTENCE_ENDS = frozenset(".!?…。！？｡")
CLAUSE_ENDS = frozenset(",;:–—，；：、)")
BYTES_A_CHARACTER = 4
"""A character outside the vocabulary is spelt as at most this many pieces."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a text, and the characters of the text that it covers."""

    encoding: Encoding
    start: int
    end: int


def split_text(text: str, subwords: Subwords, max_pieces: int) -> list[TextPart]:
    """The text in parts of at most `max_pieces` pieces; most texts are one."""
    whole = subwords.encode(text)
    if len(whole) <= max_pieces:
        return [TextPart(whole, 0, len(text))]
    return [TextPart(subwords.encode(text[start:end]), start, end) for start, end in _spans(whole, max_pieces)]


def ends_with_sentence(part: Encoding) -> bool:
    """Whether a part ends where a sentence does."""
    return part.text[-1:] in SENTENCE_ENDS


def _spans(whole: Encoding, max_pieces: int) -> Iterator[tuple[int, int]]:
    """Stretches of the text, in characters, from a word's start to a word's end."""
    first = 0
    while first < len(whole.words):
        last = _last_word(whole, first, max_pieces)
        start, end = whole.words[first].start, whole.words[last].end
        if len(whole.pieces_of_word(first)) > max_pieces:
            yield from _cut_word(start, end, max_pieces)
        else:
            yield start, end
        first = last + 1


def _last_word(whole: Encoding, first: int, max_pieces: int) -> int:
    """The word after which to cut, so that the part from word `first` on is not too long."""
    limit = whole.pieces_of_word(first).start + max_pieces
    last = first
    while last + 1 < len(whole.words) and whole.pieces_of_word(last + 1).stop <= limit:
        last += 1
    if last + 1 == len(whole.words):
        return last
    for marks in (SENTENCE_ENDS, CLAUSE_ENDS):
        for word in range(last, first, -1):
            if whole.words[word].text[-1] in marks:
                return word
    return last


def _cut_word(start: int, end: int, max_pieces: int) -> Iterator[tuple[int, int]]:
    size = max(1, max_pieces // BYTES_A_CHARACTER)
    for cut in range(start, end, size):
        yield cut, min(cut + size, end)
