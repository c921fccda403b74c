"""The second stage on an imported model: prepare with its pieces, train on from its weights, translate assisted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from alidade.config import PrepareConfig, TrainConfig
from alidade.corpus.prepare import Preparation
from alidade.corpus.store import PreparedCorpus
from alidade.errors import AlidadeError
from alidade.exchange.importing import import_model
from alidade.exchange.weights import ImportedModel
from alidade.model_folder import load_model_folder
from alidade.models.batch import make_batch
from alidade.models.system import build_system, initialise_from, load_system
from alidade.training.loop import train
from alidade.translator import Translator
from foreign_models import make_release, sentences

NUM_PAIRS, NUM_DEV = 40, 5


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ImportedModel]:
    path = tmp_path_factory.mktemp("stage_two")
    release = make_release(path / "release")
    return path / "base", import_model(release, path / "base", source_language="en", target_language="de")


@pytest.fixture(scope="module")
def corpus(imported: tuple[Path, ImportedModel]) -> PreparedCorpus:
    base = imported[0]
    folder = base.parent
    for side, language in (("source", "en"), ("target", "de")):
        lines = sentences(language, NUM_PAIRS + NUM_DEV, seed=6)
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines[:NUM_PAIRS]))
        (folder / f"dev.{side}").write_text("".join(f"{line}\n" for line in lines[NUM_PAIRS:]))
    links = "".join("0-0 1-1\n" for _ in range(NUM_PAIRS))
    (folder / "links").write_text(links)
    (folder / "dev.links").write_text("0-0 1-1\n" * NUM_DEV)
    config = {
        "corpus": folder / "corpus",
        "source_language": "en",
        "target_language": "de",
        "bitext": [{"source": folder / "train.source", "target": folder / "train.target"}],
        "dev": {"source": folder / "dev.source", "target": folder / "dev.target"},
        "cleaning": {"moses_punctuation": True},
        "subwords": {"like": base},
        "aligner": {"kind": "pharaoh", "train_links": folder / "links", "dev_links": folder / "dev.links"},
    }
    return Preparation(PrepareConfig.model_validate(config), num_workers=1).run()


def settings(imported: tuple[Path, ImportedModel], corpus: PreparedCorpus, **changes: Any) -> TrainConfig:
    base, model = imported
    jumps = {"kind": "transformer-jumps", "encoder": "lexical", "width": 16, "heads": 4, "feed_forward": 24}
    training = {"corpus": corpus.folder, "folder": base.parent / "run", "init_from": base, "steps": 3, "threads": 1}
    return TrainConfig.model_validate(
        {
            "lexical": model.settings.model_dump() | {"kind": "transformer-aligned"} | changes,
            "alignment": jumps | {"decoder_layers": 1, "max_jump": 20},
            "training": training | {"learning_rate": 1e-4, "validate_every": 3, "save_every": 3},
        }
    )


def test_a_corpus_has_the_imported_pieces(imported: tuple[Path, ImportedModel], corpus: PreparedCorpus) -> None:
    folder = load_model_folder(imported[0])
    assert corpus.source_subwords.is_raw
    assert corpus.source_subwords.fingerprint == folder.source_subwords.fingerprint
    text = next(corpus.train.source_texts())
    assert tuple(corpus.train.source(0).tolist()) == folder.source_subwords.encode(text).ids
    assert corpus.train.positions(0).min() >= 1


def test_the_second_stage_starts_at_the_imported_model(
    imported: tuple[Path, ImportedModel], corpus: PreparedCorpus
) -> None:
    config = settings(imported, corpus)
    size = len(corpus.source_subwords)
    start = build_system(config.lexical, config.alignment, size, size).eval()
    initialise_from(start, imported[0])
    baseline = load_system(load_model_folder(imported[0]))
    batch = make_batch(corpus.train, np.arange(8))
    lexical: list[Any] = [start.lexical, baseline.lexical]
    with torch.no_grad():
        first, second = (model.output(model(batch)) for model in lexical)
    assert torch.equal(first, second)


def test_training_goes_on_and_the_system_translates(
    imported: tuple[Path, ImportedModel], corpus: PreparedCorpus
) -> None:
    folder = train(settings(imported, corpus))
    translator = Translator(folder)
    assert translator.is_assisted
    assert translator.model.description.normalisation.moses_punctuation
    translation = translator.translate("the old man opens the door.", dictionary={"door": "Tür"}, mode="require")
    assert "Tür" in translation.text
    assert all(1 <= position <= len(translation.source) + 1 for position in translation.positions)


def test_other_conventions_are_refused(imported: tuple[Path, ImportedModel], corpus: PreparedCorpus) -> None:
    with pytest.raises(AlidadeError, match='write `source_start = "skipped"` under'):
        train(settings(imported, corpus, source_start="read"))
