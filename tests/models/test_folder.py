"""Model folders: what goes in comes out, and what is damaged is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from alidade.config import (
    NormalisationSettings,
    SearchSettings,
    SubwordSettings,
    TransformerJumpsSettings,
    TransformerSettings,
)
from alidade.corpus.encode import count_units, train_subwords
from alidade.errors import AlidadeError
from alidade.model_folder import load_model_folder, save_model_folder
from alidade.models.system import System, build_system, initialise_from, load_system, named_weights
from alidade.text.subwords import Subwords
from small_models import random_batch

SHAPE = {"width": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 2}
BASELINE = TransformerSettings.model_validate(SHAPE)
ASSISTED = TransformerSettings.model_validate(SHAPE | {"kind": "transformer-aligned"})


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    units = count_units(["the cat sees the dog", "the dog sees a bird", "a bird sings"], "en")
    return Subwords(train_subwords(units, SubwordSettings(vocabulary_size=40, byte_fallback=False)), "en")


@pytest.fixture
def folder(tmp_path: Path, subwords: Subwords) -> Path:
    path = tmp_path / "model"
    save_model_folder(path, named_weights(fresh(BASELINE, subwords)), BASELINE, None, subwords, subwords)
    return path


def fresh(settings: TransformerSettings, subwords: Subwords) -> System:
    return build_system(settings, None, len(subwords), len(subwords)).eval()


def test_what_goes_in_comes_out(tmp_path: Path, subwords: Subwords) -> None:
    system = fresh(ASSISTED, subwords)
    search = SearchSettings(beam_size=3, alignment_weight=0.5)
    save_model_folder(tmp_path / "model", named_weights(system), ASSISTED, None, subwords, subwords, search)
    loaded = load_model_folder(tmp_path / "model")
    batch = random_batch()
    assert torch.equal(system(batch)["lexical"], load_system(loaded)(batch)["lexical"])
    assert loaded.search == search
    assert loaded.source_subwords.encode("the bird").ids == subwords.encode("the bird").ids
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".safetensors", ".model"}


def test_a_folder_says_how_its_text_was_written(tmp_path: Path, subwords: Subwords) -> None:
    normalisation = NormalisationSettings(lower_case=True, strip_diacritics=["en"])
    weights = named_weights(fresh(BASELINE, subwords))
    save_model_folder(tmp_path / "m", weights, BASELINE, None, subwords, subwords, normalisation=normalisation)
    loaded = load_model_folder(tmp_path / "m")
    assert loaded.description.normalisation == normalisation
    assert loaded.normalise_source(" The  Café") == loaded.normalise_target("the cafe") == "the cafe"


def test_a_folder_without_a_word_on_writing_is_read(folder: Path) -> None:
    description = json.loads((folder / "model.json").read_text())
    del description["normalisation"]
    (folder / "model.json").write_text(json.dumps(description))
    assert load_model_folder(folder).normalise_source("The  Café") == "The Café"


def test_a_folder_is_replaced_as_a_whole(folder: Path, subwords: Subwords) -> None:
    (folder / "left over").touch()
    save_model_folder(folder, named_weights(fresh(ASSISTED, subwords)), ASSISTED, None, subwords, subwords)
    assert load_model_folder(folder).description.lexical == ASSISTED
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert not (folder / "left over").exists()


def test_who_may_read_the_folder_may_read_its_weights(folder: Path) -> None:
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1


def test_the_second_stage_takes_the_baselines_weights(folder: Path, subwords: Subwords) -> None:
    assisted = fresh(ASSISTED, subwords)
    initialise_from(assisted, folder)
    batch = random_batch()
    assert torch.equal(assisted(batch)["lexical"], load_system(load_model_folder(folder))(batch)["lexical"])


def test_one_role_may_start_from_a_whole_system(folder: Path, subwords: Subwords) -> None:
    alignment = TransformerJumpsSettings.model_validate(SHAPE | {"kind": "transformer-jumps"})
    whole = build_system(ASSISTED, alignment, len(subwords), len(subwords))
    save_model_folder(folder, named_weights(whole), ASSISTED, alignment, subwords, subwords)
    part = fresh(ASSISTED, subwords)
    initialise_from(part, folder)
    batch = random_batch()
    assert torch.equal(part(batch)["lexical"], load_system(load_model_folder(folder))(batch)["lexical"])


def test_another_shape_is_refused(folder: Path, subwords: Subwords) -> None:
    wider = fresh(TransformerSettings.model_validate(SHAPE | {"width": 32}), subwords)
    with pytest.raises(AlidadeError, match="the same sizes"):
        initialise_from(wider, folder)
    shallower = fresh(TransformerSettings.model_validate(SHAPE | {"decoder_layers": 1}), subwords)
    with pytest.raises(AlidadeError, match="does not have"):
        initialise_from(shallower, folder)


def test_truncated_weights_are_refused(folder: Path) -> None:
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(AlidadeError, match="damaged or cut short"):
        load_system(load_model_folder(folder))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "its format is 2"),
        ({"lexical": {"kind": "transformer", "widht": 16}}, 'unknown key "lexical.widht"; did you mean "width"'),
        ({"lexical": SHAPE | {"kind": "transformer", "decoder_layers": 3}}, "do not belong together"),
        ({"lexical": SHAPE | {"kind": "transformer", "feed_forward": 64}}, "has the shape"),
    ],
)
def test_a_mismatched_description_is_refused(folder: Path, change: dict[str, object], message: str) -> None:
    description = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(description | change))
    with pytest.raises(AlidadeError, match=message):
        load_system(load_model_folder(folder))


def test_another_subword_model_is_refused(folder: Path) -> None:
    units = count_units(["quite another text with other words"], "en")
    other = Subwords(train_subwords(units, SubwordSettings(vocabulary_size=30, byte_fallback=False)), "en")
    other.save(folder / "subwords.source.model")
    with pytest.raises(AlidadeError, match="not the subword model"):
        load_model_folder(folder)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AlidadeError, match=r"no model\.json"):
        load_model_folder(tmp_path)
