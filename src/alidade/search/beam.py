"""The beam search: one for all systems (paper, section 4).

A grid of B sentences × K hypotheses. In each step the alignment model says how likely each position is, pruning
picks (hypothesis, position) pairs, the lexical model evaluates them as one ragged batch of rows, and the best
(hypothesis, position, piece) triples make the next beam. The baselines have one dummy position and no alignment
model. What restricts the search or follows it stands in one list (`restrictions.py`); when hypotheses finish and
sentences end is told in `endings.py`.

In assisted systems the target's `</s>` belongs to the source's: a row at position J+1 can write nothing else, and
no other row can write it.

Dimensions: B sentences, K beam, S source positions, R rows, k best pieces of a row, N candidates of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from alidade.config import SearchSettings
from alidade.search.coverage import Coverage, costs_of_sources
from alidade.search.endings import Endings
from alidade.search.hypotheses import Beam, History, Hypothesis, Request, SearchResult, pad_sources, pick, rank
from alidade.search.pruning import pruning_of
from alidade.search.restrictions import GivenPieces, MinLength, NoRepeats, Proposals, Question, Restriction, Rows
from alidade.search.roles import AlignmentState, Asked, Floats, Ints, System
from alidade.text.vocabulary import BOS, EOS, PAD

ENDED_SHARE = 1 / 8
"""Ended sentences leave the batch when they are this share of it: to drop them costs a copy of all caches."""


class BeamSearch:
    """Searches with one system and one way to search."""

    def __init__(self, system: System, settings: SearchSettings) -> None:
        self.lexical = system.lexical
        self.alignment = system.alignment if system.lexical.is_assisted else None
        self.shares_encoder = self.alignment is not None and system.shares_encoder
        self.settings = settings

    def search(
        self, requests: Sequence[Request], *, num_best: int = 1, restrictions: Sequence[Restriction] = ()
    ) -> list[SearchResult]:
        """Translate one batch of sentences; the results are in the requests' order.

        restrictions: further ones, a dictionary's for instance; their sentences are those of the batch in its order.
        """
        batch = _BatchSearch(self, requests, min(num_best, self.settings.beam_size), restrictions)
        while batch.goes_on:
            batch.step()
        return batch.results()


class _BatchSearch:
    """The search for one batch, under way."""

    def __init__(
        self, search: BeamSearch, requests: Sequence[Request], num_best: int, restrictions: Sequence[Restriction]
    ) -> None:
        settings = self._settings = search.settings
        self._lexical_weight = np.float32(settings.lexical_weight)
        self._alignment_weight = np.float32(settings.alignment_weight)
        self._beam_size = settings.beam_size
        is_assisted = search.alignment is not None
        self._restrictions = self._list_restrictions(requests, restrictions, is_assisted=is_assisted)
        are_patient = [
            is_assisted or any(restriction.concerns(sentence) for restriction in restrictions)
            for sentence in range(len(requests))
        ]
        limits = [request.length_limit(settings) for request in requests]
        lengths = [request.end_position for request in requests]
        self._endings = Endings(settings, num_best, limits, lengths, are_patient)
        self._results: list[SearchResult | None] = [None] * len(requests)
        self._step = 0
        self._end_positions: Ints = np.array([request.end_position for request in requests])
        self._start_models(search, pad_sources([request.source for request in requests]))

        # The grid is one hypothesis wide in the first step, and K wide from then on.
        self._scores: Floats = np.zeros((len(requests), 1), dtype=np.float32)
        self._pieces: Ints = np.full((len(requests), 1), BOS)
        self._positions: Ints = np.zeros((len(requests), 1), dtype=np.int64)
        self._num_evaluations: Ints = np.zeros(len(requests), dtype=np.int64)
        self._num_picked: Ints = np.zeros(len(requests), dtype=np.int64)
        self._history = History(len(requests), has_positions=is_assisted)

    def _list_restrictions(
        self, requests: Sequence[Request], others: Sequence[Restriction], *, is_assisted: bool
    ) -> list[Restriction]:
        """In this order: a later one has the last word."""
        restrictions: list[Restriction] = []
        if any(request.min_length for request in requests):
            restrictions.append(MinLength(requests))
        if is_assisted and not self._settings.can_repeat:
            restrictions.append(NoRepeats(len(requests)))
        restrictions += others
        if any(request.prefix for request in requests):
            restrictions.append(GivenPieces(requests))
        return restrictions

    def _start_models(self, search: BeamSearch, source: Ints) -> None:
        memory = search.lexical.encode(source)
        self._lexical = search.lexical.start(memory)
        self._alignment: AlignmentState | None = None
        self._coverage: Coverage | None = None
        if search.alignment is not None:
            alignment_memory = memory if search.shares_encoder else search.alignment.encode(source)
            self._alignment = search.alignment.start(alignment_memory)
            self._pruning = pruning_of(self._settings)
            self._coverage = self._start_coverage(search.alignment.skip_cost, source)

    def _start_coverage(self, skip_cost: Floats, source: Ints) -> Coverage | None:
        if self._settings.coverage_weight == 0:
            return None
        costs = costs_of_sources(skip_cost, source)
        alone = np.broadcast_to(np.arange(costs.shape[1]), costs.shape)
        stand_ins = alone.copy()
        for restriction in self._restrictions:
            restriction.join_positions(costs, stand_ins)
        return Coverage(costs, self._settings.coverage_weight, stand_ins if (stand_ins != alone).any() else None)

    @property
    def goes_on(self) -> bool:
        return bool(self._endings.live)

    def results(self) -> list[SearchResult]:
        return [result for result in self._results if result is not None]

    def step(self) -> None:
        """One step for all sentences."""
        self._lexical.advance(self._pieces)
        candidates = self._evaluate_hypotheses() if self._alignment is None else self._evaluate_pairs(self._alignment)
        self._num_evaluations += candidates.num_rows
        self._num_picked += candidates.num_rows if self._alignment is None else self._pruning.num_picked
        self._choose_beam(candidates)

    def _evaluate_hypotheses(self) -> Candidates:
        """The baselines: one row a hypothesis."""
        hypotheses = np.arange(self._scores.size)
        self._position_logp: Floats | None = None
        nowhere = np.zeros(len(hypotheses), dtype=np.int64)
        round_ = self._evaluate(hypotheses, hypotheses, nowhere, self._scores.ravel())
        return Candidates(round_, self._scores.shape)

    def _evaluate_pairs(self, alignment: AlignmentState) -> Candidates:
        """The assisted systems: the pairs that pruning picks, in one round or two."""
        position_logp = self._position_logp = alignment.position_logp(self._pieces, self._positions)  # (B, K, S)
        for restriction in self._restrictions:
            restriction.restrict_positions(position_logp)
        bounds = self._bounds(position_logp)
        pairs = self._pruning.first(position_logp, bounds)
        if not len(pairs):  # a dead end for all sentences: one row without hope, for models need at least one
            pairs = np.zeros(1, dtype=np.int64)
        first = self._evaluate_pairs_of(pairs, bounds)
        candidates = Candidates(first, self._scores.shape)
        pairs = self._pruning.second(partial(candidates.score_to_beat, self._beam_size))
        if not len(pairs):
            return candidates
        return Candidates(first.then(self._evaluate_pairs_of(pairs, bounds)), self._scores.shape)

    def _bounds(self, position_logp: Floats) -> Floats:
        """(B, K, S): the score of each hypothesis with each position; -inf where there is none."""
        scores = self._scores[:, :, None]
        if self._coverage is not None:
            scores = scores + self._coverage.gains()
        if self._alignment_weight == 0:
            return np.where(position_logp == -np.inf, -np.inf, scores).astype(np.float32)
        bounds: Floats = self._alignment_weight * position_logp
        bounds += scores
        return bounds

    def _evaluate_pairs_of(self, pairs: Ints, bounds: Floats) -> EvaluatedRows:
        hypotheses, positions = np.divmod(pairs, bounds.shape[2])
        return self._evaluate(pairs, hypotheses, positions, bounds.ravel().take(pairs))

    def _evaluate(self, pairs: Ints, hypotheses: Ints, positions: Ints, row_scores: Floats) -> EvaluatedRows:
        """The best pieces of rows; row_scores: (R,), the hypotheses' scores with the rows' positions."""
        rows = Rows(hypotheses, positions, hypotheses // self._scores.shape[1])
        questions = [restriction.ask(rows) for restriction in self._restrictions]
        num_best = self._beam_size + sum(question.num_ruled_out for question in questions)
        found = self._lexical.evaluate(hypotheses, positions, num_best, _join(questions))
        looks_at = self._lexical.attention(pairs) if self._alignment is None and self._restrictions else None
        proposed = Proposals(found.pieces, found.logp, found.end_logp, looks_at, beam_size=self._beam_size)
        first = 0
        for restriction, question in zip(self._restrictions, questions, strict=True):
            last = first + len(question.rows)
            restriction.restrict(rows, proposed, found.asked_logp[first:last])
            first = last
        ranked_logp = proposed.logp if proposed.credit is None else proposed.logp + proposed.credit
        scores = self._lexical_weight * ranked_logp
        scores += row_scores[:, None]
        end_scores = self._lexical_weight * proposed.end_logp
        end_scores += row_scores
        if self._alignment is not None:
            is_end = positions == self._end_positions.take(rows.sentences)
            scores[is_end] = -np.inf
            end_scores[~is_end] = -np.inf
        return EvaluatedRows(
            pairs,
            *rows,
            scores,
            proposed.pieces,
            proposed.logp,
            end_scores,
            proposed.end_logp,
            has_one_each=self._alignment is None,
        )

    def _choose_beam(self, candidates: Candidates) -> None:
        """Let the best candidates make the next beam, after those that end have been taken note of."""
        beam, rows = candidates.best(self._beam_size, self._position_logp)
        self._end_sentences(beam, candidates)
        if not self._endings.live:
            return
        self._history.append(beam, self._lexical.attention(rows))
        if beam.scores[:, -1].min() == -np.inf:  # what has nothing left to write is dead
            beam = beam._replace(pieces=np.where(beam.scores == -np.inf, PAD, beam.pieces))
        self._scores, self._pieces, self._positions = beam.scores, beam.pieces, beam.positions
        self._lexical.commit(rows, beam.parents)
        if self._alignment is not None:
            self._alignment.commit(beam.parents)
        if self._coverage is not None:
            self._coverage.commit(beam)
        for restriction in self._restrictions:
            restriction.commit(beam)
        self._step += 1
        if len(self._scores) - len(self._endings.live) >= max(1.0, ENDED_SHARE * len(self._scores)):
            self._keep(_close_gaps(list(self._endings.live)))

    def _end_sentences(self, beam: Beam, candidates: Candidates) -> None:
        """Trace the hypotheses of the sentences that end in this step; nothing of them lives on."""
        end_scores, end_logp = candidates.ends()
        beam_scores = beam.scores.tolist()
        finishing = self._endings.finishing(self._step, beam_scores, end_scores.max(axis=1).tolist())
        if finishing:
            ends = self._ends(end_scores, end_logp).of(finishing)
            self._endings.note(self._step, finishing, beam.of(finishing).ranked_with(ends), self._settle)
        if self._settings.stopping == "shrinking":
            self._endings.leave_places_empty(beam.scores)
            beam_scores = beam.scores.tolist()
        for row, sentence in self._endings.end_sentences(self._step, beam_scores, partial(self._debt, beam)):
            beam.scores[row] = -np.inf
            endings = self._endings.best(sentence)
            num_positions = int(self._end_positions[row]) + 1
            found = [self._history.trace(sentence, ending, num_positions) for ending in endings]
            self._results[sentence] = SearchResult(
                tuple(found or [self._cut_off(row, sentence)]),
                num_evaluations=int(self._num_evaluations[row]),
                num_picked=int(self._num_picked[row]),
                num_steps=self._step + 1,
            )

    def _ends(self, scores: Floats, logp: Floats) -> Beam:
        """The ways to end, one a hypothesis, (B, K)."""
        alignment_logp = logp
        if self._position_logp is not None:
            alignment_logp = self._position_logp[np.arange(len(scores)), :, self._end_positions]
        parents = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        positions = np.broadcast_to(self._end_positions[:, None], scores.shape)
        return Beam(scores, parents, np.full(scores.shape, EOS), positions, logp, alignment_logp)

    def _settle(self, row: int, cell: int, position: int, piece: int) -> tuple[object, float]:
        """What is remembered of a hypothesis that ends, and what it was credited with."""
        hypothesis = row * self._scores.shape[1] + cell
        return self._uses_of(hypothesis, position, piece), self._debt_of(hypothesis, position, piece)

    def _debt(self, beam: Beam, row: int, cell: int) -> float:
        """What a hypothesis of the next beam was credited with."""
        parent, position, piece = [int(field[row, cell]) for field in (beam.parents, beam.positions, beam.pieces)]
        return self._debt_of(row * self._scores.shape[1] + parent, position, piece)

    def _debt_of(self, hypothesis: int, position: int, piece: int) -> float:
        debts = [restriction.debt_of(hypothesis, position, piece) for restriction in self._restrictions]
        return self._settings.lexical_weight * sum(debts)

    def _uses_of(self, hypothesis: int, position: int, piece: int) -> object:
        uses = [restriction.uses_of(hypothesis, position, piece) for restriction in self._restrictions]
        return next((one for one in uses if one is not None), None)

    def _cut_off(self, row: int, sentence: int) -> Hypothesis:
        """The best hypothesis of the present beam, for a sentence that has come to a dead end."""
        uses = self._uses_of(row * self._scores.shape[1], int(self._positions[row, 0]), EOS)
        return self._history.cut_off(sentence, float(self._scores[row, 0]), uses, int(self._end_positions[row]) + 1)

    def _keep(self, rows: list[int]) -> None:
        """Go on with the sentences in these rows of the grid only."""
        kept = np.array(rows)
        self._endings.keep(rows)
        for part in (self._history, self._lexical, self._alignment, self._coverage, *self._restrictions):
            if part is not None:
                part.keep(kept)
        self._scores, self._pieces, self._positions = self._scores[kept], self._pieces[kept], self._positions[kept]
        self._end_positions = self._end_positions[kept]
        self._num_evaluations, self._num_picked = self._num_evaluations[kept], self._num_picked[kept]


def _close_gaps(rows: list[int]) -> list[int]:
    """Rows of the grid in an order in which few of them move: the last ones take the places of those that are gone."""
    staying = {row for row in rows if row < len(rows)}
    moving = iter([row for row in rows if row >= len(rows)])
    return [row if row in staying else next(moving) for row in range(len(rows))]


def _join(questions: Sequence[Question]) -> Asked:
    if len(questions) == 1:
        return Asked(*questions[0][:2])
    rows = [question.rows for question in questions]
    pieces = [question.pieces for question in questions]
    return Asked(np.concatenate(rows), np.concatenate(pieces)) if questions else Asked(*Question()[:2])


class EvaluatedRows(NamedTuple):
    """Rows and their best pieces."""

    pairs: Ints
    """(R,) pair numbers, ascending."""
    hypotheses: Ints
    positions: Ints
    sentences: Ints
    scores: Floats
    """(R, k) the hypothesis's score with this position and piece."""
    pieces: Ints
    """(R, k)"""
    logp: Floats
    """(R, k) log p_lex."""
    end_scores: Floats
    """(R,) the hypothesis's score if it ends here, -inf where it cannot."""
    end_logp: Floats
    """(R,) log p_lex of `</s>`."""
    has_one_each: bool = False
    """Whether the rows are the hypotheses of the grid, as in baselines."""
    numbers: Ints | None = None
    """(R,) the lexical state's numbers of the rows, in the order of evaluation; None: 0 .. R-1."""

    def then(self, later: EvaluatedRows) -> EvaluatedRows:
        """These rows and those of a later round, in the order of their pairs."""
        pairs = np.concatenate([self.pairs, later.pairs])
        order = np.argsort(pairs)
        most = max(self.pieces.shape[1], later.pieces.shape[1])
        return EvaluatedRows(
            pairs=pairs[order],
            hypotheses=np.concatenate([self.hypotheses, later.hypotheses])[order],
            positions=np.concatenate([self.positions, later.positions])[order],
            sentences=np.concatenate([self.sentences, later.sentences])[order],
            scores=np.concatenate([_widen(self.scores, most), _widen(later.scores, most)])[order],
            pieces=np.concatenate([_widen(self.pieces, most), _widen(later.pieces, most)])[order],
            logp=np.concatenate([_widen(self.logp, most), _widen(later.logp, most)])[order],
            end_scores=np.concatenate([self.end_scores, later.end_scores])[order],
            end_logp=np.concatenate([self.end_logp, later.end_logp])[order],
            numbers=order,
        )


