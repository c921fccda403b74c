"""How text is written: the same for a training corpus and, later, for what is translated with what was trained."""

from __future__ import annotations

import bisect
import functools
import unicodedata
from collections.abc import Callable, Sequence

import regex

from alidade.config import NormalisationSettings
from alidade.errors import require_package
from alidade.text.languages import is_same_language, primary_language


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
    if settings.romanian_comma_below and is_same_language(language, "ro"):
        text = text.translate(_COMMA_BELOW)
    if any(is_same_language(language, stripped) for stripped in settings.strip_diacritics):
        text = strip_diacritics(text)
    if settings.moses_punctuation:
        text = " ".join(_moses_normaliser(language)(text).split())
    return text.lower() if settings.lower_case else text


@functools.cache
def _moses_normaliser(language: str) -> Callable[[str], str]:
    sacremoses = require_package("sacremoses", "import", "writing punctuation as Moses does")
    normalise: Callable[[str], str] = sacremoses.MosesPunctNormalizer(primary_language(language)).normalize
    return normalise


def strip_diacritics(text: str) -> str:
    """Letters without their accents, commas and cedillas."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join([c for c in decomposed if unicodedata.category(c) != "Mn"]))


def spans_in_original(original: str, normalised: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """Stretches of a normalised text as stretches of the text that it was made from; None if there is no way back.

    Normalising changes spaces, accents, case and what is invisible; the bare letters stay in both, in order.
    """
    if original == normalised:
        return list(spans)
    letters, places = _bare_letters(original)
    normalised_letters, normalised_places = _bare_letters(normalised)
    if letters != normalised_letters:
        return None
    found = []
    for start, end in spans:
        inside = range(*(bisect.bisect_left(normalised_places, edge) for edge in (start, end)))
        before = places[inside.start - 1] + 1 if inside.start else 0
        first, last = (places[inside[0]], places[inside[-1]] + 1) if inside else (before, before)
        following = places[inside.stop] if inside.stop < len(places) else len(original)
        while last < following and unicodedata.category(original[last]) == "Mn":
            last += 1  # an accent that stands after its letter belongs to the word
        found.append((first, last))
    return found


def _bare_letters(text: str) -> tuple[str, list[int]]:
    """A text without accents, case, spaces and what is invisible, and where each of its letters stood."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for part in unicodedata.normalize("NFD", character):
            if not part.isspace() and unicodedata.category(part) not in ("Mn", "Cc", "Cf"):
                folded = part.casefold()
                letters += folded
                places += [place] * len(folded)
    return "".join(letters), places


# Control characters that are no white space, soft hyphens, zero-width spaces, marks of direction and byte order.
# The zero-width joiners stay: emoji and some scripts are written with them.
_INVISIBLE = regex.compile(
    r"[[\p{Cc}--\s]\u00AD\u200B\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]", regex.V1
)
_COMMA_BELOW = str.maketrans("ŞşŢţ", "ȘșȚț")
