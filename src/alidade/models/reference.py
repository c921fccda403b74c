"""The search's roles, filled by the models that are trained, in the plainest way: for every row the whole forward pass.

What `engine/` does with caches, graphs and eight bits is compared with this. It is slow and remembers nothing but
pieces and positions.

Dimensions: B sentences, K beam, R rows, S source, T target pieces so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alidade.models.batch import Batch
from alidade.models.jumps import jumps_to_positions
from alidade.models.system import System
from alidade.models.transformer import AlignedTransformer
from alidade.search.roles import Asked, Floats, Ints, RowPieces
from alidade.text.vocabulary import EOS, NUM_SPECIAL, PAD


class ReferenceSystem:
    """A torch system as the search sees systems."""

    shares_encoder = False
    """Encoder memory is the source itself, so there is nothing to share."""

    def __init__(self, system: System) -> None:
        system.eval()
        self.lexical = ReferenceLexical(system)
        self.alignment = None if system.alignment is None else ReferenceAlignment(system)


@dataclass(frozen=True, slots=True)
class Pasts:
    """The histories of a beam: pieces, `<s>` first, and positions."""

    source: Ints
    """(B, S)"""
    pieces: Ints
    """(B, K, T)"""
    positions: Ints
    """(B, K, T - 1)"""

    @classmethod
    def start(cls, source: Ints) -> Pasts:
        nothing = np.zeros((len(source), 1, 0), dtype=np.int64)
        return cls(source, nothing, nothing)

    def write(self, pieces: Ints) -> Pasts:
        return Pasts(self.source, np.concatenate([self.pieces, pieces[:, :, None]], axis=2), self.positions)

    def extend(self, parents: Ints, positions: Ints) -> Pasts:
        pieces, earlier = [
            np.take_along_axis(part, parents[:, :, None], axis=1) for part in (self.pieces, self.positions)
        ]
        return Pasts(self.source, pieces, np.concatenate([earlier, positions[:, :, None]], axis=2))

    def keep(self, sentences: Ints) -> Pasts:
        return Pasts(self.source[sentences], self.pieces[sentences], self.positions[sentences])

    def batch(self, hypotheses: Ints, positions: Ints) -> Batch:
        """Rows as pairs whose last target token is what comes next."""
        sentences, cells = np.divmod(hypotheses, self.pieces.shape[1])
        target_in = torch.from_numpy(self.pieces[sentences, cells])
        all_positions = np.concatenate([self.positions[sentences, cells], positions[:, None]], axis=1)
        previous = np.pad(all_positions[:, :-1], ((0, 0), (1, 0)))
        return Batch(
            source=torch.from_numpy(self.source[sentences]),
            target_in=target_in,
            target_out=torch.full_like(target_in, EOS),  # anything but padding
            positions=torch.from_numpy(all_positions),
            previous_positions=torch.from_numpy(previous),
            num_target_tokens=target_in.numel(),
        )


def _last_logits(system: System, model: Any, batch: Batch) -> Tensor:
    """(R, classes) of the last target token."""
    memory = system.lexical.encode(batch.source) if model is system.alignment and system.shares_encoder else None  # type: ignore[union-attr, operator]  # a model's method
    features = model(batch, memory).view(*batch.target_in.shape, -1)
    logits: Tensor = model.output(features[:, -1])
    return logits


def _best(logp: Floats, count: int) -> Ints:
    """Where the highest values of each row are, (R, V) -> (R, count): sorting them all would take half of the time."""
    if count < logp.shape[1]:
        places = np.sort(np.argpartition(-logp, count, axis=1)[:, :count], axis=1)
    else:
        places = np.broadcast_to(np.arange(logp.shape[1]), logp.shape)
    order = np.argsort(-np.take_along_axis(logp, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)


class ReferenceLexical:
    """A lexical model."""

    def __init__(self, system: System) -> None:
        assert system.lexical is not None
        self.system, self.model = system, system.lexical
        self.is_assisted = bool(self.model.is_assisted)

    def encode(self, source: Ints) -> Ints:
        return source

    @torch.inference_mode()
    def guess(self, memory: Ints, pieces: Ints) -> Floats:
        model = self.model
        if not isinstance(model, AlignedTransformer):
            return np.zeros((*pieces.shape, memory.shape[1]), dtype=np.float32)
        states = model.encode(torch.from_numpy(memory)).states
        added = torch.stack([head(states) for head in model.alignment_heads]).sum(dim=0)  # (B, S, D)
        last: Any = model.decoder.layers[-1]
        residual = last.feed_forward_residual
        normed = model.decoder.norm(added) if residual.pre_norm else residual.norm(added)
        guessed: Floats = (model.output.weight[torch.from_numpy(pieces)] @ normed.mT).numpy()
        return guessed

    def start(self, memory: Ints, *, same_pieces: bool = False) -> ReferenceLexicalState:  # noqa: ARG002  # nothing is shared
        return ReferenceLexicalState(self, memory)


class ReferenceLexicalState:
    """A lexical model's memory of a beam."""

    def __init__(self, role: ReferenceLexical, source: Ints) -> None:
        self._role = role
        self._pasts = Pasts.start(source)
        self._row_positions: list[Ints] = []
        self._attention: list[Floats] = []

    def advance(self, pieces: Ints) -> None:
        self._pasts = self._pasts.write(pieces)
        self._row_positions.clear()
        self._attention.clear()

    @torch.inference_mode()
    def evaluate(self, hypotheses: Ints, positions: Ints, num_best: int, asked: Asked) -> RowPieces:
        self._row_positions.append(positions)
        batch = self._pasts.batch(hypotheses, positions)
        logp = torch.log_softmax(_last_logits(self._role.system, self._role.model, batch), dim=-1).numpy()
        self._attention.append(self._role.model.attention(batch)[:, -1].numpy())  # type: ignore[operator]  # a model's method
        best = NUM_SPECIAL + _best(logp[:, NUM_SPECIAL:], num_best)
        return RowPieces(
            best, np.take_along_axis(logp, best, axis=1), logp[:, EOS].copy(), logp[asked.rows, asked.pieces]
        )

    def given_logp(self, hypotheses: Ints, positions: Ints, pieces: Ints) -> Floats:
        return self.evaluate(hypotheses, positions, 1, Asked(np.arange(len(pieces)), pieces)).asked_logp

    def attention(self, rows: Ints) -> Floats:
        return np.concatenate(self._attention)[rows]

    def commit(self, rows: Ints, parents: Ints) -> None:
        self._pasts = self._pasts.extend(parents, np.concatenate(self._row_positions)[rows])

    def keep(self, sentences: Ints) -> None:
        self._pasts = self._pasts.keep(sentences)


