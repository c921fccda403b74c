"""Scores of given pairs: teacher-forced with given positions, or with the best positions that the search finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from alidade.config import SearchSettings
from alidade.corpus.arrays import Ragged
from alidade.corpus.batching import Batch, make_batch
from alidade.models.jumps import jumps_to_positions
from alidade.search.batches import map_batches
from alidade.search.beam import BeamSearch, Request
from alidade.text.vocabulary import PAD

Ids = Sequence[int]

MIN_ALIGNING_BEAM = 30
"""Positions kept at a time when the target is given: fewer make more errors, the more so the longer the sentence, and
more cost little, since each position is evaluated once whatever their number (experiments/LOG.md)."""


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

    @property
    def lexical_score(self) -> float:
        return sum(self.lexical_logp)

    @property
    def alignment_score(self) -> float:
        return sum(self.alignment_logp)


@dataclass(frozen=True, slots=True)
class GivenPairs:
    """Pairs in memory, as batching reads them; see `text.batching.Pairs`."""

    sources: Ragged
    targets: Ragged
    all_positions: Ragged | None

    @classmethod
    def of(cls, sources: Sequence[Ids], targets: Sequence[Ids], positions: Sequence[Ids] | None) -> GivenPairs:
        has_positions = positions is not None and any(len(path) for path in positions)
        return cls(Ragged.of(sources), Ragged.of(targets), Ragged.of(positions or ()) if has_positions else None)

    def batch(self) -> Batch:
        """All of them."""
        return make_batch(self, torch.arange(len(self.sources.lengths)).numpy())


def score_pairs(
    system: Any,
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


def best_positions(
    system: Any, sources: Sequence[Ids], targets: Sequence[Ids], settings: SearchSettings, batch_size: int = 32
) -> list[tuple[int, ...]]:
    """The best alignment of given pairs: b_1 .. b_I for each. Empty for the baselines."""
    if not system.lexical.is_assisted:
        return [()] * len(sources)
    return [path.positions for path in align_targets(system, sources, targets, settings, batch_size)]


class AlignedTarget(NamedTuple):
    """Where the pieces of a given target come from."""

    positions: tuple[int, ...]
    """b_1 .. b_I: the best path."""
    posteriors: Tensor
    """(I, J + 2) how likely each position is, summed over paths; `<s>` and `</s>` are the first and the last."""


def align_targets(
    system: Any, sources: Sequence[Ids], targets: Sequence[Ids], settings: SearchSettings, batch_size: int = 32
) -> list[AlignedTarget]:
    """Align given pairs by the search with the target forced; only assisted systems can.

    A pair whose `</s>` no jump can reach keeps the best positions found before it.
    """
    changes = {"beam_size": max(settings.beam_size, MIN_ALIGNING_BEAM)}
    search = BeamSearch(system, settings.model_copy(update=changes))
    requests = [Request(*pair, is_whole_target=True) for pair in zip(sources, targets, strict=True)]
    results = map_batches(search.search, requests, lambda request: len(request.prefix), batch_size)
    return [
        AlignedTarget(result.best.positions, _as_far_as(result.posteriors, source))
        for source, result in zip(sources, results, strict=True)
    ]


def _as_far_as(posteriors: Tensor | None, source: Ids) -> Tensor:
    assert posteriors is not None, "a search with the whole target given has them"
    return posteriors[:, : len(source) + 2]


@torch.inference_mode()
def _score_batch(system: Any, triples: Sequence[tuple[Ids, Ids, Ids]], settings: SearchSettings) -> list[PairScore]:
    batch = GivenPairs.of(*zip(*triples, strict=True)).batch()
    memory = system.lexical.encode(batch.source) if system.shares_encoder else None
    lexical = _word_logp(system.lexical, batch, memory)
    alignment = _position_logp(system.alignment, batch, memory) if system.lexical.is_assisted else None
    scores = []
    for row, (_, target, path) in enumerate(triples):
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
            )
        )
    return scores


def _word_logp(model: Any, batch: Batch, memory: Any) -> Tensor:
    """(B, T) log p_lex of the target."""
    logits = model.output(model(batch, memory))
    return _to_grid(torch.log_softmax(logits, dim=-1).gather(1, model.targets(batch)[:, None])[:, 0], batch)


def _position_logp(model: Any, batch: Batch, memory: Any) -> Tensor:
    """(B, T) log p_align of the positions, renormalised over the sentence as in search."""
    jump_logits = _to_grid(model.output(model(batch, memory)), batch)
    lengths = (batch.source != PAD).sum(dim=1)
    logp = jumps_to_positions(jump_logits, batch.previous_positions, lengths, batch.source.shape[1])
    return logp.gather(2, batch.positions[:, :, None])[:, :, 0]


def _to_grid(values: Tensor, batch: Batch) -> Tensor:
    """(N, ...) -> (B, T, ...), zero at padding."""
    grid = values.new_zeros(*batch.target_out.shape, *values.shape[1:])
    grid[batch.target_out != PAD] = values
    return grid
