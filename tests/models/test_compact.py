"""Smaller weights: what they cost in exactness, and that nothing else changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

from alidade.cli import app
from alidade.config import NormalisationSettings, SearchSettings
from alidade.errors import AlidadeError
from alidade.model_folder import WeightForm, compact_weights, expand_weights, load_model_folder
from alidade.training.loop import train
from alidade.translator import Translator
from small_folders import make_folder
from small_runs import ALIGNED, JUMPS, run_config, small_corpus


def export(folder: Path, output: Path, form: str) -> Path:
    arguments = ["export", "--model", str(folder), "--format", form, "--output", str(output)]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return output


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system that has learned something, so that its scores differ by more than rounding does."""
    folder = tmp_path_factory.mktemp("trained")
    corpus = small_corpus(folder / "corpus", num_train=2000)
    shape = {"width": 48, "feed_forward": 96, "dropout": 0.0}
    models = {"lexical": ALIGNED | shape, "alignment": JUMPS | shape}
    training = {"steps": 300, "batch_tokens": 500, "learning_rate": 0.008, "warmup": 50, "label_smoothing": 0.0}
    config = run_config(folder / "run", corpus.folder, **models, **training, validate_every=300, save_every=300)
    return train(config)


@pytest.mark.parametrize(("form", "size", "tolerance"), [("float16", 0.5, 1e-3), ("int8", 0.4, 2e-2)])
def test_translations_are_the_same(trained: Path, tmp_path: Path, form: str, size: float, tolerance: float) -> None:
    small = export(trained, tmp_path / "small", form)
    sizes = [(folder / "weights.safetensors").stat().st_size for folder in (trained, small)]
    assert sizes[1] < size * sizes[0] + 20_000, "names and vectors take some room, too"
    sources = list(small_corpus(tmp_path / "corpus").train.source_texts())[:20]
    for exact, rounded in zip(*(Translator(path).translate_all(sources) for path in (trained, small)), strict=True):
        assert rounded.text == exact.text
        assert rounded.alignment == exact.alignment
        assert rounded.score == pytest.approx(exact.score, abs=tolerance)


def test_the_rest_of_the_folder_is_kept(tmp_path: Path) -> None:
    search, normalisation = SearchSettings(alignment_weight=0.3), NormalisationSettings(lower_case=True)
    folder = make_folder(tmp_path / "model", search=search, normalisation=normalisation)
    (folder / "README.md").write_text("card")
    small = load_model_folder(export(folder, tmp_path / "small", "int8"))
    assert (small.path / "README.md").read_text() == "card"
    assert small.search == search
    assert small.description == load_model_folder(folder).description


def test_the_error_of_eight_bits_is_half_a_step_of_its_row() -> None:
    random = np.random.default_rng(1)
    matrix = random.standard_normal((7, 50)) * np.logspace(-4, 4, 7)[:, None]
    matrix[3] = 0.0
    weights = {"matrix": matrix.astype(np.float32), "vector": random.standard_normal(9).astype(np.float32)}
    expanded = expand_weights(compact_weights(weights, "int8"))
    steps = np.abs(weights["matrix"]).max(axis=1, keepdims=True) / 127
    assert (np.abs(expanded["matrix"] - weights["matrix"]) <= steps / 2 * 1.001).all()
    np.testing.assert_array_equal(expanded["vector"], weights["vector"])
    assert (np.abs(expanded["matrix"]).max(axis=1) > 0).tolist() == [True] * 3 + [False] + [True] * 3


@pytest.mark.parametrize("form", ["float32", "float16", "int8"])
def test_names_are_kept(form: WeightForm) -> None:
    weights = {"a.weight": np.ones((2, 3), dtype=np.float32), "a.bias": np.zeros(2, dtype=np.float32)}
    expanded = expand_weights(compact_weights(weights, form))
    assert {name: weight.dtype for name, weight in expanded.items()} == dict.fromkeys(weights, np.dtype(np.float32))


def test_lost_scales_are_noticed(tmp_path: Path) -> None:
    small = export(make_folder(tmp_path / "model"), tmp_path / "small", "int8")
    stored = load_file(small / "weights.safetensors")
    lost = next(name for name in stored if name.endswith(":scales"))
    save_file({name: weight for name, weight in stored.items() if name != lost}, small / "weights.safetensors")
    with pytest.raises(AlidadeError, match="the scales of its rows are not with it"):
        load_model_folder(small).weights()
