"""What no target word points at is told, if it means something."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alidade.alignment.links import Alignment
from alidade.documents.left_out import left_out_words
from alidade.protection.translate import EMPTY
from alidade.text.subwords import Encoding
from alidade.text.words import split_words


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", "There were some messages", ["messages"]),
        ("de-DE", "Diese Nachrichten waren nicht lesbar", ["Nachrichten", "lesbar"]),
        ("ro", "Aceste mesaje sunt aici", ["mesaje"]),
        ("xx", "Some messages", []),
    ],
)
def test_content_words_without_a_link_are_left_out(language: str, text: str, expected: list[str]) -> None:
    source = Encoding(text, split_words(text, language), (), (), ())
    assert left_out_words(replace(EMPTY, source=source), language) == expected
    everything = Alignment.of([(word, 0) for word in range(len(source.words))])
    assert left_out_words(replace(EMPTY, source=source, alignment=everything), language) == []
