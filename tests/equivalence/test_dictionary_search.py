"""The dictionary in the search, with every family of models and random weights."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch

from alidade.config import SearchSettings
from alidade.dictionary.entries import make_entry
from alidade.dictionary.matching import Form, Match, Pieces
from alidade.dictionary.rules import SentenceRules, Use, WordBorders
from alidade.search.beam import BeamSearch
from alidade.search.dictionary import DictionaryRestriction, TermSentence
from alidade.search.forced import score_pairs
from alidade.search.hypotheses import Hypothesis, Request
from alidade.search.roles import System
from alidade.text.vocabulary import EOS
from alidade.translator import Mode
from small_models import VOCABULARY, SmallSystem, small_system

BORDERS = WordBorders(continuing=frozenset([20, 21, 22]), glueing=frozenset([19]))
WORDS_NEVER_GO_ON = WordBorders(frozenset(), frozenset())
RNN_JUMPS: dict[str, object] = {"kind": "rnn-jumps"}


def make_system(lexical: dict[str, object], alignment: dict[str, object] | None = None) -> SmallSystem:
    system = small_system(lexical, alignment)
    with torch.no_grad():
        system.models.lexical.output.bias[EOS] += 3.0  # or few hypotheses would ever end
    return system


FAMILIES = {
    "transformer": make_system({}),
    "transformer-aligned": make_system({"kind": "transformer-aligned"}, {}),
    "top": make_system({"kind": "transformer-aligned", "assisted_layers": "top"}, {"encoder": "lexical"}),
    "rnn": make_system({"kind": "rnn"}),
    "rnn-biased": make_system({"kind": "rnn-biased"}, RNN_JUMPS),
}
ASSISTED = [name for name, system in FAMILIES.items() if system.description.alignment is not None]
MODES: tuple[Mode, ...] = ("suggest", "require")


@pytest.fixture(scope="module")
def systems() -> dict[str, System]:
    return {name: system.engine() for name, system in FAMILIES.items()}


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
    has_final_mark: bool = False,
    keeps_mark: bool = False,
    **settings: object,
) -> list[list[Hypothesis]]:
    """Translate with a dictionary, or without one if there is no mode. has_final_mark: the last source word is one."""
    all_settings = SearchSettings.model_validate({"beam_size": 4, "pruning": "none"} | settings)
    prefixes = prefixes or [()] * len(sentences)
    requests = [
        Request(source, prefix, min_length=min_length) for (source, _), prefix in zip(sentences, prefixes, strict=True)
    ]
    restrictions = []
    if mode is not None:
        terms = [
            TermSentence(
                SentenceRules(matches, borders, range(len(matches)) if mode == "require" else ()),
                end_position=request.end_position,
                max_length=request.length_limit(all_settings),
                num_given=len(request.prefix),
                final_mark=range(len(source), len(source) + 1) if has_final_mark else range(0),
                kept_marks=[len(source)] if keeps_mark else [],
                draft_words=(5, 9, 13),
                elsewhere=(9,),
            )
            if matches
            else None
            for (source, matches), request in zip(sentences, requests, strict=True)
        ]
        restrictions.append(DictionaryRestriction(terms, is_assisted=system.lexical.is_assisted))
    results = BeamSearch(system, all_settings).search(requests, num_best=num_best, restrictions=restrictions)
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
    """None if the sentence has no matches."""
    assert hypothesis.uses is None or isinstance(hypothesis.uses, tuple)
    return hypothesis.uses or ()


def check_uses(hypothesis: Hypothesis, matches: list[Match]) -> None:
    """What is said to be used is there, as a word of its own, once."""
    uses = uses_of(hypothesis)
    assert len({use.match for use in uses}) == len(uses)
    for use in uses:
        forms = {form.after_space for form in matches[use.match].forms}
        assert hypothesis.pieces[use.pieces.start : use.pieces.stop] in forms
        after = hypothesis.pieces[use.pieces.stop : use.pieces.stop + 1]
        assert not set(after) & BORDERS.continuing


def close(first: Hypothesis, second: Hypothesis) -> bool:
    return (
        first.pieces == second.pieces
        and first.positions == second.positions
        and first.uses == second.uses
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
        assert [(h.pieces, h.positions) for h in hypotheses] == [(h.pieces, h.positions) for h in expected]
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
            assert hypothesis.pieces == without.pieces


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
def test_suggestions_are_taken_exactly_where_the_model_looks(systems: dict[str, System], family: str) -> None:
    """At an unused match a form begins, elsewhere none does."""
    num_begun = 0
    for source, matches in [*random_sentences(0), *random_sentences(1, is_dense=True)]:
        if not matches:
            continue
        ((hypothesis,),) = search(
            systems[family], [(source, matches)], "suggest", borders=WORDS_NEVER_GO_ON, min_length=5
        )
        looked_at = positions_of(hypothesis)
        use_at = {use.pieces.start: use for use in uses_of(hypothesis)}
        unused = dict(enumerate(matches))
        place = 0
        while place < len(hypothesis.pieces):
            wanted = [number for number, match in unused.items() if looked_at[place] in match.positions]
            if place in use_at:
                assert wanted == [use_at[place].match]
                del unused[use_at[place].match]
                place = use_at[place].pieces.stop
                num_begun += 1
            else:
                assert not wanted or not hypothesis.is_complete, "a form is only broken off at the length limit"
                place += 1
    assert num_begun > 0


def positions_of(hypothesis: Hypothesis) -> list[int]:
    """Where the model looks with each piece: at its position, or at what it attends to."""
    return list(hypothesis.positions) or [1 + int(row.argmax()) for row in hypothesis.attention[:, 1:]]


@pytest.mark.parametrize("family", FAMILIES)
def test_given_words_count_as_uses_and_are_not_restricted(systems: dict[str, System], family: str) -> None:
    source, prefix = [5, 6, 7, 8], (11, 12, 13)
    matches = [match(range(1, 5), (12, 13))]
    for mode in MODES:
        ((hypothesis,),) = search(systems[family], [(source, matches)], mode, prefixes=[prefix])
        assert hypothesis.pieces[:3] == prefix
        assert uses_of(hypothesis) == (Use(0, range(1, 3)),)


@pytest.mark.parametrize("family", FAMILIES)
def test_given_words_may_be_half_a_form_or_leave_it(systems: dict[str, System], family: str) -> None:
    source = [5, 6, 7, 8]
    matches = [match(range(1, 5), (12, 13, 14))]
    for prefix in ((11, 12), (12, 15), (12, 13, 15, 12, 13)):
        ((hypothesis,),) = search(systems[family], [(source, matches)], "require", prefixes=[prefix])
        assert hypothesis.pieces[: len(prefix)] == prefix
        check_uses(hypothesis, matches)
        assert [use.match for use in uses_of(hypothesis)] == [0]


@pytest.mark.parametrize("max_jump", [2, 5])
def test_a_match_farther_away_than_the_widest_jump_is_reached(max_jump: int) -> None:
    system = small_system({"kind": "transformer-aligned"}, {"max_jump": max_jump}).engine()
    source = list(range(4, 20))
    for position in (1, 16):
        ((hypothesis,),) = search(system, [(source, [match(range(position, position + 1), (10, 11))])], "require")
        assert [use.match for use in uses_of(hypothesis)] == [0]


@pytest.mark.parametrize("family", ASSISTED)
@pytest.mark.parametrize("mode", MODES)
def test_nothing_but_the_end_follows_the_final_mark(systems: dict[str, System], family: str, mode: Mode) -> None:
    sentences = [
        (source, [match for match in matches if len(source) not in match.positions])
        for seed in range(3)
        for source, matches in random_sentences(seed)
    ]
    num_marks = 0
    for (source, matches), hypotheses in zip(
        sentences, search(systems[family], sentences, mode, num_best=4, has_final_mark=True), strict=True
    ):
        for hypothesis in hypotheses if matches else []:
            if len(source) in hypothesis.positions:
                num_marks += 1
                first = hypothesis.positions.index(len(source))
                assert set(hypothesis.positions[first:]) == {len(source)}
            if mode == "require":
                assert {use.match for use in uses_of(hypothesis)} == set(range(len(matches)))
    assert num_marks > 0


@pytest.mark.parametrize("family", ASSISTED)
@pytest.mark.parametrize("mode", MODES)
def test_the_end_waits_for_a_final_mark_that_is_kept(systems: dict[str, System], family: str, mode: Mode) -> None:
    sentences = [
        (source, [match for match in matches if len(source) not in match.positions])
        for seed in range(3)
        for source, matches in random_sentences(seed)
    ]
    found = search(systems[family], sentences, mode, num_best=4, has_final_mark=True, keeps_mark=True)
    complete = [
        (source, hypothesis)
        for (source, matches), hypotheses in zip(sentences, found, strict=True)
        for hypothesis in hypotheses
        if matches and hypothesis.is_complete
    ]
    assert complete
    assert all(hypothesis.positions[-1] == len(source) for source, hypothesis in complete)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", MODES)
def test_what_a_hypothesis_costs_is_what_the_models_say(systems: dict[str, System], family: str, mode: Mode) -> None:
    """A dictionary ranks hypotheses otherwise, but the log-probabilities of their pieces are the models' own."""
    sentences = [*random_sentences(0), *SENTENCES]
    found = [
        (source, hypothesis)
        for (source, _), (hypothesis,) in zip(sentences, search(systems[family], sentences, mode), strict=True)
    ]
    scores = score_pairs(
        systems[family],
        [source for source, _ in found],
        [hypothesis.pieces for _, hypothesis in found],
        [hypothesis.positions for _, hypothesis in found],
    )
    for (_, hypothesis), score in zip(found, scores, strict=True):
        num_pieces = len(hypothesis.pieces)
        assert hypothesis.lexical_logp[:num_pieces] == pytest.approx(score.lexical_logp[:num_pieces], abs=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("mode", MODES)
def test_the_engine_obeys_as_the_models_that_are_trained_do(
    systems: dict[str, System], family: str, mode: Mode
) -> None:
    sentences = [*random_sentences(0), *SENTENCES]
    found = search(systems[family], sentences, mode, pruning="exact")
    expected = search(FAMILIES[family].reference(), sentences, mode, pruning="exact")
    assert all(close(one, other) for (one,), (other,) in zip(found, expected, strict=True))
