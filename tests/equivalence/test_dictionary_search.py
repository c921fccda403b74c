"""The dictionary in the search, with every family of models and random weights."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch
from alidade.dictionary.tables import ConstrainedSentence
from alidade.search.dictionary_constraints import GIVEN_COST, DictionaryConstraints, Mode

from alidade.config import SearchSettings
from alidade.dictionary.entries import make_entry
from alidade.dictionary.matching import Form, Match, Pieces
from alidade.dictionary.rules import Constraints, Use, WordBorders
from alidade.models.system import System
from alidade.search.beam import BeamSearch, Request
from alidade.search.forced import GivenPairs
from alidade.search.hypotheses import Hypothesis
from small_models import VOCABULARY, jumps_model, lexical_model

BORDERS = WordBorders(continuing=frozenset([20, 21, 22]), glueing=frozenset([19]))
WORDS_NEVER_GO_ON = WordBorders(frozenset(), frozenset())
FAMILIES = {
    "transformer": ("transformer", None),
    "transformer-aligned": ("transformer-aligned", "transformer-jumps"),
    "rnn": ("rnn", None),
    "rnn-biased": ("rnn-biased", "rnn-jumps"),
}
ASSISTED = [name for name, (_, alignment) in FAMILIES.items() if alignment]
MODES: tuple[Mode, ...] = ("suggest", "require")


@pytest.fixture(scope="module")
def systems() -> dict[str, System]:
    return {
        name: System(lexical_model(kind=lexical), None if alignment is None else jumps_model(kind=alignment))
        for name, (lexical, alignment) in FAMILIES.items()
    }


def match(positions: range, *forms: Pieces) -> Match:
    return Match(
        make_entry("source", ["target"]), range(len(positions)), positions, tuple([Form("?", f, f) for f in forms])
    )


SENTENCES: list[tuple[list[int], list[Match]]] = [
    ([5, 6, 7, 8, 9], [match(range(2, 3), (10, 20)), match(range(4, 6), (11,), (11, 21), (12, 13, 14))]),
    ([4, 9, 4], []),
    ([8, 8, 8, 8], [match(range(1, 2), (15,)), match(range(3, 4), (15,)), match(range(4, 5), (16, 17))]),
    ([7], [match(range(1, 2), (18, 4, 5, 6))]),
    ([6, 5, 4, 9, 8, 7, 6], []),
]


def search(
    system: System,
    sentences: Sequence[tuple[list[int], list[Match]]],
    mode: Mode | None,
    *,
    prefixes: Sequence[Pieces] | None = None,
    borders: WordBorders = BORDERS,
    num_best: int = 1,
    min_length: int = 0,
    **settings: object,
) -> list[list[Hypothesis]]:
    """Translate with a dictionary, or without one if there is no mode."""
    all_settings = SearchSettings.model_validate({"beam_size": 4, "pruning": "none"} | settings)
    prefixes = prefixes or [()] * len(sentences)
    requests = [
        Request(source, prefix, min_length=min_length) for (source, _), prefix in zip(sentences, prefixes, strict=True)
    ]
    constraints = None
    if mode is not None:
        constrained = [
            ConstrainedSentence(
                Constraints(matches, borders, must_use_all=mode == "require"),
                len(source) + 1,
                request.length_limit(all_settings),
                len(request.prefix),
            )
            if matches
            else None
            for (source, matches), request in zip(sentences, requests, strict=True)
        ]
        constraints = DictionaryConstraints(
            constrained,
            mode,
            borders,
            is_assisted=system.lexical.is_assisted,
            beam_size=all_settings.beam_size,
            vocabulary_size=VOCABULARY,
        )
    results = BeamSearch(system, all_settings).search(requests, num_best=num_best, constraints=constraints)
    return [list(result.hypotheses) for result in results]


def random_sentences(seed: int, *, is_dense: bool = False) -> list[tuple[list[int], list[Match]]]:
    """Sentences of which some have one to three matches of random forms; or one at each of their words."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(6):
        length = rng.randint(1, 8)
        num_matches = length if is_dense else min(length, rng.choice([0, 1, 1, 2, 3]))
        starts = rng.sample(range(1, length + 1), k=num_matches)
        matches = [
            match(
                range(start, start + 1),
                *{tuple(rng.choices(range(4, 20), k=1)) + tuple(rng.choices(range(4, 23), k=rng.randint(0, 2)))},
            )
            for start in sorted(starts)
        ]
        sentences.append(([rng.randint(4, VOCABULARY - 1) for _ in range(length)], matches))
    return sentences


