"""`alidade translate FILE…` with the model in the box."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app


def run(*arguments: object, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["translate", *map(str, arguments), "--threads", "1"], input=text)
    return result.exit_code, result.stdout, result.stderr


def test_files_go_into_a_folder_and_originals_stay(tmp_path: Path) -> None:
    catalogue, page = tmp_path / "ro.po", tmp_path / "page.html"
    catalogue.write_text('msgid "Open the file"\nmsgstr ""\n')
    page.write_text("<p>Click <b>here</b> to continue.</p>")
    code, _, messages = run(catalogue, page, "--output", tmp_path / "out")
    assert code == 0
    assert "1 by machine" in messages
    assert "Deschide fișierul" in (tmp_path / "out" / "ro.po").read_text()
    assert (tmp_path / "out" / "page.html").read_text() == "<p>Clic <b>aici</b> pentru a continua.</p>"
    assert catalogue.read_text() == 'msgid "Open the file"\nmsgstr ""\n'


def test_a_dictionary_and_a_memory_are_used(tmp_path: Path) -> None:
    memory, path = tmp_path / "m.tmx", tmp_path / "a.json"
    memory.write_text(
        '<tmx version="1.4"><body><tu><tuv xml:lang="en"><seg>Save</seg></tuv><tuv xml:lang="ro"><seg>Păstrează</seg>'
        "</tuv></tu></body></tmx>"
    )
    path.write_text('{"a": "Save", "b": "Open the file"}')
    code, _, _ = run(path, "--memory", memory, "--term", "file=dosarul", "--dictionary-mode", "require")
    assert code == 0
    text = (tmp_path / "a.ro.json").read_text()
    assert "Păstrează" in text
    assert "dosarul" in text


def test_lines_are_protected_unless_asked_not_to(tmp_path: Path) -> None:
    assert "user@example.com" in run(text="Write to user@example.com now.\n")[1]
    assert run("--no-protect", text="  Open the file.\n")[1] == "Deschide fișierul.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["a.xyz"], "known are"), (["a.po", "--json"], "--json: only for lines"), (["missing.po"], "no such file")],
)
def test_mistakes_are_told_in_a_sentence(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["translate", *arguments])
    assert result.exit_code != 0
    assert message in str(result.exception) + result.stderr
