"""The model in the box: every command that translates takes it when no other is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alidade import AlidadeError, Translator
from alidade import model_folder as shipped
from alidade.cli import app
from small_folders import make_folder


@pytest.fixture(autouse=True)
def no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(shipped.VARIABLE, raising=False)


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("box")
    make_folder(folder / shipped.SHIPPED_MODEL)
    return folder


@pytest.fixture
def in_the_box(box: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shipped, "SHIPPED_FOLDER", box)
    return box / shipped.SHIPPED_MODEL


@pytest.fixture
def bitext(tmp_path: Path) -> list[str]:
    (tmp_path / "source").write_text("ba be\nbi bo bu\n")
    (tmp_path / "target").write_text("be ba\nbu bo\n")
    return ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]


def run(*arguments: str, text: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=text, catch_exceptions=False)


def test_translate_takes_it(in_the_box: Path) -> None:
    shipped_one = run("translate", "--workers", "1", text="ba be bi\n")
    named_one = run("translate", "--workers", "1", "--model", str(in_the_box), text="ba be bi\n")
    assert shipped_one.stdout == named_one.stdout != ""


@pytest.mark.parametrize("command", ["align", "score"])
def test_align_and_score_take_it(in_the_box: Path, bitext: list[str], command: str) -> None:
    assert run(command, *bitext).stdout == run(command, *bitext, "--model", str(in_the_box)).stdout != ""


def test_evaluate_terms_takes_it(in_the_box: Path, bitext: list[str], tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("ba\tga\n")
    options = ["--source", bitext[1], "--reference", bitext[3], "--dictionary", str(tmp_path / "terms.tsv")]
    assert "1 matches of 1 entries" in run("evaluate", "terms", *options).stdout


def test_plot_takes_it(in_the_box: Path, tmp_path: Path) -> None:
    assert run("plot", "ba be", "--output", str(tmp_path / "picture.svg")).exit_code == 0
    assert "en-ro" in (tmp_path / "picture.svg").read_text()


def test_python_takes_it(in_the_box: Path) -> None:
    assert Translator().model.path == in_the_box
    assert Translator(beam_size=2).settings.beam_size == 2


def test_another_one_can_be_chosen_for_good(in_the_box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(shipped.VARIABLE, str(make_folder(tmp_path / "mine", is_assisted=False)))
    assert Translator().model.path == tmp_path / "mine"


def test_an_empty_box_is_told_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "SHIPPED_FOLDER", tmp_path)
    for call in (Translator, lambda: run("translate", text="ba\n"), lambda: run("plot", "ba", "--output", "a.png")):
        with pytest.raises(AlidadeError, match="none is shipped with this installation: name a model folder"):
            call()


def test_the_demo_translates_with_it(in_the_box: Path, tmp_path: Path) -> None:
    done = run("demo", "--folder", str(tmp_path))
    assert done.exit_code == 0
    assert done.stdout.count("source ") >= 6, "three sentences, without and with the dictionary"
    assert "*" in done.stdout, "words from the dictionary are starred"
    assert (tmp_path / "alidade-demo.png").stat().st_size > 1000
