"""Long texts are translated in parts, and nothing between them changes."""

from __future__ import annotations

import httpx
from hypothesis import given
from hypothesis import strategies as st

from alidade.server.long_texts import LONG, PartedTexts, part
from alidade.server.work import Text

PIECES = ["word " * 300, "short", "", " ", "\n", "\n\n", "\n \t\n  ", "x" * LONG]
paragraphs = st.lists(st.sampled_from(PIECES), max_size=12)


@given(st.lists(paragraphs.map("\n\n".join), max_size=4))
def test_parts_and_gaps_are_the_text(texts: list[str]) -> None:
    for text in texts:
        parts, gaps = part(text)
        assert "".join([one + gap for one, gap in zip(parts, [*gaps, ""], strict=True)]) == text
    parted = PartedTexts([Text(text) for text in texts])
    assert parted.join([[one.text.upper()] for one in parted.parts]) == [[text.upper()] for text in texts]


def test_a_long_text_comes_out_as_its_paragraphs_do(client: httpx.Client) -> None:
    paragraph = "The disk is full. " * 60
    text = f"{paragraph.strip()}\n \n{paragraph.strip()}\n\n\n  Open the file.\n"
    values = {"text": [text, paragraph.strip(), "Open the file."], "target_lang": "RO"}
    whole, long, short = [one["text"] for one in client.post("/v2/translate", json=values).json()["translations"]]
    assert whole == f"{long}\n \n{long}\n\n\n  {short}\n"
