"""Baselines written for Hugging Face: `transformers` reads the same pieces and gives the same translations."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

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
from alidade.text.vocabulary import EOS
from alidade.translator import Translator
from foreign_models import sentences

transformers = pytest.importorskip("transformers")

SHAPE = {"width": 32, "heads": 4, "feed_forward": 48, "encoder_layers": 2, "decoder_layers": 2}
MARIANS: dict[str, object] = {"pre_norm": False, "source_start": "skipped"}


def make_baseline(path: Path, settings: dict[str, object], kind: Literal["bpe", "unigram"] = "bpe") -> Path:
    """A baseline with random weights that translates into words, and ends."""
    texts = sentences("en", 300) + sentences("de", 300)
    pieces = SubwordSettings(kind=kind, vocabulary_size=420)
    subwords = Subwords(train_subwords(count_units(texts, "en"), pieces), "en")
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
    target = Subwords(subwords.model, "de")
    save_model_folder(path, named_weights(system), lexical, None, subwords, target, SearchSettings(beam_size=4))
    return path


def export(ours: Path, theirs: Path) -> None:
    arguments = ["export", "--model", str(ours), "--format", "hugging-face", "--output", str(theirs)]
    CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    ("kind", "settings", "model_class"),
    [
        ("bpe", {}, "PegasusForConditionalGeneration"),
        ("unigram", {}, "PegasusForConditionalGeneration"),
        ("bpe", {"pre_norm": False}, "MarianMTModel"),
        (
            "bpe",
            {"source_start": "skipped", "activation": "gelu", "position_rates": "marian"},
            "PegasusForConditionalGeneration",
        ),
        ("bpe", MARIANS, "MarianMTModel"),
        ("unigram", MARIANS | {"activation": "swish"}, "MarianMTModel"),
    ],
)
def test_transformers_gives_our_translations(
    tmp_path: Path, kind: Literal["bpe", "unigram"], settings: dict[str, object], model_class: str
) -> None:
    """The first is a baseline as `alidade train` makes it by default."""
    ours, theirs = make_baseline(tmp_path / "ours", settings, kind), tmp_path / "theirs"
    export(ours, theirs)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(theirs).eval()
    tokeniser = transformers.AutoTokenizer.from_pretrained(theirs)
    assert type(model).__name__ == model_class
    translator = Translator(ours, precision="float32")
    texts = [*sentences("en", 12, seed=5), "  the  man, the old café!", "日本 man"]
    found = translator.translate_all(texts, protect=False, with_links=False)
    assert len({translation.text for translation in found}) > 1
    for text, translation in zip(texts, found, strict=True):
        source = tokeniser(text, return_tensors="pt")
        assert [
            piece for piece in tokeniser.convert_ids_to_tokens(source.input_ids[0]) if piece not in ("<s>", "</s>")
        ] == [*translation.source.pieces]
        output = model.generate(
            input_ids=source.input_ids,
            attention_mask=source.attention_mask,
            max_new_tokens=int(2 * len(translation.source) + 10),
            max_length=None,
            forced_eos_token_id=None,
            return_dict_in_generate=True,
            output_scores=True,
        )
        assert tokeniser.decode(output.sequences[0], skip_special_tokens=True) == translation.text
        assert output.sequences_scores[0].item() == pytest.approx(translation.score, abs=1e-4)


@pytest.mark.parametrize("rates", ["original", "marian"])
def test_what_was_exported_can_be_imported(tmp_path: Path, rates: str) -> None:
    export(make_baseline(tmp_path / "ours", MARIANS | {"position_rates": rates}), tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "again")
    before, after = (load_model_folder(tmp_path / name) for name in ("ours", "again"))
    assert after.search == before.search
    assert after.description.lexical == before.description.lexical
    assert before.weights().keys() == after.weights().keys()
    rows = [
        [folder.source_subwords.piece(number) for number in range(4, len(folder.source_subwords))]
        for folder in (before, after)
    ]
    assert rows[0] == rows[1]
    for name, weight in before.weights().items():
        np.testing.assert_array_equal(weight, after.weights()[name])


@pytest.mark.parametrize(("name", "value"), [("tied_embeddings", "none"), ("norm_epsilon", 1e-6)])
def test_what_cannot_be_said_in_their_format_is_named(tmp_path: Path, name: str, value: object) -> None:
    ours = make_baseline(tmp_path / "ours", {name: value})
    with pytest.raises(AlidadeError, match=name):
        export(ours, tmp_path / "theirs")
    assert not (tmp_path / "theirs").exists()
