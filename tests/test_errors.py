"""What is said when an optional part of the installation is missing."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from alidade.errors import MissingPackageError, require_package
from alidade.evaluation.plots import Panel, plot_attention
from alidade.text.words import split_words


def test_a_package_that_is_there_is_imported() -> None:
    assert require_package("math", "plot", "counting") is math


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = r"^drawing needs the package matplotlib: install it with `pip install 'alidade-mt\[plot\]'`$"
    with pytest.raises(MissingPackageError, match=message):
        require_package("matplotlib", "plot", "drawing")


def test_pictures_need_an_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"alidade-mt\[plot\]"):
        plot_attention([Panel([], [], [], "")], tmp_path / "picture.png")  # type: ignore[arg-type]  # nothing is drawn


@pytest.mark.parametrize(
    ("package", "program", "extra"),
    [
        ("jieba", "from alidade.text.words import split_words; split_words('我们也喜欢', 'zh')", "zh"),
        ("torch", "import alidade.models.layers", "train"),
        ("lightning_fabric", "import alidade.training.loop", "train"),
        ("tensorboard", "import alidade.training.loop", "train"),
    ],
)
def test_other_extras(package: str, program: str, extra: str) -> None:
    without = f"import sys; sys.modules[{package!r}] = None; {program}"
    run = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
    assert "MissingPackageError: " in run.stderr
    assert f"needs the package {package}: install it with `pip install 'alidade-mt[{extra}]'`" in run.stderr


def test_other_languages_need_no_jieba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    assert [word.text for word in split_words("Ein Satz, ganz kurz.", "de")] == [
        "Ein",
        "Satz",
        ",",
        "ganz",
        "kurz",
        ".",
    ]
