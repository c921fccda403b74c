"""What a decoder remembers: each hypothesis finds its own past, whatever was added, moved and dropped."""

from __future__ import annotations

import numpy as np
import pytest

from alidade.engine.cache import MASKED, ROOM, Ancestors, Cache, Grid, Workspace
from alidade.search.roles import Ints

BEAM, LAYERS, HEADS, HEAD_WIDTH = 4, 2, 2, 3
WIDTH = HEADS * HEAD_WIDTH
KEPT = {8: [0, 4, 2, 3], 15: [2, 0, 3], 30: [0, 1]}
"""At some steps, the sentences that go on: the last in the place of one that is gone, in any order, the first ones."""


class Pasts:
    """A cache whose keys are numbers that say of which step and hypothesis they are, and the pasts themselves."""

    def __init__(self, num_sentences: int) -> None:
        workspace = Workspace()
        for _ in range(2):  # what others have left is no number, and must not show
            workspace.leave(np.full(1 << 12, np.nan, dtype=np.float32))
        self.ancestors = Ancestors(num_sentences)
        self.cache = Cache(range(LAYERS), num_sentences, HEADS, HEAD_WIDTH, workspace)
        self.expected: list[list[list[int]]] = [[[]] for _ in range(num_sentences)]
        self.count = 0

    def commit(self, parents: Ints) -> None:
        numbers: Ints = self.count + np.arange(parents.size).reshape(parents.shape)
        self.count += parents.size
        slots = self.ancestors.reorder(parents)
        signs = np.repeat([[0.5, 1, -1], [0.5, 100, -100]], WIDTH).astype(np.float32)  # queries are not kept
        self.cache.write(slots, numbers[:, :, None] * signs, self.room)
        self.expected = [
            [[*pasts[parent], number] for parent, number in zip(row, own, strict=True)]
            for pasts, row, own in zip(self.expected, parents.tolist(), numbers.tolist(), strict=True)
        ]

    @property
    def room(self) -> int:
        return int(self.ancestors.mask.shape[2])

    def keep(self, sentences: list[int]) -> None:
        self.ancestors.keep(np.array(sentences))
        self.cache.keep(np.array(sentences))
        self.expected = [self.expected[sentence] for sentence in sentences]

    def check(self) -> None:
        assert self.cache.of_layer[0]["keys_0"].shape[2] == self.room
        assert all(np.isfinite(part).all() for parts in self.cache.of_layer.values() for part in parts.values())
        for sentence, pasts in enumerate(self.expected):
            for cell, past in enumerate(pasts):
                slots = np.flatnonzero(self.ancestors.mask[sentence, cell] == 0)
                for layer, factor in enumerate([1, 100]):
                    keys, values = [
                        part[sentence][:, slots] for part in self.cache.of_layer[layer].values()
                    ]  # (H, n, d)
                    assert (np.sort(keys, axis=1) == factor * np.array(past)[None, :, None]).all()
                    assert (values == -keys).all()
                others = np.delete(self.ancestors.mask[sentence, cell], slots)
                assert (others == MASKED).all()


@pytest.mark.parametrize("seed", range(3))
def test_every_hypothesis_finds_its_past(seed: int) -> None:
    random = np.random.default_rng(seed)
    pasts = Pasts(5)
    for step in range(40):
        if step in KEPT:
            pasts.keep(KEPT[step])
        num_parents = 1 if step == 0 else BEAM
        pasts.commit(random.integers(0, num_parents, (len(pasts.expected), BEAM)))
        pasts.check()
    assert pasts.room < 40 * BEAM // 2


def test_pasts_that_all_live_on_get_more_room() -> None:
    pasts = Pasts(2)
    pasts.commit(np.zeros((2, BEAM), dtype=np.int64))
    steady = np.tile(np.arange(BEAM), (2, 1))
    for _ in range(2 * ROOM):
        pasts.commit(steady)
        pasts.check()
    num_needed = BEAM * (1 + 2 * ROOM)
    assert num_needed <= pasts.room < num_needed + ROOM


def test_slots_that_nobody_needs_are_filled_anew() -> None:
    """All hypotheses come from the first: each step leaves one slot that is needed."""
    pasts = Pasts(2)
    num_steps = 3 * ROOM
    for _ in range(num_steps):
        pasts.commit(np.zeros((2, BEAM), dtype=np.int64))
        pasts.check()
    assert pasts.room < num_steps + BEAM + ROOM


def test_sentences_that_need_different_numbers_of_slots() -> None:
    """One sentence's hypotheses all live on, another's all come from the first."""
    pasts = Pasts(2)
    pasts.commit(np.zeros((2, BEAM), dtype=np.int64))
    for _ in range(30):
        pasts.commit(np.array([np.arange(BEAM), np.zeros(BEAM, dtype=np.int64)]))
        pasts.check()


def test_memory_is_left_to_the_next_cache() -> None:
    workspace = Workspace()
    first = Cache(range(LAYERS), 2, HEADS, HEAD_WIDTH, workspace)
    keys = first.of_layer[0]["keys_0"]
    second = Cache(range(LAYERS), 2, HEADS, HEAD_WIDTH, workspace)
    assert not np.shares_memory(keys, second.of_layer[0]["keys_0"])
    del first
    third = Cache(range(LAYERS), 2, HEADS, HEAD_WIDTH, workspace)
    assert np.shares_memory(keys, third.of_layer[0]["keys_0"])


def check(grid: Grid, sentences: Ints, num_sentences: int) -> None:
    """Every row stands in a line of its sentence."""
    assert grid.rows.ravel()[grid.cells].tolist() == list(range(len(sentences)))
    of_lines = grid.of_lines(np.arange(num_sentences)[:, None])[:, 0]
    assert of_lines[grid.cells // grid.rows.shape[1]].tolist() == sentences.tolist()


def test_rows_in_a_grid() -> None:
    """About as many rows in each sentence: a line for each."""
    sentences = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3, 3])
    grid = Grid(sentences, num_sentences=4)
    assert grid.rows.shape == (4, 3)
    assert grid.sentences is None
    check(grid, sentences, 4)


def test_sentences_without_rows_have_no_line() -> None:
    sentences = np.array([0, 0, 2, 2, 2, 3])
    grid = Grid(sentences, num_sentences=7)
    assert grid.rows.shape == (3, 3)
    check(grid, sentences, 7)


@pytest.mark.parametrize("seed", range(20))
def test_sentences_with_many_rows_have_several_lines(seed: int) -> None:
    draw = np.random.default_rng(seed)
    num_sentences = int(draw.integers(2, 33))
    counts = np.where(draw.random(num_sentences) < 0.5, 0, draw.integers(0, 80, num_sentences))
    counts[draw.integers(num_sentences)] += 60
    sentences = np.repeat(np.arange(num_sentences), counts)
    grid = Grid(sentences, num_sentences)
    check(grid, sentences, num_sentences)
    assert grid.rows.size <= num_sentences * counts.max()


def test_one_sentences_rows_are_its_grid() -> None:
    grid = Grid(np.zeros(4, dtype=np.int64), num_sentences=1)
    assert grid.rows.tolist() == [[0, 1, 2, 3]]
    assert grid.cells.tolist() == [0, 1, 2, 3]
