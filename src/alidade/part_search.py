"""The best translations of parts: the search, its restrictions, and from pieces back to text.

Dictionaries and prefixes become restrictions of the search here. A part is first searched for without its dictionary,
and once more with it if the translation disobeys. That a beam with hardly a hypothesis of its own choice may lose what
is best shows where the first translation, with nothing but the entry put in its place, scores higher: then that is it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import regex

from alidade.alignment.positions import attended_positions
from alidade.config import SearchSettings
from alidade.dictionary.draft import Draft
from alidade.dictionary.matching import Match
from alidade.dictionary.rules import FINAL_MARKS, SentenceRules, WordBorders
from alidade.engine.system import EngineSystem
from alidade.model_folder import ModelFolder
from alidade.parts import Part
from alidade.search.batches import map_batches
from alidade.search.beam import BeamSearch
from alidade.search.dictionary import DictionaryRestriction, TermSentence
from alidade.search.hypotheses import Hypothesis, Request, SearchResult
from alidade.search.restrictions import NoPairs, Restriction, WholeWords
from alidade.text.subwords import Encoding
from alidade.text.vocabulary import EOS
from alidade.translation import Translation, with_distinct_texts

WIDENINGS = (2, 4, 8)
"""Where a beam holds too few different texts, one of so many times the wanted number is searched, and then the next.
The shipped model needs no widening for half of its five-best lists, twofold for nearly all of the others."""


@dataclass(frozen=True, slots=True)
class PartSearch:
    """Searches for parts with one system, one way to search and one way to take dictionaries."""

    model: ModelFolder
    system: EngineSystem
    settings: SearchSettings
    batch_size: int
    borders: Callable[[], WordBorders]
    """Which pieces of the target begin words; made when it is first asked for."""
    must_use_all: bool
    """Whether all of a dictionary's entries are to be used."""

    def best(self, parts: Sequence[Part], num_best: int) -> list[list[Translation]]:
        """For each part its best translations: of different texts, the best first."""
        beam_size = max(self.settings.beam_size, num_best)
        found = [with_distinct_texts(one) for one in self._search_with(parts, num_best, beam_size)]
        for widening in WIDENINGS if num_best > 1 else ():
            short = [number for number, one in enumerate(found) if len(parts[number].source) and len(one) < num_best]
            wide = widening * num_best
            more = self._search_with([parts[number] for number in short], wide, max(beam_size, wide))
            for number, others in zip(short, more, strict=True):
                best = found[number][0]  # stays the best, as if it had been asked for alone
                found[number] += [other for other in others if other.score <= best.score]
                found[number].sort(key=lambda one: -one.score)
                found[number] = with_distinct_texts(found[number])[:num_best]
        return found

    def _search_with(self, parts: Sequence[Part], num_best: int, beam_size: int) -> list[list[Translation]]:
        """Search without the dictionary, and once more with it for those parts whose best translation disobeys it.

        A dictionary only takes translations away: the best of all, if it obeys, is the best of those that do.
        """
        found = self._search_parts([replace(part, matches=()) for part in parts], num_best, beam_size)
        drafts = [self._draft(one[0], part.matches) for one, part in zip(found, parts, strict=True)]
        again = [number for number, part in enumerate(parts) if drafts[number].disobeyed(part.matches)]
        disobeying = [replace(parts[number], draft=drafts[number]) for number in again]
        searched = self._search_parts(disobeying, num_best, beam_size)
        restricted = iter(self._with_amended_drafts(disobeying, searched, num_best))
        return [
            next(restricted) if number in again else self._obeying(part, one)
            for number, (part, one) in enumerate(zip(parts, found, strict=True))
        ]

    def _draft(self, translation: Translation, matches: Sequence[Match]) -> Draft:
        attention = translation.attention
        if not matches or attention is None:
            return Draft(translation.target, translation.positions)
        if not self.system.lexical.is_assisted:
            return Draft(translation.target, tuple(attended_positions(attention)), attention)
        return Draft(translation.target, translation.positions, attention).looking_at(matches)

    def _obeying(self, part: Part, translations: Sequence[Translation]) -> list[Translation]:
        """Those that obey the dictionary, with what they use of it."""
        drafts = [(one, self._draft(one, part.matches)) for one in translations]
        return [
            replace(one, matches=part.matches, uses=draft.uses(part.matches))
            for one, draft in drafts
            if not draft.disobeyed(part.matches)
        ]

    def _with_amended_drafts(
        self, parts: Sequence[Part], found: Sequence[list[Translation]], num_best: int
    ) -> list[list[Translation]]:
        """What was found with a dictionary, and before it the draft with the same forms in it, if that is better."""
        drafts = [self._amended_draft(part, one[0]) for part, one in zip(parts, found, strict=True)]
        amended = {number: draft for number, draft in enumerate(drafts) if draft is not None}
        rivals = self._search_parts([replace(parts[number], draft=draft) for number, draft in amended.items()], 1, 1)
        joined = list(found)
        for (number, draft), (rival,) in zip(amended.items(), rivals, strict=True):
            if rival.is_complete and rival.score > found[number][0].score:
                rival = replace(rival, uses=draft.uses(parts[number].matches))
                joined[number] = [rival, *found[number]][:num_best]
        return joined

    def _amended_draft(self, part: Part, found: Translation) -> Draft | None:
        """A part's draft with the forms that were found, if that obeys and says something else than was found."""
        if part.draft is None or not self.system.lexical.is_assisted:
            return None
        path = tuple(zip(found.target.ids, found.positions, strict=True))
        forms = {use.match: path[use.pieces.start : use.pieces.stop] for use in found.uses}
        amended = part.draft.amended(part.matches, forms)
        if amended is None or amended == path:
            return None
        ids, positions = zip(*amended, strict=True)
        draft = Draft(self.model.target_subwords.decode(ids), positions)
        has_new_pairs = _has_pairs(draft.target) and not _has_pairs(part.source)
        if has_new_pairs or draft.disobeyed(part.matches) or ids[: len(part.prefix)] != part.prefix:
            return None
        return draft

    def _search_parts(self, parts: Sequence[Part], num_best: int, beam_size: int) -> list[list[Translation]]:
        found = map_batches(
            lambda batch: self._search_batch(batch, num_best, beam_size),
            parts,
            lambda part: len(part.source),
            self.batch_size,
        )
        return [self._read(part, result) for part, result in zip(parts, found, strict=True)]

    def _search_batch(self, parts: list[Part], num_best: int, beam_size: int) -> Sequence[SearchResult | None]:
        """Search for all that is not empty."""
        filled = [part for part in parts if len(part.source)]
        if not filled:
            return [None] * len(parts)
        requests = [self._request(part) for part in filled]
        settings = self.settings.model_copy(update={"beam_size": beam_size})
        found = BeamSearch(self.system, settings).search(
            requests, num_best=num_best, restrictions=self._restrictions(filled, requests)
        )
        results = iter(found)
        return [next(results) if len(part.source) else None for part in parts]

    def _request(self, part: Part) -> Request:
        """What to search for; a draft's beginning that no entry may change is kept, if it has positions to tell by.

        One that obeys is kept from beginning to end: what is searched for is its score.
        """
        request = Request(part.source.ids, part.prefix)
        if part.draft is None or not self.system.lexical.is_assisted:
            return request
        num_kept = part.draft.num_kept(part.matches, part.source)
        if num_kept <= len(part.prefix):
            return request
        ids, positions = part.draft.target.ids[:num_kept], part.draft.positions[:num_kept]
        if num_kept == len(part.draft.positions):
            ids, positions = (*ids, EOS), (*positions, request.end_position)
        return Request(
            part.source.ids,
            prefix=ids,
            prefix_positions=positions,
            max_length=request.length_limit(self.settings),
        )

    def _restrictions(self, parts: list[Part], requests: list[Request]) -> list[Restriction]:
        """That no word follows itself, that prefixes are whole words, and what the dictionary says of these parts."""
        restrictions: list[Restriction] = []
        may_have_pairs = [_has_pairs(part.source) or self._may_repeat(part) for part in parts]
        if not all(may_have_pairs):
            borders = self.borders()
            restrictions.append(NoPairs(may_have_pairs, borders.words, borders.short_words, borders.continuing))
        if any(part.prefix for part in parts):
            restrictions.append(WholeWords(requests, self.borders().continuing))
        if not any(part.matches for part in parts):
            return restrictions
        sentences = [
            self._terms(part, part.draft, request) if part.draft else None
            for part, request in zip(parts, requests, strict=True)
        ]
        return [*restrictions, DictionaryRestriction(sentences, is_assisted=self.system.lexical.is_assisted)]

    def _may_repeat(self, part: Part) -> bool:
        """Whether the model may say what it likes: baselines may, as in other programs, but not with a dictionary."""
        return part.draft is None and (self.settings.can_repeat or not self.system.lexical.is_assisted)

    def _terms(self, part: Part, draft: Draft, request: Request) -> TermSentence:
        absorbed = draft.absorbed(part.matches)
        of_matches = {position for match in part.matches for position in match.positions}.union(*absorbed)
        return TermSentence(
            self._rules(part.matches, draft),
            end_position=request.end_position,
            max_length=request.length_limit(self.settings),
            num_given=len(request.prefix),
            given_uses=draft.uses_within(len(request.prefix), part.matches) if request.prefix_positions else (),
            final_mark=_final_mark(part.source),
            inner_marks=[*_inner_marks(part.source), *draft.inner_marks(part.source)],
            kept_marks=[position for position in draft.final_marks(part.source) if position not in of_matches],
            markless=draft.markless(part.source),
            begins_with_capital=not request.prefix and draft.target.text[:1].isupper(),
            draft_words=sorted(set(draft.target.ids) - self.borders().continuing),
            elsewhere=draft.elsewhere(part.matches),
            absorbed=absorbed,
            said_first=draft.said_first(part.matches, part.source),
        )

    def _rules(self, matches: Sequence[Match], draft: Draft) -> SentenceRules:
        """All entries are wanted, or those whose words the draft translates."""
        required = range(len(matches)) if self.must_use_all else draft.translated(matches)
        return SentenceRules(
            draft.with_capitals(matches),
            self.borders(),
            required,
            draft.replaced(matches, self.borders()),
            draft.unsaid(matches),
        )

    def _read(self, part: Part, result: SearchResult | None) -> list[Translation]:
        """From ids back to text."""
        if result is None:
            return [Translation(part.source, self.model.target_subwords.decode(()), (), 0.0, 0.0, 0.0)]
        return [self._read_hypothesis(part, result, hypothesis) for hypothesis in result.hypotheses]

    def _read_hypothesis(self, part: Part, result: SearchResult, hypothesis: Hypothesis) -> Translation:
        uses = hypothesis.uses
        return Translation(
            source=part.source,
            target=self.model.target_subwords.decode(hypothesis.pieces),
            positions=hypothesis.positions,
            score=hypothesis.score,
            lexical_score=hypothesis.lexical_score,
            alignment_score=hypothesis.alignment_score,
            num_evaluations=result.num_evaluations,
            is_complete=hypothesis.is_complete,
            matches=part.matches,
            uses=uses if isinstance(uses, tuple) else (),
            notes=() if hypothesis.is_complete else ("cut off at the length limit",),
            attention=hypothesis.attention,
        )


def _has_pairs(source: Encoding) -> bool:
    """Whether a word directly follows itself."""
    return any(first == second for first, second in pairwise([word.text.casefold() for word in source.words]))


def _final_mark(source: Encoding) -> range:
    """The positions of the punctuation mark that a sentence ends with; none if it does not."""
    if not source.words or not _MARK.fullmatch(source.words[-1].text):
        return range(0)
    pieces = source.pieces_of_word(len(source.words) - 1)
    return range(pieces.start + 1, pieces.stop + 1)


def _inner_marks(source: Encoding) -> list[int]:
    """The positions of the marks that end sentences before the last one."""
    last = len(source.words) - 1
    return [
        piece + 1
        for piece, word in enumerate(source.word_of_piece)
        if word < last and source.words[word].text in FINAL_MARKS
    ]


_MARK = regex.compile(r"\p{P}+")
