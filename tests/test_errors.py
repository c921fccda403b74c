"""What is said when an optional part of the installation is missing."""

import math
import sys

import pytest

from alidade.errors import AlidadeError, require_extra


def test_an_extra_that_is_there_is_imported() -> None:
    assert require_extra("plot", "math") is math


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(AlidadeError, match=r"^matplotlib is not installed: run `pip install 'alidade-mt\[plot\]'`$"):
        require_extra("plot", "matplotlib.pyplot")
    with pytest.raises(AlidadeError, match=r"'`, or draw by hand$"):
        require_extra("plot", "matplotlib", "draw by hand")
