"""The engine's steps equal the reference, for every kind of system.

A beam is walked at random: rows of several positions are evaluated for its hypotheses in two rounds, the next beam is
drawn from all rows, and sentences leave. What the engine says of each row of each step is compared with what the models
that are trained say, computed anew from the row's whole history.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from alidade.engine.layers import group_by_length
from alidade.search.hypotheses import pad_sources
from alidade.search.roles import AlignmentState, Asked, Ints, LexicalState, System
from alidade.text.vocabulary import BOS, NUM_SPECIAL, PAD
from all_kinds import SYSTEMS
from small_models import VOCABULARY, SmallSystem

SOURCE_LENGTHS = [5, 9, 3, 7]
BEAM = 4
NUM_STEPS = 14
LEAVING = {5: [0, 1, 3], 9: [2, 0]}
"""The steps before which sentences leave, and those that stay, in their new order."""
TOLERANCE = 1e-4


@dataclass
class Walk:
    """One system's memory of a beam."""

    lexical: LexicalState
    alignment: AlignmentState | None

    @classmethod
    def start(cls, system: System, source: Ints) -> Walk:
        memory = system.lexical.encode(source)
        alignment = None
        if system.alignment is not None:
            alignment = system.alignment.start(memory if system.shares_encoder else system.alignment.encode(source))
        return cls(system.lexical.start(memory), alignment)

    def commit(self, rows: Ints, parents: Ints) -> None:
        self.lexical.commit(rows, parents)
        if self.alignment is not None:
            self.alignment.commit(parents)

    def keep(self, sentences: Ints) -> None:
        self.lexical.keep(sentences)
        if self.alignment is not None:
            self.alignment.keep(sentences)


