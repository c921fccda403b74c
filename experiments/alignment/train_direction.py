"""Trains one direction for a gold set: baseline, assisted model from it and alignment model, and assembles the system.

    python experiments/alignment/train_direction.py RUNS/alignment-corpora/deen RUNS/alignment-systems/deen

Leaves `transformer/model` and `system` in the second folder. Runs that are finished are skipped, those that were
killed go on. `--set training.steps=20` and the like go to all three models, `--set aligned.training.steps=1600` to one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MODELS = {"transformer": None, "aligned": "transformer", "jumps": None}
"""The models of a direction, and the one that each starts from."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, help="a prepared corpus")
    parser.add_argument("folder", type=Path, help="where the models go")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="override a setting")
    arguments = parser.parse_args()
    train_direction(arguments.corpus.resolve(), arguments.folder.resolve(), arguments.set)


def train_direction(corpus: Path, folder: Path, overrides: list[str]) -> None:
    """Train and assemble what is not there yet."""
    for name, init in MODELS.items():
        settings = [f"training.corpus={corpus}", f"training.folder={folder / name}", *overrides_of(name, overrides)]
        if init is not None:
            settings.append(f"training.init_from={folder / init / 'model'}")
        if not (folder / name / "model").exists():
            alidade("train", HERE / f"{name}.toml", *[part for setting in settings for part in ("--set", setting)])
    models: list[str | Path] = ["--lexical", folder / "aligned" / "model", "--alignment", folder / "jumps" / "model"]
    alidade("assemble", *models, "--output", folder / "system")


def overrides_of(name: str, overrides: list[str]) -> list[str]:
    """What goes to one model, without its name."""
    for_others = tuple([f"{other}." for other in MODELS if other != name])
    return [override.removeprefix(f"{name}.") for override in overrides if not override.startswith(for_others)]


def alidade(*arguments: str | Path) -> None:
    """Run a command of the package; stop if it fails."""
    result = subprocess.run([sys.executable, "-m", "alidade", *map(str, arguments)], check=False)
    if result.returncode:
        sys.exit(result.returncode)


if __name__ == "__main__":
    main()
