"""Which way imports go between the rooms: text <- alignment <- corpus, and no torch below the models."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import alidade

PACKAGE = Path(alidade.__file__).parent
TORCH_ROOMS = ("models", "training", "exchange", "hardware")
"""Whatever else there is can be imported where torch is not installed."""
EXTRA_ROOMS = ("server",)
"""Whose extra is all about them."""
EXTRAS = (
    *("torch", "lightning", "lightning_fabric", "tensorboard", "sacrebleu", "stopwordsiso", "matplotlib", "jieba"),
    *("eflomal", "simplemma", "markdown_it", "yaml", "ctranslate2", "pandas", "scipy"),
    *("ray", "pyarrow"),
    *("fastapi", "starlette", "uvicorn", "multipart", "prometheus_client", "httpx"),
)
"""What the base installation lacks, and what nobody should need."""


def imported(path: Path) -> Iterator[str]:
    """Every module that a file names in an import, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    ("room", "strangers"),
    [
        ("text", ["alidade.alignment", "alidade.corpus", "alidade.models", "alidade.training", "torch"]),
        ("alignment", ["alidade.corpus", "alidade.models", "alidade.training", "torch"]),
        ("corpus", ["alidade.models", "alidade.search", "alidade.training", "alidade.translator", "torch"]),
        ("dictionary", ["alidade.corpus", "alidade.engine", "alidade.models", "alidade.search", "torch"]),
        ("search", ["alidade.corpus", "alidade.engine", "alidade.models", "alidade.training", "torch"]),
        ("engine", ["alidade.models", "alidade.training", "torch"]),
        ("evaluation", ["alidade.models", "alidade.training", "torch"]),
        ("models", ["alidade.training", "alidade.translator"]),
    ],
)
def test_rooms_do_not_import_what_stands_above_them(room: str, strangers: list[str]) -> None:
    wrong = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in (PACKAGE / room).glob("*.py")
        for name in imported(path)
        if any(name == stranger or name.startswith(f"{stranger}.") for stranger in strangers)
    }
    assert not wrong


def imported_at_once(path: Path) -> Iterator[str]:
    """Every module that a file names in an import outside of functions."""
    pending: list[ast.AST] = [ast.parse(path.read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending += ast.iter_child_nodes(node)


def test_few_rooms_import_torch() -> None:
    rooms = {
        path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for path in PACKAGE.rglob("*.py")
        if any(name == "torch" or name.startswith("torch.") for name in imported_at_once(path))
    }
    assert rooms <= set(TORCH_ROOMS)


def test_all_other_rooms_can_be_imported_without_the_extras() -> None:
    names = [
        ".".join(["alidade", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") not in (*TORCH_ROOMS, *EXTRA_ROOMS, "__main__")
    ]
    assert {"alidade.translator", "alidade.aligner", "alidade.cli", "alidade.engine.system"} <= set(names)
    program = (
        f"import importlib, sys; [importlib.import_module(name) for name in {names}]; "
        f"print([name for name in {EXTRAS} if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_translating_does_not_import_torch() -> None:
    """Nor anything else that the base installation lacks."""
    program = (
        "import sys; from alidade import Translator; translation = Translator().translate('The disk is full.'); "
        "print([name for name in ('torch', 'lightning_fabric', 'matplotlib', 'sacrebleu') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "[]"


def test_private_operators_of_torch_are_named_in_one_place() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if "torch.ops.mkldnn" in path.read_text()]
    assert files == [PACKAGE / "hardware.py"]
