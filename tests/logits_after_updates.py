"""A program of its own: trains tiny systems for a few updates, and writes what they then predict.

    python logits_after_updates.py CORPUS FOLDER

leaves FOLDER/logits.safetensors, with a tensor for each precision and role.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from safetensors.torch import save_file
from torch import Tensor

from alidade.corpus.store import PreparedCorpus
from alidade.models.batch import make_batch
from alidade.training.loop import make_trainer
from small_runs import ALIGNED, JUMPS, run_config


def logits_after_updates(corpus: Path, folder: Path, precision: str) -> dict[str, Tensor]:
    settings = {"steps": 6, "validate_every": 6, "precision": precision}
    trainer = make_trainer(
        run_config(folder, corpus, lexical=ALIGNED, alignment=JUMPS, **settings), Console(quiet=True)
    )
    trainer.run()
    system = trainer.system.eval()
    batch = make_batch(PreparedCorpus.open(corpus).train, np.arange(8))
    with torch.no_grad():
        features = system(batch, system.roles)
        return {f"{precision}.{role}": system.roles[role].output(features[role]) for role in system.roles}


if __name__ == "__main__":
    corpus, folder = map(Path, sys.argv[1:])
    logits = {
        name: values
        for precision in ("float32", "bfloat16")
        for name, values in logits_after_updates(corpus, folder / precision, precision).items()
    }
    save_file(logits, folder / "logits.safetensors")
