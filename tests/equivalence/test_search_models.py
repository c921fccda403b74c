"""The search with real models: what must come out the same in two ways, for every family."""

from __future__ import annotations

import itertools
import random

import pytest
import torch

from alidade.config import (
    RnnJumpsSettings,
    RnnSettings,
    SearchSettings,
    TransformerJumpsSettings,
    TransformerSettings,
)
from alidade.models.system import System, build_system
from alidade.search.beam import BeamSearch, Request
from alidade.search.forced import score_pairs
from alidade.search.hypotheses import SearchResult
from alidade.search.pruning import AtOnce, picker_of
from alidade.text.vocabulary import EOS

VOCABULARY = 60
TRANSFORMER = {"width": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 2, "decoder_layers": 3}
JUMPS = TRANSFORMER | {"max_jump": 30}
RNN = {"embedding": 16, "width": 16, "attention": 12, "decoder_layers": 2}


def make_system(kind: str) -> System:
    """A system with random weights, sharp enough that hypotheses differ."""
    torch.manual_seed(3)
    lexical, alignment = {
        "transformer": (TransformerSettings(**TRANSFORMER), None),
        "transformer-aligned": (
            TransformerSettings(kind="transformer-aligned", **TRANSFORMER),
            TransformerJumpsSettings(**JUMPS),
        ),
        "top": (
            TransformerSettings(kind="transformer-aligned", assisted_layers="top", **TRANSFORMER),
            TransformerJumpsSettings(**JUMPS),
        ),
        "joint": (
            TransformerSettings(kind="transformer-aligned", **TRANSFORMER),
            TransformerJumpsSettings(encoder="lexical", **JUMPS),
        ),
        "rnn": (RnnSettings(**RNN), None),
        "rnn-biased": (
            RnnSettings(kind="rnn-biased", **RNN),
            RnnJumpsSettings(embedding=16, width=16, decoder_layers=2, max_jump=30),
        ),
    }[kind]
    system = build_system(lexical, alignment, VOCABULARY, VOCABULARY)
    with torch.no_grad():
        for name, parameter in system.named_parameters():
            parameter.mul_(4.0 if "output.weight" in name else 1.0).add_(torch.randn_like(parameter) * 0.2)
        system.lexical.output.bias[EOS] += 5.0  # or few hypotheses would ever end
    return system.eval()


BASELINES = ["transformer", "rnn"]
ASSISTED = ["transformer-aligned", "top", "joint", "rnn-biased"]


def some_requests() -> list[Request]:
    generator = random.Random(5)
    lengths = [3, 9, 1, 6, 6, 12, 2, 7, 4]
    return [Request([generator.randrange(4, VOCABULARY) for _ in range(length)]) for length in lengths]


def search_with(system: System, num_best: int = 4, requests: list[Request] | None = None, **changes: object):
    settings = SearchSettings.model_validate({"beam_size": 4, "pruning": "none", "max_length_factor": 1.0} | changes)
    search = BeamSearch(system, settings)
    return search.search(requests or some_requests(), num_best=num_best)


def assert_same(first: list[SearchResult], second: list[SearchResult]) -> None:
    for one, other in zip(first, second, strict=True):
        assert [h.words for h in one.hypotheses] == [h.words for h in other.hypotheses]
        assert [h.positions for h in one.hypotheses] == [h.positions for h in other.hypotheses]
        assert [h.score for h in one.hypotheses] == pytest.approx([h.score for h in other.hypotheses], abs=1e-4)


@pytest.mark.parametrize("kind", BASELINES + ASSISTED)
def test_a_batch_is_its_sentences_one_by_one(kind: str) -> None:
    """So padding and sentences that leave the batch change nothing, either."""
    system = make_system(kind)
    together = search_with(system, pruning="exact")
    assert_same(together, [search_with(system, requests=[r], pruning="exact")[0] for r in some_requests()])


@pytest.mark.parametrize("kind", BASELINES + ASSISTED)
def test_the_searchs_score_is_the_scorers(kind: str) -> None:
    system = make_system(kind)
    settings = {"lexical_weight": 0.8, "alignment_weight": 0.6, "length_normalisation": 0.7}
    found = [
        (list(request.source), hypothesis)
        for request, result in zip(some_requests(), search_with(system, **settings), strict=True)
        for hypothesis in result.hypotheses
        if hypothesis.is_complete
    ]
    assert len(found) > 5
    scores = score_pairs(
        system,
        [source for source, _ in found],
        [hypothesis.words for _, hypothesis in found],
        [hypothesis.positions for _, hypothesis in found],
        SearchSettings(**settings),
    )
    for (_, hypothesis), score in zip(found, scores, strict=True):
        assert hypothesis.score == pytest.approx(score.score, abs=1e-4)
        assert hypothesis.lexical_logp == pytest.approx(score.lexical_logp, abs=1e-3)
        assert hypothesis.alignment_logp == pytest.approx(score.alignment_logp, abs=1e-3)


