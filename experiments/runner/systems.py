"""From a row's settings to a system that is ready to translate: prepare, align, train, assemble, tune.

What exists is taken as it is: a run that `alidade train` has finished is never trained on. Everything else is made
again when what it was made from has changed (`alidade.corpus.prepare`), and a step that was killed is done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from alidade.cli.assemble import assemble
from alidade.cli.tune import tune
from alidade.config import TrainConfig, load_config
from alidade.corpus.prepare import Preparation, StageResult, StageRunner
from alidade.errors import AlidadeError
from alidade.io import hash_file, read_json
from alidade.model_folder import SEARCH_FILE, WEIGHTS_FILE, copy_model_folder, load_model_folder
from alidade.training.loop import train
from runner.results import TUNING, fingerprint
from runner.settings import EarlierRun, Library, TaskSettings, TranslationRow


class MissingCellError(AlidadeError):
    """A figure that cannot be measured yet, and why."""


@dataclass(frozen=True)
class Workshop:
    """Where rows are worked on, and what may be done for them."""

    library: Library
    results: Path
    """The folder of the results, a JSON file a row."""
    pictures: Path
    """The folder of the pictures that some rows draw."""
    workers: int = 1
    may_train: bool = True
    tune_sentences: int = 500
    console: Console = field(default_factory=lambda: Console(stderr=True, highlight=False))

    def stages(self, folder: Path) -> StageRunner:
        """Steps that leave their records in this folder."""
        return StageRunner(folder, [], lambda text: self.console.print(f"  {folder.parent.name}: {text}"))


@dataclass(frozen=True)
class ReadySystem:
    """A tuned system."""

    folder: Path
    work: Path
    """For what is made with it."""
    fingerprint: str
    """Changes with the weights and with how it is searched."""
    figures: dict[str, Any]
    """Of its training: perplexities, updates, minutes."""


def make_system(shop: Workshop, name: str, row: TranslationRow) -> ReadySystem:
    """A row's tuned system, from scratch if need be."""
    task = shop.library.task(row.task)
    work = task.runs / "systems" / name.split("/")[1]
    if row.model is not None:
        return ReadySystem(row.model, work, hash_file(row.model / WEIGHTS_FILE), _training_figures([], [], row.before))
    for run in row.train:
        _ensure_trained(shop, row.task, run)
    runs = [shop.library.run_folder(row.task, run) for run in (row.lexical, row.alignment) if run is not None]
    for run_folder in runs:
        _require_finished(run_folder)
    stages = shop.stages(work / "stages")
    folder = work / "model"
    assembled = stages.run(
        "assemble",
        [[hash_file(run / "model" / WEIGHTS_FILE) for run in runs], row.form],
        [folder / WEIGHTS_FILE],
        lambda: _assemble(runs, folder, row),
    )
    tuned = _tune(shop, stages, task, folder, assembled)
    trained = [shop.library.run_folder(row.task, run) for run in row.train]
    return ReadySystem(folder, work, tuned.fingerprint, _training_figures(runs, trained, row.before))


def _ensure_trained(shop: Workshop, task: str, name: str) -> None:
    config = load_config(TrainConfig, shop.library.training_file(task, name))
    if _is_finished(config.training.folder):
        return
    if not shop.may_train:
        raise MissingCellError(f"`{name}` is not trained{_progress(config)}")
    preparation = shop.library.preparation(task, config.training.corpus)
    Preparation(preparation, shop.workers, shop.console).run()
    train(config, shop.console)


def _is_finished(run: Path) -> bool:
    return (run / "result.json").is_file() and (run / "model" / WEIGHTS_FILE).is_file()


def _require_finished(run: Path) -> None:
    if not _is_finished(run):
        raise MissingCellError(f"`{run.name}` is not trained")


def _progress(config: TrainConfig) -> str:
    """How far an unfinished run is."""
    checkpoints = sorted((config.training.folder / "checkpoints").glob("[0-9]*"))
    return f" (update {int(checkpoints[-1].name):,} of {config.training.steps:,})" if checkpoints else ""


def _assemble(runs: list[Path], folder: Path, row: TranslationRow) -> dict[str, Any]:
    models = [run / "model" for run in runs]
    if len(models) == 2:
        assemble(lexical=models[0], alignment=models[1], output=folder)
    if len(models) == 1 or row.form != "float32":
        copy_model_folder(load_model_folder(folder if len(models) == 2 else models[0]), folder, row.form)
    return {"bytes": (folder / WEIGHTS_FILE).stat().st_size}


def _tune(shop: Workshop, stages: StageRunner, task: TaskSettings, folder: Path, assembled: StageResult) -> StageResult:
    sources, targets = ([*files] for files in zip(*map(task.files, task.tuning_sets), strict=True))

    def work() -> dict[str, Any]:
        tune(model=folder, source=sources, target=targets, sentences=shop.tune_sentences, threads=shop.workers)
        report: dict[str, Any] = read_json(folder / SEARCH_FILE)
        return report

    inputs = [assembled.fingerprint, *map(hash_file, [*sources, *targets]), shop.tune_sentences, fingerprint(TUNING)]
    return stages.run("tune", inputs, [folder / SEARCH_FILE], work)


def _training_figures(runs: list[Path], trained: list[Path], before: Sequence[EarlierRun]) -> dict[str, Any]:
    """Dev perplexities of the runs that the system is made of; updates and minutes of all that led to it."""
    figures: dict[str, Any] = {
        "updates": {one.run: one.updates for one in before},
        "minutes": {one.run: one.minutes for one in before},
    }
    for run in runs:
        result = read_json(run / "result.json")
        figures |= {name: result[name] for name in result if name.endswith((".perplexity", ".accuracy"))}
    for run in trained:
        result = read_json(run / "result.json")
        figures["updates"][run.name] = result["step"]
        if "seconds" in result:
            figures["minutes"][run.name] = round(result["seconds"] / 60)
    return figures
