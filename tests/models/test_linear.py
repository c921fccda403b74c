"""The quick linear layer computes what `nn.Linear` does, forward and backward."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from alidade.models.layers import Linear, round_factors


def gradients(output: Tensor, inputs: list[Tensor], seed: int = 1) -> tuple[Tensor, ...]:
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(seed))
    return torch.autograd.grad(output, inputs, weights)


@pytest.mark.parametrize(("inputs", "outputs"), [(8, 8), (8, 40), (40, 8)])
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("rectified", [True, False])
@pytest.mark.parametrize("shape", [(7,), (3, 5)])
def test_equals_the_plain_layer(
    inputs: int, outputs: int, has_bias: bool, rectified: bool, shape: tuple[int, ...]
) -> None:
    torch.manual_seed(0)
    layer = Linear(inputs, outputs, bias=has_bias)
    x = torch.randn(*shape, inputs, requires_grad=True)
    leaves = [x, *layer.parameters()]
    actual = layer.rectified(x) if rectified else layer(x)
    plain = F.linear(x, layer.weight, layer.bias)
    expected = F.relu(plain) if rectified else plain
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(gradients(actual, leaves), gradients(expected, leaves), rtol=1e-5, atol=1e-5)


def test_reads_what_is_not_contiguous() -> None:
    layer = Linear(6, 4)
    x = torch.randn(6, 5).T.requires_grad_()
    actual, expected = layer(x), F.linear(x, layer.weight, layer.bias)
    torch.testing.assert_close(gradients(actual, [x]), gradients(expected, [x]))
    swapped = layer(torch.randn(2, 3, 6)).transpose(0, 1)
    assert gradients(swapped, [layer.weight])[0].shape == (4, 6)


def test_other_precisions_go_the_usual_way() -> None:
    layer = Linear(6, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(torch.randn(3, 6)).dtype == torch.bfloat16
    assert layer.double()(torch.randn(3, 6, dtype=torch.float64)).dtype == torch.float64


def test_a_frozen_layer_passes_gradients_on() -> None:
    layer = Linear(6, 4).requires_grad_(False)
    x = torch.randn(3, 6, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad is not None
    assert layer.weight.grad is None


@pytest.mark.parametrize("rectified", [True, False])
def test_rounded_factors_come_near_and_leave_float32_outside(rectified: bool) -> None:
    torch.manual_seed(0)
    layer = Linear(16, 12)
    round_factors(layer, torch.bfloat16)
    x = torch.randn(20, 16, requires_grad=True)
    leaves = [x, *layer.parameters()]
    actual = layer.rectified(x) if rectified else layer(x)
    rounded = [leaf.bfloat16().float() for leaf in leaves]
    expected = F.linear(*rounded)
    expected = F.relu(expected) if rectified else expected
    torch.testing.assert_close(actual, expected, rtol=0.01, atol=0.01)
    for actual_gradient, expected_gradient in zip(gradients(actual, leaves), gradients(expected, rounded), strict=True):
        assert actual_gradient.dtype == torch.float32
        torch.testing.assert_close(actual_gradient, expected_gradient, rtol=0.02, atol=0.05)


def test_rounding_is_for_training_alone() -> None:
    layer = Linear(6, 4)
    x = torch.randn(3, 6)
    with torch.no_grad():
        expected = layer(x)
        round_factors(layer, torch.bfloat16)
        assert torch.equal(layer(x), expected)
    assert not torch.equal(layer(x), expected)
