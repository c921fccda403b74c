"""Foreign pieces under our numbers: the same segmentation, the same text, and words found by characters."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from alidade.errors import AlidadeError
from alidade.exchange.vocabulary import NEVER, JoinedVocabulary, join_vocabulary
from alidade.text.subwords import Subwords
from alidade.text.tokenised import encode_tokenised
from alidade.text.vocabulary import BOS, EOS, PAD, UNK
from foreign_models import learn_pieces, pieces_of, segments, sentences

ODD = ["", "Ünïcödé ｆｕｌｌ １２", "a  man", "man,woman", "👍 man", "x" * 300, "the▁man", "\ud800 man", "ﬁnds … ½"]


@pytest.fixture(params=["unigram", "bpe"])
def models(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    kind: str = request.param
    sizes = {"en": 90, "de": 100}
    return [learn_pieces(tmp_path / f"{side}.spm", side, kind=kind, size=size) for side, size in sizes.items()]


def joined(models: list[Path], *, left_out: int = 5) -> tuple[list[str], JoinedVocabulary]:
    """A vocabulary in an order of its own, without some pieces that the models have."""
    both = dict.fromkeys(piece for model in models for piece in pieces_of(model) if piece[0] != "<")
    theirs = ["</s>", "<unk>", *sorted(both)[left_out:], ">>deu<<", "<pad>"]
    return theirs, join_vocabulary(theirs, models)


def test_every_text_has_the_pieces_that_it_had(models: list[Path]) -> None:
    _, vocabulary = joined(models)
    for path, model, language in zip(models, vocabulary.models, ("en", "de"), strict=True):
        subwords = Subwords(model, language)
        assert subwords.is_raw
        for text in [*sentences("en", 50, seed=2), *sentences("de", 50, seed=2), *ODD]:
            text = text.encode(errors="replace").decode()
            found = subwords.encode(text)
            # As Marian and Hugging Face do: segments are strings, and what the vocabulary does not have is unknown.
            expected = [piece if piece in vocabulary.pieces else "<unk>" for piece in segments(path, text)]
            assert list(found.pieces) == expected
            assert (list(found.ids), list(found.word_of_piece)) == subwords.encode_ids(text)


def test_rows_are_found_again(models: list[Path]) -> None:
    theirs, vocabulary = joined(models)
    matrix = np.arange(len(theirs), dtype=np.float32)[:, None].repeat(3, axis=1)
    ours, bias = vocabulary.embeddings(matrix), vocabulary.biases(matrix[:, 0])
    assert ours[BOS].tolist() == [0.0] * 3
    assert vocabulary.embeddings(matrix, start=7)[BOS].tolist() == [7.0] * 3
    assert ours[PAD, 0] == bias[PAD] == theirs.index("<pad>")  # it is never written, but has its probability
    assert bias[BOS] == NEVER
    assert (ours[EOS, 0], ours[UNK, 0]) == (0.0, 1.0)
    assert sum(vocabulary.is_outside) == 5
    for number, piece in enumerate(vocabulary.pieces[4:], start=4):
        expected = theirs.index(piece) if piece in theirs else 1
        assert ours[number, 0] == expected
        assert bias[number] == expected - 30 * (piece not in theirs)


def test_words_are_found_by_their_characters(models: list[Path]) -> None:
    subwords = Subwords(joined(models, left_out=0)[1].models[0], "en")
    shared = 0
    for text in sentences("en", 60, seed=3):
        encoding = subwords.encode(text)
        assert encoding.text == text
        assert list(encoding.word_of_piece) == sorted(encoding.word_of_piece)
        for number, word in enumerate(encoding.words):
            written = "".join(encoding.pieces[piece] for piece in encoding.pieces_of_word(number)).replace("▁", "")
            assert word.text in written or written in word.text
            shared += len(written) > len(word.text)
        assert subwords.decode(encoding.ids) == encoding
    assert shared > 0, "no piece held a word and its mark"


def test_tokenised_words_stay_apart(models: list[Path]) -> None:
    subwords = Subwords(joined(models)[1].models[0], "en")
    encoding = encode_tokenised(["the", "man", ",", "sees", "it", "'s", "door", "."], subwords)
    assert encoding.ids == subwords.encode("the man, sees it's door.").ids
    assert [word.text for word in encoding.words] == ["the", "man", ",", "sees", "it", "'s", "door", "."]
    assert encoding.text[encoding.words[3].start : encoding.words[3].end] == "sees"


def test_a_phrase_in_the_middle_has_no_space(models: list[Path]) -> None:
    subwords = Subwords(joined(models)[1].models[0], "en")
    assert subwords.encode("man").pieces[0].startswith("▁")
    assert not subwords.encode("man", after_space=False).pieces[0].startswith("▁")
    assert subwords.decode(subwords.encode("man", after_space=False).ids).text == "man"


def test_the_other_sides_pieces_can_be_read(models: list[Path]) -> None:
    """Source and target share a vocabulary, and a model may write any of it."""
    _, vocabulary = joined(models)
    english, german = (Subwords(model, "de") for model in vocabulary.models)
    ids = german.encode("Kind, öffnet Fenster.").ids
    assert UNK not in ids
    assert english.decode(ids) == german.decode(ids)
    assert pickle.loads(pickle.dumps(english)).is_raw


def test_what_does_not_fit(models: list[Path], tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"nothing\.spm: is missing"):
        join_vocabulary(["</s>", "<unk>"], [tmp_path / "nothing.spm"])
    with pytest.raises(AlidadeError, match="has no </s>"):
        join_vocabulary(["<unk>", "a"], models)
    with pytest.raises(AlidadeError, match="the same piece twice"):
        join_vocabulary(["</s>", "<unk>", "a", "a"], models)
    (tmp_path / "text.spm").write_text("This is no model.")
    with pytest.raises(AlidadeError, match=r"text\.spm: not a sentencepiece model"):
        join_vocabulary(["</s>", "<unk>"], [tmp_path / "text.spm"])
    unspaced = learn_pieces(tmp_path / "unspaced.spm", "en", add_dummy_prefix=False)
    with pytest.raises(AlidadeError, match="add_dummy_prefix"):
        join_vocabulary(["</s>", "<unk>"], [unspaced])