@pytest.mark.parametrize("kind", ASSISTED)
@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.7, 1.5)])
@pytest.mark.parametrize("length_normalisation", [0.0, 1.0])
def test_exact_is_none(kind: str, weights: tuple[float, float], length_normalisation: float) -> None:
    system = make_system(kind)
    settings = {
        "lexical_weight": weights[0],
        "alignment_weight": weights[1],
        "length_normalisation": length_normalisation,
    }
    none, exact = (search_with(system, pruning=pruning, **settings) for pruning in ("none", "exact"))
    assert_same(none, exact)
    assert sum(r.num_evaluations for r in exact) < sum(r.num_evaluations for r in none)


@pytest.mark.parametrize("kind", ASSISTED)
def test_threshold_zero_is_none(kind: str) -> None:
    system = make_system(kind)
    none = search_with(system)
    assert_same(none, search_with(system, pruning="threshold", threshold=0.0))
    assert_same(none, search_with(system, pruning="pairs", threshold=0.0))
    assert_same(none, search_with(system, pruning="histogram", histogram=1000))


@pytest.mark.parametrize("kind", ASSISTED)
@pytest.mark.parametrize("pruning", ["threshold", "pairs", "histogram"])
def test_picked_pairs_that_cannot_matter_are_skipped(monkeypatch: pytest.MonkeyPatch, kind: str, pruning: str) -> None:
    """The reference evaluates every picked pair, as the paper's algorithm 1 does."""
    system = make_system(kind)
    settings = {"pruning": pruning, "threshold": 0.005, "histogram": 5, "alignment_weight": 1.5}
    skipping = search_with(system, **settings)
    monkeypatch.setattr("alidade.search.beam.pruning_of", lambda settings: AtOnce(picker_of(settings)))
    reference = search_with(system, **settings)
    assert_same(skipping, reference)
    assert sum(r.num_evaluations for r in skipping) < sum(r.num_evaluations for r in reference)


@pytest.mark.parametrize("kind", BASELINES + ASSISTED)
def test_a_prefix_is_obeyed_and_completed(kind: str) -> None:
    system = make_system(kind)
    prefixes = itertools.cycle([(7, 8, 9), (), (50,)])
    requests = [Request(r.source, prefix) for r, prefix in zip(some_requests(), prefixes, strict=False)]
    results = search_with(system, requests=requests, pruning="exact")
    for request, result in zip(requests, results, strict=True):
        assert all(h.words[: len(request.prefix)] == request.prefix for h in result.hypotheses)
    assert_same(results, [search_with(system, requests=[request])[0] for request in requests])


@pytest.mark.parametrize("kind", ASSISTED)
def test_translations_end_when_nothing_is_left_to_write(kind: str) -> None:
    """One source word and a vocabulary that is smaller than the least length; the rest of the batch goes on."""
    system = make_system(kind)
    longer = [Request([7, *range(5, 25)], min_length=VOCABULARY + 5, max_length=VOCABULARY + 20)] * 20
    short = Request([7], min_length=VOCABULARY + 5, max_length=VOCABULARY + 20)
    for result in search_with(system, requests=[short, *longer]):
        written = list(zip(result.best.words, result.best.positions, strict=True))
        assert len(set(written)) == len(written) > 20
        assert all(0 <= word < VOCABULARY for word in result.best.words)


@pytest.mark.parametrize("kind", ASSISTED)
def test_the_searchs_own_alignment_is_the_forced_one(kind: str) -> None:
    """With one path at a time there are no ties and no other history to prefer."""
    system = make_system(kind)
    found = search_with(system, num_best=1, beam_size=1, can_repeat=True)
    assert any(len(result.best.words) > 2 for result in found)
    forced = [
        Request(r.source, f.best.words, is_whole_target=True) for r, f in zip(some_requests(), found, strict=True)
    ]
    again = search_with(system, requests=forced, num_best=1, beam_size=1)
    assert [result.best.words for result in again] == [result.best.words for result in found]
    assert [result.best.positions for result in again] == [result.best.positions for result in found]


@pytest.mark.parametrize("kind", ASSISTED)
def test_a_wider_beam_aligns_better(kind: str) -> None:
    system = make_system(kind)
    requests = some_requests()
    targets = [(9, 10), (11,), (12, 13, 14)] * 3
    forced = [Request(r.source, target, is_whole_target=True) for r, target in zip(requests, targets, strict=True)]
    narrow = search_with(system, requests=forced, num_best=1, beam_size=2)
    wide = search_with(system, requests=forced, num_best=1, beam_size=40)
    for result, better, target in zip(narrow, wide, targets, strict=True):
        assert result.best.words == better.best.words == target
        assert better.best.is_complete
        assert better.best.score >= result.best.score - 1e-5
