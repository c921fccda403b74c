from __future__ import annotations

import pytest

from alidade.alignment.links import Alignment
from alidade.evaluation.terms import TermCase, TermScore, WantedTerm, score_terms
from alidade.text.stems import have_common_stem


def term(source: int, *forms: str, ignores_case: bool = False) -> WantedTerm:
    return WantedTerm(range(source, source + 1), tuple([tuple(form.split()) for form in forms]), ignores_case)


def case(terms: list[WantedTerm], hypothesis: str, links: str = "", reference: str = "x") -> TermCase:
    return TermCase(terms, hypothesis.split(), Alignment.parse(links), reference.split())


def counts(*cases: TermCase) -> tuple[int, int, int, int, int]:
    score = score_terms(cases)
    return score.wanted, score.used, score.used_stem, score.placed, score.repeated


def test_a_form_is_used_as_whole_words_in_order() -> None:
    wanted = [term(0, "rotes Auto", "Wagen")]
    assert counts(case(wanted, "ein rotes Auto", "0-2")) == (1, 1, 1, 1, 0)
    assert counts(case(wanted, "ein Wagen", "0-0")) == (1, 1, 1, 0, 0)
    assert counts(case(wanted, "Auto rotes Lastwagen")) == (1, 0, 0, 0, 0)


def test_case_matters_unless_the_entry_ignores_it() -> None:
    assert counts(case([term(0, "Hund")], "hund")) == (1, 0, 1, 0, 0)
    assert counts(case([term(0, "Hund", ignores_case=True)], "hund")) == (1, 1, 1, 0, 0)


def test_a_word_serves_one_term_and_placed_words_are_preferred() -> None:
    twice = [term(0, "Hund"), term(3, "Hund")]
    assert counts(case(twice, "Hund", "3-0")) == (2, 1, 2, 1, 0)
    assert counts(case(twice, "Hund und Hund", "3-0 0-2")) == (2, 2, 2, 2, 0)


def test_repeated_is_more_often_than_wanted_and_than_in_the_reference() -> None:
    wanted = [term(0, "Hund")]
    assert counts(case(wanted, "Hund Hund"))[-1] == 1
    assert counts(case(wanted, "Hund Hund", reference="Hund Hund"))[-1] == 0
    assert counts(case([*wanted, term(3, "Hund")], "Hund Hund"))[-1] == 0
    assert counts(case([*wanted, term(3, "Hund")], "Hund Hund Hund"))[-1] == 1


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("starker", "stark", True),
        ("stärkste", "starken", True),
        ("Männer", "Mann", True),
        ("sitzt", "sitzen", True),
        ("Haus", "Hausboot", False),
        ("in", "im", False),
        ("an", "an", True),
        ("Hund", "Katze", False),
    ],
)
def test_common_stems(first: str, second: str, expected: bool) -> None:
    assert have_common_stem(first, second) is expected
    assert have_common_stem(second, first) is expected


def test_length_ratio_and_how_it_prints() -> None:
    score = score_terms([case([term(0, "a")], "a b c", "0-0", "a b"), case([], "d", reference="d e")])
    assert score.length_ratio == 1.0
    assert str(score) == (
        "1 entries wanted: used 1 (100.0%), used as a stem 1 (100.0%), placed 1 (100.0%), repeated 0 (0.0%); "
        "length ratio 1.000"
    )
    assert TermScore(0, 0, 0, 0, 0, 0, 0).share(0) == 0.0
