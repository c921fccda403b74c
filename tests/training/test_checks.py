"""What is refused before any work is done, and what is said."""

from pathlib import Path
from typing import Any

import pytest

from alidade.config import SubwordSettings
from alidade.corpus.encode import count_units, train_subwords
from alidade.corpus.store import write_corpus
from alidade.errors import AlidadeError
from alidade.text.subwords import Subwords
from alidade.training.loop import train
from small_runs import ALIGNED, JUMPS, RNN_JUMPS, TRANSFORMER, run_config, small_corpus


@pytest.fixture(scope="module")
def baseline(lexicon_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(run_config(tmp_path_factory.mktemp("baseline"), lexicon_corpus, steps=1))


def assert_refused(message: str, folder: Path, corpus: Path, **settings: Any) -> None:
    with pytest.raises(AlidadeError, match=message):
        train(run_config(folder, corpus, **settings))
    assert not (folder / "checkpoints").exists()


@pytest.mark.parametrize(
    ("kind", "roles"),
    [
        ("transformer-aligned", {"lexical": ALIGNED}),
        ("transformer-jumps", {"alignment": JUMPS}),
        ("rnn-jumps", {"lexical": TRANSFORMER, "alignment": RNN_JUMPS}),
    ],
)
def test_a_corpus_without_positions(tmp_path: Path, kind: str, roles: dict[str, Any]) -> None:
    corpus = small_corpus(tmp_path / "corpus", num_train=20, num_dev=5, has_positions=False)
    assert_refused(f"{kind} needs a position for each target piece", tmp_path / "run", corpus.folder, **roles)


def test_the_baseline_needs_no_positions(tmp_path: Path) -> None:
    corpus = small_corpus(tmp_path / "corpus", num_train=20, num_dev=5, has_positions=False)
    assert train(run_config(tmp_path / "run", corpus.folder, steps=1)).exists()


def test_a_corpus_without_dev_pairs(tmp_path: Path) -> None:
    corpus = small_corpus(tmp_path / "corpus", num_train=20, num_dev=0)
    assert_refused("no dev pairs", tmp_path / "run", corpus.folder)


def test_no_corpus(tmp_path: Path) -> None:
    assert_refused("not a prepared corpus", tmp_path / "run", tmp_path / "nothing")


def test_a_start_of_another_vocabulary(tmp_path: Path, baseline: Path) -> None:
    units = count_units(["other words than those"], "en")
    other = Subwords(train_subwords(units, SubwordSettings(vocabulary_size=300)), "en")
    corpus = write_corpus(tmp_path / "corpus", other, other, [([5], [6], [1])], [([5], [6], [1])])
    assert_refused("vocabulary .* is not that of", tmp_path / "run", corpus.folder, init_from=baseline)


def test_a_start_of_another_shape(lexicon_corpus: Path, tmp_path: Path, baseline: Path) -> None:
    wider = ALIGNED | {"width": 32}
    assert_refused("has the shape", tmp_path / "run", lexicon_corpus, lexical=wider, init_from=baseline)


def test_a_start_with_nothing_of_what_is_trained(lexicon_corpus: Path, tmp_path: Path, baseline: Path) -> None:
    other = {"lexical": None, "alignment": JUMPS}
    assert_refused("only: lexical", tmp_path / "run", lexicon_corpus, **other, init_from=baseline)


def test_a_start_of_other_conventions(lexicon_corpus: Path, tmp_path: Path, baseline: Path) -> None:
    """The weights would fit, and a model that has learnt much would be one that knows nothing."""
    other = ALIGNED | {"activation": "swish"}
    assert_refused('write `activation = "relu"`', tmp_path / "run", lexicon_corpus, lexical=other, init_from=baseline)


def test_a_start_that_is_no_model(lexicon_corpus: Path, tmp_path: Path) -> None:
    assert_refused("not a model folder", tmp_path / "run", lexicon_corpus, init_from=tmp_path / "nothing")


def test_freezing_what_is_not_there(lexicon_corpus: Path, tmp_path: Path, baseline: Path) -> None:
    refused = {"folder": tmp_path / "run", "corpus": lexicon_corpus}
    assert_refused(r"there is no \[alignment\] section", **refused, freeze=["alignment"], init_from=baseline)
    assert_refused("every model is frozen", **refused, freeze=["lexical"], init_from=baseline)
    both: dict[str, Any] = {"lexical": TRANSFORMER, "alignment": JUMPS}
    assert_refused("would stay at random weights", **refused, **both, freeze=["lexical"])
    assert_refused("has no alignment model", **refused, **both, freeze=["alignment"], init_from=baseline)


def test_a_corpus_that_changed_during_the_run(tmp_path: Path) -> None:
    small_corpus(tmp_path / "corpus", num_train=30, num_dev=5)
    train(run_config(tmp_path / "run", tmp_path / "corpus", steps=1))
    small_corpus(tmp_path / "corpus", "reverse", num_train=30, num_dev=5)
    with pytest.raises(AlidadeError, match="the corpus has changed"):
        train(run_config(tmp_path / "run", tmp_path / "corpus", steps=2))


def test_a_loss_that_is_no_number_names_the_last_good_checkpoint(lexicon_corpus: Path, tmp_path: Path) -> None:
    wild = {"learning_rate": 1e30, "warmup": 1, "clip_norm": 0.0, "save_every": 1, "steps": 50}
    with pytest.raises(AlidadeError, match=r"the last good checkpoint is .*checkpoints/0000000\d"):
        train(run_config(tmp_path / "run", lexicon_corpus, **wild))


def test_bleu_of_what_cannot_translate(lexicon_corpus: Path, tmp_path: Path) -> None:
    refused = {"folder": tmp_path / "run", "corpus": lexicon_corpus}
    assert_refused("must be a multiple of training.validate_every", **refused, bleu_every=5)
    assert_refused("alignment model alone cannot translate", **refused, alignment=JUMPS, bleu_every=4)
    assert_refused(r"without an \[alignment\] model", **refused, lexical=ALIGNED, bleu_every=4)
