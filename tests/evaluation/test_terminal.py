from rich.cells import cell_len
from rich.console import Console

from alidade.alignment.links import Alignment, Link
from alidade.evaluation.terminal import LinkedPair

SOURCE = ["Ein", "Mann", "schläft", "tief", "."]
TARGET = ["A", "man", "is", "sound", "asleep", "."]
LINKS = Alignment.parse("0-0 1-1 2-4 3-3 4-5")


def printed(pair: LinkedPair, width: int = 80, *, colour: bool = False) -> str:
    console = Console(width=width, force_terminal=colour, color_system="standard" if colour else None)
    with console.capture() as capture:
        console.print(pair)
    return capture.get()


def test_under_each_target_word_stands_its_source_word() -> None:
    assert printed(LinkedPair(SOURCE, TARGET, LINKS)).splitlines() == [
        "source  Ein  Mann  schläft  tief  .",
        "         1    2       3      4    5",
        "target   A   man   is  sound  asleep   .",
        "from    Ein  Mann  –   tief   schläft  .",
        "         1    2          4       3     5",
    ]


def test_source_words_without_a_link_are_told_apart() -> None:
    lines = printed(LinkedPair(["das", "ist"], ["is"], Alignment.parse("1-0"))).splitlines()
    assert lines[1].split() == ["–", "2"]


def test_several_links_of_a_word_stand_side_by_side_with_their_confidence() -> None:
    pair = LinkedPair(["im", "Haus"], ["inside"], Alignment.parse("0-0 1-0"), {Link(0, 0): 0.25, Link(1, 0): 0.9})
    lines = printed(pair).splitlines()
    assert [line.split() for line in lines[-3:]] == [["from", "im", "Haus"], ["1", "2"], ["sure", "25", "90"]]


def test_words_of_the_dictionary_have_a_star() -> None:
    assert "asleep*" in printed(LinkedPair(SOURCE, TARGET, LINKS, fixed={4}))


def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost() -> None:
    words = [f"Wort{number}" for number in range(40)]
    lines = printed(LinkedPair(words, words, Alignment.of((n, n) for n in range(40))), width=50).splitlines()
    assert max(map(cell_len, lines)) <= 50
    assert [word for line in lines if line.startswith("source") for word in line.split()[1:]] == words
    assert [word for line in lines if line.startswith("from") for word in line.split()[1:]] == words


def test_wide_characters_stay_in_their_columns() -> None:
    lines = printed(LinkedPair(["联合国", "好"], ["UN", "good"], Alignment.parse("0-0 1-1"))).splitlines()
    target, source = lines[2], lines[3]
    assert cell_len(target[: target.index("UN")]) == 10
    assert cell_len(source[: source.index("好")]) == cell_len(target[: target.index("good")]) + 1


def test_linked_words_share_a_colour() -> None:
    lines = printed(
        LinkedPair(["Haus", "Katze"], ["cat", "house"], Alignment.parse("0-1 1-0")), colour=True
    ).splitlines()
    colour_of = {
        word: line.split(word)[0].rsplit("[", 1)[1]
        for line in lines
        for word in ("Haus", "house", "Katze", "cat")
        if word in line
    }
    assert colour_of["Haus"] == colour_of["house"] != colour_of["Katze"] == colour_of["cat"]


def test_words_that_look_like_markup_are_printed_as_they_are() -> None:
    assert "[bold]" in printed(LinkedPair(["[bold]"], ["[/x]"], Alignment.parse("0-0")))


def test_an_empty_translation_prints_too() -> None:
    assert printed(LinkedPair(["Haus"], [], Alignment())).splitlines()[0] == "source  Haus"
