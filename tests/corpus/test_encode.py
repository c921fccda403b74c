"""Learning subwords from counts of words."""

from __future__ import annotations

import pytest

from alidade.config import SubwordSettings
from alidade.corpus.encode import count_units, train_subwords
from alidade.errors import AlidadeError
from alidade.text.subwords import Subwords
from alidade.text.vocabulary import BOS, EOS, PAD, UNK


def test_units_after_a_space_are_counted_apart() -> None:
    assert count_units(["a a, a", "(a)"], "en") == {" a": 3, ",": 1, " (": 1, "a": 1, ")": 1}


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_pieces_never_span_words(kind: str) -> None:
    """Two words that always stand together, with and without a space, still make no common piece."""
    units = count_units(["guten Tag!", "我们喜欢北京"] * 500, "zh")
    model = Subwords(
        train_subwords(units, SubwordSettings.model_validate({"kind": kind, "vocabulary_size": 400})), "zh"
    )
    pieces = [model.piece(i) for i in range(len(model))]
    assert "▁guten" in pieces
    assert not [piece for piece in pieces if "g!" in piece or "们喜" in piece or "欢北" in piece or "n▁" in piece]


def test_special_ids_are_where_models_expect_them() -> None:
    model = Subwords(train_subwords({" a": 5}, SubwordSettings(vocabulary_size=300)), "en")
    assert [model.piece(i) for i in (PAD, BOS, EOS, UNK)] == ["<pad>", "<s>", "</s>", "<unk>"]


def test_a_model_depends_on_the_counts_alone() -> None:
    units = count_units(["one two three", "two three four five"] * 9, "en")
    backwards = dict(reversed(units.items()))
    settings = SubwordSettings(vocabulary_size=300)
    assert train_subwords(units, settings) == train_subwords(backwards, settings)


def test_a_vocabulary_too_small_for_the_bytes_is_refused() -> None:
    with pytest.raises(AlidadeError, match=r"vocabulary_size = 100 is too small: 260 ids"):
        train_subwords({" a": 5}, SubwordSettings(vocabulary_size=100))
    tiny = train_subwords({" ab": 5}, SubwordSettings(vocabulary_size=20, byte_fallback=False))
    assert Subwords(tiny, "en").encode("ab Ж").ids[-1] == UNK


def test_no_text_is_refused() -> None:
    with pytest.raises(AlidadeError, match="no text"):
        train_subwords({}, SubwordSettings())
