"""Training: updates, validations, checkpoints, from the settings to a finished model folder.

The order of things after each update: validation and its snapshot, if one is due; then the checkpoint, which knows
of them. What happened after the last checkpoint when a run is killed happens again, in the same way, when it is
resumed: batches, learning rates and random numbers are functions of the seed and the number of the update.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
import torch
from lightning_fabric import Fabric
from rich.console import Console
from torch import Tensor

from alidade.config import TrainConfig, TrainingSettings
from alidade.corpus.batching import BatchPlan, Update, group_all
from alidade.corpus.skips import skip_costs
from alidade.corpus.store import PreparedCorpus
from alidade.errors import AlidadeError
from alidade.hardware import has_onednn, keep_freed_memory, return_freed_memory
from alidade.io import hold_folder
from alidade.models.batch import make_batch
from alidade.models.layers import round_factors
from alidade.models.system import Role, System, build_system, initialise_from
from alidade.training.checks import check_resuming, check_training
from alidade.training.monitor import Meter, Monitor
from alidade.training.objective import Objective, Tally, figures_of, learning_rate
from alidade.training.run_folder import History, RunFolder, load_checkpoint
from alidade.training.stop import StopSignals
from alidade.training.validation import dev_bleu, validate

REPORT_EVERY = 10
"""Updates between two lines of training figures."""
RETURN_MEMORY_EVERY = 100
"""Updates after which unused memory goes back to the system: it costs at most half an update (experiments/LOG.md)."""
DEV_BATCH_TOKENS = 4096
SLOW_ROUNDING = (
    "this processor, or this torch, cannot multiply bfloat16 numbers: their products are made in float32 and rounded, "
    'which is slower than training.precision = "float32"'
)


def train(config: TrainConfig, console: Console | None = None) -> Path:
    """Train what the settings say, from the start or from the last checkpoint; returns the finished model folder."""
    with _hold_run_folder(config.training.folder):
        return make_trainer(config, console).run()


def make_trainer(config: TrainConfig, console: Console | None = None) -> Trainer:
    """Check everything that can be checked before any work is done, and set up the run."""
    corpus = PreparedCorpus.open(config.training.corpus)
    check_training(config, corpus)
    keep_freed_memory()
    fabric = _launch(config.training)
    if config.training.threads:
        torch.set_num_threads(config.training.threads)
    folder = RunFolder(config, corpus)
    if fabric.global_rank == 0:
        check_resuming(config, corpus, is_resumed=folder.last_checkpoint() is not None)
    fabric.barrier()
    return Trainer(config, corpus, folder, fabric, console or Console(stderr=True))


class Trainer:
    """One run: what is trained, with what, and how far it is."""

    def __init__(
        self, config: TrainConfig, corpus: PreparedCorpus, folder: RunFolder, fabric: Fabric, console: Console
    ) -> None:
        self.settings = config.training
        self.corpus = corpus
        self.fabric = fabric
        self.system = _initial_system(config, corpus)
        self.is_rounding = self.settings.precision == "bfloat16" and fabric.device.type == "cpu"
        if self.is_rounding:
            round_factors(self.system, torch.bfloat16)
        objective = Objective(
            self.system, _trained_roles(config), self.settings.label_smoothing, self.settings.consistency
        )
        trained = [parameter for parameter in objective.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(
            trained, betas=self.settings.adam_betas, weight_decay=self.settings.weight_decay, fused=True
        )
        self.objective, self.optimizer = fabric.setup(objective, optimizer)
        self.trained_roles = objective.trained_roles
        self.plan = BatchPlan(
            corpus.training_split.source_lengths,
            corpus.training_split.target_lengths,
            batch_tokens=self.settings.batch_tokens,
            num_parts=self.settings.accumulate * fabric.world_size,
            max_length=self.settings.max_length,
            seed=self.settings.seed,
        )
        self.folder = folder
        self.history = self._resume()
        self.console = console
        self.meter = Meter()

    @property
    def is_first_process(self) -> bool:
        return bool(self.fabric.global_rank == 0)

    def run(self) -> Path:
        """Go on until all updates are done or patience is at its end; write the finished model."""
        if self.history.is_over(self.settings) and self.folder.is_finished(self.history):
            if self.is_first_process:
                self.console.print(
                    f"{self.settings.folder}: finished at update {self.history.step}, nothing is left to do; the "
                    f"model is in {self.folder.model}",
                    highlight=False,
                    soft_wrap=True,
                )
            return self.folder.model
        step = self.history.step
        with (
            Monitor(
                self.folder.path, self.settings.steps, step, self.console, is_used=self.is_first_process
            ) as self.monitor,
            StopSignals(is_used=self.fabric.world_size == 1) as signals,
        ):
            if self.is_rounding and not has_onednn(torch.bfloat16):
                self.monitor.say(SLOW_ROUNDING)
            if step:
                self.monitor.say(f"going on from {self.folder.last_checkpoint()}")
            if not self.history.is_over(self.settings):
                self._train(signals)
            self._finish()
        return self.folder.model

    def _resume(self) -> History:
        last = self.folder.last_checkpoint()
        return History() if last is None else load_checkpoint(last, self.system, self.optimizer.optimizer)

    def _train(self, signals: StopSignals) -> None:
        self.objective.train()
        for update in self.plan.updates_from(self.history.step):
            self._update(update)
            is_last = self.history.step >= self.settings.steps
            if is_last or self._is_due(self.settings.validate_every):
                self._validate()
            is_last = self.history.is_over(self.settings)
            if is_last or signals.is_requested or self._is_due(self.settings.save_every):
                self._save()
            if is_last:
                return
            if signals.is_requested:
                self.monitor.say(f"stopped at update {self.history.step}; run the same command again to go on")
                raise KeyboardInterrupt

    def _update(self, update: Update) -> None:
        """One change of the weights, from gradients of the mean loss of all the update's tokens."""
        step = self.history.step + 1
        started = time.perf_counter()
        _seed_update(self.settings.seed, step, self.fabric.global_rank)
        sums = self._compute_gradients(update)
        gradient_norm = self._clip_gradients()
        self._check_finite(step, float(sums[:, 0].sum()) / update.num_target_tokens, gradient_norm)
        rate = learning_rate(step, self.settings)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad()

        seconds = time.perf_counter() - started
        self.history = self.history.after_update(seconds)
        self.meter.add_update(
            dict(zip(self.trained_roles, sums.tolist(), strict=True)),
            update.num_target_tokens,
            seconds,
            learning_rate=rate,
            gradient_norm=gradient_norm,
        )
        if step % REPORT_EVERY == 0:
            self.monitor.note_update(step, self.meter.read())
        if step % RETURN_MEMORY_EVERY == 0:
            return_freed_memory()

    def _compute_gradients(self, update: Update) -> Tensor:
        """Gradients of this process's parts, exchanged with the others.

        Returns (roles, 3): the sums of loss, negative log-likelihood and correct tokens over the whole update.
        """
        world_size = self.fabric.world_size
        parts = update.parts[self.fabric.global_rank :: world_size]
        sums = torch.zeros(len(self.trained_roles), 3, device=self.fabric.device)
        for number, part in enumerate(parts, start=1):
            batch = make_batch(self.corpus.training_split, part).to(self.fabric.device)
            with self.fabric.no_backward_sync(self.objective, enabled=number < len(parts)):
                part_sums = torch.stack(list(self.objective(*batch.tensors, batch.num_target_tokens).values()))
                # The processes' gradients are averaged; their sum is wanted.
                self.fabric.backward(part_sums[:, 0].sum() * (world_size / update.num_target_tokens))
            sums += part_sums.detach()
        return cast("Tensor", self.fabric.all_reduce(sums, reduce_op="sum"))

    def _clip_gradients(self) -> float:
        """Returns the norm of the gradients before they are scaled."""
        limit = self.settings.clip_norm or math.inf
        norm = self.fabric.clip_gradients(self.objective, self.optimizer, max_norm=limit, error_if_nonfinite=False)
        assert norm is not None
        return float(norm)

    def _check_finite(self, step: int, loss: float, gradient_norm: float) -> None:
        if math.isfinite(loss) and math.isfinite(gradient_norm):
            return
        last = self.folder.last_checkpoint()
        where = "there is no checkpoint yet" if last is None else f"the last good checkpoint is {last}"
        raise AlidadeError(
            f"the loss of update {step} is {loss} and the norm of its gradient {gradient_norm}: training cannot go on; "
            f"{where}. Lower training.learning_rate, raise training.warmup or use training.clip_norm, and begin again "
            "in another training.folder"
        )

    def _validate(self) -> None:
        """Validate the present weights and keep them as a snapshot."""
        tallies = self._validate_roles()
        self.history = self.history.after_validation(self._dev_loss(tallies), self.settings)
        best = self.history.best
        is_best = best is not None and best.step == self.history.step
        if self.is_first_process:
            self.folder.save_model(self.folder.snapshot(self.history.step), self.system)
            if is_best:
                self.folder.save_model(self.folder.best, self.system)
        figures = figures_of(tallies)
        if self._is_due(self.settings.bleu_every):
            self.fabric.barrier()  # the snapshot is there for all
            figures["bleu"] = self._dev_bleu()
        self.monitor.note_validation(self.history.step, figures, is_best=is_best)

    def _is_due(self, every: int) -> bool:
        return every > 0 and self.history.step % every == 0

    def _dev_bleu(self) -> float:
        assert self.corpus.dev is not None  # check_training has seen to it
        snapshot = self.folder.snapshot(self.history.step)
        language = self.corpus.target_subwords.language
        return dev_bleu(snapshot, self.corpus.dev, language, self.fabric)

    def _validate_roles(self) -> dict[Role, Tally]:
        assert self.corpus.dev is not None  # check_training has seen to it
        return validate(self.system, self.corpus.dev, group_all(self.corpus.dev, DEV_BATCH_TOKENS), self.fabric)

    def _dev_loss(self, tallies: dict[Role, Tally]) -> float:
        """What snapshots are compared by."""
        return sum(tallies[role].loss for role in self.trained_roles)

    def _save(self) -> None:
        if self.is_first_process:
            self.folder.save_checkpoint(self.system, self.optimizer.optimizer, self.history)
        self.fabric.barrier()

    def _finish(self) -> None:
        """Write the finished model: the mean of the last snapshots, or the best one if that is better."""
        best, latest = self.history.best, self.history.latest(self.settings.average_last)
        assert best is not None  # the last update was validated
        self.folder.load_mean(self.system, latest)
        tallies = self._validate_roles()
        if self._dev_loss(tallies) >= best.loss:
            latest = (best,)
            self.folder.load_snapshot(self.system, best)
            tallies = self._validate_roles()
        if self.is_first_process:
            self.folder.save_model(self.folder.model, self.system)
            weights_of = [snapshot.step for snapshot in latest]
            self.folder.finish(self.history, {"weights_of_updates": weights_of, **figures_of(tallies)})
        self.fabric.barrier()
        names = ", ".join(str(snapshot.step) for snapshot in latest)
        spent = dt.timedelta(seconds=round(self.history.seconds))
        self.monitor.say(f"{self.folder.model}: the finished model, from the weights of update {names}, after {spent}")


