"""Pieces cut anew."""

from __future__ import annotations

import random

from alidade.config import SubwordSettings
from alidade.corpus.bpe_dropout import Recut, recut, recut_positions
from alidade.corpus.encode import count_units, train_subwords
from alidade.text.subwords import Subwords

TEXTS = [
    "the lower the newer, the wider the lowest widest newest lower",
    "a low new wide sea, and a slower, renewed, widening one",
    "it is 1,000 km from here; we were swimming, running and singing",
]
SUBWORDS = Subwords(train_subwords(count_units(TEXTS * 3, "en"), SubwordSettings(vocabulary_size=330)), "en")


def cut(text: str, dropout: float, seed: int = 1) -> Recut:
    encoding = SUBWORDS.encode(text)
    return recut(SUBWORDS, encoding.ids, encoding.word_of_piece, dropout, random.Random(seed))


def test_without_dropout_the_pieces_are_those_of_sentencepiece() -> None:
    for text in [*TEXTS, "Unseen zebras renewing slowly", "<s> <0x41> <unk> łódź ⁇ 日本 ▁ low"]:
        encoding = SUBWORDS.encode(text)
        anew = cut(text, 0.0)
        assert tuple(anew.ids) == encoding.ids
        assert tuple(anew.words) == encoding.word_of_piece
        assert anew.new_of_old == anew.old_of_new == list(range(len(encoding)))


def test_with_full_dropout_words_are_spelled_by_characters() -> None:
    assert [SUBWORDS.piece(i) for i in cut("the lowest", 0.999999).ids] == list("▁the▁lowest")


def test_pieces_cut_anew_spell_the_same_words() -> None:
    seen = set()
    for seed in range(20):
        anew = cut(TEXTS[0], 0.3, seed)
        decoded = SUBWORDS.decode(anew.ids)
        assert decoded.text == TEXTS[0]
        assert decoded.word_of_piece == tuple(anew.words)
        seen.add(tuple(anew.ids))
    assert len(seen) > 10


def test_positions_follow_the_characters() -> None:
    """▁low er -> ▁l ower and back: a new target piece points at where the old one's source starts."""
    source = Recut(ids=[1, 2, 3], words=[0, 0, 0], new_of_old=[0, 2], old_of_new=[0, 0, 1])
    target = Recut(ids=[4, 5, 6], words=[0, 0, 1], new_of_old=[0, 1, 2], old_of_new=[0, 0, 2])
    assert recut_positions(source, target, [2, 1, 1]) == [3, 3, 1]
