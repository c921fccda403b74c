"""What a run leaves behind: validated snapshots, the best one, and the finished model, all as model folders."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from alidade.config import TrainConfig
from alidade.files import read_json, write_json
from alidade.models.folder import load_weights, read_weights, save_model_folder
from alidade.models.system import System
from alidade.text.corpus import PreparedCorpus
from alidade.training.history import History, Snapshot


class Results:
    """The model folders of a run.

    validated/00000500    weights at validations: the best and the last ones, as long as the run may need them
    best                  the snapshot with the lowest dev loss
    model                 the finished model
    result.json           which weights the finished model has, and how good they are
    """

    def __init__(self, config: TrainConfig, corpus: PreparedCorpus) -> None:
        self._config = config
        self._corpus = corpus
        self._folder = config.training.folder
        self.best = self._folder / "best"
        self.model = self._folder / "model"

    def save(self, path: Path, system: System) -> None:
        """Write a model folder."""
        save_model_folder(
            path,
            system,
            self._config.lexical,
            self._config.alignment,
            self._corpus.source_subwords,
            self._corpus.target_subwords,
            normalisation=self._corpus.normalisation,
        )

    def snapshot(self, step: int) -> Path:
        """Where the weights of a validated update lie."""
        return self._folder / "validated" / f"{step:08d}"

    def forget_snapshots(self, histories: Sequence[History]) -> None:
        """Remove the snapshots that no checkpoint knows of."""
        needed = {self.snapshot(snapshot.step) for history in histories for snapshot in history.snapshots}
        for path in (self._folder / "validated").glob("*"):
            if path not in needed:
                shutil.rmtree(path)

    def load(self, system: System, snapshot: Snapshot) -> None:
        """Fill a system with a snapshot's weights."""
        load_weights(system, self.snapshot(snapshot.step))

    @torch.no_grad()
    def load_mean(self, system: System, snapshots: Sequence[Snapshot]) -> None:
        """Fill a system with the mean of several snapshots' weights."""
        sums: dict[str, Tensor] = {}
        for snapshot in snapshots:
            for name, weight in read_weights(self.snapshot(snapshot.step)).items():
                sums[name] = sums[name] + weight.double() if name in sums else weight.double()
        for name, parameter in system.named_parameters():
            parameter.copy_(sums[name] / len(snapshots))

    def finish(self, history: History, figures: dict[str, object]) -> None:
        """Write down that the finished model is there."""
        write_json(self._folder / "result.json", {"step": history.step, "seconds": round(history.seconds), **figures})

    def is_finished(self, history: History) -> bool:
        """Whether the finished model was made from the run as it stands."""
        path = self._folder / "result.json"
        return self.model.exists() and path.exists() and read_json(path)["step"] == history.step
