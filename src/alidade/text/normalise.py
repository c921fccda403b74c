"""How text is written: the same for a training corpus and, later, for what is translated with what was trained."""

from __future__ import annotations

import unicodedata

import regex

from alidade.config import NormalisationSettings


def normalise_text(text: str) -> str:
    """Unicode NFC, no control or invisible characters, single spaces between words and none around them."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if not text.isprintable():
        text = _INVISIBLE.sub("", text)
    return " ".join(text.split())


def normalise_as_set(text: str, language: str, settings: NormalisationSettings) -> str:
    """A text written as the settings want it: in training, and again in translation with what was trained."""
    text = normalise_text(text)
    if settings.romanian_comma_below and language == "ro":
        text = text.translate(_COMMA_BELOW)
    if language in settings.strip_diacritics:
        text = strip_diacritics(text)
    return text.lower() if settings.lower_case else text


def strip_diacritics(text: str) -> str:
    """Letters without their accents, commas and cedillas."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join([c for c in decomposed if unicodedata.category(c) != "Mn"]))


# Control characters that are no white space, soft hyphens, zero-width spaces, marks of direction and byte order.
# The zero-width joiners stay: emoji and some scripts are written with them.
_INVISIBLE = regex.compile(
    r"[[\p{Cc}--\s]\u00AD\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]", regex.V1
)
_COMMA_BELOW = str.maketrans("ŞşŢţ", "ȘșȚț")
