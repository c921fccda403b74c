import pytest

from alidade.alignment.links import Alignment, GoldAlignment, Link
from alidade.errors import AlidadeError


def test_parses_and_prints_pharaoh_in_a_fixed_order() -> None:
    alignment = Alignment.parse("2-1 0-0  1-2\n")
    assert alignment == Alignment.of([(0, 0), (1, 2), (2, 1)])
    assert str(alignment) == "0-0 1-2 2-1"
    assert str(Alignment.parse("")) == ""


def test_reads_and_writes_files_that_count_from_one() -> None:
    alignment = Alignment.parse("1-1 2-3", one_based=True)
    assert str(alignment) == "0-0 1-2"
    assert alignment.format(one_based=True) == "1-1 2-3"


def test_is_a_set_that_can_be_a_key() -> None:
    assert len({Alignment.parse("0-0 1-1 0-0"), Alignment.parse("1-1 0-0")}) == 1
    assert Link(1, 1) in Alignment.parse("1-1")
    assert len(Alignment.parse("0-0 0-0")) == 1


def test_transposes() -> None:
    assert Alignment.parse("0-3 1-2").transposed() == Alignment.parse("3-0 2-1")


@pytest.mark.parametrize("text", ["1", "1-", "-1", "a-1", "1-2-3", "1p2", "1_0-2", "²-1", "1--2"])
def test_names_what_is_not_a_link(text: str) -> None:
    with pytest.raises(AlidadeError, match="is not a link") as error:
        Alignment.parse(f"0-0 {text}")
    assert text in str(error.value)


def test_zero_in_a_file_read_from_one_is_an_error() -> None:
    with pytest.raises(AlidadeError, match='link "0-3" has a 0'):
        Alignment.parse("1-1 0-3", one_based=True)


def test_a_link_outside_its_pair_is_named_with_its_place() -> None:
    Alignment.parse("0-0 2-1").require_inside(3, 2, "links, line 4")
    with pytest.raises(AlidadeError, match=r"links, line 4: link 2-2 is outside .* 3 source and 2 target"):
        Alignment.parse("0-0 2-2").require_inside(3, 2, "links, line 4")


def test_gold_alignment_tells_sure_from_possible() -> None:
    gold = GoldAlignment.parse("1-1 2p3 2-2 2p2", one_based=True)
    assert gold.sure == Alignment.parse("0-0 1-1")
    assert gold.possible == Alignment.parse("1-2")
    assert gold.allowed == {(0, 0), (1, 1), (1, 2)}
    assert gold.transposed().possible == Alignment.parse("2-1")


@pytest.mark.parametrize("text", ["1p", "p1", "1p2p3", "1-2p3"])
def test_gold_alignment_names_what_is_not_a_link(text: str) -> None:
    with pytest.raises(AlidadeError, match="is not a link"):
        GoldAlignment.parse(text)
