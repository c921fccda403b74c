"""Given pairs: their best positions, how likely each position is, and what a system thinks of them.

With the target given, hypotheses differ in nothing but their positions, and a beam would fill up with one present and
many slightly different pasts. So a step evaluates each position once, for the hypothesis that reaches it best, as
Viterbi's algorithm does; there it is exact, since a piece's score at a position does not depend on how that was
reached. Here it does, a little, through what the decoder remembers of earlier positions; that is ignored in the choice.

The positions kept in all steps and the ways from one to the next are a lattice. The forward-backward algorithm sums
over its paths instead of taking the best one.

Dimensions: B sentences, K positions kept (k in the step before), I given pieces, S source positions, R rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from alidade.config import SearchSettings
from alidade.search.batches import map_batches
from alidade.search.coverage import cost_of_path
from alidade.search.hypotheses import pad_sources, pick, rank
from alidade.search.roles import AlignmentState, Floats, Ints, System
from alidade.text.vocabulary import BOS, EOS

Ids = Sequence[int]

MIN_ALIGNING_BEAM = 30
"""Positions kept at a time when the target is given: fewer make more errors, the more so the longer the sentence, and
more cost little, since each position is evaluated once whatever their number (experiments/LOG.md)."""
POSTERIOR_MARGIN = 4.0
"""The margin where links are made from posteriors: nine of ten positions are left out, and the alignment error is
lower. The best path would suffer, one position of which is sometimes left out (experiments/LOG.md)."""
GUESS_WEIGHT = 0.7
"""Of what the lexical model guesses beforehand, in the choice of the positions that are evaluated."""
MAX_ALIGNING_BATCH = 16
"""Pairs that are aligned together at the most. A step has a row for each source position: with more pairs what is
between two layers does not stay in the processor's cache (experiments/LOG.md)."""
ENDED_SHARE = 1 / 8
"""Ended sentences leave the batch when they are this share of it: to drop them costs a copy of all caches."""
SHARPNESS = 0.5
"""Scores are multiplied by this before they become probabilities: the models are too sure of themselves. Chosen on half
of the Romanian–English gold pairs (experiments/LOG.md)."""


@dataclass(frozen=True, slots=True)
class PairScore:
    """What a system thinks of a given pair."""

    positions: tuple[int, ...]
    """b_i of each target piece; empty for the baselines."""
    lexical_logp: tuple[float, ...]
    """log p_lex of each target piece and of `</s>`."""
    alignment_logp: tuple[float, ...]
    """log p_align likewise; empty for the baselines."""
    coverage_cost: float
    """What the source pieces that nothing points at cost, and those that are returned to (`coverage.py`)."""
    score: float
    """Weighted and normalised for length, as the search has it."""
    attention: Floats
    """(I, J + 2) accumulated attention of each piece (paper, section 5)."""
    notes: tuple[str, ...] = ()
    """What a person should know about it, for instance that a long pair was cut into parts."""

    @property
    def lexical_score(self) -> float:
        return sum(self.lexical_logp)

    @property
    def alignment_score(self) -> float:
        return sum(self.alignment_logp)


def score_pairs(
    system: System,
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    positions: Sequence[Ids] | None = None,
    settings: SearchSettings | None = None,
    batch_size: int = 32,
) -> list[PairScore]:
    """The scores of pairs of piece ids, in their order; without positions, those of the best alignment."""
    settings = settings or SearchSettings()
    if positions is None:
        positions = best_positions(system, sources, targets, settings, batch_size)
    triples = list(zip(sources, targets, positions, strict=True))
    return map_batches(
        lambda batch: _score_batch(system, batch, settings), triples, lambda triple: len(triple[1]), batch_size
    )


def _score_batch(system: System, triples: Sequence[tuple[Ids, Ids, Ids]], settings: SearchSettings) -> list[PairScore]:
    """Walk the given paths: a beam of one hypothesis that has no choice."""
    walk = _Walk(system, triples)
    for step in range(max(len(target) for _, target, _ in triples) + 1):
        walk.step(step)
    lexical, alignment, attention = walk.results()
    scores = []
    for row, (source, target, path) in enumerate(triples):
        length = len(target) + 1
        total = settings.lexical_weight * lexical[row, :length].sum()
        coverage_cost = 0.0
        if alignment is not None and system.alignment is not None:
            coverage_cost = cost_of_path(system.alignment.skip_cost, source, path)
            total = total + settings.alignment_weight * alignment[row, :length].sum()
            total = total - settings.coverage_weight * coverage_cost
        scores.append(
            PairScore(
                positions=tuple(path),
                lexical_logp=tuple(lexical[row, :length].tolist()),
                alignment_logp=() if alignment is None else tuple(alignment[row, :length].tolist()),
                coverage_cost=coverage_cost,
                score=float(total) / length**settings.length_normalisation,
                attention=attention[row, : len(target), : len(source) + 2],
            )
        )
    return scores


