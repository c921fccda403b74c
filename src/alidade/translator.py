"""A translation: what comes out of `Translator`, and how those of a long text's parts become one.

Translator and Translation: what a Python user imports.

    translator = Translator("model")  # or, without a folder, the model that is shipped
    translation = translator.translate("A man is sleeping.")
    print(translation.text, translation.alignment)

Text becomes pieces (`text/`), the search finds a translation (`search/`), and the pieces' links become links of words
(`alignment/extraction.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import torch

from alidade.alignment.links import Alignment, Link
from alidade.alignment.positions import (
    Matrix,
    attended_positions,
    confidences_of_links,
    links_of_words,
    shares_of_words,
)
from alidade.config import NormalisationSettings, SearchSettings, parse_settings
from alidade.dictionary.entries import Dictionary, Entry
from alidade.dictionary.matching import Match, find_matches
from alidade.dictionary.rules import Constraints, Use, WordBorders
from alidade.dictionary.tables import ConstrainedSentence
from alidade.errors import AlidadeError
from alidade.models.folder import ModelFolder, default_model, load_model_folder
from alidade.models.packing import pack_linears
from alidade.search.batches import map_batches
from alidade.search.beam import BeamSearch, Request
from alidade.search.dictionary_constraints import DictionaryConstraints
from alidade.search.hypotheses import Hypothesis, SearchResult
from alidade.search.long_texts import ends_with_sentence, split_text
from alidade.search.scoring import GivenPairs
from alidade.text.subwords import Encoding
from alidade.text.words import Word


@dataclass(frozen=True, slots=True)
class Translation:
    """A translation, and where each of its words comes from."""

    source: Encoding
    target: Encoding
    positions: tuple[int, ...]
    """The source position of each target piece, counted from 1; empty for baselines."""
    score: float
    """Weighted and normalised for length: what the search ranks by."""
    lexical_score: float
    """log p_lex of the whole translation."""
    alignment_score: float
    """log p_align of its positions; 0 for baselines."""
    num_evaluations: int = 0
    """How often the lexical model was asked for a distribution of words."""
    is_complete: bool = True
    """False if the translation was cut off at the length limit."""
    alignment: Alignment | None = None
    """Links of words, if they were asked for."""
    confidences: dict[Link, float] = field(default_factory=dict)
    """From 0 to 1 for each link: how much of the target word's attention lies there."""
    attended: tuple[int, ...] = ()
    """j(i) of each target piece: the source position with the most attention, if links were asked for."""
    matches: tuple[Match, ...] = ()
    """The dictionary's entries that apply to the source."""
    uses: tuple[Use, ...] = ()
    """Those of them that the translation uses, and where."""
    alternatives: tuple[Translation, ...] = ()
    """Further translations, if more than one was asked for."""
    notes: tuple[str, ...] = ()
    """What a person should know about it, for instance that a long text was cut into parts."""

    @property
    def text(self) -> str:
        return self.target.text

    @property
    def unused(self) -> tuple[Match, ...]:
        """The dictionary's entries that apply but were not used."""
        used = {use.match for use in self.uses}
        return tuple([match for number, match in enumerate(self.matches) if number not in used])

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values, for a line of JSON."""
        values: dict[str, Any] = {
            "source": self.source.text,
            "translation": self.text,
            "score": self.score,
            "lexical_score": self.lexical_score,
            "alignment_score": self.alignment_score,
            "evaluations": self.num_evaluations,
            "is_complete": self.is_complete,
            "source_words": [word.text for word in self.source.words],
            "target_words": [word.text for word in self.target.words],
            "source_pieces": list(self.source.pieces),
            "target_pieces": list(self.target.pieces),
            "positions": list(self.positions),
        }
        if self.alignment is not None:
            values["alignment"] = str(self.alignment)
            values["confidences"] = [round(self.confidences[link], 4) for link in self.alignment]
            values["attended"] = list(self.attended)
        if self.matches:
            values["dictionary"] = self._dictionary_to_json()
        if self.alternatives:
            values["alternatives"] = [other.to_json() for other in self.alternatives]
        if self.notes:
            values["notes"] = list(self.notes)
        return values

    def _dictionary_to_json(self) -> list[dict[str, Any]]:
        used = {use.match: use for use in self.uses}
        entries = []
        for number, match in enumerate(self.matches):
            use = used.get(number)
            entries.append(
                {
                    "entry": str(match.entry),
                    "source_words": [*match.words],
                    "is_used": use is not None,
                    "target_pieces": [] if use is None else [*use.pieces],
                }
            )
        return entries


def join_translations(parts: list[Translation]) -> Translation:
    """One translation from those of a long text's parts."""
    if len(parts) == 1:
        return parts[0]
    notes = [f"long text, cut into {len(parts)} parts"]
    if not all(ends_with_sentence(part.source) for part in parts[:-1]):
        notes = [f"long text, cut into {len(parts)} parts, not all of them at a sentence's end"]
    joined = parts[0]
    for part in parts[1:]:
        joined = _append(joined, part)
    return replace(
        joined, alternatives=(), notes=(*notes, *dict.fromkeys([note for part in parts for note in part.notes]))
    )


