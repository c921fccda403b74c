"""Settings for runs that take a second, and what they leave behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from alidade.config import TrainConfig
from alidade.corpus.store import PreparedCorpus, write_corpus
from alidade.corpus.synthetic import Task, make_corpus, make_pairs


def small_corpus(
    folder: Path, task: Task = "lexicon", num_train: int = 300, num_dev: int = 40, *, has_positions: bool = True
) -> PreparedCorpus:
    """A synthetic corpus; without positions it is as if no aligner had been run."""
    pairs = make_pairs(task, num_train + num_dev)
    corpus = make_corpus(folder, pairs[:num_train], pairs[num_train:])
    if has_positions:
        return corpus
    assert corpus.dev is not None
    train, dev = (
        [(split.source(i).tolist(), split.target(i).tolist(), None) for i in range(len(split))]
        for split in (corpus.train, corpus.dev)
    )
    return write_corpus(folder, corpus.source_subwords, corpus.target_subwords, train, dev)


TRANSFORMER = {
    "kind": "transformer",
    "width": 16,
    "feed_forward": 32,
    "heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
}
ALIGNED = TRANSFORMER | {"kind": "transformer-aligned"}
JUMPS = TRANSFORMER | {"kind": "transformer-jumps", "max_jump": 10}
RNN = {"kind": "rnn", "embedding": 12, "width": 16, "attention": 8, "decoder_layers": 2}
RNN_BIASED = RNN | {"kind": "rnn-biased"}
RNN_JUMPS = {"kind": "rnn-jumps", "embedding": 12, "width": 16, "decoder_layers": 2, "max_jump": 10}
TRAINING = {
    "steps": 12,
    "batch_tokens": 200,
    "warmup": 10,
    "learning_rate": 0.01,
    "validate_every": 4,
    "save_every": 3,
    "threads": 1,
}


def run_config(
    folder: Path,
    corpus: Path,
    *,
    lexical: Any = None,
    alignment: Any = None,
    **training: Any,
) -> TrainConfig:
    """A baseline by default."""
    if lexical is None and alignment is None:
        lexical = TRANSFORMER
    values = {
        "lexical": lexical,
        "alignment": alignment,
        "training": TRAINING | {"corpus": corpus, "folder": folder} | training,
    }
    return TrainConfig.model_validate(values)


def write_config(path: Path, config: TrainConfig) -> Path:
    """The same settings as a TOML file."""
    lines: list[str] = []
    for section, values in config.model_dump(mode="json", exclude_none=True).items():
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    path.write_text("\n".join(lines) + "\n")
    return path


def final_weights(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model" / "weights.safetensors")


def logged(folder: Path, kind: str) -> list[dict[str, float]]:
    """The lines of train.jsonl of one kind."""
    lines = map(json.loads, (folder / "train.jsonl").read_text().splitlines())
    return [line for line in lines if line["kind"] == kind]