class _Walk:
    """One given path for each sentence of a batch."""

    def __init__(self, system: System, triples: Sequence[tuple[Ids, Ids, Ids]]) -> None:
        source = pad_sources([source for source, _, _ in triples])
        width = max(len(target) for _, target, _ in triples) + 1
        self._targets: Ints = np.full((len(triples), width), EOS)
        ends = np.array([len(source) + 1 for source, _, _ in triples])
        self._positions: Ints = np.repeat(ends[:, None], width, axis=1)
        for row, (_, target, path) in enumerate(triples):
            self._targets[row, : len(target)] = target
            self._positions[row, : len(path)] = path
        memory = system.lexical.encode(source)
        self._lexical = system.lexical.start(memory)
        self._alignment = None
        if system.lexical.is_assisted and system.alignment is not None:
            own = memory if system.shares_encoder else system.alignment.encode(source)
            self._alignment = system.alignment.start(own)
        self._found: list[tuple[Floats, Floats | None, Floats]] = []

    def step(self, step: int) -> None:
        rows = np.arange(len(self._targets))
        start = step == 0
        pieces = np.full((len(rows), 1), BOS) if start else self._targets[:, step - 1 : step]
        previous = np.zeros((len(rows), 1), dtype=np.int64) if start else self._positions[:, step - 1 : step]
        positions, parents = self._positions[:, step], np.zeros((len(rows), 1), dtype=np.int64)
        self._lexical.advance(pieces)
        lexical_logp = self._lexical.given_logp(rows, positions, self._targets[:, step])
        alignment_logp = None
        if self._alignment is not None:
            alignment_logp = self._alignment.position_logp(pieces, previous)[rows, 0, positions]
            self._alignment.commit(parents)
        self._found.append((lexical_logp, alignment_logp, self._lexical.attention(rows)))
        self._lexical.commit(rows[:, None], parents)

    def results(self) -> tuple[Floats, Floats | None, Floats]:
        """(B, T) log p_lex and log p_align of the paths, and their attention, (B, T, S)."""
        lexical, alignment, attention = zip(*self._found, strict=True)
        aligned = [one for one in alignment if one is not None]
        return np.stack(lexical, axis=1), np.stack(aligned, axis=1) if aligned else None, np.stack(attention, axis=1)


def best_positions(
    system: System, sources: Sequence[Ids], targets: Sequence[Ids], settings: SearchSettings, batch_size: int = 32
) -> list[tuple[int, ...]]:
    """The best alignment of given pairs: b_1 .. b_I for each. Empty for the baselines."""
    if not system.lexical.is_assisted:
        return [()] * len(sources)
    return [path.positions for path in align_targets(system, sources, targets, settings, batch_size)]


class AlignedTarget(NamedTuple):
    """Where the pieces of a given target come from."""

    positions: tuple[int, ...]
    """b_1 .. b_I: the best path."""
    posteriors: Floats
    """(I, J + 2) how likely each position is, summed over paths; `<s>` and `</s>` are the first and the last."""
    num_rows: int = 0
    """(piece, position) pairs that the lexical model has evaluated."""


def align_targets(
    system: System,
    sources: Sequence[Ids],
    targets: Sequence[Ids],
    settings: SearchSettings,
    batch_size: int = 32,
    margin: float = math.inf,
) -> list[AlignedTarget]:
    """Align given pairs; only assisted systems can.

    margin: positions that start this far behind the best one of their piece, by the score so far and what the lexical
    model guesses of the piece, are not evaluated. A pair whose `</s>` no jump can reach keeps the best positions found
    before it.
    """
    settings = settings.model_copy(update={"beam_size": max(settings.beam_size, MIN_ALIGNING_BEAM)})
    return map_batches(
        lambda pairs: AligningSearch(system, pairs, settings, margin).run(),
        list(zip(sources, targets, strict=True)),
        lambda pair: len(pair[0]) + len(pair[1]),
        min(batch_size, MAX_ALIGNING_BATCH),
    )


