"""Sentences are found with their language's rules, and nothing between them is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alidade.text.sentences import UNSPLIT, Splitting, split_sentences


def sentences(text: str, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, language)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ("Mr. Smith left, e.g. at 5 p.m. yesterday. He is gone.", 2),
        ("See fig. 3. Then stop.", 2),
        ('"Stop." Then he went.', 2),
        ("It costs $5.50.", 1),
        ("Loading... Please wait.", 2),
        ("Could not open %s: %s. Try again.", ["Could not open %s: %s.", "Try again."]),
        ("Wrapped text\ngoes on here.", 1),
        ("- one\n- two", ["- one", "- two"]),
        ("A heading\n\nand a paragraph", 2),
        ("", []),
        ("  \n ", []),
        (" padded ", ["padded"]),
    ],
)
def test_splits_where_a_person_would(text: str, expected: list[str] | int) -> None:
    found = sentences(text)
    assert found == expected if isinstance(expected, list) else len(found) == expected


def test_knows_other_languages() -> None:
    assert len(sentences("你好。我是学生。真的吗？", "zh")) == 3
    assert len(sentences("A sosit. A plecat.", "ro")) == 2


def test_never_cuts_what_must_stay_whole() -> None:
    text = "Open {a. B} now. Then stop."
    assert split_sentences(text, "en", kept=[(5, 11)])[0] == (0, 16)


def test_splits_only_where_it_is_asked_to() -> None:
    text = "One. Two\nThree"

    def found(splitting: Splitting, cuts: tuple[int, ...] = ()) -> list[str]:
        return [text[start:end] for start, end in split_sentences(text, "en", (), cuts, splitting)]

    assert found(UNSPLIT) == [text]
    assert found(Splitting(at_lines=False)) == ["One.", "Two\nThree"]
    assert found(Splitting(at_marks=False)) == ["One. Two", "Three"]
    assert found(UNSPLIT, (0, 9, len(text))) == ["One. Two", "Three"]


@given(st.text(alphabet="aB. \n!?“”\u00a0é。", max_size=80) | st.text(max_size=80))
def test_sentences_and_the_white_space_between_them_are_the_text(text: str) -> None:
    end = 0
    for start, stop in split_sentences(text, "en"):
        assert start >= end
        assert not text[end:start].strip()
        assert text[start:stop] == text[start:stop].strip() != ""
        end = stop
    assert not text[end:].strip()
