"""A corpus for all tests of training."""

from pathlib import Path

import pytest

from small_runs import small_corpus


@pytest.fixture(scope="session")
def lexicon_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_corpus(tmp_path_factory.mktemp("corpus")).folder
