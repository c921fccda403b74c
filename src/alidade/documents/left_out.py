"""Content words that no target word points at: what a translation has perhaps left out.

Function words (articles, auxiliaries, prepositions) are often not translated by a word of their own. English ones are
listed here; for other languages stopwordsiso has lists (extra `files`). Where there is no list nothing is said: a note
about every article would hide the one that matters.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import regex

from alidade.text.languages import primary_language

if TYPE_CHECKING:
    from alidade.translation import Translation

_ENGLISH = frozenset(
    (  # noqa: SIM905  # words are read more easily than a column of them
        "about after also been before being between both could does doing done down each else every from have having "
        "here into itself just like many more most much must only other over please same shall should some such than "
        "that their them then there these they this those under upon used using very well were what when where which "
        "while will with would your yours"
    ).split()
)
_WORD = regex.compile(r"\p{L}{4,}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]{2,}")
"""Shorter ones are function words more often than not."""


@functools.cache
def function_words(language: str) -> frozenset[str] | None:
    """Those of a language, in small letters; None: nobody has listed them."""
    code = primary_language(language)
    if code == "en":
        return _ENGLISH
    try:
        import stopwordsiso
    except ModuleNotFoundError:
        return None
    return frozenset(stopwordsiso.stopwords(code)) if stopwordsiso.has_lang(code) else None


def left_out_words(translation: Translation, language: str) -> list[str]:
    """The content words of a source text, in this language, that no target word points at."""
    known = function_words(language)
    if translation.alignment is None or known is None:
        return []
    linked = {link.source for link in translation.alignment}
    return [
        word.text
        for number, word in enumerate(translation.source.words)
        if number not in linked and _WORD.fullmatch(word.text) and word.text.lower() not in known
    ]