@contextlib.contextmanager
def _hold_run_folder(folder: Path) -> Iterator[None]:
    """Keep a second run out of the folder; of several processes of one run, the first one does."""
    is_first = os.environ.get("RANK", "0") == "0"
    with hold_folder(folder) if is_first else contextlib.nullcontext():
        yield


def _launch(settings: TrainingSettings) -> Fabric:
    """One process, or as many as `torchrun` has started."""
    num_processes = int(os.environ.get("WORLD_SIZE", "1"))
    on_this_node = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    has_gpu = torch.cuda.is_available()
    fabric = Fabric(
        accelerator="cuda" if has_gpu else "cpu",  # training has been tried on these
        devices=on_this_node,
        num_nodes=num_processes // on_this_node,
        strategy="ddp" if num_processes > 1 else "auto",
        precision="bf16-mixed" if settings.precision == "bfloat16" and has_gpu else "32-true",
    )
    fabric.launch()
    return fabric


def _initial_system(config: TrainConfig, corpus: PreparedCorpus) -> System:
    torch.manual_seed(config.training.seed)
    system = build_system(
        config.lexical,
        config.alignment,
        corpus.source_subwords.vocabulary_size,
        corpus.target_subwords.vocabulary_size,
    )
    if config.training.init_from is not None:
        initialise_from(system, config.training.init_from)
    if system.alignment is not None and "alignment" not in config.training.freeze:
        costs = skip_costs(corpus.train, corpus.source_subwords.vocabulary_size)
        system.skip_cost.copy_(torch.from_numpy(costs))
    return system


def _trained_roles(config: TrainConfig) -> set[str]:
    return {"lexical", "alignment"} - set(config.training.freeze)


def _seed_update(seed: int, step: int, process: int) -> None:
    """Dropout depends on the update and the process, and on nothing that came before."""
    torch.manual_seed(int(np.random.SeedSequence([seed, step, process]).generate_state(1, np.uint64)[0]))
