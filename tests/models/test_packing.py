"""Packed layers compute what plain ones do."""

from __future__ import annotations

import pytest
import torch
from alidade.models.packing import PackedLinear, can_pack, pack_linears
from torch import nn

from small_models import jumps_model, lexical_model, random_batch

pytestmark = pytest.mark.skipif(not can_pack(torch.zeros(1)), reason="this torch has no oneDNN")


@torch.inference_mode()
@pytest.mark.parametrize("model", [lexical_model(kind="transformer-aligned"), jumps_model()], ids=["lexical", "jumps"])
def test_a_packed_model_computes_what_a_plain_one_does(model: nn.Module) -> None:
    batch = random_batch()
    expected, names = model(batch), [name for name, _ in model.named_parameters()]
    pack_linears(model)
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    torch.testing.assert_close(model(batch), expected, atol=1e-5, rtol=1e-4)
    assert [name for name, _ in model.named_parameters()] == names  # it can still be saved


@torch.inference_mode()
def test_an_infinite_bias_stays_infinite() -> None:
    """The search pads the vocabulary with words that are never chosen."""
    layer = PackedLinear(torch.randn(4, 3), torch.tensor([0.0, 1.0, -torch.inf, -torch.inf]))
    assert layer(torch.randn(2, 3)).isinf().tolist() == [[False, False, True, True]] * 2
