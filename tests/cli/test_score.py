"""`alidade score`: the search's score is the scorer's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app
from alidade.errors import AlidadeError
from alidade.translator import Translator
from small_folders import make_folder

TEXTS = ["ba be bi bo bu", "bo bo ba", "bu"]


@pytest.fixture(scope="module", params=["assisted", "baseline"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("score") / "model", is_assisted=request.param == "assisted")


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def test_translations_get_the_searchs_own_scores(folder: Path, tmp_path: Path) -> None:
    translations = Translator(folder).translate_all(TEXTS)
    arguments = ["score", "--model", str(folder), "--json", "--source", write(tmp_path / "source", TEXTS)]
    arguments += ["--target", write(tmp_path / "target", [translation.text for translation in translations])]
    paths = [" ".join(map(str, translation.positions)) for translation in translations]
    if translations[0].positions:
        arguments += ["--positions", write(tmp_path / "positions", paths)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    for line, translation in zip(result.stdout.splitlines(), translations, strict=True):
        # A translation that was cut off at the length limit has no `</s>`.
        length = len(translation.target) + translation.is_complete
        pair = json.loads(line)
        assert sum(pair["lexical_logp"][:length]) == pytest.approx(translation.lexical_score, abs=1e-3)
        assert sum(pair["alignment_logp"][:length]) == pytest.approx(translation.alignment_score, abs=1e-3)


def test_wrong_positions_are_refused(folder: Path, tmp_path: Path) -> None:
    arguments = ["score", "--model", str(folder), "--source", write(tmp_path / "source", ["ba be"])]
    arguments += ["--target", write(tmp_path / "target", ["be"]), "--positions", write(tmp_path / "positions", ["7"])]
    with pytest.raises(AlidadeError, match=r"positions, line 1: 1 numbers from 1 to 2 are needed"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


def test_blank_pairs_are_json_too(folder: Path, tmp_path: Path) -> None:
    arguments = ["score", "--model", str(folder), "--json", "--source", write(tmp_path / "source", ["", "ba", ""])]
    arguments += ["--target", write(tmp_path / "target", ["ga", "", ""])]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    for line in result.stdout.splitlines():
        assert "Infinity" not in line
        assert "NaN" not in line
        assert "score" in json.loads(line)
    assert len(result.stdout.splitlines()) == 3
