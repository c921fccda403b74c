"""The beam search: one for all systems (paper, section 4; DESIGN.md, section 4).

A grid of B sentences × K hypotheses. In each step the alignment model says how likely each position is, pruning
picks (hypothesis, position) pairs, the lexical model evaluates them as one ragged batch of rows, and the best
(hypothesis, position, word) triples make the next beam. The baselines have one dummy position and no alignment
model. When hypotheses finish and sentences end is told in `ending.py`.

When all targets are given, hypotheses differ in nothing but their positions, and a beam would fill up with one present
and many slightly different pasts. Then only the best past of each position is evaluated, as in Viterbi's algorithm.

In assisted systems the target's `</s>` belongs to the source's: a row at position J+1 can write nothing else, and
no other row can write it.

Dimensions: B sentences, K beam, S source positions, R rows, k best words of a row, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from alidade.config import SearchSettings
from alidade.search.candidates import (
    Candidates,
    GridCandidates,
    Picked,
    RaggedCandidates,
    RowWords,
    choose,
    score_to_beat,
)
from alidade.search.constraints import Constraints, EvaluatedRows
from alidade.search.ending import Endings
from alidade.search.hypotheses import Cells, History, Hypothesis, SearchResult
from alidade.search.lattice import Lattice
from alidade.search.prefix import FREE, GivenWords, allow_only, put_given
from alidade.search.pruning import BestPasts, pruning_of
from alidade.search.repeats import NOWHERE, Written
from alidade.search.roles import AlignmentModel, AlignmentState, LexicalModel, LexicalState
from alidade.search.words import WordScorer
from alidade.text.vocabulary import BOS, EOS, PAD

ENDED_SHARE = 1 / 8
"""Ended sentences leave the batch when they are this share of it: to drop them costs a copy of all caches."""


@dataclass(frozen=True, slots=True)
class Request:
    """A sentence to translate."""

    source: Sequence[int]
    """Piece ids, without `<s>` and `</s>`."""
    prefix: Sequence[int] = ()
    """Piece ids that the translation must begin with."""
    is_whole_target: bool = False
    """Nothing but `</s>` may follow the prefix: the search then only aligns."""
    min_length: int = 0
    """The translation has at least this many pieces."""
    max_length: int | None = None
    """At most this many, `</s>` among them; None: as the settings say."""

    @property
    def given_words(self) -> list[int]:
        return [*self.prefix, EOS] if self.is_whole_target else [*self.prefix]

    def length_limit(self, settings: SearchSettings) -> int:
        if self.is_whole_target:
            return len(self.prefix) + 1
        if self.max_length is not None:
            return max(self.max_length, len(self.prefix) + 1)
        return len(self.prefix) + int(settings.max_length_factor * len(self.source)) + 10


class BeamSearch:
    """Searches with one system and one way to search; make a new one when weights change."""

    def __init__(self, system: Any, settings: SearchSettings) -> None:
        """system: has `lexical`, `alignment` and `shares_encoder`; see `models/system.py`."""
        self.lexical: LexicalModel = system.lexical
        self.alignment: AlignmentModel | None = system.alignment if system.lexical.is_assisted else None
        self.shares_encoder: bool = self.alignment is not None and system.shares_encoder
        self.settings = settings
        self.scorer = WordScorer.of(self.lexical.output)

    @torch.inference_mode()
    def search(
        self, requests: Sequence[Request], *, num_best: int = 1, constraints: Constraints | None = None
    ) -> list[SearchResult]:
        """Translate one batch of sentences; the results are in the requests' order."""
        batch = _BatchSearch(self, requests, min(num_best, self.settings.beam_size), constraints)
        while batch.goes_on:
            batch.step()
        return batch.results()


def pad_sources(sources: Sequence[Sequence[int]]) -> Tensor:
    """(B, S): `<s> f_1 .. f_J </s>`, then `<pad>`."""
    width = max(len(source) for source in sources) + 2
    padded = torch.full((len(sources), width), PAD)
    for row, source in enumerate(sources):
        padded[row, : len(source) + 2] = torch.tensor([BOS, *source, EOS])
    return padded


