"""Tuning finds the best point of a smooth landscape and saves it with the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from alidade.cli import app
from alidade.config import SearchSettings
from alidade.model_folder import load_search_settings
from alidade.search.tuning import tune
from small_folders import make_folder


def landscape(settings: SearchSettings) -> float:
    return -((settings.alignment_weight - 0.3) ** 2) - (settings.length_normalisation - 0.6) ** 2


def test_the_best_point_is_found() -> None:
    trials = list(tune(landscape, SearchSettings(lexical_weight=2.0), is_assisted=True))
    best = max(trials, key=lambda trial: trial.bleu).settings
    assert (best.lexical_weight, best.alignment_weight, best.length_normalisation) == (1.0, 0.3, 0.6)
    assert len({trial.settings for trial in trials}) == len(trials)  # no point is tried twice


def test_a_baseline_has_only_its_length_normalisation() -> None:
    trials = list(tune(landscape, SearchSettings(), is_assisted=False))
    assert {trial.settings.alignment_weight for trial in trials} == {1.0}


@pytest.mark.parametrize("is_assisted", [True, False])
def test_what_is_picked_is_saved_with_the_model(tmp_path: Path, is_assisted: bool) -> None:
    folder = make_folder(tmp_path / "model", is_assisted=is_assisted)
    (tmp_path / "source").write_text("ba be bi\nbo bu\n")
    (tmp_path / "target").write_text("be ba bi\nbu bo\n")
    files = ["--source", str(tmp_path / "source"), "--target", str(tmp_path / "target")]
    result = CliRunner().invoke(app, ["tune", "--model", str(folder), *files], catch_exceptions=False)
    picked = load_search_settings(folder)
    assert f"length_normalisation {picked.length_normalisation}" in result.stderr
    assert "saved the best" in result.stderr