def likely_positions(
    system: System, sources: Sequence[Ids], targets: Sequence[Ids], settings: SearchSettings, batch_size: int = 32
) -> list[AlignedTarget]:
    """Align given pairs for links that are made from posteriors.

    These are the models' own probabilities, whatever weights translate best, and positions that are unlikely from the
    start are not evaluated.
    """
    settings = settings.model_copy(update={"lexical_weight": 1.0, "alignment_weight": 1.0})
    return align_targets(system, sources, targets, settings, batch_size, POSTERIOR_MARGIN)


class AligningSearch:
    """The search for the positions of given targets, one batch of pairs."""

    def __init__(
        self, system: System, pairs: Sequence[tuple[Ids, Ids]], settings: SearchSettings, margin: float = math.inf
    ) -> None:
        assert system.alignment is not None, "only assisted systems have positions"
        self._settings, self._margin = settings, np.float32(margin)
        source = pad_sources([source for source, _ in pairs])
        memory = system.lexical.encode(source)
        own_memory = memory if system.shares_encoder else system.alignment.encode(source)
        self._lexical = system.lexical.start(memory, same_pieces=True)
        self._alignment: AlignmentState = system.alignment.start(own_memory)
        self._lengths: Ints = np.array([len(target) for _, target in pairs])
        self._ends: Ints = np.array([len(source) + 1 for source, _ in pairs])
        self._targets: Ints = np.full((len(pairs), self._lengths.max(initial=0) + 1), EOS)
        for row, (_, target) in enumerate(pairs):
            self._targets[row, : len(target)] = target
        self._numbers: Ints = np.arange(len(pairs))
        """Which pair stands in each row of the grid."""
        self._scores: Floats = np.zeros((len(pairs), 1), dtype=np.float32)
        self._positions: Ints = np.zeros((len(pairs), 1), dtype=np.int64)
        self._lattices = [Lattice(len(source) + 2) for source, _ in pairs]
        self._guesses: Floats | None = None
        """(B, T, S)"""
        if margin < math.inf:
            self._guesses = np.float32(GUESS_WEIGHT) * system.lexical.guess(memory, self._targets)

    def run(self) -> list[AlignedTarget]:
        step = 0
        while len(self._numbers):
            self._step(step)
            step += 1
        return [lattice.result() for lattice in self._lattices]

    def _step(self, step: int) -> None:
        newest = self._targets[:, step - 1] if step else np.full(len(self._numbers), BOS)
        pieces = np.repeat(newest[:, None], self._scores.shape[1], axis=1)
        ways = self._alignment.position_logp(pieces, self._positions)  # (B, k, S)
        ways *= np.float32(self._settings.alignment_weight)
        at_end = ways[np.arange(len(ways)), :, self._ends]  # (B, k)
        ways[np.arange(len(ways)), :, self._ends] = -np.inf  # no piece but `</s>` belongs there
        is_stuck = ways.max(axis=(1, 2)) == -np.inf  # an empty source has no place for a piece
        self._lengths = np.where(is_stuck, np.minimum(self._lengths, step), self._lengths)
        for row in np.flatnonzero(self._lengths == step).tolist():
            self._lattices[self._numbers[row]].end(self._scores[row], at_end[row])
        ways[self._lengths <= step] = -np.inf
        if np.all(self._lengths <= step):
            self._numbers = self._numbers[:0]
            return
        self._lexical.advance(pieces)
        self._extend(step, ways)
        num_ended = int((self._lengths <= step).sum())
        if num_ended and num_ended >= ENDED_SHARE * len(self._numbers):
            self._keep(np.flatnonzero(self._lengths > step))

    def _extend(self, step: int, ways: Floats) -> None:
        """Evaluate each position once and keep the best; ways: (B, k, S), what each adds to a hypothesis's score."""
        num_sentences, num_hypotheses, num_positions = ways.shape
        bounds = self._scores[:, :, None] + ways
        parents = bounds.argmax(axis=1)  # (B, S)
        scores = np.take_along_axis(bounds, parents[:, None], axis=1)[:, 0]
        if self._guesses is not None:
            hopes = scores + self._guesses[:, step]
            scores[hopes < hopes.max(axis=1, keepdims=True) - self._margin] = -np.inf
        sentences, positions = np.nonzero(scores > -np.inf)
        hypotheses = sentences * num_hypotheses + parents[sentences, positions]
        order = np.argsort(hypotheses, kind="stable")  # what the lexical model wants
        sentences, positions, hypotheses = sentences[order], positions[order], hypotheses[order]
        lexical_logp = np.float32(self._settings.lexical_weight) * self._lexical.given_logp(
            hypotheses, positions, self._targets[sentences, step]
        )
        scores[sentences, positions] += lexical_logp
        num_rows = np.bincount(sentences, minlength=num_sentences)
        kept = rank(scores)[:, : min(self._settings.beam_size, int(num_rows.max()))]  # (B, K)
        row_of: Ints = np.zeros((num_sentences, num_positions), dtype=np.int64)
        row_of[sentences, positions] = np.arange(len(order))
        rows = pick(row_of, kept)
        self._scores, self._positions = pick(scores, kept), kept
        kept_parents = pick(parents, kept)
        self._lexical.commit(rows, kept_parents)
        self._alignment.commit(kept_parents)
        ways = np.take_along_axis(ways, kept[:, None], axis=2) + lexical_logp[rows][:, None]  # (B, k, K)
        num_kept = np.minimum(num_rows, kept.shape[1]).tolist()
        for row in np.flatnonzero(self._lengths > step).tolist():
            some = num_kept[row]  # what is dead comes last
            lattice = self._lattices[self._numbers[row]]
            lattice.add(ways[row, :, :some], kept_parents[row, :some], kept[row, :some], int(num_rows[row]))

    def _keep(self, rows: Ints) -> None:
        """Go on with the pairs in these rows of the grid only."""
        self._lexical.keep(rows)
        self._alignment.keep(rows)
        self._numbers, self._lengths, self._ends = self._numbers[rows], self._lengths[rows], self._ends[rows]
        self._targets, self._scores, self._positions = self._targets[rows], self._scores[rows], self._positions[rows]
        if self._guesses is not None:
            self._guesses = self._guesses[rows]