def _widen(values: Any, width: int) -> Any:
    """Rounds may have looked for different numbers of best pieces: (R, k) -> (R, width)."""
    if values.shape[1] == width:
        return values
    filling = -np.inf if values.dtype.kind == "f" else PAD
    return np.pad(values, ((0, 0), (0, width - values.shape[1])), constant_values=filling)


class Candidates:
    """The pieces that the evaluated rows of a step propose, and the choice of the next beam among them.

    Rows are ragged: each sentence has as many as pruning left it. To compare candidates within sentences they are laid
    out in a grid padded with -inf to the most rows a sentence has. `</s>` is not among them but in a grid of its own:
    each hypothesis has one way to end.
    """

    def __init__(self, rows: EvaluatedRows, grid: tuple[int, ...]) -> None:
        """grid: B and the present K."""
        self._rows = rows
        self._num_sentences, self._num_hypotheses = grid
        self.num_rows: Ints
        """(B,)"""
        if self._num_sentences == 1:
            self.num_rows, self._first = np.array([len(rows.pairs)]), np.zeros(1, dtype=np.int64)
        else:
            self.num_rows = np.bincount(rows.sentences, minlength=self._num_sentences)
            self._first = np.cumsum(self.num_rows) - self.num_rows
        self._scores = self._lay_out()

    def _lay_out(self) -> Floats:
        """(B, N)"""
        scores, num_pieces = self._rows.scores, self._rows.scores.shape[1]
        most = int(self.num_rows.max())
        if len(scores) == self._num_sentences * most:
            return scores.reshape(self._num_sentences, -1)
        sentences = self._rows.sentences
        laid_out = np.full((self._num_sentences, most, num_pieces), -np.inf, dtype=np.float32)
        laid_out[sentences, np.arange(len(scores)) - self._first[sentences]] = scores
        return laid_out.reshape(self._num_sentences, -1)

    def score_to_beat(self, beam_size: int) -> Floats:
        """(B, 1): the K-th best candidate of each sentence, or -inf if it has fewer."""
        if self._scores.shape[1] < beam_size:
            return np.full((self._num_sentences, 1), -np.inf, dtype=np.float32)
        ordered = self._scores.copy()
        ordered.partition(-beam_size, axis=1)
        return ordered[:, -beam_size, None]

    def best(self, beam_size: int, position_logp: Floats | None) -> tuple[Beam, Ints]:
        """The next beam, the best first, and the lexical state's rows that make it, (B, K)."""
        rows, num_pieces = self._rows, self._rows.scores.shape[1]
        places = rank(self._scores)[:, :beam_size]  # (B, K)
        num_places = places.shape[1]
        if num_places < beam_size:
            places = places.take(np.minimum(np.arange(beam_size), num_places - 1), axis=1)
        scores = pick(self._scores, places)
        if num_places < beam_size:
            scores[:, num_places:] = -np.inf
        # Where there is none, at the end of a sentence with fewer rows than others, any will do.
        cell = np.minimum(places + (num_pieces * self._first)[:, None], rows.logp.size - 1)
        row = cell // num_pieces
        logp = rows.logp.ravel().take(cell)
        beam = Beam(
            scores=scores,
            parents=rows.hypotheses.take(row) % self._num_hypotheses,
            pieces=rows.pieces.ravel().take(cell),
            positions=rows.positions.take(row),
            lexical_logp=logp,
            alignment_logp=logp if position_logp is None else position_logp.ravel().take(rows.pairs.take(row)),
        )
        return beam, row if rows.numbers is None else rows.numbers.take(row)

    def ends(self) -> tuple[Floats, Floats]:
        """The score and log p_lex of each hypothesis's `</s>`, (B, K) both; -inf where it was not evaluated."""
        shape, rows = (self._num_sentences, self._num_hypotheses), self._rows
        if rows.has_one_each:
            return rows.end_scores.reshape(shape), rows.end_logp.reshape(shape)
        scores = np.full(shape, -np.inf, dtype=np.float32)
        logp = scores.copy()
        can_end = (rows.end_scores > -np.inf).nonzero()[0]
        if len(can_end):  # most steps are far from the end
            scores.ravel()[rows.hypotheses[can_end]] = rows.end_scores[can_end]
            logp.ravel()[rows.hypotheses[can_end]] = rows.end_logp[can_end]
        return scores, logp
