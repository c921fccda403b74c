"""What holds for all commands: help that teaches, completion, --debug anywhere, and those without a test file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app, main
from alidade.errors import AlidadeError
from alidade.model_folder import load_model_folder
from alidade.translator import Translator
from small_folders import make_folder

COMMANDS = [
    [],
    ["demo"],
    ["prepare"],
    ["train"],
    ["assemble"],
    ["tune"],
    ["translate"],
    ["align"],
    ["score"],
    ["plot"],
    ["export"],
    ["dictionary"],
    ["dictionary", "check"],
    ["dictionary", "convert"],
    ["dictionary", "simulate"],
    ["evaluate"],
    ["evaluate", "alignments"],
    ["evaluate", "translations"],
    ["evaluate", "terms"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_teaches(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    done = CliRunner().invoke(app, [*command, "--help"])
    assert done.exit_code == 0
    assert "bool" not in done.output, "a flag takes no value"
    if command and command not in (["dictionary"], ["evaluate"], ["demo"]):
        assert f"alidade {' '.join(command)} " in done.output, "an example"


def test_shells_can_complete() -> None:
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).output


@pytest.mark.parametrize("place", [0, 1, 2, 4])
def test_debug_may_stand_anywhere(place: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arguments = ["translate", "--model", str(tmp_path), "--nbest", "1"]
    monkeypatch.setattr(sys, "argv", ["alidade", *arguments[:place], "--debug", *arguments[place:]])
    with pytest.raises(AlidadeError, match="not a model folder"):
        main()


def test_after_two_hyphens_it_is_text(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["plot", "--model", str(tmp_path), "--output", str(tmp_path / "x.png"), "--", "--debug"]
    monkeypatch.setattr(sys, "argv", ["alidade", *command])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "not a model folder" in capsys.readouterr().err


def test_assemble_joins_two_folders(tmp_path: Path) -> None:
    whole = make_folder(tmp_path / "whole")
    arguments = ["assemble", "--lexical", whole, "--alignment", whole, "--output", tmp_path / "system"]
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert "transformer-aligned and transformer-jumps" in done.stderr
    assert Translator(tmp_path / "system").translate("ba be").text == Translator(whole).translate("ba be").text
    baseline = make_folder(tmp_path / "baseline", is_assisted=False)
    arguments = ["assemble", "--lexical", whole, "--alignment", baseline, "--output", tmp_path / "no"]
    with pytest.raises(AlidadeError, match="this folder has no alignment model"):
        CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("form", ["int8", "float16"])
def test_export_writes_a_smaller_folder(tmp_path: Path, form: str) -> None:
    folder = make_folder(tmp_path / "model")
    arguments = ["export", "--model", str(folder), "--format", form, "--output", str(tmp_path / "small")]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert "instead of" in done.stdout
    assert load_model_folder(tmp_path / "small").description == load_model_folder(folder).description


def test_long_sentences_are_not_drawn(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "model")
    arguments = ["plot", "ba " * 160, "--target", "ga " * 160, "--model", str(folder)]
    with pytest.raises(AlidadeError, match="too long for a picture"):
        CliRunner().invoke(app, [*arguments, "--output", str(tmp_path / "x.png")], catch_exceptions=False)
