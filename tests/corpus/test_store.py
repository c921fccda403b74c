"""A prepared corpus comes back as it was written, without being read."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from alidade.config import SubwordSettings
from alidade.corpus.arrays import Layout, write_side
from alidade.corpus.encode import count_units, train_subwords
from alidade.corpus.store import PreparedCorpus, write_corpus, write_manifest
from alidade.errors import AlidadeError
from alidade.text.subwords import Subwords


@pytest.fixture(scope="module")
def subwords() -> tuple[Subwords, Subwords]:
    model = train_subwords(
        count_units(["one two three", "eins zwei drei"] * 9, "en"), SubwordSettings(vocabulary_size=300)
    )
    return Subwords(model, "en"), Subwords(model, "de")


def examples(subwords: tuple[Subwords, Subwords]) -> list[tuple[tuple[int, ...], tuple[int, ...], list[int]]]:
    pairs = [("one two three", "drei zwei"), ("two", "zwei zwei"), ("three one", "drei, eins")]
    encoded = [(subwords[0].encode(source).ids, subwords[1].encode(target).ids) for source, target in pairs]
    return [(source, target, [i % len(source) + 1 for i in range(len(target))]) for source, target in encoded]


def test_what_is_written_comes_back(subwords: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    given = examples(subwords)
    write_corpus(tmp_path, *subwords, given, given[:1])
    corpus = PreparedCorpus.open(tmp_path)
    assert len(corpus.train) == 3
    assert corpus.train.has_positions
    for i, (source, target, positions) in enumerate(given):
        assert corpus.train.source(i).tolist() == list(source)
        assert corpus.train.target(i).tolist() == list(target)
        assert corpus.train.positions(i).tolist() == positions
        assert corpus.train.source_words(i).tolist() == list(subwords[0].decode(source).word_of_piece)
        assert corpus.train.target_words(i).tolist() == list(subwords[1].decode(target).word_of_piece)
    assert corpus.train.source_lengths.tolist() == [len(source) for source, _, _ in given]
    assert corpus.train.target_lengths.tolist() == [len(target) for _, target, _ in given]
    assert corpus.dev is not None
    assert len(corpus.dev) == 1
    assert list(corpus.dev.source_texts()) == ["one two three"]
    assert list(corpus.train.target_texts()) == ["drei zwei", "zwei zwei", "drei, eins"]
    assert corpus.target_encoding(corpus.train, 2).text == "drei, eins"
    assert corpus.source_encoding(corpus.train, 1).text == "two"
    assert (corpus.source_subwords.language, corpus.target_subwords.language) == ("en", "de")


def test_differences_of_positions_do_not_wrap(subwords: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, *subwords, [((5, 6, 7), (5, 6), [3, 1])])
    assert np.diff(corpus.train.positions(0)).tolist() == [-2]


def test_a_corpus_without_positions_is_for_baselines(subwords: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, *subwords, [(source, target, None) for source, target, _ in examples(subwords)])
    assert not corpus.train.has_positions
    assert corpus.dev is None
    with pytest.raises(AlidadeError, match="prepared without alignments"):
        corpus.train.positions(0)


def test_fingerprint_follows_the_content(subwords: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    given = examples(subwords)
    first = write_corpus(tmp_path, *subwords, given).fingerprint
    assert write_corpus(tmp_path, *subwords, given).fingerprint == first
    moved = [(source, target, [1] * len(target)) for source, target, _ in given]
    assert write_corpus(tmp_path, *subwords, moved).fingerprint != first
    assert write_corpus(tmp_path, subwords[1], subwords[0], given).fingerprint != first


def test_a_folder_that_is_no_corpus_is_named(subwords: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match="not a prepared corpus"):
        PreparedCorpus.open(tmp_path)
    corpus = write_corpus(tmp_path, *subwords, examples(subwords))
    Layout(tmp_path).ids("train", "source").unlink()
    with pytest.raises(AlidadeError, match=r"train\.source\.ids\.npy: missing"):
        corpus.train.source(0)
    Layout(tmp_path).ids("train", "target").write_bytes(b"\x93NUMPY")
    with pytest.raises(AlidadeError, match=r"train\.target\.ids\.npy: not a whole array"):
        corpus.train.target(0)
    Layout(tmp_path).manifest.write_text('{"format": 99}')
    with pytest.raises(AlidadeError, match="its format is 99"):
        PreparedCorpus.open(tmp_path)


def test_opening_is_quick_whatever_the_size(subwords: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    """A million pairs open, and the middle one is read, in a fraction of a second."""
    layout = Layout(tmp_path)
    subwords[0].save(layout.subwords("source"))
    subwords[1].save(layout.subwords("target"))
    for side in ("source", "target"):
        with write_side(layout, "train", side, 300) as writer:
            writer.append(np.full(1_000_000, 7), np.zeros(1_000_000), np.full(1_000_000, 1))
            writer.finish()
    write_manifest(layout, *subwords, {"train": {"size": 1_000_000, "has_positions": False, "content": []}})
    started = time.perf_counter()
    corpus = PreparedCorpus.open(tmp_path)
    assert len(corpus.train) == 1_000_000
    assert corpus.train.source(500_000).tolist() == [7]
    assert time.perf_counter() - started < 0.5


def test_an_id_that_does_not_fit_is_an_error(subwords: tuple[Subwords, Subwords], tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match="too long"):
        write_corpus(tmp_path, *subwords, [((5,), (5,), [70_000])])
    assert not Layout(tmp_path).manifest.exists()
    assert not list(tmp_path.glob("*.partial"))
