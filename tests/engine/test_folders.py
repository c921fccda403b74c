"""A model folder whose parts do not belong together is refused in a sentence, before anything is translated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from alidade.engine.shapes import weight_shapes
from alidade.engine.system import load_engine
from alidade.errors import AlidadeError
from alidade.model_folder import load_model_folder
from all_kinds import SYSTEMS
from small_folders import make_folder
from small_models import small_system

Stored = dict[str, Any]


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_expected_weights_are_those_that_are_trained(name: str) -> None:
    system = SYSTEMS[name]
    trained = {name: tuple(parameter.shape) for name, parameter in system.models.named_parameters()}
    assert weight_shapes(system.description) == trained


def change_weights(folder: Path, change: Callable[[Stored], Stored]) -> None:
    weights = load_file(folder / "weights.safetensors")
    save_file(change(weights), folder / "weights.safetensors")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "model")


def refuse(folder: Path, message: str) -> None:
    with pytest.raises(AlidadeError, match=message) as caught:
        load_engine(load_model_folder(folder))
    assert str(folder) in str(caught.value)


def test_a_whole_folder_is_loaded(folder: Path) -> None:
    assert load_engine(load_model_folder(folder)).lexical.is_assisted


@pytest.mark.parametrize("name", ["lexical.output.bias", "alignment.layers.1.feed_forward.expand.weight"])
def test_a_missing_weight(folder: Path, name: str) -> None:
    change_weights(folder, lambda weights: {n: weight for n, weight in weights.items() if n != name})
    refuse(folder, f"do not belong together: {name} is missing")


def test_a_weight_too_many(folder: Path) -> None:
    change_weights(folder, lambda weights: weights | {"lexical.decoder.layers.2.odd": np.zeros(3, dtype=np.float32)})
    refuse(folder, r"lexical\.decoder\.layers\.2\.odd is not in its settings' model")


@pytest.mark.parametrize(
    "name", ["lexical.decoder.layers.0.feed_forward.expand.bias", "alignment.output.weight", "lexical.output.bias"]
)
def test_a_weight_of_another_shape(folder: Path, name: str) -> None:
    change_weights(folder, lambda weights: weights | {name: np.concatenate([weights[name]] * 2)})
    refuse(folder, rf"{name} has the shape \[\d+.*but model\.json asks for \[\d+")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoder_layers": 3}, "do not belong together"),
        ({"feed_forward": 64}, "has the shape"),
        ({"width": 32}, "has the shape"),
        ({"pre_norm": False}, "is not in its settings' model"),
        ({"tied_embeddings": "none"}, "is missing"),
        ({"kind": "transformer"}, "alignment_heads.*is not in its settings' model"),
    ],
)
def test_settings_of_another_model(folder: Path, change: dict[str, object], message: str) -> None:
    description = json.loads((folder / "model.json").read_text())
    description["lexical"] |= change
    (folder / "model.json").write_text(json.dumps(description))
    refuse(folder, message)


def test_a_vocabulary_of_another_size(folder: Path) -> None:
    """All embeddings are cut to the same number of pieces: graphs would be made, and fail at the first rare word."""
    size = json.loads((folder / "model.json").read_text())["source"]["size"]
    change_weights(folder, lambda weights: {n: w[:-1].copy() if w.shape[0] == size else w for n, w in weights.items()})
    refuse(folder, rf"embedding\.weight has the shape \[{size - 1}, 16\]")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_file_cut_short(folder: Path, share: float) -> None:
    file = folder / "weights.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    refuse(folder, "damaged or cut short")


def test_an_alignment_model_alone(tmp_path: Path) -> None:
    system = small_system({"kind": "transformer-aligned"}, {})
    folder = system.folder(tmp_path)
    alone = folder.description.model_copy(update={"lexical": None})
    with pytest.raises(AlidadeError, match="an alignment model alone cannot translate"):
        load_engine(type(folder)(folder.path, alone, folder.source_subwords, folder.target_subwords, folder.search))
