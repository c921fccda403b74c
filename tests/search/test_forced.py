"""Forced alignment against all paths, against a plain search of one pair, and against itself, with table models."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from alidade.config import SearchSettings
from alidade.search.forced import (
    GUESS_WEIGHT,
    SHARPNESS,
    AlignedTarget,
    AligningSearch,
    align_targets,
    best_positions,
    score_pairs,
)
from alidade.search.roles import Floats
from alidade.text.vocabulary import BOS, EOS
from table_models import Past, TableSystem, log_softmax, score_path, table_system

SOURCES = [[4, 5, 6], [7], [6, 6, 5, 4, 7, 5], [5, 4], [4, 4, 4, 4], [7, 6, 5]]
TARGETS = [(9, 5, 10), (9,), (5, 5, 5, 11), (10, 9), (9, 9, 10, 11, 4), (6, 7, 8)]


def settings_of(**changes: object) -> SearchSettings:
    return SearchSettings.model_validate({"beam_size": 4, "alignment_weight": 0.7} | changes)


def align(
    system: TableSystem, pairs: list[tuple[list[int], tuple[int, ...]]], margin: float = math.inf, **changes: object
) -> list[AlignedTarget]:
    """All pairs as one batch."""
    return AligningSearch(system, pairs, settings_of(**changes), margin).run()


@pytest.mark.parametrize("length_normalisation", [0.0, 1.0])
def test_the_path_is_the_best_of_all(length_normalisation: float) -> None:
    """With no more paths than positions, for models that see the last position alone."""
    system = table_system(12, is_assisted=True, is_first_order=True)
    target = (9, 5, 10, 11)
    for source in ([4, 5, 6], [7], [6, 5]):
        settings = settings_of(length_normalisation=length_normalisation)
        (found,) = align(system, [(source, target)], beam_size=len(source))
        scores = {
            path: score_path(system, (BOS, *source, EOS), steps_of(source, target, path), settings)
            for path in itertools.product(range(1, len(source) + 1), repeat=len(target))
        }
        assert found.positions == max(scores, key=lambda path: scores[path])


def steps_of(source: list[int], target: tuple[int, ...], path: tuple[int, ...]) -> list[tuple[int, int]]:
    return [*zip(target, path, strict=True), (EOS, len(source) + 1)]


def score_of(system: TableSystem, source: list[int], target: tuple[int, ...], path: tuple[int, ...]) -> float:
    return score_path(system, (BOS, *source, EOS), steps_of(source, target, path), settings_of())


def test_posteriors_sum_over_all_paths() -> None:
    system = table_system(12, is_assisted=True, is_first_order=True)
    target = (9, 5, 10, 11)
    settings = settings_of(length_normalisation=0.0)
    sources = [[4, 5, 6], [7], [6, 5], [4, 4, 7, 5]]
    for source, found in zip(sources, align(system, [(source, target) for source in sources]), strict=True):
        expected = np.zeros((len(target), len(source) + 2))
        for path in itertools.product(range(1, len(source) + 1), repeat=len(target)):
            score = score_path(system, (BOS, *source, EOS), steps_of(source, target, path), settings)
            expected[np.arange(len(target)), path] += math.exp(SHARPNESS * score)
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found.posteriors, expected, atol=1e-5, rtol=1e-4)


class PlainSearch:
    """The same search of one pair with nothing but lists and dictionaries."""

    def __init__(
        self,
        system: TableSystem,
        source: list[int],
        target: tuple[int, ...],
        settings: SearchSettings,
        margin: float = math.inf,
    ) -> None:
        assert system.alignment is not None
        self._lexical, self._alignment, self._settings = system.lexical, system.alignment, settings
        self._source, self._target, self._margin = (BOS, *source, EOS), target, margin
        self._steps: list[list[tuple[int, list[float]]]] = []
        """Of each piece the kept positions, each with what the ways to it add to the score."""

    def run(self) -> tuple[tuple[int, ...], Floats]:
        beam: list[tuple[float, Past]] = [(0.0, ((BOS,), (0,)))]
        for piece in self._target:
            beam = self._extend(beam, piece)
        end = len(self._source) - 1
        ends = [self._way(past, end) for _, past in beam]
        if all(way == -math.inf for way in ends):
            ends = [0.0] * len(beam)
        best = max(range(len(beam)), key=lambda number: beam[number][0] + ends[number])
        return beam[best][1][1][1:], self._posteriors(ends)

    def _way(self, past: Past, position: int) -> float:
        logp = self._alignment.position_logp(self._source, past)
        return self._settings.alignment_weight * float(logp[position])

    def _extend(self, beam: list[tuple[float, Past]], piece: int) -> list[tuple[float, Past]]:
        reached = []
        for position in range(1, len(self._source) - 1):
            ways = [self._way(past, position) for _, past in beam]
            bounds = [score + way for (score, _), way in zip(beam, ways, strict=True)]
            parent = max(range(len(beam)), key=bounds.__getitem__)
            reached.append((bounds[parent], position, beam[parent][1], ways))
        guess = GUESS_WEIGHT * self._lexical.guess_of(self._source, piece)
        least = max(bound + guess[position] for bound, position, *_ in reached) - self._margin
        found = []
        for bound, position, (pieces, positions), ways in reached:
            if bound == -math.inf or bound + guess[position] < least:
                continue
            logits = self._lexical.logits(self._source, (pieces, positions[1:]), position)
            logp = self._settings.lexical_weight * float(log_softmax(logits)[piece])
            past = ((*pieces, piece), (*positions, position))
            found.append((bound + logp, past, position, [way + logp for way in ways]))
        found = sorted(found, key=lambda one: -one[0])[: self._settings.beam_size]
        self._steps.append([(position, ways) for _, _, position, ways in found])
        return [(score, past) for score, past, _, _ in found]

    def _posteriors(self, ends: list[float]) -> Floats:
        """Every path through the lattice, one by one."""
        posteriors = np.zeros((len(self._target), len(self._source)), dtype=np.float32)
        for path in itertools.product(*[range(len(step)) for step in self._steps]):
            total = ends[path[-1]] if path else 0.0
            for step, before, here in zip(self._steps, (0, *path), path, strict=False):
                total += step[here][1][before]
            places = [step[here][0] for step, here in zip(self._steps, path, strict=True)]
            posteriors[np.arange(len(path)), places] += math.exp(SHARPNESS * total)
        normalised: Floats = posteriors / posteriors.sum(axis=1, keepdims=True)
        return normalised


@pytest.mark.parametrize("beam_size", [1, 3, 10])
@pytest.mark.parametrize("max_jump", [100, 2])
@pytest.mark.parametrize(("lexical_weight", "margin"), [(1.0, math.inf), (0.5, math.inf), (1.0, 1.5)])
def test_a_batch_is_a_plain_search_of_each_pair(
    beam_size: int, max_jump: int, lexical_weight: float, margin: float
) -> None:
    """With models that see the whole past, so that which past a position is evaluated with matters."""
    system = table_system(12, is_assisted=True, max_jump=max_jump)
    changes = {"beam_size": beam_size, "lexical_weight": lexical_weight}
    pairs = list(zip(SOURCES, TARGETS, strict=True)) * 2
    for (source, target), found in zip(pairs, align(system, pairs, margin, **changes), strict=True):
        positions, posteriors = PlainSearch(system, source, target, settings_of(**changes), margin).run()
        assert found.positions == positions
        np.testing.assert_allclose(found.posteriors, posteriors, atol=1e-5)


def test_a_batch_is_its_pairs_one_by_one() -> None:
    system = table_system(12, is_assisted=True)
    pairs = list(zip(SOURCES, TARGETS, strict=True)) * 2
    for pair, together in zip(pairs, align(system, pairs), strict=True):
        (alone,) = align(system, [pair])
        assert together.positions == alone.positions
        assert together.num_rows == alone.num_rows
        np.testing.assert_allclose(together.posteriors, alone.posteriors, atol=1e-6, rtol=1e-5)


def test_each_position_is_evaluated_once_a_piece() -> None:
    system = table_system(12, is_assisted=True)
    found = align(system, [(source, (9, 5, 10)) for source in SOURCES])
    assert [one.num_rows for one in found] == [3 * len(source) for source in SOURCES]


def test_a_margin_leaves_positions_out() -> None:
    system = table_system(12, is_assisted=True)
    pairs = list(zip(SOURCES, TARGETS, strict=True))
    all_rows, fewer = [sum(one.num_rows for one in align(system, pairs, margin)) for margin in (math.inf, 1.0)]
    assert fewer < all_rows
    for found in align(system, pairs, 0.0):
        assert set(found.posteriors.max(axis=1).tolist()) == {1.0}


def test_a_target_may_repeat_itself() -> None:
    (found,) = align(table_system(12, is_assisted=True), [([7], (5, 5, 5, 5))])
    assert found.positions == (1, 1, 1, 1)


def test_an_end_that_no_jump_reaches_leaves_the_best_positions() -> None:
    (found,) = align(table_system(30, is_assisted=True, max_jump=1), [([4, 5, 6, 7, 8], (9, 9))])
    assert len(found.positions) == 2
    np.testing.assert_allclose(found.posteriors.sum(axis=1), 1.0, atol=1e-5)


def test_nothing_to_align_beside_something() -> None:
    system = table_system(12, is_assisted=True)
    empty_target, empty_source, other = align_targets(
        system, [[4, 5], [], [6, 7]], [(), (9, 5), (9, 10)], settings_of()
    )
    assert empty_target.positions == empty_source.positions == ()
    assert empty_target.posteriors.shape == (0, 4)
    assert len(other.positions) == 2


def test_scores_are_those_of_the_best_path() -> None:
    system, settings = table_system(12, is_assisted=True), settings_of()
    positions = best_positions(system, SOURCES, TARGETS, settings)
    for source, target, path, scored in zip(
        SOURCES, TARGETS, positions, score_pairs(system, SOURCES, TARGETS, settings=settings), strict=True
    ):
        assert scored.positions == path
        assert scored.score == pytest.approx(score_of(system, source, target, path), abs=1e-5)
