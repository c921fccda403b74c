"""The search against brute force and against itself, with models that are tables."""

from __future__ import annotations

import numpy as np
import pytest

from alidade.config import SearchSettings
from alidade.search.beam import BeamSearch
from alidade.search.forced import score_pairs
from alidade.search.hypotheses import Request, SearchResult
from alidade.search.pruning import AtOnce, picker_of
from alidade.text.vocabulary import BOS, EOS
from table_models import brute_force, score_path, table_system

SOURCES = [[4, 5, 6], [7], [6, 6, 5, 4, 7, 5], [5, 4], [4, 4, 4, 4], [7, 6, 5]]
PRUNINGS = ["none", "threshold", "pairs", "histogram", "exact"]


def settings_of(**changes: object) -> SearchSettings:
    return SearchSettings.model_validate({"beam_size": 4, "pruning": "none"} | changes)


def same_results(first: list[SearchResult], second: list[SearchResult]) -> None:
    """The same hypotheses with the same scores, up to rounding."""
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert [h.pieces for h in one.hypotheses] == [h.pieces for h in other.hypotheses]
        assert [h.positions for h in one.hypotheses] == [h.positions for h in other.hypotheses]
        assert [h.score for h in one.hypotheses] == pytest.approx([h.score for h in other.hypotheses], abs=1e-5)


@pytest.mark.parametrize("can_repeat", [False, True])
@pytest.mark.parametrize(("is_assisted", "coverage_weight"), [(False, 0.0), (True, 0.0), (True, 0.9)])
@pytest.mark.parametrize("length_normalisation", [0.0, 0.6, 1.0])
def test_an_unlimited_beam_is_brute_force(
    is_assisted: bool, coverage_weight: float, length_normalisation: float, can_repeat: bool
) -> None:
    """Vocabulary of three real words, two source words, at most four steps: every path is in the beam."""
    system = table_system(7, is_assisted=is_assisted)
    changes = {"length_normalisation": length_normalisation, "can_repeat": can_repeat}
    settings = settings_of(beam_size=250, alignment_weight=0.7, coverage_weight=coverage_weight, **changes)
    for source in ([4, 6], [5]):
        expected = brute_force(system, source, settings, max_length=4)
        (result,) = BeamSearch(system, settings).search([Request(source, max_length=4)], num_best=250)
        found = [h for h in result.hypotheses if h.is_complete]
        assert len(found) >= 10
        for hypothesis, scored in zip(found[:10], expected, strict=False):
            assert (hypothesis.pieces, hypothesis.positions) == (scored.pieces, scored.positions)
            assert hypothesis.score == pytest.approx(scored.score, abs=1e-5)


@pytest.mark.parametrize("is_assisted", [False, True])
@pytest.mark.parametrize("pruning", PRUNINGS)
def test_a_batch_is_its_sentences_one_by_one(is_assisted: bool, pruning: str) -> None:
    system = table_system(30, is_assisted=is_assisted)
    search = BeamSearch(system, settings_of(pruning=pruning, coverage_weight=0.4))
    requests = [Request(source) for source in SOURCES * 2]
    together = search.search(requests, num_best=4)
    same_results(together, [search.search([request], num_best=4)[0] for request in requests])


@pytest.mark.parametrize("sharpness", [0.5, 2.0, 6.0])
@pytest.mark.parametrize(
    "weights", [(1.0, 1.0, 0.0), (1.0, 0.3, 0.8), (0.5, 2.0, 0.2), (1.0, 0.0, 0.5), (1.0, 0.0, 0.0)]
)
@pytest.mark.parametrize("length_normalisation", [0.0, 1.0])
def test_exact_is_none(sharpness: float, weights: tuple[float, float, float], length_normalisation: float) -> None:
    system = table_system(30, is_assisted=True, sharpness=sharpness)
    changes = {
        "lexical_weight": weights[0],
        "alignment_weight": weights[1],
        "coverage_weight": weights[2],
        "length_normalisation": length_normalisation,
    }
    requests = [Request(source) for source in SOURCES]
    none = BeamSearch(system, settings_of(pruning="none", **changes)).search(requests, num_best=4)
    exact = BeamSearch(system, settings_of(pruning="exact", **changes)).search(requests, num_best=4)
    same_results(none, exact)
    saved = sum(r.num_evaluations for r in none) - sum(r.num_evaluations for r in exact)
    assert saved > 0 if sharpness == 6.0 and weights[1] > 0 else saved >= 0


def test_threshold_zero_is_none() -> None:
    system = table_system(30, is_assisted=True)
    requests = [Request(source) for source in SOURCES]
    none = BeamSearch(system, settings_of()).search(requests, num_best=4)
    for pruning in ("threshold", "pairs"):
        search = BeamSearch(system, settings_of(pruning=pruning, threshold=0.0))
        results = search.search(requests, num_best=4)
        same_results(none, results)
        assert [r.num_picked for r in results] == [r.num_evaluations for r in none]


