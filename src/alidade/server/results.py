"""Translations as plain values: what a page needs to draw words and links, and what is suspicious about them."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from alidade.alignment.links import Alignment
from alidade.alignment.positions import shares_of_words
from alidade.dictionary.entries import Dictionary
from alidade.dictionary.matching import find_occurrences
from alidade.dictionary.report import report_entries
from alidade.documents.translate import confidence_of
from alidade.text.normalise import spans_in_original
from alidade.text.placeholders import find_placeholders
from alidade.text.sentences import split_sentences
from alidade.text.subwords import Encoding
from alidade.translation import Translation

UNEXPLAINED_LOGP = -6.0
"""Words less likely than this are unexplained. Of a handful of pairs with the shipped model: right words, also unusual
ones, had 0 to -3.2, words put in from elsewhere -6.9 to -13.5."""


def describe(translation: Translation, language: str, with_attention: bool = False) -> dict[str, Any]:
    """All about a translation; words are counted from 0, offsets are in characters. language: the source's."""
    alignment = translation.alignment or Alignment()
    linked = {link.source for link in alignment}, {link.target for link in alignment}
    fixed = translation.target_words_from_dictionary
    reports = report_entries(translation.matches, translation.uses, translation.source, translation.target)
    return {
        "text": translation.text,
        "source_text": _original(translation),
        "source_words": _source_words(translation),
        "target_words": [
            {"text": word.text, "start": word.start, "end": word.end, "is_from_dictionary": number in fixed}
            for number, word in enumerate(translation.target.words)
        ],
        "links": [
            {
                "source": link.source,
                "target": link.target,
                "confidence": round(float(translation.confidences.get(link, 1.0)), 4),
            }
            for link in alignment
        ],
        "unlinked_source": [n for n in range(len(translation.source.words)) if n not in linked[0]],
        "unlinked_target": [n for n in range(len(translation.target.words)) if n not in linked[1]],
        "sentences": _sentences(translation, alignment, language),
        "entries": [report.to_json() for report in reports],
        "score": translation.score,
        "lexical_score": translation.lexical_score,
        "alignment_score": translation.alignment_score,
        "confidence": round(confidence_of(translation), 4),
        "is_complete": translation.is_complete,
        "notes": list(translation.notes),
        "attention": _attention(translation) if with_attention else None,
        "alternatives": [describe(other, language, with_attention) for other in translation.alternatives],
    }


def _original(translation: Translation) -> str:
    return translation.source.text if translation.original is None else translation.original


def _source_words(translation: Translation) -> list[dict[str, Any]]:
    """With offsets into the text as it was given; null where normalising left no way back."""
    words = translation.source.words
    spans = spans_in_original(
        _original(translation), translation.source.text, [(word.start, word.end) for word in words]
    )
    places = [(None, None)] * len(words) if spans is None else spans
    return [{"text": word.text, "start": start, "end": end} for word, (start, end) in zip(words, places, strict=True)]


def _sentences(translation: Translation, alignment: Alignment, language: str) -> list[dict[str, Any]]:
    """Which words are which sentence's, on both sides: sentences are translated one by one and stay in their order."""
    source, target = translation.source, translation.target
    ends = [end for _, end in split_sentences(source.text, language)] or [len(source.text)]
    owners = [min(bisect.bisect_left(ends, word.end), len(ends) - 1) for word in source.words]
    linked = {link.target: owners[link.source] for link in alignment}
    target_owners, current = [], 0
    for number in range(len(target.words)):
        current = max(current, linked.get(number, current))
        target_owners.append(current)
    words: list[dict[str, list[int]]] = [{"source_words": [], "target_words": []} for _ in ends]
    for number, owner in enumerate(owners):
        words[owner]["source_words"].append(number)
    for number, owner in enumerate(target_owners):
        words[owner]["target_words"].append(number)
    return words


def _attention(translation: Translation) -> list[list[float]] | None:
    """A row for each target word, a column for each source word; None where a text was translated in parts."""
    attention = translation.attention
    if attention is None or attention.shape != (len(translation.target), len(translation.source) + 2):
        return None
    shares = shares_of_words(attention, translation.source, translation.target)
    return [[round(float(share), 4) for share in row] for row in shares]


def find_unexplained(target: Encoding, lexical_logp: Sequence[float]) -> list[int]:
    """The words of a given translation that nothing in the source explains, nor what stands before them.

    A link does not tell: forced alignment finds the best place for a word even where no place is good.
    """
    return [
        number
        for number in range(len(target.words))
        if sum([lexical_logp[piece] for piece in target.pieces_of_word(number)]) < UNEXPLAINED_LOGP
    ]


def find_problems(pair: Translation, source: str, target: str, dictionary: Dictionary | None) -> list[dict[str, str]]:
    """What is suspicious about a translation that somebody has made: placeholders and terms."""
    problems = [
        {"kind": "placeholder", "text": one, "message": f"{one} is missing in the translation"}
        for one in _missing(source, target)
    ]
    problems += [
        {"kind": "placeholder", "text": one, "message": f"{one} is not in the source"}
        for one in _missing(target, source)
    ]
    return problems if dictionary is None else problems + _broken_entries(pair, dictionary)


def _missing(text: str, other: str) -> list[str]:
    """The placeholders of a text that another does not have."""
    rest = [one.text for one in find_placeholders(other)]
    missing = []
    for placeholder in find_placeholders(text):
        if placeholder.text in rest:
            rest.remove(placeholder.text)
        elif placeholder.kind not in ("space", "punctuation", "accelerator", "emoji"):
            missing.append(placeholder.text)
    return missing


def _broken_entries(pair: Translation, dictionary: Dictionary) -> list[dict[str, str]]:
    written = pair.target.text.casefold()
    problems = []
    for entry, words, text, forbidding in find_occurrences(dictionary, pair.source.text, pair.source.words):
        wanted = [text] if entry.is_kept else list(entry.targets)
        if wanted and not any(form.casefold() in written for form in wanted):
            message = f'"{text}" (word {words.start}) is to be translated as {" or ".join(wanted)}'
            problems.append({"kind": "term", "text": text, "message": message})
        refused = [form for other in forbidding for form in other.forbidden if form.casefold() in written]
        problems += [
            {"kind": "term", "text": form, "message": f'"{form}" must not be written for "{text}"'} for form in refused
        ]
    return problems
