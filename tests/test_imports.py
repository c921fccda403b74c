"""Which way imports go between the rooms: text <- alignment <- corpus, and no torch below the models."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import alidade

PACKAGE = Path(alidade.__file__).parent


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
