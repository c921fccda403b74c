"""Translator and Translation: what a Python user imports.

    translator = Translator("model")  # or, without a folder, the model that is shipped
    translation = translator.translate("A man is sleeping.")
    print(translation.text, translation.alignment)

Text becomes pieces (`text/`), the search finds a translation (`search/`), and the pieces' links become links of words
(`alignment/extraction.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from alidade.alignment.extraction import (
    Matrix,
    attended_positions,
    confidences_of_links,
    links_of_words,
    shares_of_words,
)
from alidade.alignment.links import Alignment
from alidade.config import NormalisationSettings, SearchSettings, parse_settings
from alidade.dictionary.constraints import Constraints, WordBorders
from alidade.dictionary.entries import Dictionary, Entry
from alidade.dictionary.grid import ConstrainedSentence
from alidade.dictionary.matching import Match, find_matches
from alidade.errors import AlidadeError
from alidade.models.folder import ModelFolder, load_model_folder
from alidade.models.packing import pack_linears
from alidade.models.shipped import default_model
from alidade.search.batches import map_batches
from alidade.search.beam import BeamSearch, Request
from alidade.search.dictionary_constraints import DictionaryConstraints
from alidade.search.hypotheses import Hypothesis, SearchResult
from alidade.search.lexicon import Lexicon
from alidade.search.long_texts import split_text
from alidade.search.scoring import GivenPairs
from alidade.text.subwords import Encoding
from alidade.translated import Translation, join_translations

__all__ = ["Mode", "Translation", "Translator"]

Mode = Literal["suggest", "require"]


@dataclass(frozen=True, slots=True)
class _Part:
    """What is searched for at once: a text, or a part of a long one."""

    source: Encoding
    prefix: tuple[int, ...]
    matches: tuple[Match, ...]


def _pieces_of_forms(matches: Sequence[Match]) -> tuple[int, ...]:
    """All that a dictionary may want written."""
    return tuple([p for match in matches for form in match.forms for p in (*form.after_space, *form.glued)])


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
        self._search = BeamSearch(self.model.system, self.settings, self._load_lexicon())
        self._borders: WordBorders | None = None
        self._normalised: tuple[Dictionary, Dictionary] | None = None

    def _load_lexicon(self) -> Lexicon | None:
        """The lexicon of a shortlist, if the settings ask for one."""
        if self.settings.shortlist == "none":
            return None
        description, lexical = self.model.description, self.model.system.lexical
        if self.settings.shortlist == "position" and not (lexical is not None and lexical.is_assisted):
            raise AlidadeError(
                f"{self.model.path}: a shortlist for each position needs a system with positions, and this is a "
                "baseline; use --shortlist sentence"
            )
        lexicon = Lexicon.load(self.model.path)
        if lexicon.fingerprints != (description.source.fingerprint, description.target.fingerprint):
            raise AlidadeError(
                f"{self.model.path}: its shortlist was counted with other subwords than the model's; "
                "make it again with `alidade shortlist`"
            )
        return lexicon

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
        requests = [
            Request(part.source.ids, part.prefix, wanted=_pieces_of_forms(part.matches))
            for part in parts
            if len(part.source)
        ]
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