class RandomWalk:
    """The engine and the reference, side by side."""

    def __init__(self, system: SmallSystem, *, is_steady: bool = False) -> None:
        """is_steady: every hypothesis has one child, so that nothing of the past is dropped."""
        self.random = np.random.default_rng(5)
        self.is_assisted = system.description.alignment is not None
        self.is_steady = is_steady
        self.vocabulary = system.description.target.size
        source_pieces = system.description.source.size
        self.source = pad_sources([self.random.integers(4, source_pieces, n).tolist() for n in SOURCE_LENGTHS])
        self.engine = Walk.start(system.engine(), self.source)
        self.reference = Walk.start(system.reference(), self.source)
        self.pieces = np.full((len(self.source), 1), BOS)
        self.positions = np.zeros((len(self.source), 1), dtype=np.int64)

    def keep(self, sentences: Ints) -> None:
        for walk in (self.engine, self.reference):
            walk.keep(sentences)
        self.source, self.pieces, self.positions = (
            part[sentences] for part in (self.source, self.pieces, self.positions)
        )

    def step(self) -> None:
        self.compare_positions()
        for walk in (self.engine, self.reference):
            walk.lexical.advance(self.pieces)
        rounds = [self.draw_rows() for _ in range(2)] if self.is_assisted else [self.every_hypothesis()]
        for hypotheses, positions in rounds:
            self.compare_rows(hypotheses, positions)
        hypotheses, positions = (np.concatenate(parts) for parts in zip(*rounds, strict=True))
        self.compare_attention(len(hypotheses))
        rows = self.draw_beam(hypotheses)  # (B, K)
        parents = hypotheses[rows] % self.pieces.shape[1]
        for walk in (self.engine, self.reference):
            walk.commit(rows, parents)
        self.pieces = self.random.integers(4, self.vocabulary, rows.shape)
        self.positions = positions[rows]

    def compare_positions(self) -> None:
        if self.engine.alignment is None or self.reference.alignment is None:
            return
        found, expected = (
            state.position_logp(self.pieces, self.positions)
            for state in (self.engine.alignment, self.reference.alignment)
        )
        np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)
        assert (found[:, :, 0] == -np.inf).all()
        assert (found.transpose(0, 2, 1)[self.source == PAD] == -np.inf).all()
        np.testing.assert_allclose(np.exp(found).sum(axis=2), 1.0, atol=1e-5)

    def compare_rows(self, hypotheses: Ints, positions: Ints) -> None:
        num_asked = 5
        asked = Asked(
            self.random.integers(0, len(hypotheses), num_asked), self.random.integers(0, self.vocabulary, num_asked)
        )
        num_best = 6
        found = self.engine.lexical.evaluate(hypotheses, positions, num_best, asked)
        expected = self.reference.lexical.evaluate(hypotheses, positions, self.vocabulary, asked)
        logp = np.zeros((len(hypotheses), self.vocabulary), dtype=np.float32)
        np.put_along_axis(logp, expected.pieces, expected.logp, axis=1)  # of each piece
        np.testing.assert_allclose(found.logp, expected.logp[:, :num_best], atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(found.logp, np.take_along_axis(logp, found.pieces, axis=1), atol=TOLERANCE, rtol=0)
        assert all(len(set(row)) == num_best for row in found.pieces.tolist())
        assert (found.pieces >= NUM_SPECIAL).all()
        np.testing.assert_allclose(found.end_logp, expected.end_logp, atol=TOLERANCE, rtol=0)
        np.testing.assert_allclose(found.asked_logp, expected.asked_logp, atol=TOLERANCE, rtol=0)

    def compare_attention(self, num_rows: int) -> None:
        """Of the rows of all rounds."""
        found, expected = (
            walk.lexical.attention(np.arange(num_rows)[:, None]) for walk in (self.engine, self.reference)
        )
        assert found.shape == (num_rows, 1, self.source.shape[1])
        np.testing.assert_allclose(found, expected, atol=TOLERANCE, rtol=0)

    def draw_rows(self) -> tuple[Ints, Ints]:
        """Up to three rows a hypothesis, none for most of them, and at least one for the first of each sentence."""
        counts = self.random.integers(0, 4, self.pieces.size)
        counts[:: self.pieces.shape[1]] += 1
        if self.is_steady:
            counts += 1
        hypotheses = np.repeat(np.arange(self.pieces.size), counts)
        num_positions = (self.source != PAD).sum(axis=1)[hypotheses // self.pieces.shape[1]]
        return hypotheses, 1 + self.random.integers(0, num_positions - 1)

    def every_hypothesis(self) -> tuple[Ints, Ints]:
        hypotheses = np.arange(self.pieces.size)
        return hypotheses, np.zeros_like(hypotheses)

    def draw_beam(self, hypotheses: Ints) -> Ints:
        """The rows that make the next beam."""
        if self.is_steady and self.pieces.shape[1] == BEAM:
            numbers = np.arange(self.pieces.size)
            return np.array([self.random.choice(np.flatnonzero(hypotheses == n)) for n in numbers]).reshape(-1, BEAM)
        sentences = hypotheses // self.pieces.shape[1]
        return np.stack([self.random.choice(np.flatnonzero(sentences == n), BEAM) for n in range(len(self.source))])


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_row_of_every_step_is_the_references(name: str) -> None:
    walk = RandomWalk(SYSTEMS[name])
    for step in range(NUM_STEPS):
        if step in LEAVING:
            walk.keep(np.array(LEAVING[step]))
        walk.step()


@pytest.mark.parametrize("name", ["transformer", "aligned", "aligned at the top, joint"])
def test_a_long_past_that_needs_more_room_and_is_then_forgotten(name: str) -> None:
    """Hypotheses that all live on fill all slots; when all but one die, most are filled anew."""
    walk = RandomWalk(SYSTEMS[name], is_steady=True)
    walk.keep(np.array([0, 2]))
    for _ in range(16):
        walk.step()
    walk.is_steady = False
    walk.keep(np.array([1]))
    for _ in range(10):
        walk.step()


@pytest.mark.parametrize("name", ["transformer", "aligned"])
def test_sentences_that_are_encoded_in_groups(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alidade.engine.layers.GROUP_CELLS", max(SOURCE_LENGTHS))
    walk = RandomWalk(SYSTEMS[name])
    for _ in range(3):
        walk.step()


def test_groups_have_sentences_of_about_equal_length() -> None:
    lengths = np.array([40, 300, 64, 50, 64, 64])
    groups = [group.tolist() for group in group_by_length(lengths)]
    assert groups == [[1], [2, 4, 5, 3], [0]]


@pytest.mark.parametrize("name", ["transformer", "aligned", "rnn-biased"])
def test_more_pieces_cannot_be_had_than_there_are(name: str) -> None:
    walk = RandomWalk(SYSTEMS[name])
    walk.engine.lexical.advance(walk.pieces)
    rows = np.arange(len(walk.source))
    special = Asked(np.repeat(rows, NUM_SPECIAL), np.tile(np.arange(NUM_SPECIAL), len(rows)))
    found = walk.engine.lexical.evaluate(rows, np.ones_like(rows), 1000, special)
    assert np.sort(found.pieces, axis=1).tolist() == [list(range(NUM_SPECIAL, VOCABULARY))] * len(rows)
    probabilities = np.concatenate([found.logp, found.asked_logp.reshape(len(rows), -1)], axis=1)
    np.testing.assert_allclose(np.exp(probabilities).sum(axis=1), 1.0, atol=1e-5)
