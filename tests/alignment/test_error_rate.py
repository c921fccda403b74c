import pytest

from alidade.alignment.links import Alignment, GoldAlignment, alignment_error_rate
from alidade.errors import AlidadeError


def test_hand_worked_pair_with_possible_links() -> None:
    # A = 4 links, S = 2, P = 3: |A ∩ S| = 1, |A ∩ P| = 2.
    gold = GoldAlignment.parse("0-0 1-1 1p2")
    result = alignment_error_rate([Alignment.parse("0-0 1-2 2-2 3-3")], [gold])
    assert result.precision == pytest.approx(2 / 4)
    assert result.recall == pytest.approx(1 / 2)
    assert result.error_rate == pytest.approx(1 - (1 + 2) / (4 + 2))


def test_possible_links_are_neither_demanded_nor_punished() -> None:
    gold = GoldAlignment.parse("0-0 1p1")
    for links in ("0-0", "0-0 1-1"):
        assert alignment_error_rate([Alignment.parse(links)], [gold]).error_rate == 0


def test_a_link_that_is_sure_and_possible_counts_as_sure() -> None:
    result = alignment_error_rate([Alignment.parse("0-0")], [GoldAlignment.parse("0-0 0p0")])
    assert (result.num_sure, result.num_possible, result.error_rate) == (1, 0, 0)


def test_counts_are_summed_before_dividing() -> None:
    # Pair by pair the errors are 0 and 1, their mean 0.5; over the corpus 1 − (1 + 1) / (1 + 4) with A = 1, S = 4.
    golds = [GoldAlignment.parse("0-0"), GoldAlignment.parse("0-0 1-1 2-2")]
    result = alignment_error_rate([Alignment.parse("0-0"), Alignment.parse("")], golds)
    assert result.error_rate == pytest.approx(1 - 2 / 5)
    assert result.precision == 1
    assert result.recall == pytest.approx(1 / 4)


def test_without_possible_links_the_error_is_one_minus_f1() -> None:
    result = alignment_error_rate([Alignment.parse("0-0 1-1 2-0")], [GoldAlignment.parse("0-0 1-1 2-2 3-3")])
    f1 = 2 * result.precision * result.recall / (result.precision + result.recall)
    assert result.error_rate == pytest.approx(1 - f1)


def test_no_links_at_all_is_no_error() -> None:
    result = alignment_error_rate([Alignment()], [GoldAlignment.parse("")])
    assert (result.precision, result.recall, result.error_rate) == (1, 1, 0)


def test_prints_itself_with_what_it_was_counted_on() -> None:
    result = alignment_error_rate([Alignment.parse("0-0 1-2 2-2 3-3")], [GoldAlignment.parse("0-0 1-1 1p2")])
    assert str(result) == "AER = 50.0 (precision 50.0, recall 50.0) | pairs:1 links:4 sure:2 possible:1"


@pytest.mark.parametrize(("num_hypotheses", "num_golds"), [(1, 2), (2, 1), (0, 1)])
def test_different_numbers_of_pairs_are_an_error(num_hypotheses: int, num_golds: int) -> None:
    with pytest.raises(AlidadeError, match="as many lines"):
        alignment_error_rate([Alignment()] * num_hypotheses, [GoldAlignment.parse("0-0")] * num_golds)
