"""Which languages the server translates, and which model a request means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from alidade.errors import AlidadeError, MissingPackageError, require_package
from alidade.text.languages import primary_language
from alidade.translator import Translator

Languages = tuple[str, str]

NAMES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "ga": "Irish",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "nb": "Norwegian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sr": "Serbian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}


class UnknownLanguageError(AlidadeError):
    """No model translates what was asked for."""


class Catalogue:
    """The models of a server by their languages."""

    def __init__(self, models: Sequence[Path | None]) -> None:
        self.translators: dict[Languages, Translator] = {}
        """Without models in memory: for languages, sentences and files."""
        for model in models:
            translator = Translator(model, threads=1)
            languages = translator.languages
            if self._find(*languages) is not None:
                raise AlidadeError(
                    f"{translator.model.path}: another model translates {languages[0]} to {languages[1]} already; "
                    "give one model for each pair of languages"
                )
            self.translators[languages] = translator

    @property
    def pairs(self) -> list[Languages]:
        """As two-letter codes."""
        return [(primary_language(source), primary_language(target)) for source, target in self.translators]

    @property
    def sources(self) -> list[str]:
        return sorted({source for source, _ in self.pairs})

    @property
    def targets(self) -> list[str]:
        return sorted({target for _, target in self.pairs})

    def _find(self, source: str, target: str) -> Languages | None:
        wanted = primary_language(source), primary_language(target)
        return next(
            (pair for pair in self.translators if (primary_language(pair[0]), primary_language(pair[1])) == wanted),
            None,
        )

    def choose(self, source: str | None, target: str, texts: Sequence[str]) -> tuple[Languages, float]:
        """The model for a request, and how sure its source language is; without one, the texts tell."""
        confidence = 1.0
        if not source:
            candidates = [one for one, other in self.pairs if other == primary_language(target)]
            if not candidates:
                raise UnknownLanguageError(f"no model translates to {target!r}; targets are {', '.join(self.targets)}")
            source, confidence = detect(texts, candidates)[0]
        pair = self._find(source, target)
        if pair is None:
            known = ", ".join([f"{one} to {other}" for one, other in self.pairs])
            raise UnknownLanguageError(f"no model translates {source!r} to {target!r}; there are {known}")
        return pair, confidence


def detect(texts: Sequence[str], candidates: Sequence[str]) -> list[tuple[str, float]]:
    """The languages that texts may be in with how likely they are, the likeliest first.

    By the share of words that simplemma's tables know; without the package, or for languages without a table, all
    candidates are alike.
    """
    candidates = sorted(set(candidates))
    if len(candidates) == 1:
        return [(candidates[0], 1.0)]
    shares = dict.fromkeys(candidates, 0.0)
    sample = " ".join(texts)[:2000]
    try:
        simplemma = require_package("simplemma", "inflect", "telling languages apart")
        known = [language for language in candidates if _has_table(language)]
        found = dict(simplemma.langdetect(sample, lang=tuple(known))) if known and sample.strip() else {}
        shares |= {language: float(share) for language, share in found.items() if language in shares}
    except MissingPackageError:
        pass
    if not any(shares.values()):
        shares = dict.fromkeys(candidates, 1 / len(candidates))
    return sorted(shares.items(), key=lambda item: -item[1])


def _has_table(language: str) -> bool:
    from alidade.dictionary.inflection import can_inflect

    return can_inflect(language)


def name_of(language: str) -> str:
    return NAMES.get(language, language)