def uses_of(hypothesis: Hypothesis) -> tuple[Use, ...]:
    assert isinstance(hypothesis.constraint_state, tuple)
    return hypothesis.constraint_state


def check_uses(hypothesis: Hypothesis, matches: list[Match]) -> None:
    """What is said to be used is there, as a word of its own, once."""
    uses = uses_of(hypothesis)
    assert len({use.match for use in uses}) == len(uses)
    for use in uses:
        forms = {form.after_space for form in matches[use.match].forms}
        assert hypothesis.words[use.pieces.start : use.pieces.stop] in forms
        after = hypothesis.words[use.pieces.stop : use.pieces.stop + 1]
        assert not set(after) & BORDERS.continuing


def close(first: Hypothesis, second: Hypothesis) -> bool:
    return (
        first.words == second.words
        and first.positions == second.positions
        and first.constraint_state == second.constraint_state
        and first.score == pytest.approx(second.score, abs=1e-4)
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", MODES)
def test_an_empty_dictionary_changes_nothing_to_the_last_score(
    systems: dict[str, System], family: str, mode: Mode
) -> None:
    bare = [(source, list[Match]()) for source, _ in SENTENCES]
    with_dictionary = search(systems[family], bare, mode, num_best=3)
    without = search(systems[family], bare, None, num_best=3)
    for hypotheses, expected in zip(with_dictionary, without, strict=True):
        assert [(h.words, h.positions) for h in hypotheses] == [(h.words, h.positions) for h in expected]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in expected], abs=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", MODES)
def test_a_mixed_batch_is_its_sentences_one_by_one(systems: dict[str, System], family: str, mode: Mode) -> None:
    together = search(systems[family], SENTENCES, mode)
    for sentence, (hypothesis,) in zip(SENTENCES, together, strict=True):
        ((alone,),) = search(systems[family], [sentence], mode)
        assert close(hypothesis, alone)
        if not sentence[1]:
            ((without,),) = search(systems[family], [sentence], None)
            assert hypothesis.words == without.words


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", MODES)
def test_what_is_used_stands_where_it_is_said_to_stand(systems: dict[str, System], family: str, mode: Mode) -> None:
    num_used = 0
    for seed in range(2):
        sentences = random_sentences(seed)
        for (_, matches), hypotheses in zip(
            sentences, search(systems[family], sentences, mode, num_best=4), strict=True
        ):
            for hypothesis in hypotheses:
                check_uses(hypothesis, matches)
                num_used += len(uses_of(hypothesis))
    assert num_used > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_required_matches_are_all_used_in_every_hypothesis(systems: dict[str, System], family: str) -> None:
    for seed in range(2):
        sentences = [*random_sentences(seed), *SENTENCES]
        results = search(systems[family], sentences, "require", num_best=4)
        for (_, matches), hypotheses in zip(sentences, results, strict=True):
            for hypothesis in hypotheses:
                assert {use.match for use in uses_of(hypothesis)} == set(range(len(matches)))


@pytest.mark.parametrize("family", ASSISTED)
def test_required_forms_are_written_at_their_own_source_words(systems: dict[str, System], family: str) -> None:
    for seed in range(2):
        sentences = random_sentences(seed)
        for (_, matches), (hypothesis,) in zip(sentences, search(systems[family], sentences, "require"), strict=True):
            for use in uses_of(hypothesis):
                own = matches[use.match].positions
                assert all(hypothesis.positions[piece] in own for piece in use.pieces)


@pytest.mark.parametrize("family", ASSISTED)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("normalisation", [0.0, 1.0])
def test_exact_pruning_stays_exact(systems: dict[str, System], family: str, mode: Mode, normalisation: float) -> None:
    for seed in range(2):
        sentences = random_sentences(seed)
        options = {"num_best": 4, "length_normalisation": normalisation, "alignment_weight": 0.7}
        exact = search(systems[family], sentences, mode, pruning="exact", **options)  # type: ignore[arg-type]  # settings
        unpruned = search(systems[family], sentences, mode, **options)  # type: ignore[arg-type]  # settings
        for hypotheses, expected in zip(exact, unpruned, strict=True):
            assert len(hypotheses) == len(expected)
            assert all(map(close, hypotheses, expected))


