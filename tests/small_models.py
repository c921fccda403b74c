"""Small models with weights that nothing agrees with by accident, and a batch for them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from alidade.config import RnnJumpsSettings, RnnSettings, TransformerJumpsSettings, TransformerSettings
from alidade.corpus.arrays import Ragged
from alidade.models.batch import Batch
from alidade.models.system import build_system
from alidade.text.vocabulary import BOS, EOS, PAD

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


def randomise(model: torch.nn.Module) -> None:
    """Weights that no initialisation has, zeros among them, so that nothing agrees by accident."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)


def lexical_model(**settings: object) -> torch.nn.Module:
    system = build_system(_lexical_settings(settings), None, VOCABULARY, VOCABULARY)
    assert system.lexical is not None
    randomise(system.lexical)
    return system.lexical.eval()


def jumps_model(**settings: object) -> torch.nn.Module:
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
