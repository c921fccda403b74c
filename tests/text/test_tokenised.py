from __future__ import annotations

import pytest

from alidade.text.tokenised import spaces_before


@pytest.mark.parametrize(
    ("language", "tokenised", "running"),
    [
        ("en", "that 's enough !", "that's enough!"),
        ("en", '( he said : " no " , twice )', '(he said: "no", twice)'),
        ("de", "Sicher - wenn er , der Mann , geht ...", "Sicher - wenn er, der Mann, geht..."),
        ("ro", "n - a venit , de - aia", "n-a venit, de-aia"),
        ("en", "the parents ' house", "the parents' house"),
        ("en", "! first", "! first"),
        ("en", "", ""),
    ],
)
def test_spaces_are_those_of_running_text(language: str, tokenised: str, running: str) -> None:
    words = tokenised.split()
    spaces = spaces_before(words, language)
    joined = "".join([f" {word}" if space else word for word, space in zip(words, spaces, strict=True)])
    assert joined.removeprefix(" ") == running
