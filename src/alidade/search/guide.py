"""A dictionary as one translator uses it: matches of sentences, and constraints of batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from alidade.config import SearchSettings
from alidade.dictionary.constraints import Constraints, WordBorders
from alidade.dictionary.entries import Dictionary
from alidade.dictionary.grid import ConstrainedSentence
from alidade.dictionary.matching import Match, find_matches
from alidade.search.beam import Request
from alidade.search.dictionary_constraints import DictionaryConstraints, Mode
from alidade.text.subwords import Encoding, Subwords


@dataclass(frozen=True)
class DictionaryGuide:
    """A dictionary, how it is used, and the vocabulary that its forms are written in."""

    dictionary: Dictionary
    mode: Mode
    target_subwords: Subwords

    @cached_property
    def _borders(self) -> WordBorders:
        return WordBorders.of(self.target_subwords)

    def matches_in(self, source: Encoding, sentence: int | None = None) -> tuple[Match, ...]:
        """The matches in a sentence; `sentence` is its number in the input, from 1."""
        return find_matches(self.dictionary, source, self.target_subwords, sentence)

    def constraints(
        self,
        requests: Sequence[Request],
        matches: Sequence[Sequence[Match]],
        settings: SearchSettings,
        *,
        is_assisted: bool,
    ) -> DictionaryConstraints | None:
        """What to give to the search with a batch of requests; None if none of them has a match."""
        if not any(matches):
            return None
        return DictionaryConstraints(
            [
                self._constrain(request, of_request, settings) if of_request else None
                for request, of_request in zip(requests, matches, strict=True)
            ],
            self.mode,
            self._borders,
            is_assisted=is_assisted,
            beam_size=settings.beam_size,
            vocabulary_size=len(self.target_subwords),
        )

    def _constrain(self, request: Request, matches: Sequence[Match], settings: SearchSettings) -> ConstrainedSentence:
        return ConstrainedSentence(
            Constraints(matches, self._borders, must_use_all=self.mode == "require"),
            end_position=len(request.source) + 1,
            max_length=request.length_limit(settings),
            num_given=len(request.prefix),
        )