def _append(first: Translation, second: Translation) -> Translation:
    source_words, target_words = len(first.source.words), len(first.target.words)
    source_pieces, target_pieces = len(first.source), len(first.target)
    move = {link: Link(link.source + source_words, link.target + target_words) for link in second.alignment or ()}
    alignment = None
    if first.alignment is not None:
        alignment = Alignment.of([*first.alignment, *move.values()])
    return replace(
        first,
        source=_append_encoding(first.source, second.source),
        target=_append_encoding(first.target, second.target),
        positions=first.positions + tuple([position + source_pieces for position in second.positions]),
        score=first.score + second.score,
        lexical_score=first.lexical_score + second.lexical_score,
        alignment_score=first.alignment_score + second.alignment_score,
        num_evaluations=first.num_evaluations + second.num_evaluations,
        is_complete=first.is_complete and second.is_complete,
        alignment=alignment,
        confidences=first.confidences | {move[link]: second.confidences[link] for link in move},
        attended=first.attended + tuple([position + source_pieces for position in second.attended]),
        matches=first.matches + tuple([_move_match(match, source_words, source_pieces) for match in second.matches]),
        uses=first.uses
        + tuple([Use(use.match + len(first.matches), _move(use.pieces, target_pieces)) for use in second.uses]),
    )


def _append_encoding(first: Encoding, second: Encoding) -> Encoding:
    if not first.text:
        return second
    offset, num_words = len(first.text) + 1, len(first.words)
    return Encoding(
        text=f"{first.text} {second.text}",
        words=first.words + tuple([Word(w.text, w.start + offset, w.end + offset) for w in second.words]),
        pieces=first.pieces + second.pieces,
        ids=first.ids + second.ids,
        word_of_piece=first.word_of_piece + tuple([word + num_words for word in second.word_of_piece]),
    )


def _move_match(match: Match, num_words: int, num_pieces: int) -> Match:
    return replace(match, words=_move(match.words, num_words), positions=_move(match.positions, num_pieces))


def _move(stretch: range, offset: int) -> range:
    return range(stretch.start + offset, stretch.stop + offset)


__all__ = ["Mode", "Translation", "Translator"]

Mode = Literal["suggest", "require"]


@dataclass(frozen=True, slots=True)
class _Part:
    """What is searched for at once: a text, or a part of a long one."""

    source: Encoding
    prefix: tuple[int, ...]
    matches: tuple[Match, ...]


