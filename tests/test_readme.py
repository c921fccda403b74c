"""Every command of README.md is run, with small data and small models: what it says is what works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from alidade.cli import app
from alidade.corpus.synthetic import make_pairs
from alidade.model_folder import VARIABLE
from small_runs import ALIGNED, JUMPS, run_config, small_corpus

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

# The commands stay as they are; the models that they train become small.
SMALLER = {
    "width": 16,
    "feed_forward": 32,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "vocabulary_size": 400,
    "steps": 60,
}


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """The lines of all shell blocks, without their comments."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [re.sub(r"\s+#.*", "", line) for line in lines if line.strip()]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the README speaks of, and a trained system in the place of the shipped one."""
    from alidade.training.loop import train

    folder = tmp_path_factory.mktemp("desk")
    pairs = make_pairs("lexicon", 516)
    for name, part in {"train": pairs[:500], "dev": pairs[500:506], "text": pairs[506:510]}.items():
        for side, language in enumerate(("en", "de")):
            (folder / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in part))
    (folder / "terms.tsv").write_text("house\tbako\n")
    (folder / "page.html").write_text("<p>house</p>\n")
    for block in blocks("toml"):
        title = re.match(r"# ([\w.]+)", block)
        assert title is not None, "a settings block begins with its file's name"
        (folder / title[1]).write_text(_make_smaller(block))
    corpus = small_corpus(folder / "box" / "corpus", num_train=500)
    training = {"steps": 100, "batch_tokens": 500, "learning_rate": 0.02, "validate_every": 100, "save_every": 100}
    train(run_config(folder / "box" / "run", corpus.folder, lexical=ALIGNED, alignment=JUMPS, **training))
    return folder


def _make_smaller(settings: str) -> str:
    for key, value in SMALLER.items():
        settings = re.sub(rf"^{key} = \d+", f"{key} = {value}", settings, flags=re.MULTILINE)
    return settings


@pytest.fixture
def at_desk(desk: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(desk)
    monkeypatch.setenv(VARIABLE, str(desk / "box" / "run" / "model"))
    return desk


def run(command: str) -> Result:
    """Run a line as a shell would, but without a process of its own, which would import torch again."""
    words = shlex.split(command)
    given = Path(words[words.index("<") + 1]).read_text() if "<" in words else ""
    end = min([words.index(sign) for sign in "<>" if sign in words], default=len(words))
    done = CliRunner().invoke(app, words[1:end], input=given, catch_exceptions=False)
    if ">" in words:
        Path(words[words.index(">") + 1]).write_text(done.stdout)
    return done


def test_the_alidade_commands_work_one_after_the_other(at_desk: Path) -> None:
    chosen = [command for command in commands() if command.startswith("alidade ")]
    assert len(chosen) >= 15
    for command in chosen:
        done = run(command)
        assert done.exit_code == 0, f"{command}\n{done.stderr}"
    for made in ("translated.txt", "figure.png", "assisted/model/search.json", "small/model.json"):
        assert (at_desk / made).is_file()
    assert len((at_desk / "translated.txt").read_text().splitlines()) == 4


def test_the_examples_print_what_they_show(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the shipped model; another processor may round what it is sure of in another way."""
    examples = re.findall(
        r'^    \$ echo "(.+)" \|\n +(alidade .+)\n((?:    .+\n|\n(?=    [^$]))+)', README, flags=re.MULTILINE
    )
    assert len(examples) == README.count("$ echo ")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    for text, command, shown in examples:
        (tmp_path / "echoed").write_text(f"{text}\n")
        done = run(f"{command} < {tmp_path / 'echoed'}")
        assert done.exit_code == 0, done.stderr
        printed, expected = (
            [line.split() for line in lines.splitlines() if line.split() and line.split()[0] != "sure"]
            for lines in (done.stdout, shown)
        )
        assert printed == expected


def test_the_python_lines_work(at_desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentence, file = blocks("python")
    for block in (sentence, file):
        assert len([line for line in block.splitlines() if line.strip()]) <= 6
    exec(compile(file, "README.md", "exec"), {})
    assert "page.html: 1 units, 1 by machine" in capsys.readouterr().out
    exec(compile(sentence, "README.md", "exec"), {})
    translation, *links = capsys.readouterr().out.splitlines()
    assert translation
    assert len(links) >= len(translation.split())
    assert all(" – " in link for link in links)


def test_make_runs_what_the_readme_says() -> None:
    """The targets' own commands; the demonstration and the tests are run elsewhere."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed")
    for target, expected in {"demo": "alidade demo", "serve": "alidade serve --open", "test": "pytest"}.items():
        assert f"make {target}" in commands()
        dry = [make, "--dry-run", "--assume-old=.venv/.installed", "--old-file=pyproject.toml", target]
        done = subprocess.run(dry, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout


def test_every_command_is_of_a_known_kind() -> None:
    assert {command.split()[0] for command in commands()} == {"alidade", "make"}


@pytest.mark.parametrize("script", sorted(set(re.findall(r"`python ([\w/]+\.py)", README))))
def test_the_programs_behind_the_figures_start(script: str) -> None:
    """They take minutes to hours, so only their options are looked at here; `tests/experiments` runs the runner."""
    done = subprocess.run([sys.executable, script, "--help"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout.lower()


def test_the_runners_rows_exist() -> None:
    rows = re.findall(r"`python experiments/run\.py ([\w/-]+)`", README)
    assert rows
    assert all((ROOT / "experiments" / "rows" / f"{row}.toml").is_file() for row in rows)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(((?!https?:)[^)]+)\)", README))))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_the_walk_through_the_code_names_what_is_there() -> None:
    """Each room and no file that has moved away."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    package, runner = ROOT / "src" / "alidade", ROOT / "experiments"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")}
    assert {room for room in rooms if f"`{room}/`" not in page} == set()
    files = {path.name for folder in (package, runner) for path in folder.rglob("*.py")}
    assert {name for name in re.findall(r"`(?:\w+/)*(\w+\.py)`", page) if name not in files} == set()
    assert len(page.splitlines()) <= 100


def test_every_extra_is_named() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    installing = README.split("## Translate", maxsplit=1)[0]
    assert [extra for extra in extras if extra != "dev" and not re.search(rf"`{extra}`|\[{extra}\]", installing)] == []
