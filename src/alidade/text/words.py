"""Words: what a person calls a word, as spans of a text.

A text's units are its words and its punctuation marks. URLs, e-mail addresses, placeholders of software messages
(`%s`, `{name}`, `&amp;`), numbers and emoji sequences are one unit each; a word keeps its inner apostrophes and
hyphens; any other mark is a unit of its own, so that it can be aligned, and `Word.is_punctuation` tells it apart.
Chinese is segmented with jieba. No unit contains white space, and units cover everything else.
"""

from __future__ import annotations

import functools
import logging
import re
import threading
import warnings
from collections.abc import Callable
from typing import NamedTuple

import regex

from alidade.errors import require_package
from alidade.text.languages import is_chinese

TOKENISED = "tokenised"
"""A language whose words stand between spaces already: gold sets, other programs' output."""


class Word(NamedTuple):
    """A word or a punctuation mark: its text and where it stands, text[start:end]."""

    text: str
    start: int
    end: int

    @property
    def is_punctuation(self) -> bool:
        """Whether this is a mark and no word: no letter, digit, placeholder or emoji in it."""
        return _NO_PUNCTUATION.search(self.text) is None


def split_words(text: str, language: str) -> tuple[Word, ...]:
    """The words and punctuation marks of a text, in order."""
    words: list[Word] = []
    for chunk in _CHUNK.finditer(text):
        start = chunk.start()
        words += [Word(unit, start + begin, start + end) for unit, begin, end in split_chunk(chunk[0], language)]
    return tuple(words)


def split_chunk(chunk: str, language: str) -> tuple[Word, ...]:
    """The units of a text without white space. Short ones repeat, so they are remembered."""
    if len(chunk) <= _REMEMBERED_LENGTH:
        return _split_short_chunk(chunk, language)
    return _splitter(language)(chunk)


def _split_chunk_by_rules(chunk: str) -> tuple[Word, ...]:
    return tuple([Word(match[0], match.start(), match.end()) for match in _UNIT.finditer(chunk)])


def _split_chinese_chunk(chunk: str) -> tuple[Word, ...]:
    """Rules find the numbers, marks and foreign words; jieba segments what lies between them."""
    words: list[Word] = []
    for match in _UNIT.finditer(chunk):
        start = match.start()
        if not _HAN.match(match[0]):
            words.append(Word(match[0], start, match.end()))
            continue
        for text in _segment_chinese(match[0]):
            words.append(Word(text, start, start + len(text)))
            start += len(text)
    return tuple(words)


def _take_whole_chunk(chunk: str) -> tuple[Word, ...]:
    return (Word(chunk, 0, len(chunk)),)


def _splitter(language: str) -> Callable[[str], tuple[Word, ...]]:
    if language == TOKENISED:
        return _take_whole_chunk
    if is_chinese(language):
        return _split_chinese_chunk
    return _split_chunk_by_rules


@functools.lru_cache(maxsize=1 << 17)
def _split_short_chunk(chunk: str, language: str) -> tuple[Word, ...]:
    return _splitter(language)(chunk)


def _segment_chinese(text: str) -> list[str]:
    words: list[str] = _load_jieba()(text)
    return words


_jieba_lock = threading.Lock()


def _load_jieba() -> Callable[[str], list[str]]:
    """jieba's segmenter; it takes a second to load, so only Chinese pays for it."""
    with _jieba_lock:
        return _load_jieba_once()


@functools.cache
def _load_jieba_once() -> Callable[[str], list[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its source has old escapes and asks for pkg_resources
        jieba = require_package("jieba", "zh", "splitting Chinese into words")
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    tokenizer.initialize()
    segment: Callable[[str], list[str]] = tokenizer.lcut
    return segment


_REMEMBERED_LENGTH = 24

_CHUNK = re.compile(r"\S+")
_HAN = regex.compile(r"\p{Han}")

_UNIT = regex.compile(
    r"""
    # URL: up to white space, a quote, a bracket or Chinese text, without a final mark
    (?: (?:https?|ftp|file):// | mailto: | www\. )
    [^\s<>"“”„«»\p{Han}，。；：！？、（）]* [[\p{L}\p{N}/=&\#_\-~$+]--\p{Han}]
    # e-mail address
  | [\p{L}\p{N}._+\-]+ @ [\p{L}\p{N}\-]+ (?: \. [\p{L}\p{N}\-]+ )+
    # emoji: keycaps, flags, and pictographs with modifiers, joined by zero-width joiners
  | [0-9\#*] \uFE0F? \u20E3
  | \p{Regional_Indicator}{2}
  | \p{Extended_Pictographic} [\p{EMod}\uFE0F\u20E3\U000E0020-\U000E007F]*
    (?: \u200D \p{Extended_Pictographic} [\p{EMod}\uFE0F\U000E0020-\U000E007F]* )*
    # placeholders: %(name)s, %{name}, %1$s, %-10.3lf, %1, {name}, ${name}, &amp; (but not the percent of 5%igen)
  | %\([\w.\-]+\) [\-+0-9.]* [a-zA-Z]
  | %\{[\w.\-]+\}
  | % (?: \d+\$ )? [\-+\#0]* (?: \d+ | \* )? (?: \. (?: \d+ | \* ) )? (?: hh? | ll? | [Lqjzt] )? [diouxXeEfFgGcsSp@]
    (?<! \d % [a-zA-Z] )
  | %\d+
  | \$? \{ [\w.:!\-]* \}
  | & (?: \p{L}[\p{L}\p{N}]* | \#\d+ | \#x[0-9a-fA-F]+ ) ;
    # Chinese, by itself: jieba segments it
  | \p{Han}+
    # words and numbers, with inner apostrophes, hyphens and underscores, and marks between digits
  | [[\p{L}\p{N}]--\p{Han}] [[\p{L}\p{N}\p{M}]--\p{Han}]*
    (?: (?: ['’ʼ‐‑\-_] | (?<=\p{N}) [.,:] (?=\p{N}) ) [[\p{L}\p{N}]--\p{Han}] [[\p{L}\p{N}\p{M}]--\p{Han}]* )*
    # a run of one mark: ellipses, dashes, rules
  | ([.\-_=*\#~!?·•]) \1+
  | \S [\p{M}\uFE0F\u200D]*
    """,
    regex.VERBOSE | regex.VERSION1,
)
_NO_PUNCTUATION = regex.compile(r"[\p{L}\p{N}\p{Extended_Pictographic}\p{Regional_Indicator}\u20E3]|\{\}")