@pytest.mark.parametrize("family", ASSISTED)
@pytest.mark.parametrize("pruning", ["threshold", "pairs", "histogram"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_required_matches_survive_any_pruning(
    systems: dict[str, System], family: str, pruning: str, beam_size: int
) -> None:
    sentences = random_sentences(1)
    results = search(systems[family], sentences, "require", pruning=pruning, histogram=1, beam_size=beam_size)
    for (_, matches), (hypothesis,) in zip(sentences, results, strict=True):
        assert {use.match for use in uses_of(hypothesis)} == set(range(len(matches)))


@pytest.mark.parametrize("family", FAMILIES)
def test_suggestions_are_taken_exactly_where_the_attention_points(systems: dict[str, System], family: str) -> None:
    """j(i) by the models' own, teacher-forced attention: at an unused match a form begins, elsewhere none does."""
    num_begun = 0
    for source, matches in [*random_sentences(0), *random_sentences(1, is_dense=True)]:
        if not matches:
            continue
        ((hypothesis,),) = search(
            systems[family], [(source, matches)], "suggest", borders=WORDS_NEVER_GO_ON, min_length=5
        )
        pointed = pointed_positions(systems[family], source, hypothesis)
        use_at = {use.pieces.start: use for use in uses_of(hypothesis)}
        unused = dict(enumerate(matches))
        place = 0
        while place < len(hypothesis.words):
            wanted = [number for number, match in unused.items() if pointed[place] in match.positions]
            if place in use_at:
                assert wanted == [use_at[place].match]
                del unused[use_at[place].match]
                place = use_at[place].pieces.stop
                num_begun += 1
            else:
                assert not wanted or not hypothesis.is_complete, "a form is only broken off at the length limit"
                place += 1
    assert num_begun > 0


def pointed_positions(system: System, source: list[int], hypothesis: Hypothesis) -> list[int]:
    """j(i) of each word."""
    pairs = GivenPairs.of([source], [hypothesis.words], [hypothesis.positions] if hypothesis.positions else None)
    assert system.lexical is not None
    attention = system.lexical.attention(pairs.batch())  # type: ignore[operator]  # a model's method
    return [1 + position for position in attention[0, :, 1:].argmax(dim=1).tolist()]


@pytest.mark.parametrize("family", FAMILIES)
def test_given_words_count_as_uses_and_are_not_restricted(systems: dict[str, System], family: str) -> None:
    source, prefix = [5, 6, 7, 8], (11, 12, 13)
    matches = [match(range(1, 5), (12, 13)), match(range(1, 1), (16,))]
    ((hypothesis,),) = search(systems[family], [(source, matches[:1])], "require", prefixes=[prefix])
    assert hypothesis.words[:3] == prefix
    assert [use.match for use in uses_of(hypothesis)] == [0]


def test_a_match_farther_away_than_the_widest_jump_is_reached() -> None:
    system = System(lexical_model(kind="transformer-aligned"), jumps_model(kind="transformer-jumps", max_jump=2))
    source = list(range(4, 20))
    for position in (1, 16):
        ((hypothesis,),) = search(system, [(source, [match(range(position, position + 1), (10, 11))])], "require")
        assert [use.match for use in uses_of(hypothesis)] == [0]


def test_given_words_cost_a_share_of_the_models_own_best_word(systems: dict[str, System]) -> None:
    system = systems["transformer-aligned"]
    ((hypothesis,),) = search(system, [SENTENCES[3]], "require")
    (use,) = uses_of(hypothesis)
    pairs = GivenPairs.of([SENTENCES[3][0]], [hypothesis.words], [hypothesis.positions])
    assert system.lexical is not None
    logp = torch.log_softmax(system.lexical.output(system.lexical(pairs.batch())), dim=1).detach()
    for piece in use.pieces:
        assert hypothesis.lexical_logp[piece] == pytest.approx(GIVEN_COST * float(logp[piece].max()), abs=1e-5)
    assert all(torch.tensor(hypothesis.alignment_logp) <= 0)
