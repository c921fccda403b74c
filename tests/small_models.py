"""Small models with weights that nothing agrees with by accident, on torch and on the engine, and a batch for them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alidade.config import (
    RnnJumpsSettings,
    RnnSettings,
    SearchSettings,
    TransformerJumpsSettings,
    TransformerSettings,
)
from alidade.corpus.arrays import Ragged
from alidade.engine.graph import Precision
from alidade.engine.system import EngineSystem, load_engine
from alidade.model_folder import WEIGHTS_FILE, ModelDescription, ModelFolder, VocabularyDescription, write_weights
from alidade.models.batch import Batch
from alidade.models.reference import ReferenceSystem
from alidade.models.system import System, build_system, named_weights
from alidade.text.vocabulary import BOS, EOS, PAD
from synthetic import word_pieces

torch.set_num_threads(1)  # such small matrices are not worth a second one

VOCABULARY = 23
LENGTHS = [(5, 6), (9, 4), (3, 8)]
BEAM = 3
TRANSFORMER_SHAPE = {"width": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 2, "decoder_layers": 3}


def random_batch(seed: int = 0) -> Batch:
    """Three pairs of different lengths with random words and positions."""
    generator = torch.Generator().manual_seed(seed)
    num_pairs = len(LENGTHS)
    source_width = max(source for source, _ in LENGTHS) + 2
    target_width = max(target for _, target in LENGTHS) + 1
    source = torch.full((num_pairs, source_width), PAD)
    target_in, target_out = torch.full((2, num_pairs, target_width), PAD)
    positions, previous_positions = torch.zeros(2, num_pairs, target_width, dtype=torch.long)
    for row, (source_length, target_length) in enumerate(LENGTHS):
        words = torch.randint(4, VOCABULARY, (source_length,), generator=generator)
        source[row, : source_length + 2] = torch.tensor([BOS, *words, EOS])
        words = torch.randint(4, VOCABULARY, (target_length,), generator=generator)
        target_in[row, : target_length + 1] = torch.tensor([BOS, *words])
        target_out[row, : target_length + 1] = torch.tensor([*words, EOS])
        path = torch.randint(1, source_length + 1, (target_length,), generator=generator)
        positions[row, : target_length + 1] = torch.tensor([*path, source_length + 1])
        previous_positions[row, : target_length + 1] = torch.tensor([0, *path])
    num_tokens = sum(target + 1 for _, target in LENGTHS)
    return Batch(source, target_in, target_out, positions, previous_positions, num_tokens)


def randomise(model: torch.nn.Module, noise: float = 0.2) -> None:
    """Weights that no initialisation has, zeros among them, so that nothing agrees by accident."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in sorted(
            model.parameters(), key=lambda one: not one.requires_grad
        ):  # what is counted comes last
            parameter.add_(torch.randn(parameter.shape, generator=generator) * noise)


def lexical_model(**settings: object) -> Any:
    system = build_system(_lexical_settings(settings), None, VOCABULARY, VOCABULARY)
    assert system.lexical is not None
    randomise(system.lexical)
    return system.lexical.eval()


def jumps_model(**settings: object) -> Any:
    system = build_system(None, _jumps_settings({"max_jump": 10} | settings), VOCABULARY, VOCABULARY)
    assert system.alignment is not None
    randomise(system.alignment)
    return system.alignment.eval()


def _lexical_settings(settings: dict[str, object]) -> TransformerSettings | RnnSettings:
    if str(settings.get("kind")).startswith("rnn"):
        return RnnSettings.model_validate({"embedding": 12, "width": 16, "attention": 10} | settings)
    return TransformerSettings.model_validate(TRANSFORMER_SHAPE | settings)


def _jumps_settings(settings: dict[str, object]) -> TransformerJumpsSettings | RnnJumpsSettings:
    if settings.get("kind") == "rnn-jumps":
        return RnnJumpsSettings.model_validate({"embedding": 12, "width": 16} | settings)
    return TransformerJumpsSettings.model_validate(TRANSFORMER_SHAPE | settings)


@dataclass(frozen=True)
class SmallSystem:
    """A system of torch models, and what a model folder would say of it."""

    description: ModelDescription
    models: System

    def reference(self) -> ReferenceSystem:
        return ReferenceSystem(self.models)

    def engine(self, precision: Precision = "float32") -> EngineSystem:
        with tempfile.TemporaryDirectory() as path:
            return load_engine(self.folder(Path(path)), precision=precision)

    def folder(self, path: Path) -> ModelFolder:
        """A folder with its weights. Its subword models are anybody's: nothing but ids goes through these systems."""
        write_weights(path / WEIGHTS_FILE, named_weights(self.models))
        return ModelFolder(path, self.description, word_pieces(), word_pieces(), SearchSettings())


def small_system(
    lexical: dict[str, object],
    alignment: dict[str, object] | None = None,
    *,
    source_vocabulary: int = VOCABULARY,
    target_vocabulary: int = VOCABULARY,
    noise: float = 0.2,
) -> SmallSystem:
    """Both models with random weights, the same ones for the same settings."""
    lexical_settings = _lexical_settings(lexical)
    alignment_settings = None if alignment is None else _jumps_settings({"max_jump": 10} | alignment)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        system = build_system(lexical_settings, alignment_settings, source_vocabulary, target_vocabulary)
    randomise(system, noise)
    source, target = [
        VocabularyDescription(language="en", size=size, fingerprint="")
        for size in (source_vocabulary, target_vocabulary)
    ]
    description = ModelDescription(lexical=lexical_settings, alignment=alignment_settings, source=source, target=target)
    return SmallSystem(description, system.eval())


def to_grid(features: Tensor, batch: Batch) -> Tensor:
    grid = features.new_zeros(*batch.target_out.shape, features.shape[-1])
    grid[batch.target_out != PAD] = features
    return grid


@dataclass
class SmallPairs:
    """Pairs in memory, as batching reads them."""

    sources: Ragged
    targets: Ragged
    all_positions: Ragged | None


PAIRS = SmallPairs(
    Ragged.of([[10, 11, 12], [13], [14, 15]]),
    Ragged.of([[20, 21], [22, 23, 24], [25]]),
    Ragged.of([[3, 1], [1] * 3, [2]]),
)
