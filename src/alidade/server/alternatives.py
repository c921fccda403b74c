"""What else could stand at a place of a translation: whole words, each with its share of the probability.

The n best translations of a sentence mostly differ elsewhere. So the search goes one piece beyond the words before the
place; each likely piece is completed to a word; and each word is completed to a translation, as a correction would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import regex

from alidade.dictionary.rules import WordBorders
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Hypothesis, Request
from alidade.search.restrictions import WholeWords
from alidade.text.placeholders import find_placeholders
from alidade.translator import Translator

MOST_WORDS = 10
FIRST_PIECES = 24
"""So many (position, piece) pairs are looked at for the first piece of a word: one piece can have several positions."""
LONGEST_WORD = 12
"""In pieces; what is longer is cut off."""

Completing = Callable[[Sequence[str]], Sequence[str]]
"""The best translations that begin with these texts."""


def find_alternatives(
    translator: Translator, text: str, prefix: str, complete: Completing | None
) -> list[dict[str, str | float | None]]:
    """The words that may follow a prefix, the likeliest first, and how the translation would go on with them."""
    found = _NextWord(translator, text, prefix).words()
    total = sum(found.values()) or 1.0
    ranked = sorted(found.items(), key=lambda item: -item[1])[:MOST_WORDS]
    texts: Sequence[str | None] = [None] * len(ranked)
    if complete is not None and ranked:
        texts = complete([f"{prefix}{gap}{word}" for (gap, word), _ in ranked])
    return [
        {"word": word, "share": round(probability / total, 4), "translation": translation}
        for ((_, word), probability), translation in zip(ranked, texts, strict=True)
    ]


class _NextWord:
    """The place after a prefix."""

    def __init__(self, translator: Translator, text: str, prefix: str) -> None:
        self._translator = translator
        model = translator.model
        source = model.source_subwords.encode(model.normalise_source(_without_tags(text)))
        self._source = source.ids[: translator.settings.max_source_length]
        plain = _without_tags(prefix).strip()
        self._prefix = model.target_subwords.encode(model.normalise_target(plain)).ids if plain else ()

    def words(self) -> dict[tuple[str, str], float]:
        """The joint probability of each word (with what stands before it, a space or nothing) and the prefix."""
        if not self._source:
            return {}
        pieces = self._first_pieces()
        likely = sorted(pieces, key=lambda piece: -pieces[piece])[: MOST_WORDS + 2]
        requests = [
            Request(self._source, (*self._prefix, piece), max_length=len(self._prefix) + LONGEST_WORD)
            for piece in likely
        ]
        found: dict[tuple[str, str], float] = {}
        for piece, [hypothesis] in zip(likely, self._search(requests, beam_size=4, num_best=1), strict=True):
            word = self._read(hypothesis)
            if word is not None:
                found[word[:2]] = found.get(word[:2], 0.0) + pieces[piece] * word[2]
        return found

    def _first_pieces(self) -> dict[int, float]:
        request = Request(self._source, self._prefix, max_length=len(self._prefix) + 1)
        borders = WordBorders.of(self._translator.model.target_subwords)
        [hypotheses] = self._search([request], FIRST_PIECES, FIRST_PIECES, [WholeWords([request], borders.continuing)])
        pieces: dict[int, float] = {}
        for one in hypotheses:
            if len(one.pieces) > len(self._prefix):
                piece = one.pieces[len(self._prefix)]
                pieces[piece] = pieces.get(piece, 0.0) + math.exp(one.lexical_score + one.alignment_score)
        return pieces

    def _search(
        self, requests: Sequence[Request], beam_size: int, num_best: int, restrictions: Sequence[Any] = ()
    ) -> list[tuple[Hypothesis, ...]]:
        if not requests:
            return []
        settings = self._translator.settings.model_copy(update={"beam_size": beam_size})
        found = BeamSearch(self._translator.system, settings).search(
            requests, num_best=num_best, restrictions=restrictions
        )
        return [result.hypotheses for result in found]

    def _read(self, hypothesis: Hypothesis) -> tuple[str, str, float] | None:
        """What stands before the next word, the word, and how likely its first piece is to become this word."""
        first = len(self._prefix)
        decoded = self._translator.model.target_subwords.decode(hypothesis.pieces)
        number = decoded.word_of_piece[first]
        if first and number == decoded.word_of_piece[first - 1]:
            return None
        word = decoded.words[number]
        gap = decoded.text[decoded.words[number - 1].end : word.start] if number else ""
        rest = hypothesis.lexical_logp[first + 1 : decoded.pieces_of_word(number).stop]
        return (gap, word.text, math.exp(sum(rest))) if regex.search(r"\S", word.text) else None


def _without_tags(text: str) -> str:
    for tag in reversed([one for one in find_placeholders(text) if one.kind == "tag"]):
        text = text[: tag.start] + text[tag.end :]
    return text
