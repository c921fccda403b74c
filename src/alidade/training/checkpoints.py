"""Checkpoints to resume from: weights, the optimiser's moments, and where the run stands.

    checkpoints/00000500/
      weights.safetensors       all weights, named as in a model folder
      moments.safetensors       Adam's two moments and its count, of each trained weight
      history.json              `History`

A checkpoint is written under another name, forced to the disk and then renamed: a run that is killed at any moment
leaves whole checkpoints only. Random numbers need no place here: each update draws its own from the run's seed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from alidade.config import parse_settings
from alidade.errors import AlidadeError
from alidade.files import read_json, write_json
from alidade.training.history import History

WEIGHTS_FILE = "weights.safetensors"
MOMENTS_FILE = "moments.safetensors"
HISTORY_FILE = "history.json"
NUM_KEPT = 2
"""The last one and, in case something happens to it, the one before."""
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What Adam remembers of a weight, by the names it uses."""


class Checkpoints:
    """The checkpoints of a run, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[Path]:
        """Whole checkpoints, oldest first."""
        return sorted(path for path in self.folder.glob("*") if path.name.isdigit())

    def last(self) -> Path | None:
        return self.all()[-1] if self.all() else None

    def save(self, module: nn.Module, optimizer: torch.optim.Optimizer, history: History) -> Path:
        """Write a checkpoint and remove those that are too old."""
        path = self.folder / f"{history.step:08d}"
        if path.exists():
            return path  # written by this run at the same step, so it holds the same
        aside = self.folder / f"{path.name}.partial"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        save_file(_weights(module), aside / WEIGHTS_FILE)
        save_file(_moments(module, optimizer), aside / MOMENTS_FILE)
        write_json(aside / HISTORY_FILE, history.model_dump(mode="json"))
        for file in [*aside.iterdir(), aside]:
            _force_to_disk(file)
        aside.rename(path)
        _force_to_disk(self.folder)
        for old in self.all()[:-NUM_KEPT]:
            shutil.rmtree(old)
        return path

    def histories(self) -> list[History]:
        """What each checkpoint remembers."""
        return [read_history(path) for path in self.all()]


def read_history(checkpoint: Path) -> History:
    path = checkpoint / HISTORY_FILE
    return parse_settings(History, read_json(path), source=str(path))


@torch.no_grad()
def load_checkpoint(checkpoint: Path, module: nn.Module, optimizer: torch.optim.Optimizer) -> History:
    """Put weights and moments back exactly as they were."""
    weights = _load(checkpoint / WEIGHTS_FILE)
    moments = _load(checkpoint / MOMENTS_FILE)
    parameters = dict(module.named_parameters())
    if weights.keys() != parameters.keys():
        odd = sorted(weights.keys() ^ parameters.keys())[0]
        raise AlidadeError(f"{checkpoint}: it is of another model ({odd} is in one of them only); remove the folder")
    for name, parameter in parameters.items():
        parameter.copy_(weights[name])
    for name, parameter in _trained(module).items():
        optimizer.state[parameter] = {moment: moments[f"{name}.{moment}"].to(parameter.device) for moment in MOMENTS}
    return read_history(checkpoint)


def _weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach().contiguous() for name, parameter in module.named_parameters()}


def _moments(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    states: Mapping[Tensor, dict[str, Tensor]] = optimizer.state
    return {
        f"{name}.{moment}": states[parameter][moment].contiguous()
        for name, parameter in _trained(module).items()
        for moment in MOMENTS
    }


def _trained(module: nn.Module) -> dict[str, nn.Parameter]:
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def _load(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (FileNotFoundError, SafetensorError) as error:
        raise AlidadeError(
            f"{path}: damaged or missing ({error}); remove the folder {path.parent} to go on from the checkpoint before"
        ) from None


def _force_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
