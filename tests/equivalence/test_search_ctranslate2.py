"""CTranslate2, an engine that nobody here wrote, gives the same translations with the same model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from alidade.config import SearchSettings, TransformerSettings
from alidade.errors import AlidadeError
from alidade.exchange.ctranslate2 import export_ctranslate2
from alidade.models.system import build_system
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Request
from alidade.text.vocabulary import BOS, EOS, PAD, UNK
from small_models import SmallSystem, small_system

ctranslate2 = pytest.importorskip("ctranslate2")

VOCABULARY = 90
PIECES = ["<pad>", "<s>", "</s>", "<unk>", *(f"piece{i}" for i in range(4, VOCABULARY))]


def make_system(*, pre_norm: bool) -> SmallSystem:
    settings = {"width": 32, "heads": 4, "feed_forward": 64, "pre_norm": pre_norm, "tied_embeddings": "none"}
    system = small_system(settings, source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY, noise=0.1)
    with torch.no_grad():
        system.models.lexical.output.bias[[PAD, BOS, UNK]] = -1e9  # as in training, where they are never a target
        system.models.lexical.output.bias[EOS] += 3.5
    return system


def required(model: torch.nn.Module | None) -> torch.nn.Module:
    assert model is not None
    return model


def sources() -> list[list[int]]:
    generator = random.Random(8)
    return [[generator.randrange(4, VOCABULARY) for _ in range(length)] for length in [3, 11, 1, 7, 20, 5, 5, 9] * 4]


@pytest.mark.parametrize("pre_norm", [True, False])
@pytest.mark.parametrize(("beam_size", "length_normalisation"), [(1, 1.0), (4, 0.0), (4, 0.6), (5, 1.0), (8, 1.0)])
def test_the_same_translations(tmp_path: Path, pre_norm: bool, beam_size: int, length_normalisation: float) -> None:
    system = make_system(pre_norm=pre_norm)
    export_ctranslate2(required(system.models.lexical), PIECES, PIECES, tmp_path / "model")
    theirs = ctranslate2.Translator(str(tmp_path / "model"), intra_threads=1).translate_batch(
        [[PIECES[word] for word in source] for source in sources()],
        beam_size=beam_size,
        num_hypotheses=beam_size,
        length_penalty=length_normalisation,
        max_decoding_length=24,
        min_decoding_length=0,
        return_end_token=True,
        return_scores=True,
        disable_unk=True,
    )
    settings = SearchSettings(beam_size=beam_size, length_normalisation=length_normalisation)
    search = BeamSearch(system.engine(), settings)
    ours = search.search([Request(source, max_length=24) for source in sources()], num_best=beam_size)
    num_complete = 0
    for mine, other in zip(ours, theirs, strict=True):
        found = [
            [PIECES[piece] for piece in h.pieces] + ["</s>"] * h.is_complete
            for h in mine.hypotheses[: len(other.hypotheses)]
        ]
        num_complete += mine.best.is_complete
        # Without normalisation CTranslate2 stops as soon as the best one is known.
        compared = 1 if length_normalisation == 0 else beam_size
        assert found[:compared] == other.hypotheses[:compared]
        assert [h.score for h in mine.hypotheses][:compared] == pytest.approx(other.scores[:compared], abs=1e-4)
    assert num_complete > 0


def test_assisted_systems_cannot_be_exported(tmp_path: Path) -> None:
    shape: dict[str, Any] = {"width": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1}
    system = build_system(TransformerSettings(kind="transformer-aligned", **shape), None, VOCABULARY, VOCABULARY)
    with pytest.raises(AlidadeError, match="only the `transformer` baseline"):
        export_ctranslate2(required(system.lexical), PIECES, PIECES, tmp_path / "model")
