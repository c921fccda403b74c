"""`alidade train`: a prepared corpus and a settings file become a model folder."""

from __future__ import annotations

from alidade.cli.options import ConfigArgument, SetOption


def train(config: ConfigArgument, overrides: SetOption = None) -> None:
    """Train a model on a prepared corpus.

    The settings name the corpus (made by `alidade prepare`), the model's shape and the folder that everything is
    written to. When training is over, that folder has the model in `model`, the snapshot that did best on the dev
    set in `best`, figures in `train.jsonl` and for TensorBoard in `tensorboard`. A run that was stopped or killed
    goes on where it was when the same command is given again. Example:

        alidade train experiments/multi30k/transformer.toml

    Several processes, on this machine or more, with one GPU each if there are GPUs:

        torchrun --nproc-per-node 2 -m alidade train experiments/multi30k/transformer.toml
    """
    from alidade.config import TrainConfig, load_config
    from alidade.training.loop import train as run

    run(load_config(TrainConfig, config, overrides))
