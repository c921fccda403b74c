"""Text that was tokenised by somebody else, gold alignments for example: where spaces would stand in running text.

Models are trained on running text, in which "enough!" has no space before its mark; a tokenised "enough !" is a text of
other pieces, which they have hardly ever seen. So the words stay as they were given, since links count them, but their
pieces become those of running text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from alidade.text.languages import primary_language

if TYPE_CHECKING:
    from alidade.text.subwords import Encoding, Subwords

_CLOSING = re.compile(r"[.,;:!?)\]}%…”»]+|['’](?:\w{1,2})?|n['’]t")
_OPENING = re.compile(r"[(\[{„«¿¡]+")
_HYPHENS = ("-", "‐", "‑")
_CLITIC_LANGUAGES = ("ro",)
"""In these a hyphen between words binds a clitic ("n-a", "să-și"), elsewhere it is a dash."""


def encode_tokenised(words: Sequence[str], subwords: Subwords) -> Encoding:
    """The words as given, with the pieces of running text."""
    return subwords.encode_words(words, spaces=spaces_before(words, subwords.language))


def spaces_before(words: Sequence[str], language: str) -> list[bool]:
    """For each word whether a space stands before it; the first word is always taken to follow one."""
    binds_hyphens = primary_language(language) in _CLITIC_LANGUAGES
    spaces = []
    follows_opening = is_quoted = False
    for number, word in enumerate(words):
        is_quote = word == '"'
        is_hyphen = binds_hyphens and word in _HYPHENS
        is_closing = (is_quote and is_quoted) or is_hyphen or _CLOSING.fullmatch(word) is not None
        spaces.append(number == 0 or not (is_closing or follows_opening))
        if is_quote:
            is_quoted = not is_quoted
        follows_opening = (is_quote and is_quoted) or is_hyphen or _OPENING.fullmatch(word) is not None
    return spaces
