"""The folder of a run: how far it is, what it resumes from, and what it leaves behind.

    run.json                  the settings that the run was started with, and its corpus (`checks.py`)
    checkpoints/00000500/     the last two checkpoints to resume from:
      weights.safetensors       all weights, named as in a model folder
      moments.safetensors       Adam's two moments and its count, of each trained weight
      history.json              `History`: where the run stands, in plain numbers
    validated/00000500/       model folders of validated weights (snapshots): the best and the last ones, as long as the
                              run may need them
    best/                     the snapshot with the lowest dev loss
    model/                    the finished model
    result.json               which weights the finished model has, and how good they are
    train.jsonl, tensorboard/ figures (`monitor.py`)

A checkpoint is written under another name, forced to the disk and then renamed: a run that is killed at any moment
leaves whole checkpoints only. Random numbers need no place here: each update draws its own from the run's seed.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from alidade.config import Settings, TrainConfig, TrainingSettings, parse_settings
from alidade.corpus.store import PreparedCorpus
from alidade.errors import AlidadeError
from alidade.io import force_to_disk, read_json, write_folder_aside, write_json
from alidade.model_folder import WEIGHTS_FILE, Array, load_model_folder, save_model_folder, write_weights
from alidade.models.system import System, load_weights, named_weights

MOMENTS_FILE = "moments.safetensors"
HISTORY_FILE = "history.json"
NUM_CHECKPOINTS = 2
"""The last one and, in case something happens to it, the one before."""
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
"""What Adam remembers of a weight, by the names it uses."""


class Snapshot(Settings):
    """Weights that were validated and kept, as a model folder."""

    step: int
    loss: float
    """Dev loss of the trained roles, by which snapshots are compared."""


class History(Settings):
    """What a run has to remember between two updates, apart from weights and the optimiser's moments."""

    step: int = 0
    """Updates done."""
    snapshots: tuple[Snapshot, ...] = ()
    """The kept ones, oldest first."""
    validations_since_best: int = 0
    seconds: float = 0.0
    """Time spent so far, over all starts of the run."""

    @property
    def best(self) -> Snapshot | None:
        return min(self.snapshots, key=lambda snapshot: (snapshot.loss, snapshot.step), default=None)

    def latest(self, count: int) -> tuple[Snapshot, ...]:
        """The last ones that were validated, oldest first."""
        return self.snapshots[-count:]

    def after_update(self, seconds: float) -> History:
        return self.model_copy(update={"step": self.step + 1, "seconds": self.seconds + seconds})

    def after_validation(self, loss: float, settings: TrainingSettings) -> History:
        """Take in a validation of the present weights, and forget snapshots that nobody will need."""
        is_best = self.best is None or loss < self.best.loss
        earlier = [snapshot for snapshot in self.snapshots if snapshot.step < self.step]
        snapshots = [*earlier, Snapshot(step=self.step, loss=loss)]
        by_loss = sorted(snapshots, key=lambda snapshot: (snapshot.loss, snapshot.step))
        needed = [*by_loss[: settings.keep_best], *snapshots[-settings.average_last :]]
        return self.model_copy(
            update={
                "snapshots": tuple(snapshot for snapshot in snapshots if snapshot in needed),
                "validations_since_best": 0 if is_best else self.validations_since_best + 1,
            }
        )

    def is_validated(self) -> bool:
        """Whether the present weights are the last snapshot."""
        return bool(self.snapshots) and self.snapshots[-1].step == self.step

    def is_over(self, settings: TrainingSettings) -> bool:
        """Whether all updates are done, or patience is at its end."""
        return self.step >= settings.steps or 0 < settings.patience <= self.validations_since_best


class RunFolder:
    """What lies in a run's folder; its models are those of the settings and the corpus."""

    def __init__(self, config: TrainConfig, corpus: PreparedCorpus) -> None:
        self._config = config
        self._corpus = corpus
        self.path = config.training.folder
        self.best = self.path / "best"
        self.model = self.path / "model"
        self._result = self.path / "result.json"

    def checkpoints(self) -> list[Path]:
        """Whole checkpoints, oldest first."""
        return sorted(path for path in (self.path / "checkpoints").glob("*") if path.name.isdigit())

    def last_checkpoint(self) -> Path | None:
        checkpoints = self.checkpoints()
        return checkpoints[-1] if checkpoints else None

    def save_checkpoint(self, system: System, optimizer: torch.optim.Optimizer, history: History) -> None:
        """Write a checkpoint; remove those that are too old, and the snapshots that none of them needs."""
        path = self.path / "checkpoints" / f"{history.step:08d}"
        if not path.exists():  # else it was written by this run at the same step, so it holds the same
            with write_folder_aside(path) as aside:
                write_weights(aside / WEIGHTS_FILE, named_weights(system))
                write_weights(aside / MOMENTS_FILE, _moments(system, optimizer))
                write_json(aside / HISTORY_FILE, history.model_dump(mode="json"))
                for file in [*aside.iterdir(), aside]:
                    force_to_disk(file)
            force_to_disk(path.parent)
        for old in self.checkpoints()[:-NUM_CHECKPOINTS]:
            shutil.rmtree(old)
        self._forget_snapshots()

    def snapshot(self, step: int) -> Path:
        """Where the weights of a validated update lie."""
        return self.path / "validated" / f"{step:08d}"

    def save_model(self, path: Path, system: System) -> None:
        """Write a model folder."""
        save_model_folder(
            path,
            named_weights(system),
            self._config.lexical,
            self._config.alignment,
            self._corpus.source_subwords,
            self._corpus.target_subwords,
            normalisation=self._corpus.normalisation,
        )

    def load_snapshot(self, system: System, snapshot: Snapshot) -> None:
        """Fill a system with a snapshot's weights."""
        load_weights(system, self.snapshot(snapshot.step))

    @torch.no_grad()
    def load_mean(self, system: System, snapshots: Sequence[Snapshot]) -> None:
        """Fill a system with the mean of several snapshots' weights."""
        sums: dict[str, Array] = {}
        for snapshot in snapshots:
            for name, weight in load_model_folder(self.snapshot(snapshot.step)).weights().items():
                sums[name] = sums[name] + weight if name in sums else weight.astype(np.float64)
        for name, parameter in system.named_parameters():
            parameter.copy_(torch.from_numpy(sums[name] / len(snapshots)))

    def finish(self, history: History, figures: dict[str, object]) -> None:
        """Write down that the finished model is there."""
        write_json(self._result, {"step": history.step, "seconds": round(history.seconds), **figures})

    def is_finished(self, history: History) -> bool:
        """Whether the finished model was made from the run as it stands."""
        return self.model.exists() and self._result.exists() and read_json(self._result)["step"] == history.step

    def _forget_snapshots(self) -> None:
        histories = [_read_history(checkpoint) for checkpoint in self.checkpoints()]
        needed = {self.snapshot(snapshot.step) for history in histories for snapshot in history.snapshots}
        for path in (self.path / "validated").glob("*"):
            if path not in needed:
                shutil.rmtree(path)


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
    return _read_history(checkpoint)


def _read_history(checkpoint: Path) -> History:
    path = checkpoint / HISTORY_FILE
    return parse_settings(History, read_json(path), source=str(path))


def _moments(module: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Array]:
    states: Mapping[Tensor, dict[str, Tensor]] = optimizer.state
    return {
        f"{name}.{moment}": states[parameter][moment].cpu().contiguous().numpy()
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
