"""Baselines written for Hugging Face: `transformers` reads the same pieces and gives the same translations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from alidade.cli import app
from alidade.config import SearchSettings, SubwordSettings, TransformerSettings
from alidade.corpus.encode import count_units, train_subwords
from alidade.errors import AlidadeError
from alidade.exchange.importing import import_model
from alidade.model_folder import load_model_folder, save_model_folder
from alidade.models.system import build_system, named_weights
from alidade.text.subwords import Subwords
from alidade.text.vocabulary import BOS, EOS, PAD
from alidade.translator import Translator
from foreign_models import sentences

transformers = pytest.importorskip("transformers")

SHAPE = {"width": 32, "heads": 4, "feed_forward": 48, "encoder_layers": 2, "decoder_layers": 2}
THEIRS = {"pre_norm": False, "source_start": "skipped"}


def make_baseline(path: Path, **settings: object) -> Path:
    """A baseline with random weights that translates into words, and ends."""
    texts = sentences("en", 300) + sentences("de", 300)
    subwords = Subwords(train_subwords(count_units(texts, "en"), SubwordSettings(vocabulary_size=420)), "en")
    lexical = TransformerSettings.model_validate(SHAPE | settings)
    with torch.random.fork_rng():
        torch.manual_seed(2)
        system = build_system(lexical, None, len(subwords), len(subwords))
        with torch.no_grad():
            for parameter in system.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.15)
            lexical_model: Any = system.lexical
            lexical_model.output.bias[:] = -20.0
            lexical_model.output.bias[[EOS, *subwords.spelling_ids.values()]] += 20.0
            lexical_model.output.bias[EOS] += 1.5
            lexical_model.output.bias[[PAD, BOS]] = -1e4
    target = Subwords(subwords.model, "de")
    save_model_folder(path, named_weights(system), lexical, None, subwords, target, SearchSettings(beam_size=4))
    return path


@pytest.mark.parametrize("activation", ["relu", "swish", "gelu"])
def test_transformers_gives_our_translations(tmp_path: Path, activation: str) -> None:
    ours = make_baseline(tmp_path / "ours", activation=activation, **THEIRS)
    theirs = tmp_path / "theirs"
    arguments = ["export", "--model", str(ours), "--format", "hugging-face", "--output", str(theirs)]
    CliRunner().invoke(app, arguments, catch_exceptions=False)
    model = transformers.MarianMTModel.from_pretrained(theirs).eval()
    tokeniser = transformers.MarianTokenizer.from_pretrained(theirs)
    translator = Translator(ours, precision="float32")
    texts = sentences("en", 12, seed=5)
    found = translator.translate_all(texts, protect=False, with_links=False)
    assert len({translation.text for translation in found}) > 1
    for text, translation in zip(texts, found, strict=True):
        source = tokeniser(text, return_tensors="pt")
        length = int(2 * len(translation.source) + 10)
        output = model.generate(**source, max_new_tokens=length, max_length=None, forced_eos_token_id=None)
        assert tokeniser.decode(output[0], skip_special_tokens=True) == translation.text


def test_what_was_exported_can_be_imported(tmp_path: Path) -> None:
    ours = make_baseline(tmp_path / "ours", **THEIRS)
    arguments = ["export", "--model", str(ours), "--format", "hugging-face", "--output", str(tmp_path / "theirs")]
    CliRunner().invoke(app, arguments, catch_exceptions=False)
    import_model(tmp_path / "theirs", tmp_path / "again")
    before, after = (load_model_folder(tmp_path / name) for name in ("ours", "again"))
    assert after.search == before.search
    assert before.weights().keys() == after.weights().keys()
    rows = [
        [folder.source_subwords.piece(number) for number in range(4, len(folder.source_subwords))]
        for folder in (before, after)
    ]
    assert rows[0] == rows[1]
    for name, weight in before.weights().items():
        np.testing.assert_array_equal(weight[EOS:], after.weights()[name][EOS:])


@pytest.mark.parametrize(
    ("name", "value"),
    [("pre_norm", True), ("source_start", "read"), ("tied_embeddings", "none"), ("norm_epsilon", 1e-6)],
)
def test_what_cannot_be_said_in_their_format_is_named(tmp_path: Path, name: str, value: object) -> None:
    ours = make_baseline(tmp_path / "ours", **(THEIRS | {name: value}))
    arguments = ["export", "--model", str(ours), "--format", "hugging-face", "--output", str(tmp_path / "theirs")]
    with pytest.raises(AlidadeError, match=name):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert not (tmp_path / "theirs").exists()
