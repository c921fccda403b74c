"""Whoever fills the search's roles says of given pairs what training computes, all target pieces at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from alidade.models.batch import Batch
from alidade.models.jumps import jumps_to_positions
from alidade.search.forced import score_pairs
from alidade.search.roles import System
from alidade.text.vocabulary import PAD
from all_kinds import SYSTEMS
from small_models import LENGTHS, SmallSystem, random_batch, to_grid


def pairs_of(batch: Batch) -> tuple[list[list[int]], list[list[int]], list[list[int]]]:
    sources, targets, positions = [], [], []
    for row, (source_length, target_length) in enumerate(LENGTHS):
        sources.append(batch.source[row, 1 : source_length + 1].tolist())
        targets.append(batch.target_out[row, :target_length].tolist())
        positions.append(batch.positions[row, :target_length].tolist())
    return sources, targets, positions


@torch.inference_mode()
def trained_logp(system: SmallSystem, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
    """(B, T) log p_lex and log p_align, teacher-forced."""
    models, features = system.models, system.models(batch)
    lexical = torch.log_softmax(models.lexical.output(to_grid(features["lexical"], batch)), dim=-1)
    lexical = lexical.gather(2, batch.target_out[:, :, None])[:, :, 0]
    if models.alignment is None:
        return lexical, None
    logits = models.alignment.output(to_grid(features["alignment"], batch))
    lengths = (batch.source != PAD).sum(dim=1)
    positions = jumps_to_positions(logits, batch.previous_positions, lengths, batch.source.shape[1])
    return lexical, positions.gather(2, batch.positions[:, :, None])[:, :, 0]


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("filled_by", ["reference", "engine"])
def test_given_pairs_score_as_in_training(name: str, filled_by: str) -> None:
    system, batch = SYSTEMS[name], random_batch()
    lexical, alignment = trained_logp(system, batch)
    roles: System = system.reference() if filled_by == "reference" else system.engine()
    sources, targets, positions = pairs_of(batch)
    with torch.inference_mode():
        attention = system.models.lexical.attention(batch).numpy()
    paths = positions if alignment is not None else [()] * len(sources)
    for row, score in enumerate(score_pairs(roles, sources, targets, paths)):
        length = len(targets[row])
        np.testing.assert_allclose(score.lexical_logp, lexical[row, : length + 1], atol=1e-4)
        np.testing.assert_allclose(score.attention, attention[row, :length, : len(sources[row]) + 2], atol=1e-4)
        if alignment is not None:
            np.testing.assert_allclose(score.alignment_logp, alignment[row, : length + 1], atol=1e-4)
