"""Links out of attention: all layers and heads count, and pieces' links become links of words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from alidade.alignment.positions import attended_positions
from small_models import lexical_model, random_batch

LAYERS, HEADS = 3, 2


@pytest.mark.parametrize("kind", ["transformer", "transformer-aligned"])
@pytest.mark.parametrize("layer", range(LAYERS))
@pytest.mark.parametrize("head", range(HEADS))
@torch.no_grad()
def test_a_head_that_looks_nowhere_changes_the_sum(kind: str, layer: int, head: int) -> None:
    """Without queries a head looks everywhere alike; the heads of the layers below are as they were."""
    model, batch = lexical_model(kind=kind), random_batch()
    before = model.attention(batch)
    query = model.decoder.layers[layer].source_attention.query
    own = slice(head * query.out_features // HEADS, (head + 1) * query.out_features // HEADS)
    query.weight[own] = 0.0
    query.bias[own] = 0.0
    after = model.attention(batch)
    torch.testing.assert_close(after.sum(-1), before.sum(-1))
    is_target = batch.target_out != 0
    assert bool(((after - before).abs().amax(dim=-1) > 1e-6)[is_target].all())


def test_the_ends_of_the_source_are_no_positions() -> None:
    attention = np.array([[9.0, 1.0, 2.0, 9.0], [0.0, 3.0, 1.0, 0.0]])
    assert attended_positions(attention) == [2, 1]
    assert attended_positions(np.ones((2, 2))) == [1, 1], "a source without pieces"
