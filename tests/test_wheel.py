"""The package as people get it: built, installed with its base dependencies alone, used outside of the checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import alidade

CHECKOUT = Path(__file__).parent.parent
BUILD = ("pyproject.toml", "README.md", "LICENSE")


def run(*command: str | Path, folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        list(map(str, command)), cwd=folder, env=environment, input=text, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, since building leaves files behind."""
    folder = tmp_path_factory.mktemp("build")
    for name in BUILD:
        shutil.copy(CHECKOUT / name, folder)
    shutil.copytree(CHECKOUT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    built = run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "dist", ".", folder=folder)
    assert built.returncode == 0, built.stderr
    (path,) = (folder / "dist").iterdir()
    return path


def test_the_wheel_holds_the_package_and_its_model(wheel: Path) -> None:
    assert wheel.name == f"alidade_mt-{alidade.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"alidade", f"alidade_mt-{alidade.__version__}.dist-info"}
    assert {"alidade/py.typed", "alidade/models_shipped/en-ro/weights.safetensors"} <= set(names)
    assert {"alidade/server/page/index.html", "alidade/server/page/vendor/preact-htm.js"} <= set(names)
    assert wheel.stat().st_size < 30e6


@pytest.mark.timeout(1200)  # it downloads what translating needs
def test_it_translates_outside_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    assert run(sys.executable, "-m", "venv", environment, folder=tmp_path).returncode == 0
    python, command = environment / "bin" / "python", environment / "bin" / "alidade"
    installed = run(python, "-m", "pip", "install", "--quiet", wheel, folder=tmp_path)
    assert installed.returncode == 0, installed.stderr

    where = run(python, "-I", "-c", "import alidade; print(alidade.__file__)", folder=tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(environment)
    assert run(python, "-I", "-c", "import torch", folder=tmp_path).returncode == 1
    assert run(command, "--version", folder=tmp_path).stdout == f"alidade {alidade.__version__}\n"

    translated = run(command, "translate", folder=tmp_path, text="The disk is full.\nPlease restart the computer.\n")
    assert translated.returncode == 0, translated.stderr
    assert len(translated.stdout.splitlines()) == 2
    assert all(line.endswith(".") for line in translated.stdout.splitlines())

    (tmp_path / "train.toml").write_text('[lexical]\n[training]\ncorpus = "corpus"\nfolder = "run"\n')
    refused = run(command, "train", "train.toml", folder=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == (
        "alidade: training needs the package torch: install it with `pip install 'alidade-mt[train]'`\n"
    )
