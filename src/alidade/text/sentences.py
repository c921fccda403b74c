"""Texts too long to translate at once, cut into parts: at sentence ends if possible, else between words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from alidade.text.subwords import Encoding, Subwords

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