@pytest.mark.parametrize("pruning", ["threshold", "pairs", "histogram"])
@pytest.mark.parametrize("sharpness", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("alignment_weight", [0.0, 0.4, 1.0])
def test_picked_pairs_that_cannot_matter_are_skipped(
    monkeypatch: pytest.MonkeyPatch, pruning: str, sharpness: float, alignment_weight: float
) -> None:
    """The reference evaluates every picked pair, as the paper's algorithm 1 does."""
    system = table_system(30, is_assisted=True, sharpness=sharpness)
    settings = settings_of(pruning=pruning, threshold=0.05, alignment_weight=alignment_weight)
    requests = [Request(source) for source in SOURCES * 2]
    skipping = BeamSearch(system, settings).search(requests, num_best=4)
    monkeypatch.setattr("alidade.search.beam.pruning_of", lambda settings: AtOnce(picker_of(settings)))
    reference = BeamSearch(system, settings).search(requests, num_best=4)
    same_results(skipping, reference)
    assert [r.num_picked for r in skipping] == [r.num_picked for r in reference]
    assert [r.num_evaluations for r in reference] == [r.num_picked for r in reference]
    saved = sum(r.num_evaluations for r in reference) - sum(r.num_evaluations for r in skipping)
    assert saved > 0 if sharpness == 6.0 and alignment_weight == 1.0 else saved >= 0


@pytest.mark.parametrize("is_assisted", [False, True])
def test_n_best_is_sorted_and_without_repeats(is_assisted: bool) -> None:
    search = BeamSearch(table_system(30, is_assisted=is_assisted), settings_of(beam_size=6))
    for result in search.search([Request(source) for source in SOURCES], num_best=6):
        scores = [h.score for h in result.hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({(h.pieces, h.positions) for h in result.hypotheses}) == len(scores)


@pytest.mark.parametrize("is_assisted", [False, True])
@pytest.mark.parametrize("pruning", ["none", "exact"])
def test_a_prefix_is_obeyed(is_assisted: bool, pruning: str) -> None:
    search = BeamSearch(table_system(30, is_assisted=is_assisted), settings_of(pruning=pruning))
    prefixes = [(9, 8, 7), (), (5,), (29, 29), (4, 4, 4, 4, 4), (8,)]
    requests = [Request(source, prefix=prefix) for source, prefix in zip(SOURCES, prefixes, strict=True)]
    results = search.search(requests, num_best=4)
    for result, prefix in zip(results, prefixes, strict=True):
        assert all(h.pieces[: len(prefix)] == prefix for h in result.hypotheses)
    same_results(results, [search.search([request], num_best=4)[0] for request in requests])


@pytest.mark.parametrize("is_assisted", [False, True])
@pytest.mark.parametrize("pruning", ["none", "exact"])
def test_a_whole_translation_that_is_given_has_the_score_with_which_it_was_found(
    is_assisted: bool, pruning: str
) -> None:
    system, settings = table_system(30, is_assisted=is_assisted), settings_of(pruning=pruning, coverage_weight=0.3)
    found = BeamSearch(system, settings).search([Request(source) for source in SOURCES], num_best=4)
    narrow = BeamSearch(system, settings.model_copy(update={"beam_size": 1}))
    complete = [
        (source, one)
        for source, result in zip(SOURCES, found, strict=True)
        for one in result.hypotheses
        if one.is_complete
    ]
    assert len(complete) > len(SOURCES)
    given = [
        Request(source, prefix=(*one.pieces, EOS), prefix_positions=(*one.positions, len(source) + 1))
        for source, one in complete
    ]
    for (_, before), again in zip(complete, narrow.search([*given, Request(SOURCES[0])]), strict=False):
        assert (again.best.pieces, again.best.positions) == (before.pieces, before.positions)
        assert again.best.score == pytest.approx(before.score, abs=1e-5)
        assert again.best.is_complete


@pytest.mark.parametrize("is_assisted", [False, True])
def test_a_hypothesis_has_the_attention_and_the_score_of_its_own_path(is_assisted: bool) -> None:
    system = table_system(12, is_assisted=is_assisted)
    settings = settings_of(pruning="exact", alignment_weight=0.6, coverage_weight=0.3)
    num_complete = 0
    for source, result in zip(
        SOURCES, BeamSearch(system, settings).search([Request(source) for source in SOURCES], num_best=4), strict=True
    ):
        for hypothesis in result.hypotheses:
            if not hypothesis.is_complete:
                continue
            num_complete += 1
            positions = hypothesis.positions or (0,) * len(hypothesis.pieces)
            for place, (position, attention) in enumerate(zip(positions, hypothesis.attention, strict=True)):
                past = ((BOS, *hypothesis.pieces[:place]), positions[:place])
                np.testing.assert_array_equal(attention, system.lexical.attention((BOS, *source, EOS), past, position))
            path = [*zip(hypothesis.pieces, positions, strict=True), (EOS, len(source) + 1)]
            expected = score_path(system, (BOS, *source, EOS), path, settings)
            assert hypothesis.score == pytest.approx(expected, abs=1e-5)
            (scored,) = score_pairs(system, [source], [hypothesis.pieces], [hypothesis.positions], settings)
            assert scored.score == pytest.approx(expected, abs=1e-5)
            np.testing.assert_array_equal(scored.attention, hypothesis.attention)
    assert num_complete > 5


def test_min_and_max_length() -> None:
    search = BeamSearch(table_system(30, is_assisted=False), settings_of())
    for result in search.search([Request(source, min_length=6, max_length=6) for source in SOURCES]):
        assert len(result.best.pieces) == 6
        assert not result.best.is_complete
        assert len(result.best.lexical_logp) == 6


def test_evaluations_are_counted() -> None:
    """Every position of every live hypothesis, in every step, if nothing is pruned."""
    search = BeamSearch(table_system(30, is_assisted=True), settings_of(beam_size=1))
    for source, result in zip(SOURCES, search.search([Request(source) for source in SOURCES]), strict=True):
        assert result.num_evaluations == result.num_picked == result.num_steps * (len(source) + 1)
