import random

import pytest

from alidade.alignment.links import Alignment
from alidade.alignment.symmetrise import Symmetrisation, symmetrise

FORWARD = Alignment.parse("0-0 1-1 1-2 4-4")
REVERSE = Alignment.parse("0-0 1-1 2-2 3-3")


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("forward", "0-0 1-1 1-2 4-4"),
        ("reverse", "0-0 1-1 2-2 3-3"),
        ("intersection", "0-0 1-1"),
        ("union", "0-0 1-1 1-2 2-2 3-3 4-4"),
        # 1-2 lies beside 1-1 and reaches target 2; 2-2 beside 1-2 reaches source 2; 3-3 is diagonal to 2-2;
        # 4-4 diagonal to 3-3.
        ("grow-diag-final-and", "0-0 1-1 1-2 2-2 3-3 4-4"),
    ],
)
def test_each_method(method: Symmetrisation, expected: str) -> None:
    assert str(symmetrise(FORWARD, REVERSE, method)) == expected


def gdfa(forward: str, reverse: str) -> str:
    return str(symmetrise(Alignment.parse(forward), Alignment.parse(reverse), "grow-diag-final-and"))


def test_growing_needs_a_free_word() -> None:
    # 0-1 is beside 0-0 but both its words are linked already.
    assert gdfa("0-0 0-1", "0-0 1-1") == "0-0 0-1 1-1"
    assert gdfa("0-0 1-1 0-1", "0-0 1-1") == "0-0 1-1"


def test_final_joins_two_free_words_only() -> None:
    # 5-5 touches nothing and both words are free; 5-0 and 0-5 have a linked word.
    assert gdfa("0-0 5-5", "0-0") == "0-0 5-5"
    assert gdfa("0-0 5-0", "0-0 0-5") == "0-0"


def test_final_takes_forward_links_first() -> None:
    assert gdfa("0-0 5-5", "0-0 5-7") == "0-0 5-5"
    assert gdfa("0-0 5-7", "0-0 5-5") == "0-0 5-7"


def test_no_intersection_still_gives_the_final_links() -> None:
    assert gdfa("0-0", "3-3") == "0-0 3-3"
    assert gdfa("", "") == ""


def test_growth_reaches_back_in_a_second_pass() -> None:
    # From 3-3 the chain runs to smaller words, against the order of visiting.
    assert gdfa("3-3 2-2 1-1 0-0", "3-3") == "0-0 1-1 2-2 3-3"


def textbook_gdfa(forward: set[tuple[int, int]], reverse: set[tuple[int, int]], size: int) -> set[tuple[int, int]]:
    """The published pseudo-code, cell by cell over the whole matrix."""
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    links = forward & reverse

    def is_free(source: int, target: int) -> tuple[bool, bool]:
        return all(s != source for s, _ in links), all(t != target for _, t in links)

    grew = True
    while grew:
        grew = False
        for target in range(size):
            for source in range(size):
                for source_step, target_step in steps if (source, target) in links else []:
                    new = (source + source_step, target + target_step)
                    if new in (forward | reverse) - links and any(is_free(*new)):
                        links = links | {new}
                        grew = True
    for direction in (forward, reverse):
        for target in range(size):
            for source in range(size):
                if (source, target) in direction and all(is_free(source, target)):
                    links = links | {(source, target)}
    return links


def test_equals_the_published_pseudo_code_on_random_alignments() -> None:
    generator = random.Random(5)
    for _ in range(300):
        size = generator.randint(1, 8)
        forward = {(generator.randrange(size), target) for target in range(size) if generator.random() < 0.8}
        reverse = {(source, generator.randrange(size)) for source in range(size) if generator.random() < 0.8}
        expected = Alignment.of(textbook_gdfa(forward, reverse, size))
        assert symmetrise(Alignment.of(forward), Alignment.of(reverse), "grow-diag-final-and") == expected
