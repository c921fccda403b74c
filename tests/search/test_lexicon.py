"""The lexicon: what is counted, and what is read back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from alidade.errors import AlidadeError
from alidade.search import lexicon as lexicon_module
from alidade.search.lexicon import LEXICON_FILE, Lexicon, count_lexicon
from alidade.text.corpus import PreparedCorpus
from alidade.text.vocabulary import UNK
from small_runs import small_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    return small_corpus(tmp_path_factory.mktemp("corpus"))


def links_of(corpus: PreparedCorpus) -> dict[int, Counter[int]]:
    """Counted one by one."""
    counts: dict[int, Counter[int]] = {}
    for i in range(len(corpus.train)):
        source = corpus.train.source(i)
        for piece, position in zip(corpus.train.target(i).tolist(), corpus.train.positions(i).tolist(), strict=True):
            counts.setdefault(int(source[position - 1]), Counter())[piece] += 1
    return counts


@pytest.mark.parametrize("at_once", [100, 1 << 22])
def test_lists_are_the_counted_links(corpus: PreparedCorpus, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon_module, "TOKENS_AT_ONCE", at_once)
    lexicon = count_lexicon(corpus, num_listed=1000, num_frequent=5)
    counts = links_of(corpus)
    assert len(counts) > 10
    for piece in range(UNK + 1, len(corpus.source_subwords)):
        assert set(lexicon.of_piece(piece).tolist()) == {piece, *counts.get(piece, ())}  # a joint vocabulary
    totals = Counter(piece for i in range(len(corpus.train)) for piece in corpus.train.target(i).tolist())
    assert sorted(totals[piece] for piece in lexicon.frequent.tolist()) == sorted(totals.values())[-5:]


def test_the_most_frequent_come_first_after_the_piece_itself(corpus: PreparedCorpus) -> None:
    whole = count_lexicon(corpus, num_listed=1000, num_frequent=5)
    short = count_lexicon(corpus, num_listed=2, num_frequent=5)
    for piece, counts in links_of(corpus).items():
        listed = whole.of_piece(piece).tolist()
        assert listed[0] == piece
        others = [counts[other] for other in listed[1:]]
        assert others == sorted(others, reverse=True)
        assert short.of_piece(piece).tolist() == listed[:2]


def test_a_lexicon_is_read_back(corpus: PreparedCorpus, tmp_path: Path) -> None:
    lexicon = count_lexicon(corpus, num_listed=20, num_frequent=10)
    lexicon.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [LEXICON_FILE]
    again = Lexicon.load(tmp_path)
    assert again.fingerprints == lexicon.fingerprints
    for name in ("starts", "listed", "frequent"):
        np.testing.assert_array_equal(getattr(again, name), getattr(lexicon, name))


def test_what_is_missing_or_damaged_is_told(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match="has no shortlist; make one with `alidade shortlist"):
        Lexicon.load(tmp_path)
    (tmp_path / LEXICON_FILE).write_bytes(b"nothing of the kind")
    with pytest.raises(AlidadeError, match="damaged"):
        Lexicon.load(tmp_path)


def test_a_corpus_without_positions_cannot_be_counted(tmp_path: Path) -> None:
    corpus = small_corpus(tmp_path, num_train=20, num_dev=5, has_positions=False)
    with pytest.raises(AlidadeError, match="prepared without alignments"):
        count_lexicon(corpus, num_listed=20, num_frequent=10)
