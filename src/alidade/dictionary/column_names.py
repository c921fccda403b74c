"""What people call the columns of a dictionary file: "Source", "Translation", "en", "German"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alidade.dictionary.tbx import is_language
from alidade.errors import AlidadeError, suggest_name

Columns = tuple[str, ...]
"""For each column what it holds; "" if it is of no interest."""

_NAMES = {
    "source": ("source", "source term", "source text", "source word", "term", "src", "from", "original"),
    "target": ("target", "target term", "target text", "target word", "translation", "tgt", "trg", "to", "translated"),
    "case": ("case",),
    "occurrence": ("occurrence",),
    "sentence": ("sentence", "line"),
    "inflect": ("inflect", "inflects", "inflected"),
}
_OF_NO_INTEREST = (
    *("comment", "comments", "context", "count", "consistency", "date", "definition"),
    *("description", "domain", "example", "examples", "id", "note", "notes"),
    *("number", "others", "pos", "part-of-speech", "status", "subject", "target-example"),
)
_LANGUAGES = {
    "ar": "arabic",
    "bg": "bulgarian",
    "bs": "bosnian",
    "ca": "catalan",
    "cs": "czech",
    "cy": "welsh",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "gl": "galician",
    "he": "hebrew",
    "hi": "hindi",
    "hr": "croatian",
    "hu": "hungarian",
    "id": "indonesian",
    "is": "icelandic",
    "it": "italian",
    "ja": "japanese",
    "ka": "georgian",
    "ko": "korean",
    "lt": "lithuanian",
    "lv": "latvian",
    "mk": "macedonian",
    "ms": "malay",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sk": "slovak",
    "sl": "slovenian",
    "sq": "albanian",
    "sr": "serbian",
    "sv": "swedish",
    "th": "thai",
    "tr": "turkish",
    "uk": "ukrainian",
    "vi": "vietnamese",
    "zh": "chinese",
}
_CODE = re.compile(r"[a-z]{2}(?:[-_][a-z0-9]{2,4})*")
_ALSO_WORDS = frozenset(["he", "hi", "id", "is", "it", "no"])
"""Codes that may just as well be the first entry; they name a column only if that language is asked for."""


def columns_of_header(fields: Sequence[str], languages: tuple[str, str] | None, origin: str) -> Columns | None:
    """What each column holds, if a file's first line says so; None if that line is an entry."""
    columns = [_column(field.strip().casefold(), languages) for field in fields]
    if languages is None:
        columns = _order_languages(columns)
    if not {"source", "target"} <= set(columns):
        return None
    for field, column in zip(fields, columns, strict=True):
        if column is None and field.strip():
            raise AlidadeError(f'{origin}: unknown column "{field}"{suggest_name(field.casefold(), _NAMES)}')
        if column and columns.count(column) > 1:
            raise AlidadeError(f'{origin}: column "{column}" is there twice')
    return tuple([column or "" for column in columns])


def _column(name: str, languages: tuple[str, str] | None) -> str | None:
    """What a column of this name holds: "" is nothing of interest, "?" a language, None is not known."""
    words = " ".join(name.replace("_", " ").split())
    for column, names in _NAMES.items():
        if words in names:
            return column
    if words.replace(" ", "-") in _OF_NO_INTEREST:
        return ""
    code = _language_code(name)
    if code is None:
        return None
    if languages is None:
        return None if name in _ALSO_WORDS else "?"
    for column, language in zip(("source", "target"), languages, strict=True):
        if is_language(code, language) or is_language(language, code):
            return column
    return None if name in _ALSO_WORDS else ""


def _language_code(name: str) -> str | None:
    """The language that "en", "en-gb", "english" or "english (uk)" names."""
    english = name.split("(")[0].strip()
    for code, language in _LANGUAGES.items():
        if english == language:
            return code
    return name if _CODE.fullmatch(name) and name[:2] in _LANGUAGES else None


def _order_languages(columns: list[str | None]) -> list[str | None]:
    """Of two languages the first is the source, if nobody says otherwise."""
    unnamed = [column for column in ("source", "target") if column not in columns]
    places = [number for number, column in enumerate(columns) if column == "?"]
    named = dict(zip(places, unnamed, strict=False))
    return [named.get(number, "" if column == "?" else column) for number, column in enumerate(columns)]
