"""Tags come back around the words that they wrapped: every tag once, balanced, never inside a word."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alidade.text.markup import LEAST_SHARE, Mark, assemble, build_tree, held_by_pairs, place_marks, role_of_tag

TOKEN = re.compile(r"<[^>]+>|[^<>\s]+|\s+")


def carry(source: str, target: str, links: str) -> str:
    """Put the tags of a source text, its words parted by spaces, into a target text by Pharaoh links."""
    marks, num_source = read_marks(source)
    words = target.split()
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    weights = [{i: 1.0 for i, j in pairs if j == word} for word in range(len(words))]
    placed = place_marks(build_tree(marks, num_source), weights)
    return assemble(words, ["", *[" "] * (len(words) - 1), ""], placed).text


def read_marks(source: str) -> tuple[list[Mark], int]:
    marks, num_words = [], 0
    for token in TOKEN.findall(source):
        if token.startswith("<"):
            role, name = role_of_tag(token)
            marks.append(Mark(token, role, num_words, name))
        elif not token.isspace():
            num_words += 1
    return marks, num_words


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("a <b>red</b> house", "o casă roșie", "0-0 1-2 2-1", "o casă <b>roșie</b>"),
        ("<b>all of it</b>", "tot", "0-0", "<b>tot</b>"),
        ("<i>one <b>two</b></i> three", "trei doi unu", "0-2 1-1 2-0", "trei <i><b>doi</b> unu</i>"),
        ("one <x/>two three", "unu trei doi", "0-0 1-2 2-1", "unu trei <x/>doi"),
        ("<a>one</a> <b>two</b>", "doi unu", "0-1 1-0", "<b>doi</b> <a>unu</a>"),
        ("one two<br/>", "unu doi", "0-0 1-1", "unu doi<br/>"),
        # scattered: one stranger goes in with them, three do not, and the tag is not doubled
        ("our <b>help page</b>", "pagina noastră de ajutor", "2-0 0-1 1-2 1-3", "<b>pagina noastră de ajutor</b>"),
        ("<b>one two</b> three", "unu a b c doi doi", "0-0 2-1 2-2 2-3 1-4 1-5", "unu a b c <b>doi doi</b>"),
        # nothing came of its words: the pair stays, around nothing
        ("the <b>very</b> end", "sfârșitul", "2-0", "<b></b>sfârșitul"),
        # not balanced in the source: kept as it is
        ("one <b>two", "unu doi", "0-0 1-1", "unu <b>doi"),
    ],
)
def test_tags_go_where_their_words_went(source: str, target: str, links: str, expected: str) -> None:
    assert carry(source, target, links) == expected


def test_a_pair_whose_words_are_left_out_stands_around_the_likeliest_word() -> None:
    marks, num_source = read_marks("the <b>very</b> end")
    weights = [{0: 0.8, 1: 0.1, 2: 0.1}, {0: 0.1, 1: 0.2, 2: 0.7}]
    root = build_tree(marks, num_source)
    placed = place_marks(root, weights)
    assert assemble(["cel", "sfârșit"], ["", " ", ""], placed).text == "cel <b>sfârșit</b>"
    [held] = held_by_pairs(root, placed, weights)
    assert held.words == range(1, 2)
    assert held.share < LEAST_SHARE


@st.composite
def trees(draw: st.DrawFn) -> str:
    """A text of words and nested tags."""

    def element(depth: int) -> str:
        parts = []
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["word", "word", "pair", "alone"] if depth < 4 else ["word"]))
            number = draw(st.integers(0, 99))
            if kind == "pair":
                name = draw(st.sampled_from("abi"))
                parts.append(f'<{name} n="{number}">{element(depth + 1)}</{name}>')
            else:
                parts.append(f"w{number} " if kind == "word" else f'<x n="{number}"/>')
        return "".join(parts)

    return element(0)


@given(trees(), st.data())
def test_any_tree_comes_out_well_formed_with_the_same_tags(source: str, data: st.DataObject) -> None:
    num_source = read_marks(source)[1]
    num_target = data.draw(st.integers(0, 8))
    target = " ".join(f"t{number}" for number in range(num_target))
    link = st.tuples(st.integers(0, max(num_source - 1, 0)), st.integers(0, max(num_target - 1, 0)))
    links = data.draw(st.sets(link, max_size=12)) if num_source and num_target else set()
    result = carry(source, target, " ".join(f"{i}-{j}" for i, j in links))
    tags = [token for token in TOKEN.findall(result) if token.startswith("<")]
    assert Counter(tags) == Counter(token for token in TOKEN.findall(source) if token.startswith("<"))
    assert is_well_formed(tags)
    assert parents(tags) == parents([token for token in TOKEN.findall(source) if token.startswith("<")])
    assert re.sub(r"<[^>]+>", "", result).split() == target.split()


def is_well_formed(tags: list[str]) -> bool:
    stack: list[str] = []
    for tag in tags:
        role, name = role_of_tag(tag)
        if role == "open":
            stack.append(name)
        elif role == "close" and (not stack or stack.pop() != name):
            return False
    return not stack


def parents(tags: list[str]) -> Counter[tuple[str, ...]]:
    """Each tag with those around it: nesting is as in the source."""
    stack: list[str] = []
    found: Counter[tuple[str, ...]] = Counter()
    for tag in tags:
        role, _ = role_of_tag(tag)
        if role == "close":
            stack.pop()
            continue
        found[(*stack, tag)] += 1
        if role == "open":
            stack.append(tag)
    return found
