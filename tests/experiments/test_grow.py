"""A wider model that was grown from a narrow one writes what that one wrote."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from alidade.model_folder import load_model_folder, read_weights, write_weights
from alidade.models.batch import Batch
from alidade.models.system import load_system
from alidade.models.transformer import AlignedTransformer
from alidade.text.vocabulary import BOS, EOS
from enro.grow import main as grow
from small_folders import make_folder
from synthetic import word_ids


def test_weights_are_written_as_they_read_whatever_their_memory_looks_like(tmp_path: Path) -> None:
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    write_weights(tmp_path / "weights.safetensors", {"turned": weight.T, "picked": weight[:, [2, 0]]})
    read = read_weights(tmp_path)
    assert (read["turned"] == weight.T).all()
    assert (read["picked"] == weight[:, [2, 0]]).all()


def _logits(folder: Path) -> torch.Tensor:
    lexical = load_system(load_model_folder(folder)).lexical
    assert isinstance(lexical, AlignedTransformer)
    words = list(word_ids())[:5]
    source = torch.tensor([[BOS, *words, EOS]])
    target_in, positions = torch.tensor([[BOS, *words]]), torch.tensor([[1, 2, 3, 4, 5, 6]])
    previous = torch.tensor([[0, 1, 2, 3, 4, 5]])
    batch = Batch(
        source=source,
        target_in=target_in,
        target_out=torch.tensor([[*words, EOS]]),
        positions=positions,
        previous_positions=previous,
        num_target_tokens=6,
    )
    with torch.no_grad():
        logits: torch.Tensor = lexical.output(lexical(batch))
    return logits[:, list(word_ids())]


def _grow(folder: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    output = folder.parent / str(width)
    arguments = [str(folder), "--width", str(width), "--feed-forward", "48", "--lexical", str(output)]
    monkeypatch.setattr(sys, "argv", ["grow.py", *arguments, "--alignment", str(folder.parent / "jumps")])
    grow()
    return output


def test_new_units_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_folder(tmp_path / "model")
    torch.testing.assert_close(_logits(_grow(folder, 16, monkeypatch)), _logits(folder), atol=1e-5, rtol=0)


def test_more_width_changes_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Norms see other means, and positions other sinusoids: close, not equal."""
    folder = make_folder(tmp_path / "model")
    logits = torch.stack([_logits(folder).flatten(), _logits(_grow(folder, 24, monkeypatch)).flatten()])
    assert torch.corrcoef(logits)[0, 1] > 0.98
