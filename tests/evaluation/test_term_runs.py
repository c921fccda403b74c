from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app
from alidade.dictionary.files import load_dictionary
from alidade.evaluation.terms import evaluate_terms
from alidade.translator import Translator
from small_folders import make_folder

SOURCES = ["ba be bi", "bo bu", ""]
REFERENCES = ["na ga ge", "gi go", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("models") / "assisted")


def test_each_way_is_judged_by_the_same_matches(folder: Path) -> None:
    dictionary = load_dictionary(terms=["be=na", "bu=ga", "da=ge"])
    without, suggest, require = evaluate_terms(Translator(folder), SOURCES, REFERENCES, dictionary, repeats=2)
    assert [run.mode for run in (without, suggest, require)] == [None, "suggest", "require"]
    assert [run.terms.wanted for run in (without, suggest, require)] == [2, 2, 2]
    assert (require.terms.used, require.terms.placed) == (2, 2)
    assert [score.name for score in require.scores] == ["BLEU", "TER", "chrF2"]
    assert require.sentences_per_second > 0
    assert without.translations[0].text == Translator(folder).translate(SOURCES[0]).text


def test_the_command_prints_a_table_and_writes_the_translations(folder: Path, tmp_path: Path) -> None:
    files = {"source": SOURCES, "reference": REFERENCES, "terms.tsv": ["be\tna", "bu\tga"]}
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    options = ["-s", "source", "-r", "reference", "-d", "terms.tsv", "-o", "out"]
    arguments = [option if option.startswith("-") else str(tmp_path / option) for option in options]
    result = CliRunner().invoke(app, ["evaluate", "terms", "--model", str(folder), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "2 matches of 2 entries in 3 sentences" in result.output
    assert "require" in result.output
    for name in ("plain", "suggest", "require"):
        assert len((tmp_path / "out" / f"{name}.txt").read_text(encoding="utf-8").splitlines()) == 3
