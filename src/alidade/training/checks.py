"""What is refused before any work is done, in sentences that say what to change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from alidade.config import LexicalSettings, TrainConfig, TrainingSettings, TransformerSettings, parse_settings
from alidade.corpus.store import PreparedCorpus, Split
from alidade.errors import AlidadeError
from alidade.io import read_json, write_json
from alidade.model_folder import describe_vocabulary, load_description

MAY_CHANGE = {
    "accumulate",
    "average_last",
    "bleu_every",
    "cooldown",
    "corpus",  # its content is compared instead of its place
    "folder",
    "keep_best",
    "patience",
    "save_every",
    "steps",
    "threads",
    "validate_every",
}
"""Settings of training that may be changed before a run is resumed."""

ASSISTED = {"transformer-aligned", "rnn-biased"}
"""Kinds of lexical models that are given positions."""


def check_training(config: TrainConfig, corpus: PreparedCorpus) -> None:
    """Refuse settings that do not fit each other or the corpus."""
    if corpus.dev is None:
        raise AlidadeError(
            f"{corpus.folder}: the corpus has no dev pairs, and training validates on them: add a [dev] section to the "
            "settings of `alidade prepare` and prepare it again"
        )
    for split in (corpus.train, corpus.dev):
        _check_positions(config, split)
    if config.training.init_from is not None:
        _check_start(config, corpus)
    _check_freezing(config)
    if config.training.bleu_every:
        _check_translating(config)


def check_resuming(config: TrainConfig, corpus: PreparedCorpus, *, is_resumed: bool) -> None:
    """Refuse to go on with a run under other settings or on another corpus; a new run writes down what it uses."""
    path = config.training.folder / "run.json"
    present = {"settings": _with_whole_paths(config), "corpus": corpus.fingerprint}
    if not is_resumed:
        write_json(path, present)
        return
    started = read_json(path)
    settings = _with_whole_paths(parse_settings(TrainConfig, started["settings"], source=str(path)))
    changed = _first_difference(settings, present["settings"])
    if changed is not None:
        name, old, new = changed
        raise AlidadeError(
            f"{config.training.folder}: this run was started with {name} = {old!r}, now it is {new!r}; set it back, or "
            "give training.folder another name to start anew"
        )
    if started["corpus"] != corpus.fingerprint:
        raise AlidadeError(
            f"{corpus.folder}: the corpus has changed since the run in {config.training.folder} was started; give "
            "training.folder another name to start anew"
        )


def _with_whole_paths(config: TrainConfig) -> dict[str, Any]:
    """Settings as plain values, the same from whatever folder the command is run."""
    training = config.training
    start = None if training.init_from is None else training.init_from.resolve()
    paths = {"corpus": training.corpus.resolve(), "folder": training.folder.resolve(), "init_from": start}
    return config.model_copy(update={"training": training.model_copy(update=paths)}).model_dump(mode="json")


def _first_difference(old: Any, new: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """The first setting, by its dotted name, that is not the same and may not change."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return None if old == new else (name, old, new)
    for key in sorted(old.keys() | new.keys()):
        if name == "training" and key in MAY_CHANGE:
            continue
        difference = _first_difference(old.get(key), new.get(key), f"{name}.{key}" if name else key)
        if difference is not None:
            return difference
    return None


def _check_positions(config: TrainConfig, split: Split) -> None:
    is_assisted = config.lexical is not None and config.lexical.kind in ASSISTED
    kind = config.alignment.kind if config.alignment is not None else config.lexical.kind if config.lexical else ""
    if (is_assisted or config.alignment is not None) and not split.has_positions:
        raise AlidadeError(
            f"{split.folder}: {kind} needs a position for each target piece, but the corpus's {split.name} pairs have "
            'no alignments; prepare it with aligner.kind = "eflomal" or "pharaoh"'
        )


def _check_start(config: TrainConfig, corpus: PreparedCorpus) -> None:
    """The weights to start from must know the same pieces."""
    start = config.training.init_from
    assert start is not None
    description = load_description(start)
    for side, theirs, ours in (
        ("source", description.source, describe_vocabulary(corpus.source_subwords)),
        ("target", description.target, describe_vocabulary(corpus.target_subwords)),
    ):
        if theirs != ours:
            raise AlidadeError(
                f"init_from {start}: its {side} vocabulary ({theirs.language}, {theirs.size} pieces) is not that of "
                f"{corpus.folder} ({ours.language}, {ours.size} pieces): train both stages on one corpus"
            )
    if all(getattr(config, role) is None for role in description.roles):
        raise AlidadeError(
            f"init_from {start}: it has nothing of what is to be trained, only: {', '.join(sorted(description.roles))}"
        )
    _check_conventions(config.lexical, description.lexical, start)


def _check_conventions(present: LexicalSettings | None, past: LexicalSettings | None, start: Path) -> None:
    """Weights run under other conventions than their own, too, but what they have learnt is gone."""
    if not isinstance(present, TransformerSettings) or not isinstance(past, TransformerSettings):
        return
    for name, value in past.conventions.items():
        if present.conventions[name] != value:
            written = json.dumps(value)
            raise AlidadeError(
                f"init_from {start}: it was trained with {name} = {written}; write `{name} = {written}` under [lexical]"
            )


def _check_freezing(config: TrainConfig) -> None:
    training = config.training
    present = {role for role in ("lexical", "alignment") if getattr(config, role) is not None}
    for role in training.freeze:
        if role not in present:
            raise AlidadeError(f'training.freeze: there is no [{role}] section, so "{role}" cannot be frozen')
        _check_frozen_start(role, training)
    if present <= set(training.freeze):
        raise AlidadeError("training.freeze: every model is frozen, so nothing is left to train")


def _check_frozen_start(role: str, training: TrainingSettings) -> None:
    if training.init_from is None:
        raise AlidadeError(
            f'training.freeze: "{role}" would stay at random weights; give training.init_from, the model folder it '
            "comes from"
        )
    if role not in load_description(training.init_from).roles:
        raise AlidadeError(f'training.freeze: {training.init_from} has no {role} model, so "{role}" cannot be frozen')


def _check_translating(config: TrainConfig) -> None:
    """Dev BLEU is measured at validations, and needs a system that can translate."""
    training = config.training
    if training.bleu_every % training.validate_every:
        raise AlidadeError(
            f"training.bleu_every = {training.bleu_every} must be a multiple of training.validate_every = "
            f"{training.validate_every}: translations are made from validated weights"
        )
    if config.lexical is None:
        raise AlidadeError("training.bleu_every: an alignment model alone cannot translate; set it to 0")
    if config.lexical.kind in ASSISTED and config.alignment is None:
        raise AlidadeError(
            f"training.bleu_every: {config.lexical.kind} cannot translate without an [alignment] model; set it to 0 "
            "or train both"
        )
