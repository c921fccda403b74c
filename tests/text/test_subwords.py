"""Pieces: exact from text to text, never across a word's border, and readable whatever a model writes."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest

from alidade.config import SubwordSettings
from alidade.corpus.encode import count_units, train_subwords
from alidade.errors import AlidadeError
from alidade.text.subwords import UNKNOWN_TEXT, Encoding, Subwords
from alidade.text.vocabulary import BOS, EOS, PAD, UNK
from alidade.text.words import split_words

TEXTS = {
    "en": ["The quick brown fox doesn't jump over 1,234.56 lazy dogs.", "Send %s to {name} at www.example.org!"],
    "de": ["Die Häuser der Donaudampfschifffahrt, größer als „früher“.", "E-Mail-Adressen: müller@example.org (neu)"],
    "ro": ["Într-un sat s-a dus; și n-a văzut țara, știți?", "Fișierul „%s” nu există în ${HOME}."],
    "zh": ["我喜欢在北京学习Python3，2009年来的。", "两个孩子在公园里 玩 足球 👍🏽"],
}
STRANGE = ["Ω≈ç√∫ ‖ ▁ a▁b", "👨‍👩‍👧🇷🇴 1️⃣", "ﷺ 𝔘𝔫𝔦 ąćę", "x" * 200, "日本語テキスト", "…", "\u0301e"]


@pytest.fixture(scope="module")
def subwords() -> dict[str, Subwords]:
    settings = SubwordSettings(vocabulary_size=500)
    return {
        language: Subwords(train_subwords(count_units(texts * 20, language), settings), language)
        for language, texts in TEXTS.items()
    }


ALL = [(language, text) for language, texts in TEXTS.items() for text in texts + STRANGE]


@pytest.mark.parametrize(("language", "text"), ALL)
def test_decoding_is_exact(subwords: dict[str, Subwords], language: str, text: str) -> None:
    encoding = subwords[language].encode(text)
    assert encoding.text == text
    assert subwords[language].decode(encoding.ids) == encoding


@pytest.mark.parametrize(("language", "text"), ALL)
def test_pieces_keep_to_their_words(subwords: dict[str, Subwords], language: str, text: str) -> None:
    encoding = subwords[language].encode(text)
    assert encoding.words == split_words(text, language)
    spans = [encoding.pieces_of_word(word) for word in range(len(encoding.words))]
    assert [piece for span in spans for piece in span] == list(range(len(encoding)))
    for word, span in zip(encoding.words, spans, strict=True):
        assert subwords[language].decode([encoding.ids[piece] for piece in span]).text == word.text
        assert all(encoding.word_of_piece[piece] == encoding.words.index(word) for piece in span)


def test_spaces_are_marked_where_they_stand(subwords: dict[str, Subwords]) -> None:
    pieces = subwords["en"].encode("The fox, quick").pieces
    assert "".join(pieces) == "▁The▁fox,▁quick"
    assert "".join(subwords["en"].encode("fox", after_space=False).pieces) == "fox"


def test_white_space_of_any_kind_is_one_space(subwords: dict[str, Subwords]) -> None:
    encoding = subwords["en"].encode("  The \u00a0 fox\t")
    assert [(word.start, word.end) for word in encoding.words] == [(2, 5), (8, 11)], "spans are places in the text"
    assert encoding.ids == subwords["en"].encode("The fox").ids


def test_ids_alone_are_those_of_the_encoding(subwords: dict[str, Subwords]) -> None:
    for language, text in ALL:
        encoding = subwords[language].encode(text)
        assert subwords[language].encode_ids(text) == (list(encoding.ids), list(encoding.word_of_piece))


def test_split_words_are_encoded_alike(subwords: dict[str, Subwords]) -> None:
    given = subwords["en"].encode_words(["The", "lazy", "fox"])
    assert given == subwords["en"].encode("The lazy fox")
    assert subwords["en"].encode_words(["lazy", "fox"], after_space=False).pieces[0][0] != "▁"
    odd = subwords["en"].encode_words(["fox,", "dog"])
    assert [word.text for word in odd.words] == ["fox,", "dog"]
    assert len(odd.pieces_of_word(0)) + len(odd.pieces_of_word(1)) == len(odd)


def test_anything_can_be_read(subwords: dict[str, Subwords]) -> None:
    """A model may write any ids: every piece gets a word, in order, every word a piece, and nothing is raised."""
    model = subwords["zh"]
    byte_ids = [i for i in range(len(model)) if model.piece(i).startswith("<0x")]
    assert len(byte_ids) == 256
    chance = random.Random(1)
    for pool in (range(len(model)), byte_ids, [*byte_ids[200:240], PAD, EOS, *range(260, 280)]):
        for _ in range(500):
            ids = chance.choices(pool, k=chance.randrange(12))
            encoding = model.decode(ids)
            assert list(encoding.ids) == ids
            assert len(encoding.word_of_piece) == len(encoding.pieces) == len(ids)
            assert list(encoding.word_of_piece) == sorted(encoding.word_of_piece)
            assert all(0 <= word < len(encoding.words) for word in encoding.word_of_piece)
            assert all(len(encoding.pieces_of_word(word)) > 0 for word in range(len(encoding.words)))
            assert "\n" not in encoding.text


def test_a_piece_across_a_border_belongs_to_its_first_word(subwords: dict[str, Subwords]) -> None:
    """Pieces learned together, "fo" and "x" for example, may meet a comma in one piece of another model."""
    model = Subwords(train_subwords({" fox,": 50, " dog": 50}, SubwordSettings(vocabulary_size=290)), "en")
    ids = [i for i in range(len(model)) if model.piece(i) in ("▁fox,",)] + list(model.encode("dog").ids)
    encoding = model.decode(ids)
    assert [word.text for word in encoding.words] == ["fox", ",", "dog"]
    assert encoding.word_of_piece[0] == 0
    assert encoding.pieces_of_word(0) == encoding.pieces_of_word(1) == range(1)
    assert encoding.pieces_of_word(2).start == 1


def test_broken_bytes_are_replaced(subwords: dict[str, Subwords]) -> None:
    model = subwords["en"]
    by_name = {model.piece(i): i for i in range(len(model))}
    euro = [by_name[f"<0x{byte:02X}>"] for byte in "€".encode()]
    assert model.decode(euro).text == "€"
    assert model.decode(euro).word_of_piece == (0, 0, 0)
    assert model.decode(euro[:2]).text == "\ufffd"
    assert model.decode([*euro[:2], by_name["<0x0A>"]]).text == "\ufffd\ufffd"


def test_special_ids_read_as_nothing_and_unknown_as_a_mark(subwords: dict[str, Subwords]) -> None:
    model = subwords["en"]
    fox = model.encode("fox").ids
    assert model.decode([BOS, *fox, EOS, PAD]).text == "fox"
    assert model.decode([*fox, UNK]).text == f"fox{UNKNOWN_TEXT}"
    assert model.decode([]) == Encoding("", (), (), (), ()) == model.encode("")


def test_lone_surrogates_do_not_crash(subwords: dict[str, Subwords]) -> None:
    assert len(subwords["en"].encode("fox \ud800")) > 0


def test_fingerprint_names_model_and_language(subwords: dict[str, Subwords], tmp_path: Path) -> None:
    english = subwords["en"]
    english.save(tmp_path / "model")
    assert Subwords.load(tmp_path / "model", "en").fingerprint == english.fingerprint
    assert Subwords.load(tmp_path / "model", "de").fingerprint != english.fingerprint
    assert subwords["de"].fingerprint != english.fingerprint
    copy = pickle.loads(pickle.dumps(english))
    assert copy.encode("The fox") == english.encode("The fox")


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(b"no model")
    with pytest.raises(AlidadeError, match="not a sentencepiece model"):
        Subwords.load(tmp_path / "model", "en")