class Translator:
    """Translates with one model folder."""

    def __init__(
        self,
        model: ModelFolder | Path | str | None = None,
        settings: SearchSettings | None = None,
        *,
        batch_size: int = 32,
        **changes: Any,
    ) -> None:
        """model: a model folder; None: the one that is shipped with the package.

        settings: how to search, instead of the model folder's; changes: single settings, `beam_size=1`.
        """
        model = default_model() if model is None else model
        self.model = model if isinstance(model, ModelFolder) else load_model_folder(Path(model))
        if self.model.system.lexical is None:
            raise AlidadeError(
                f"{self.model.path}: an alignment model alone cannot translate; `alidade assemble` adds one"
            )
        base = settings or self.model.search
        self.settings = parse_settings(SearchSettings, base.model_dump() | changes, source="search settings")
        self.batch_size = batch_size
        pack_linears(self.model.system)
        self._search = BeamSearch(self.model.system, self.settings)
        self._borders: WordBorders | None = None
        self._normalised: tuple[Dictionary, Dictionary] | None = None

    @property
    def is_assisted(self) -> bool:
        """Whether the system has positions."""
        return self._search.alignment is not None

    def translate(self, text: str, **options: Any) -> Translation:
        """Translate one text; the options are those of `translate_all`, `prefix` for `prefixes`."""
        prefix = options.pop("prefix", None)
        return self.translate_all([text], prefixes=None if prefix is None else [prefix], **options)[0]

    def translate_all(
        self,
        texts: Iterable[str],
        *,
        prefixes: Sequence[str] | None = None,
        num_best: int = 1,
        with_links: bool = True,
        dictionary: Dictionary | None = None,
        mode: Mode = "suggest",
        first_number: int = 1,
    ) -> list[Translation]:
        """Translate texts; the translations are in their order.

        prefixes: what each translation must begin with, whole words. first_number: of the first text, for entries
        that belong to one sentence.
        """
        dictionary = None if dictionary is None else self.normalise_dictionary(dictionary)
        tasks = [
            self._parts(self.model.normalise_source(text), dictionary, number)
            for number, text in enumerate(texts, start=first_number)
        ]
        if prefixes is not None:
            tasks = [self._with_prefix(parts, prefix) for parts, prefix in zip(tasks, prefixes, strict=True)]
        results = iter(self._search_all([part for parts in tasks for part in parts], num_best, mode))
        found = [[self._read(part, next(results)) for part in parts] for parts in tasks]
        if with_links:
            links = iter(self.link([translation for parts in found for translation in parts]))
            found = [[next(links) for _ in parts] for parts in found]
        return [join_translations(parts) for parts in found]

    def normalise_dictionary(self, dictionary: Dictionary) -> Dictionary:
        """The same entries, written as the texts that the system was trained on."""
        if self.model.description.normalisation == NormalisationSettings():
            return dictionary
        if self._normalised is None or self._normalised[0] is not dictionary:
            self._normalised = dictionary, Dictionary([self._normalise_entry(entry) for entry in dictionary.entries])
        return self._normalised[1]

    def _normalise_entry(self, entry: Entry) -> Entry:
        targets = dict.fromkeys([self.model.normalise_target(target) for target in entry.targets])
        return replace(entry, source=self.model.normalise_source(entry.source), targets=tuple(targets))

    def _parts(self, text: str, dictionary: Dictionary | None, number: int) -> list[_Part]:
        parts = split_text(text, self.model.source_subwords, self.settings.max_source_length)
        subwords = self.model.target_subwords
        return [
            _Part(part, (), find_matches(dictionary, part, subwords, number) if dictionary else ()) for part in parts
        ]

    def _with_prefix(self, parts: list[_Part], prefix: str) -> list[_Part]:
        ids = self.model.target_subwords.encode(self.model.normalise_target(prefix)).ids
        return [replace(parts[0], prefix=ids), *parts[1:]]

    def _search_all(self, parts: list[_Part], num_best: int, mode: Mode) -> list[SearchResult | None]:
        """Parts without matches have batches of their own, for whatever is in a batch with matches costs more."""
        results: list[SearchResult | None] = [None] * len(parts)
        for has_matches in (True, False):
            numbers = [number for number, part in enumerate(parts) if bool(part.matches) == has_matches]
            found = map_batches(
                lambda batch: self._search_batch(batch, num_best, mode),
                [parts[number] for number in numbers],
                lambda part: len(part.source),
                self.batch_size,
            )
            for number, result in zip(numbers, found, strict=True):
                results[number] = result
        return results

    def _search_batch(self, parts: list[_Part], num_best: int, mode: Mode) -> Sequence[SearchResult | None]:
        """Search for all that is not empty."""
        requests = [Request(part.source.ids, part.prefix) for part in parts if len(part.source)]
        if not requests:
            return [None] * len(parts)
        constraints = self._constraints([part for part in parts if len(part.source)], requests, mode)
        results = iter(self._search.search(requests, num_best=num_best, constraints=constraints))
        return [next(results) if len(part.source) else None for part in parts]

    def _constraints(self, parts: list[_Part], requests: list[Request], mode: Mode) -> DictionaryConstraints | None:
        if not any(part.matches for part in parts):
            return None
        self._borders = self._borders or WordBorders.of(self.model.target_subwords)
        sentences = [
            ConstrainedSentence(
                Constraints(part.matches, self._borders, must_use_all=mode == "require"),
                end_position=len(part.source) + 1,
                max_length=request.length_limit(self.settings),
                num_given=len(part.prefix),
            )
            if part.matches
            else None
            for part, request in zip(parts, requests, strict=True)
        ]
        return DictionaryConstraints(
            sentences,
            mode,
            self._borders,
            is_assisted=self.is_assisted,
            beam_size=self.settings.beam_size,
            vocabulary_size=len(self.model.target_subwords),
        )

    def _read(self, part: _Part, result: SearchResult | None) -> Translation:
        """From ids back to text."""
        if result is None:
            return Translation(part.source, self.model.target_subwords.decode(()), (), 0.0, 0.0, 0.0)
        best, *others = [self._read_hypothesis(part, result, hypothesis) for hypothesis in result.hypotheses]
        return replace(best, alternatives=tuple(others))

    def _read_hypothesis(self, part: _Part, result: SearchResult, hypothesis: Hypothesis) -> Translation:
        uses = hypothesis.constraint_state
        return Translation(
            source=part.source,
            target=self.model.target_subwords.decode(hypothesis.words),
            positions=hypothesis.positions,
            score=hypothesis.score,
            lexical_score=hypothesis.lexical_score,
            alignment_score=hypothesis.alignment_score,
            num_evaluations=result.num_evaluations,
            is_complete=hypothesis.is_complete,
            matches=part.matches,
            uses=uses if isinstance(uses, tuple) else (),
            notes=() if hypothesis.is_complete else ("cut off at the length limit",),
        )

    def attention(self, translations: Sequence[Translation]) -> list[Matrix]:
        """Attention accumulated over layers and heads (paper, section 5): (I, J + 2) for each translation.

        The columns are `<s>`, the source's pieces and `</s>`. In assisted systems the hypothesised position counts one
        for each assisted layer.
        """
        return map_batches(self._attention_batch, list(translations), lambda t: len(t.target), self.batch_size)

    @torch.inference_mode()
    def _attention_batch(self, translations: list[Translation]) -> list[Matrix]:
        batch = GivenPairs.of(
            [t.source.ids for t in translations],
            [t.target.ids for t in translations],
            [t.positions for t in translations] if self.is_assisted else None,
        ).batch()
        attention = self.model.system.lexical.attention(batch)  # type: ignore[union-attr, operator]  # a model's method
        return [attention[row, : len(t.target), : len(t.source) + 2].numpy() for row, t in enumerate(translations)]

    def link(self, translations: Sequence[Translation]) -> list[Translation]:
        """The same translations with their links of words: from positions, or from attention if a system has none."""
        pending = [t for t in translations if len(t.target)]
        attentions = iter(self.attention(pending))
        return [
            self._link_one(t, next(attentions)) if len(t.target) else replace(t, alignment=Alignment())
            for t in translations
        ]

    def _link_one(self, translation: Translation, attention: Matrix) -> Translation:
        attended = attended_positions(attention)
        positions = translation.positions if self.is_assisted else attended
        alignment = links_of_words(positions, translation.source, translation.target)
        shares = shares_of_words(attention, translation.source, translation.target)
        confidences = confidences_of_links(alignment, shares)
        return replace(translation, alignment=alignment, confidences=confidences, attended=tuple(attended))
