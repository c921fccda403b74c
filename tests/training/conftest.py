"""A corpus for all tests of training."""

from pathlib import Path

import pytest

from synthetic import make_corpus


@pytest.fixture(scope="session")
def lexicon_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_corpus(tmp_path_factory.mktemp("corpus"), "lexicon", num_train=300, num_dev=40).folder