class _BatchSearch:
    """The search for one batch, under way."""

    def __init__(
        self, search: BeamSearch, requests: Sequence[Request], num_best: int, constraints: Constraints | None
    ) -> None:
        settings = search.settings
        self._settings, self._scorer, self._constraints = settings, search.scorer, constraints
        self._beam_size = settings.beam_size
        limits = [request.length_limit(settings) for request in requests]
        are_patient = [
            search.alignment is not None or (constraints is not None and constraints.concerns(row))
            for row in range(len(requests))
        ]
        self._endings = Endings(settings, num_best, limits, are_patient)
        self._results: list[SearchResult | None] = [None] * len(requests)
        self._step = 0

        source = pad_sources([request.source for request in requests])
        self._end_positions = torch.tensor([[len(request.source) + 1] for request in requests])  # (B, 1): J + 1
        self._given = GivenWords([request.given_words for request in requests])
        self._only_aligns = all(request.is_whole_target for request in requests)
        self._min_lengths = torch.tensor([[request.min_length] for request in requests])
        self._last_min_length = max(request.min_length for request in requests)
        self._start_models(search, source)

        # The grid is one hypothesis wide in the first step, and K wide from then on.
        self._scores = torch.zeros(len(requests), 1)
        self._words = torch.full((len(requests), 1), BOS)
        self._positions = torch.zeros((len(requests), 1), dtype=torch.long)
        self._grid_rows = (torch.zeros(0, dtype=torch.long),) * 2
        """The baselines' rows: each hypothesis at position 0."""
        self._num_evaluations: Tensor | int = 0
        self._num_picked: Tensor | int = 0
        """(B,), or one number for all sentences: the baselines'."""
        self._lattice = Lattice(source.shape[1]) if self._only_aligns and self._alignment is not None else None
        shape = (len(requests), self._beam_size)
        needs_written = self._alignment is not None and not (settings.can_repeat or self._only_aligns)
        self._written = Written(*shape, max(limits)) if needs_written else None
        self._history = History(*shape, max(limits), has_positions=self._alignment is not None)

    def _start_models(self, search: BeamSearch, source: Tensor) -> None:
        memory = search.lexical.encode(source)
        needs_attention = self._constraints is not None and self._constraints.needs_attention
        self._lexical: LexicalState = search.lexical.start(memory, records_attention=needs_attention)
        self._alignment: AlignmentState | None = None
        if search.alignment is not None:
            alignment_memory = memory if search.shares_encoder else search.alignment.encode(source)
            self._alignment = search.alignment.start(alignment_memory)
            self._pruning = BestPasts() if self._only_aligns else pruning_of(self._settings)

    @property
    def goes_on(self) -> bool:
        return bool(self._endings.live)

    def results(self) -> list[SearchResult]:
        return [result for result in self._results if result is not None]

    def step(self) -> None:
        """One step for all sentences."""
        if self._alignment is None:
            self._position_logp = None
            candidates = self._evaluate_hypotheses()
        else:
            self._position_logp = self._alignment.position_logp(self._words, self._positions)  # (B, K, S)
            if self._is_given or self._step < self._last_min_length:
                self._restrict_end(self._position_logp)
            if self._constraints is not None:
                self._restrict_positions(self._constraints, self._position_logp)
            candidates = self._evaluate_pairs(self._position_logp)
        num_picked = candidates.num_evaluations if self._alignment is None else self._pruning.num_picked
        self._num_evaluations = self._num_evaluations + candidates.num_evaluations
        self._num_picked = self._num_picked + num_picked
        self._choose_beam(candidates)

    def _restrict_end(self, position_logp: Tensor) -> None:
        """No hypothesis looks at the end while it may not end, or elsewhere when `</s>` is given: (B, K, S)."""
        is_end = torch.arange(position_logp.shape[2]) == self._end_positions  # (B, S)
        is_forbidden = is_end & (self._step < self._min_lengths)
        if self._is_given:
            given = self._given.at(self._step)[:, None]
            is_forbidden |= torch.where(given == EOS, ~is_end, is_end & (given != FREE))
        position_logp.masked_fill_(is_forbidden[:, None], -math.inf)

    def _restrict_positions(self, constraints: Constraints, position_logp: Tensor) -> None:
        """Let the constraints see the whole grid, in the first step as well."""
        whole = position_logp.expand(-1, self._beam_size, -1).contiguous()
        constraints.restrict_positions(whole)
        position_logp.copy_(whole[:, : position_logp.shape[1]])

    def _evaluate_hypotheses(self) -> Candidates:
        """The baselines: one row a hypothesis."""
        self._lexical.advance(self._words)
        hypotheses, positions = self._grid_rows
        if len(hypotheses) != self._scores.numel():
            hypotheses = torch.arange(self._scores.numel())
            self._grid_rows = hypotheses, positions = hypotheses, torch.zeros_like(hypotheses)
        rows = self._evaluate(hypotheses, hypotheses, positions, self._scores.view(-1))
        return GridCandidates(rows, *self._scores.shape)

    def _evaluate_pairs(self, position_logp: Tensor) -> Candidates:
        """The assisted systems: the pairs that pruning picks, in one round or two."""
        self._lexical.advance(self._words)
        bounds = self._bounds(position_logp)
        pairs = self._pruning.first(position_logp, bounds)
        if not len(pairs):  # a dead end for all sentences: one row without hope, for models need at least one
            pairs = torch.zeros(1, dtype=torch.long)
        rows = self._evaluate_lot(pairs, bounds)
        candidates = RaggedCandidates(rows, *self._scores.shape)
        pairs = self._pruning.second(partial(score_to_beat, candidates.scores, self._beam_size))
        if not len(pairs):
            return candidates
        return RaggedCandidates(rows.then(self._evaluate_lot(pairs, bounds)), *self._scores.shape)

    def _bounds(self, position_logp: Tensor) -> Tensor:
        """(B, K, S): the score of each hypothesis with each position; -inf where there is none."""
        weight = self._settings.alignment_weight
        if weight == 0:
            return self._scores[:, :, None].masked_fill(position_logp == -math.inf, -math.inf)
        return torch.add(self._scores[:, :, None], position_logp, alpha=weight)

    def _sentences_of(self, hypotheses: Tensor) -> Tensor:
        return hypotheses // self._scores.shape[1]

    def _evaluate_lot(self, pairs: Tensor, bounds: Tensor) -> RowWords:
        hypotheses = pairs // bounds.shape[2]
        positions = pairs - hypotheses * bounds.shape[2]
        return self._evaluate(pairs, hypotheses, positions, bounds.view(-1)[pairs])

    def _evaluate(self, pairs: Tensor, hypotheses: Tensor, positions: Tensor, row_scores: Tensor) -> RowWords:
        """The best words of rows; row_scores: (R,), the hypotheses' scores with the rows' positions."""
        features = self._lexical.evaluate(hypotheses, positions)
        rows = self._rows_to_restrict(hypotheses, positions)
        sentences = self._sentences_of(hypotheses) if self._needs_sentences else None
        lots = self._scorer.lots(len(features))
        if len(lots) == 1:
            words, logp, end_logp = self._best_words(features, sentences, rows)
        else:
            parts = [
                self._best_words(features[lot], None if sentences is None else sentences[lot], rows.part(lot))
                for lot in lots
            ]
            words, logp, end_logp = map(torch.cat, zip(*parts, strict=True))
        weight = self._settings.lexical_weight
        scores = torch.add(row_scores[:, None], logp, alpha=weight)
        end_scores = torch.add(row_scores, end_logp, alpha=weight)
        if self._alignment is not None:
            is_end = positions == self._end_positions.view(-1)[sentences]
            scores.masked_fill_(is_end[:, None], -math.inf)
            end_scores.masked_fill_(~is_end, -math.inf)
        return RowWords(pairs, hypotheses, positions, scores, words, logp, end_scores, end_logp)

    def _rows_to_restrict(self, hypotheses: Tensor, positions: Tensor) -> EvaluatedRows:
        """Rows as those see them who restrict words: with K hypotheses a sentence in the first step as well."""
        needs_attention = self._constraints is not None and self._constraints.needs_attention
        attention = self._lexical.attention() if needs_attention else None
        return EvaluatedRows(hypotheses * (self._beam_size // self._scores.shape[1]), positions, attention)

    def _best_words(
        self, features: Tensor, sentences: Tensor | None, rows: EvaluatedRows
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The best words of one lot of rows and their log p_lex, (r, k) each, and log p_lex of `</s>`, (r,).

        sentences: (r,), needed if words are given.
        """
        word_logp = self._scorer.word_logp(features)
        free_positions = rows.positions
        if self._constraints is not None:
            given_rows = self._constraints.restrict(rows, word_logp)
            free_positions = free_positions.index_fill(0, given_rows, NOWHERE)
        end_logp = word_logp[:, EOS].clone()
        given = only = None
        if sentences is not None and self._is_given:
            given = self._given.at(self._step)[sentences]
            only = allow_only(given, word_logp, end_logp)
            if self._given.are_all_given(self._step):
                return *only, end_logp
        if self._written is not None:
            self._written.forbid(rows.hypotheses, free_positions, word_logp)
        words, logp = self._scorer.best_words(word_logp, self._beam_size)
        if given is not None and only is not None:
            put_given(given, only, words, logp)
        return words, logp, end_logp

    @property
    def _needs_sentences(self) -> bool:
        """Whether rows must know their sentences."""
        return self._alignment is not None or self._is_given

    @property
    def _is_given(self) -> bool:
        """Whether some sentence's word is given in this step."""
        return self._step < self._given.num_steps

    def _choose_beam(self, candidates: Candidates) -> None:
        """Let the best candidates make the next beam, after those that end have been taken note of."""
        scores, indexes = choose(candidates.scores, self._beam_size)
        picked = candidates.pick(indexes)
        beam = Cells(scores, picked.parents, picked.words, picked.positions, picked.logp, self._alignment_logp(picked))
        self._end_sentences(beam, candidates)
        if not self._endings.live:
            return
        self._history.append(self._step, beam)
        if self._lattice is not None:
            self._lattice.append(self._ways_to(beam), beam.positions)
        self._scores, self._words, self._positions = beam.scores, beam.words, beam.positions
        self._lexical.commit(picked.rows, beam.parents)
        if self._alignment is not None:
            self._alignment.commit(beam.parents)
        if self._constraints is not None or self._written is not None:
            # What has nothing left to write is dead; its word may even lie past the vocabulary.
            self._words = beam.words.masked_fill(beam.scores == -math.inf, PAD)
        if self._constraints is not None:
            self._constraints.commit(beam.parents, beam.positions, self._words)
        if self._written is not None:
            self._written.commit(beam.parents, beam.positions, self._words)
        self._step += 1
        if len(self._scores) - len(self._endings.live) >= max(1.0, ENDED_SHARE * len(self._scores)):
            self._keep(list(self._endings.live))

    def _alignment_logp(self, picked: Picked) -> Tensor:
        return picked.logp if self._position_logp is None else self._position_logp.view(-1)[picked.pairs]

    def _ends(self, scores: Tensor, lexical_logp: Tensor) -> Cells:
        """The ways to end, one a hypothesis."""
        positions = self._end_positions.expand_as(scores)
        alignment_logp = lexical_logp
        if self._position_logp is not None:
            alignment_logp = self._position_logp.gather(2, positions[:, :, None])[:, :, 0]
        parents = torch.arange(scores.shape[1]).expand_as(positions)
        return Cells(scores, parents, torch.full_like(parents, EOS), positions, lexical_logp, alignment_logp)

    def _end_sentences(self, beam: Cells, candidates: Candidates) -> None:
        """Trace the hypotheses of the sentences that end in this step; nothing of them lives on."""
        scores, logp = candidates.ends()
        if self._step < self._last_min_length:
            scores = scores.masked_fill(self._step < self._min_lengths, -math.inf)
        state_of = None if self._constraints is None else self._constraints.end
        beam_scores = beam.scores.tolist()
        if self._endings.may_finish(self._step, beam_scores, scores.tolist()):
            self._endings.note(self._step, beam.ranked_with(self._ends(scores, logp)), state_of)
        for row, sentence in self._endings.end_sentences(self._step, beam_scores):
            beam.scores[row] = -math.inf
            endings = self._endings.best(sentence)
            self._results[sentence] = SearchResult(
                self._history.trace(row, endings) if endings else (self._cut_off(row),),
                num_evaluations=_count_of(row, self._num_evaluations),
                num_picked=_count_of(row, self._num_picked),
                num_steps=self._step + 1,
                posteriors=None if self._lattice is None else self._posteriors(row),
            )

    def _ways_to(self, beam: Cells) -> Tensor:
        """(B, k, K): what each way from the beam before to this one adds to the score."""
        assert self._position_logp is not None
        places = beam.positions[:, None].expand(-1, self._position_logp.shape[1], -1)
        ways = self._settings.alignment_weight * self._position_logp.gather(2, places)
        words = (self._settings.lexical_weight * beam.lexical_logp).masked_fill(beam.scores == -math.inf, -math.inf)
        return ways + words[:, None]

    def _posteriors(self, row: int) -> Tensor:
        """(I, S) of a sentence that ends; what `</s>` itself costs is the same for all hypotheses, or nearly."""
        assert self._lattice is not None
        assert self._position_logp is not None
        to_end = self._position_logp[row, :, self._end_positions[row, 0]]
        return self._lattice.posteriors(row, self._settings.alignment_weight * to_end)

    def _cut_off(self, row: int) -> Hypothesis:
        """The best hypothesis of the present beam, for a sentence that has come to a dead end."""
        state = None
        if self._constraints is not None:
            state = self._constraints.end(row * self._beam_size, int(self._positions[row, 0]), EOS)
        return self._history.cut_off(self._step, row, float(self._scores[row, 0]), state)

    def _keep(self, rows: list[int]) -> None:
        """Go on with the sentences in these rows of the grid only."""
        kept = torch.tensor(rows)
        self._endings.keep(rows)
        self._history.keep(kept)
        if self._lattice is not None:
            self._lattice.keep(kept)
        self._lexical.keep(kept)
        if self._alignment is not None:
            self._alignment.keep(kept)
        if self._constraints is not None:
            self._constraints.keep(kept)
        if self._written is not None:
            self._written.keep(kept)
        self._given.keep(kept)
        self._scores, self._words, self._positions = self._scores[kept], self._words[kept], self._positions[kept]
        self._end_positions, self._min_lengths = self._end_positions[kept], self._min_lengths[kept]
        if isinstance(self._num_evaluations, Tensor) and isinstance(self._num_picked, Tensor):
            self._num_evaluations, self._num_picked = self._num_evaluations[kept], self._num_picked[kept]


def _count_of(row: int, counts: Tensor | int) -> int:
    return counts if isinstance(counts, int) else int(counts[row])