class ReferenceAlignment:
    """An alignment model."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.skip_cost = system.skip_cost.numpy()

    def encode(self, source: Ints) -> Ints:
        return source

    def start(self, memory: Ints) -> ReferenceAlignmentState:
        return ReferenceAlignmentState(self.system, memory)


class ReferenceAlignmentState:
    """An alignment model's memory of a beam."""

    def __init__(self, system: System, source: Ints) -> None:
        self._system = system
        self._pasts = Pasts.start(source)

    @torch.inference_mode()
    def position_logp(self, pieces: Ints, previous_positions: Ints) -> Floats:
        source = self._pasts.source
        if self._pasts.pieces.shape[2]:  # the positions that were chosen last are known only now
            earlier = self._pasts.positions
            self._pasts = Pasts(
                source, self._pasts.pieces, np.concatenate([earlier, previous_positions[:, :, None]], axis=2)
            )
        self._pasts = self._pasts.write(pieces)
        batch = self._pasts.batch(np.arange(pieces.size), np.zeros(pieces.size, dtype=np.int64))
        logits = _last_logits(self._system, self._system.alignment, batch).view(*pieces.shape, -1)
        lengths = torch.from_numpy((source != PAD).sum(axis=1))
        logp = jumps_to_positions(logits, torch.from_numpy(previous_positions), lengths, source.shape[1])
        return logp.numpy()

    def commit(self, parents: Ints) -> None:
        pasts = self._pasts
        pieces, positions = [
            np.take_along_axis(p, parents[:, :, None], axis=1) for p in (pasts.pieces, pasts.positions)
        ]
        self._pasts = Pasts(pasts.source, pieces, positions)

    def keep(self, sentences: Ints) -> None:
        self._pasts = self._pasts.keep(sentences)
