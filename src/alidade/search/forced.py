"""Given pairs: their best positions, how likely each position is, and what a system thinks of them.

With the target given, the beams of all steps and the ways from one to the next are a lattice of positions. The
forward-backward algorithm sums over its paths instead of taking the best one.

Dimensions: B sentences, K beam (k of the step before), I given pieces, S source positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from alidade.config import SearchSettings
from alidade.search.batches import map_batches
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Beam, Request, pad_sources
from alidade.search.restrictions import Restriction
from alidade.search.roles import Asked, Floats, Ints, System
from alidade.text.vocabulary import BOS, EOS

Ids = Sequence[int]

MIN_ALIGNING_BEAM = 30
"""Positions kept at a time when the target is given: fewer make more errors, the more so the longer the sentence, and
more cost little, since each position is evaluated once whatever their number (experiments/LOG.md)."""
SHARPNESS = 0.7
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
        if alignment is not None:
            total = total + settings.alignment_weight * alignment[row, :length].sum()
        scores.append(
            PairScore(
                positions=tuple(path),
                lexical_logp=tuple(lexical[row, :length].tolist()),
                alignment_logp=() if alignment is None else tuple(alignment[row, :length].tolist()),
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
        found = self._lexical.evaluate(rows, positions, 1, Asked(rows, self._targets[:, step]))
        alignment_logp = None
        if self._alignment is not None:
            alignment_logp = self._alignment.position_logp(pieces, previous)[rows, 0, positions]
            self._alignment.commit(parents)
        self._found.append((found.asked_logp, alignment_logp, self._lexical.attention()))
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


def align_targets(
    system: System, sources: Sequence[Ids], targets: Sequence[Ids], settings: SearchSettings, batch_size: int = 32
) -> list[AlignedTarget]:
    """Align given pairs by the search with the target forced; only assisted systems can.

    A pair whose `</s>` no jump can reach keeps the best positions found before it.
    """
    settings = settings.model_copy(update={"beam_size": max(settings.beam_size, MIN_ALIGNING_BEAM)})
    search = BeamSearch(system, settings)

    def align(requests: list[Request]) -> list[AlignedTarget]:
        lattice = Lattice(requests, settings)
        results = search.search(requests, restrictions=[lattice])
        return [
            AlignedTarget(result.best.positions, posteriors)
            for result, posteriors in zip(results, lattice.posteriors(), strict=True)
        ]

    requests = [Request(*pair, is_whole_target=True) for pair in zip(sources, targets, strict=True)]
    return map_batches(align, requests, lambda request: len(request.prefix), batch_size)


class Lattice(Restriction):
    """Follows a search over the positions of given targets: posterior probabilities of positions."""

    def __init__(self, requests: Sequence[Request], settings: SearchSettings) -> None:
        self._requests, self._settings = requests, settings
        self._ends: Ints = np.array([request.end_position for request in requests])
        self._steps: list[tuple[Floats, Ints]] = []
        self._posteriors: dict[int, Floats] = {}

    def restrict_positions(self, position_logp: Floats) -> None:
        self._position_logp = position_logp

    def commit(self, beam: Beam) -> None:
        """What each way from the beam before to this one adds to the score: (B, k, K)."""
        ways = np.take_along_axis(self._position_logp, beam.positions[:, None], axis=2)
        pieces = np.where(beam.scores == -np.inf, -np.inf, self._settings.lexical_weight * beam.lexical_logp)
        self._steps.append((self._settings.alignment_weight * ways + pieces[:, None], beam.positions))

    def keep(self, sentences: Ints) -> None:
        self._ends = self._ends[sentences]
        self._steps = [(ways[sentences], positions[sentences]) for ways, positions in self._steps]

    def end_sentence(self, row: int, sentence: int) -> None:
        """What `</s>` itself costs is the same for all hypotheses, or nearly."""
        ends = self._settings.alignment_weight * self._position_logp[row, :, self._ends[row]]
        num_positions = self._requests[sentence].end_position + 1
        self._posteriors[sentence] = self._sum_paths(row, ends, num_positions)

    def _sum_paths(self, row: int, ends: Floats, num_positions: int) -> Floats:
        """(I, S); ends: (K,) what it adds to the score to end. If no hypothesis can end, none is preferred for it."""
        if not self._steps:  # an empty target
            return np.zeros((0, num_positions), dtype=np.float32)
        if np.all(ends == -np.inf):
            ends = np.zeros_like(ends)
        ways = [SHARPNESS * step[0][row] for step in self._steps]
        forward = [ways[0][0]]
        for way in ways[1:]:
            forward.append(np.logaddexp.reduce(forward[-1][:, None] + way, axis=0))
        backward = [SHARPNESS * ends]
        for way in reversed(ways[1:]):
            backward.append(np.logaddexp.reduce(way + backward[-1], axis=1))
        sums = np.stack(forward) + np.stack(backward[::-1])  # (I, K)
        shares = np.exp(sums - sums.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        posteriors = np.zeros((len(ways), num_positions), dtype=np.float32)
        positions = np.stack([step[1][row] for step in self._steps])
        np.add.at(posteriors, (np.arange(len(ways))[:, None], np.minimum(positions, num_positions - 1)), shares)
        return posteriors

    def posteriors(self) -> list[Floats]:
        """(I, J + 2) of each sentence, when all have ended."""
        return [self._posteriors[sentence] for sentence in range(len(self._requests))]
