import pytest

from alidade.alignment.links import Alignment
from alidade.alignment.positions import diagonal, positions_of_pieces
from alidade.text.subwords import Encoding
from alidade.text.words import Word


def encoding(*words: str) -> Encoding:
    """Words whose pieces are separated by a bar: "Haus|boot"."""
    pieces = [(number, piece) for number, word in enumerate(words) for piece in word.split("|")]
    return Encoding(
        text=" ".join(words),
        words=tuple(Word(word, 0, 0) for word in words),
        pieces=tuple(piece for _, piece in pieces),
        ids=tuple(range(len(pieces))),
        word_of_piece=tuple(number for number, _ in pieces),
    )


def positions_of_words(links: str, num_source: int, num_target: int) -> list[int]:
    source, target = encoding(*["a"] * num_source), encoding(*["b"] * num_target)
    return positions_of_pieces(Alignment.parse(links), source, target, "words")


def test_positions_count_from_one() -> None:
    assert positions_of_words("0-0 1-2 2-1", 3, 3) == [1, 3, 2]


@pytest.mark.parametrize(("links", "middle"), [("0-0 1-0 4-0", 2), ("0-0 3-0", 1), ("4-0 3-0 1-0 0-0", 2), ("3-0", 4)])
def test_several_links_give_the_middle_one_and_the_left_of_two(links: str, middle: int) -> None:
    assert positions_of_words(links, 5, 1) == [middle]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        ("0-0 4-2", [1, 5, 5]),  # both neighbours are equally near: the right one
        ("0-0 4-3", [1, 1, 5, 5]),
        ("2-1", [3, 3, 3, 3]),
        ("1-0 3-4", [2, 2, 4, 4, 4, 4]),
    ],
)
def test_words_without_a_link_look_at_the_nearest_linked_word(links: str, expected: list[int]) -> None:
    assert positions_of_words(links, 5, len(expected)) == expected


def test_a_pair_without_links_goes_along_the_diagonal() -> None:
    assert positions_of_words("", 3, 3) == [1, 2, 3]
    assert positions_of_words("", 6, 3) == [2, 4, 6]
    assert positions_of_words("", 1, 4) == [1, 1, 1, 1]
    assert positions_of_words("", 3, 0) == []


def test_the_diagonal_stays_inside_the_source() -> None:
    for num_source in range(1, 30):
        for num_target in range(1, 30):
            positions = diagonal(num_source, num_target)
            assert positions == sorted(positions)
            assert 1 <= positions[0] <= positions[-1] <= num_source


def test_links_of_words_reach_the_pieces_of_the_words() -> None:
    source = encoding("ein", "Haus|boot", "fährt")
    target = encoding("a", "house|bo|at", "moves", ".")
    alignment = Alignment.parse("0-0 1-1 2-2")
    assert positions_of_pieces(alignment, source, target, "words") == [1, 2, 2, 3, 4, 4]


def test_pieces_of_long_words_walk_through_the_source_word() -> None:
    assert positions_of_pieces(Alignment.parse("0-0"), encoding("a|b|c|d"), encoding("e|f"), "words") == [1, 3]
    assert positions_of_pieces(Alignment.parse("0-0"), encoding("a|b"), encoding("e|f|g|h"), "words") == [1, 1, 2, 2]


def test_links_of_pieces_are_taken_as_they_are() -> None:
    source, target = encoding("Haus|boot"), encoding("house|bo|at")
    assert positions_of_pieces(Alignment.parse("0-0 1-2"), source, target, "pieces") == [1, 2, 2]
    assert positions_of_pieces(Alignment.parse(""), source, target, "pieces") == [1, 2, 2]


def test_a_piece_that_holds_two_words_has_one_position() -> None:
    source, target = encoding("a", "b", "c"), encoding("x", "y", "z")
    joined = Encoding(target.text, target.words, ("xy", "z"), (0, 1), (0, 2))
    assert positions_of_pieces(Alignment.parse("0-0 1-1 2-2"), source, joined, "words") == [1, 3]