class Lattice:
    """The positions that were kept for each piece of a target, and the ways from one to the next."""

    def __init__(self, num_positions: int) -> None:
        self._num_positions = num_positions
        self._ways: list[Floats] = []
        """(k, K) what each way adds to the score."""
        self._parents: list[Ints] = []
        self._positions: list[Ints] = []
        """(K,) each: from where a position is reached best, and the position itself."""
        self._num_rows = 0

    def add(self, ways: Floats, parents: Ints, positions: Ints, num_rows: int) -> None:
        """The next piece."""
        if self._positions:
            ways = ways[: len(self._positions[-1])]
        self._ways.append(ways)
        self._parents.append(parents)
        self._positions.append(positions)
        self._num_rows += num_rows

    def end(self, scores: Floats, ends: Floats) -> None:
        """scores: (K,) of the last piece's positions; ends: (K,) what it adds to end there. What `</s>` itself costs is
        the same for all, or nearly. If none can end, none is preferred for it."""
        ends = ends[: len(self._positions[-1])] if self._positions else ends
        self._ends = np.zeros_like(ends) if np.all(ends == -np.inf) else ends
        self._last = int(np.argmax(scores[: len(ends)] + self._ends))

    def result(self) -> AlignedTarget:
        return AlignedTarget(self._best_path(), self._posteriors(), self._num_rows)

    def _best_path(self) -> tuple[int, ...]:
        path, place = [], self._last
        for parents, positions in zip(reversed(self._parents), reversed(self._positions), strict=True):
            path.append(int(positions[place]))
            place = int(parents[place])
        return tuple(reversed(path))

    def _posteriors(self) -> Floats:
        """(I, S)

        einsum, not matmul: after BLAS's product of such small arrays NumPy has warned of invalid values without any.
        """
        posteriors = np.zeros((len(self._ways), self._num_positions), dtype=np.float32)
        shares = [np.ones(1, dtype=np.float32)]
        weights = [np.exp(SHARPNESS * (ways - ways.max())) for ways in self._ways]  # a factor a step changes nothing
        for way in weights:
            shares.append(_normalise(np.einsum("k,kn->n", shares[-1], way)))
        backward = _normalise(np.exp(SHARPNESS * (self._ends - self._ends.max())))
        for number in reversed(range(len(weights))):
            posteriors[number, self._positions[number]] = _normalise(shares[number + 1] * backward)
            backward = _normalise(np.einsum("kn,n->k", weights[number], backward))
        return posteriors


def _normalise(weights: Floats) -> Floats:
    normalised: Floats = weights / weights.sum()
    return normalised
