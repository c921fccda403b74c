"""What a worker process does with a batch: translate, align, check, find alternatives at a word.

All texts of a batch have one `Work` in common: languages, dictionary and options. What comes back is plain values,
ready to be sent to a client; only documents get whole translations.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from alidade.aligner import align, score
from alidade.dictionary.entries import Dictionary, Entry
from alidade.dictionary.files import inflect_all
from alidade.server.alternatives import find_alternatives
from alidade.server.results import describe, find_problems, find_unexplained
from alidade.server.store import Store
from alidade.text.sentences import SENTENCES, Splitting
from alidade.translation import Translation
from alidade.translator import Mode, Translator

Kind = Literal["text", "full", "whole", "alternatives", "align", "check"]
"""Texts alone; words, links and scores; `Translation` objects; and what else there is to ask."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done with a text; texts with equal work share batches."""

    kind: Kind
    languages: tuple[str, str]
    dictionaries: tuple[tuple[str, int], ...] = ()
    """Stored ones: their ids and versions."""
    entries: tuple[Entry, ...] = ()
    """Given with the request."""
    mode: Mode = "suggest"
    inflect: bool = False
    num_best: int = 1
    with_attention: bool = False
    protect: bool = True
    splitting: Splitting = SENTENCES
    with_translations: bool = True
    """Whether alternatives come with the translations that go on with them."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text to work on, and what belongs to it."""

    text: str
    second: str = ""
    """The beginning of its translation, or all of it, depending on the work."""


class Worker:
    """The models of one process, and the dictionaries that it has used last."""

    def __init__(self, models: Sequence[Path | None], database: Path, batch_size: int) -> None:
        loaded = [Translator(model, threads=1, batch_size=batch_size) for model in models]
        self._translators = {translator.languages: translator for translator in loaded}
        self._store = Store(database)
        self._dictionary = functools.lru_cache(maxsize=16)(self._load_dictionary)
        for translator in loaded:
            translator.translate("Ready.")  # the models are loaded, and the first client does not wait for it

    def run(self, work: Work, texts: Sequence[Text]) -> list[Any]:
        """A result for each text."""
        translator = self._translators[work.languages]
        match work.kind:
            case "align":
                return [describe(one, work.languages[0]) for one in align(_pairs(texts), translator)]
            case "check":
                dictionary = self._given_dictionary(work)
                return [_check(translator, text, dictionary) for text in texts]
            case "alternatives":
                return [self._alternatives(translator, work, text) for text in texts]
        translations = self._translate(translator, work, texts)
        match work.kind:
            case "text":
                return [[one.text, *[other.text for other in one.alternatives]] for one in translations]
            case "full":
                return [describe(one, work.languages[0], work.with_attention) for one in translations]
        return translations

    def _translate(self, translator: Translator, work: Work, texts: Sequence[Text]) -> list[Translation]:
        has_prefix = any(text.second for text in texts)
        return translator.translate_all(
            [text.text for text in texts],
            dictionary=self._given_dictionary(work),
            mode=work.mode,
            prefixes=[text.second for text in texts] if has_prefix else None,
            num_best=work.num_best,
            with_links=work.kind != "text",
            protect=work.protect,
            splitting=work.splitting,
        )

    def _given_dictionary(self, work: Work) -> Dictionary | None:
        if not work.dictionaries and not work.entries:
            return None
        return self._dictionary(work.languages, work.dictionaries, work.entries, work.inflect)

    def _load_dictionary(
        self,
        languages: tuple[str, str],
        stored: tuple[tuple[str, int], ...],
        entries: tuple[Entry, ...],
        inflect: bool,
    ) -> Dictionary:
        found = [entry for glossary, _ in stored for entry in self._store.entries(glossary, *languages)]
        dictionary = Dictionary([*entries, *found]).in_language(languages[0])
        return inflect_all(dictionary, languages) if inflect else dictionary

    def _alternatives(self, translator: Translator, work: Work, text: Text) -> dict[str, Any]:
        """The words that may follow a prefix, and the translations that go on with them."""

        def complete(prefixes: Sequence[str]) -> list[str]:
            found = self._translate(translator, replace(work, kind="text"), [Text(text.text, one) for one in prefixes])
            return [one.text for one in found]

        completing = complete if work.with_translations else None
        found = find_alternatives(translator, text.text, text.second, completing)
        return {"prefix": text.second, "alternatives": found}


def _pairs(texts: Sequence[Text]) -> list[tuple[str, str]]:
    return [(text.text, text.second) for text in texts]


def _check(translator: Translator, text: Text, dictionary: Dictionary | None) -> dict[str, Any]:
    """The links and scores of a given pair, and what is suspicious about it."""
    [aligned] = align(_pairs([text]), translator)
    described = describe(aligned, translator.languages[0]) | {"unexplained": []}
    if text.text.strip() and text.second.strip():
        [scored] = score(_pairs([text]), translator)
        described |= {
            "score": scored.score,
            "lexical_score": scored.lexical_score,
            "alignment_score": scored.alignment_score,
            "unexplained": find_unexplained(aligned.target, scored.lexical_logp),
        }
    return described | {"problems": find_problems(aligned, text.text, text.second, dictionary)}
