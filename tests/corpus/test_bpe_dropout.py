"""Words in the pieces of BPE-dropout."""

from __future__ import annotations

import random

from alidade.config import SubwordSettings
from alidade.corpus.bpe_dropout import Resegmented, resegment, resegment_positions
from alidade.corpus.encode import count_units, train_subwords
from alidade.text.subwords import Subwords

TEXTS = [
    "the lower the newer, the wider the lowest widest newest lower",
    "a low new wide sea, and a slower, renewed, widening one",
    "it is 1,000 km from here; we were swimming, running and singing",
]
SUBWORDS = Subwords(train_subwords(count_units(TEXTS * 3, "en"), SubwordSettings(vocabulary_size=330)), "en")


def resegment_text(text: str, dropout: float, seed: int = 1) -> Resegmented:
    encoding = SUBWORDS.encode(text)
    return resegment(SUBWORDS, encoding.ids, encoding.word_of_piece, dropout, random.Random(seed))


def test_without_dropout_the_pieces_are_those_of_sentencepiece() -> None:
    for text in [*TEXTS, "Unseen zebras renewing slowly", "<s> <0x41> <unk> łódź ⁇ 日本 ▁ low"]:
        encoding = SUBWORDS.encode(text)
        resegmented = resegment_text(text, 0.0)
        assert tuple(resegmented.ids) == encoding.ids
        assert tuple(resegmented.words) == encoding.word_of_piece
        assert resegmented.new_of_old == resegmented.old_of_new == list(range(len(encoding)))


def test_with_full_dropout_words_are_spelled_by_characters() -> None:
    assert [SUBWORDS.piece(i) for i in resegment_text("the lowest", 0.999999).ids] == list("▁the▁lowest")


def test_other_pieces_spell_the_same_words() -> None:
    seen = set()
    for seed in range(20):
        resegmented = resegment_text(TEXTS[0], 0.3, seed)
        decoded = SUBWORDS.decode(resegmented.ids)
        assert decoded.text == TEXTS[0]
        assert decoded.word_of_piece == tuple(resegmented.words)
        seen.add(tuple(resegmented.ids))
    assert len(seen) > 10


def test_positions_follow_the_characters() -> None:
    """▁low er -> ▁l ower and back: a new target piece points at where the old one's source starts."""
    source = Resegmented(ids=[1, 2, 3], words=[0, 0, 0], new_of_old=[0, 2], old_of_new=[0, 0, 1])
    target = Resegmented(ids=[4, 5, 6], words=[0, 0, 1], new_of_old=[0, 1, 2], old_of_new=[0, 0, 2])
    assert resegment_positions(source, target, [2, 1, 1]) == [3, 3, 1]
