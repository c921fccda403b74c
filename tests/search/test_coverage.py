"""Coverage: what is left behind costs, and is paid back when it is translated after all."""

from __future__ import annotations

import numpy as np
import pytest

from alidade.config import SearchSettings
from alidade.search.beam import BeamSearch
from alidade.search.coverage import RETURN_COST, Coverage, cost_of_path, costs_of_sources
from alidade.search.hypotheses import Beam, Request, pad_sources
from table_models import table_system

SOURCES = [[4, 5, 6, 7, 8], [6, 4], [5, 9, 9, 5, 4, 8, 7]]


def beam_of(parents: np.ndarray, positions: np.ndarray) -> Beam:
    nothing = np.zeros(parents.shape, dtype=np.float32)
    return Beam(nothing, parents, np.zeros_like(parents), positions, nothing, nothing)


def test_what_steps_cost_is_what_the_path_leaves_out() -> None:
    """Three sentences, hypotheses that change places, one sentence that leaves the batch."""
    generator = np.random.default_rng(3)
    skip_cost = generator.random(12).astype(np.float32)
    coverage = Coverage(costs_of_sources(skip_cost, pad_sources(SOURCES)), 1.0)
    paths: list[list[tuple[int, ...]]] = [[()] for _ in SOURCES]
    totals = np.zeros((3, 1), dtype=np.float32)
    sources = SOURCES
    for step in range(9):
        if step == 5:
            coverage.keep(np.array([0, 2]))
            sources, paths, totals = [SOURCES[0], SOURCES[2]], [paths[0], paths[2]], totals[[0, 2]]
        gains = coverage.gains()
        for row, source in enumerate(sources):
            for cell, path in enumerate(paths[row]):
                at_end = totals[row, cell] + gains[row, cell, len(source) + 1]
                assert -at_end == pytest.approx(cost_of_path(skip_cost, source, path), abs=1e-5)
        parents = generator.integers(0, totals.shape[1], (len(sources), 4))
        positions = np.stack([generator.integers(1, len(source) + 1, 4) for source in sources])
        rows = np.arange(len(sources))[:, None]
        totals = totals[rows, parents] + gains[rows, parents, positions]
        paths = [
            [
                (*paths[row][parent], int(position))
                for parent, position in zip(parents[row], positions[row], strict=True)
            ]
            for row in range(len(sources))
        ]
        coverage.commit(beam_of(parents, positions))


def test_positions_that_are_joined_count_as_one() -> None:
    """2 and 3 are translated together: either does for both, and going to and fro between them is staying."""
    costs = np.array([[0, 1, 0, 5, 7, 0]], dtype=np.float32)
    coverage = Coverage(costs, 1.0, np.array([[0, 1, 3, 3, 4, 5]]))
    total = 0.0
    for position, gain in ((1, 0), (4, -5), (2, 5), (3, 0), (2, 0), (1, -RETURN_COST), (3, -RETURN_COST)):
        assert coverage.gains()[0, 0, position] == pytest.approx(gain)
        total += gain
        coverage.commit(beam_of(np.zeros((1, 1), dtype=np.int64), np.array([[position]])))
    assert coverage.gains()[0, 0, 5] == 0, "nothing is left out"
    assert total == -2 * RETURN_COST


def test_more_weight_leaves_less_out() -> None:
    system = table_system(30, is_assisted=True)
    requests = [Request(source) for source in SOURCES * 3]
    left_out = []
    for weight in (0.0, 0.5, 5.0):
        settings = SearchSettings(coverage_weight=weight, length_normalisation=0.0)
        found = BeamSearch(system, settings).search(requests)
        left_out.append(
            sum(
                len(set(range(1, len(r.source) + 1)) - set(f.best.positions))
                for r, f in zip(requests, found, strict=True)
            )
        )
    assert left_out[0] > left_out[1] > left_out[2]
