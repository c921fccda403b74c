"""The chunked loss against PyTorch's own cross entropy, and its memory."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from alidade.training import objective as loss_module
from alidade.training.objective import token_loss


@pytest.fixture(params=["one chunk", "several chunks"], autouse=True)
def chunk_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "several chunks":
        monkeypatch.setattr(loss_module, "CHUNK_LOGITS", 1)
        monkeypatch.setattr(loss_module, "SMALLEST_CHUNK", 3)


def output_layer(num_tokens: int = 11, width: int = 5, num_classes: int = 7) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    targets = torch.randint(num_classes, (num_tokens,), generator=generator)
    return normal(num_tokens, width), normal(num_classes, width), normal(num_classes), targets


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("has_bias", [True, False])
def test_equals_cross_entropy_and_its_gradients(smoothing: float, has_bias: bool) -> None:
    features, weight, bias, targets = output_layer()
    leaves = [features, weight, bias] if has_bias else [features, weight]
    layer_bias = bias if has_bias else None

    expected = F.cross_entropy(
        F.linear(features, weight, layer_bias), targets, label_smoothing=smoothing, reduction="sum"
    )
    actual = token_loss(features, weight, layer_bias, targets, smoothing).loss

    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)
    expected_gradients = torch.autograd.grad(expected * 0.3, leaves)
    actual_gradients = torch.autograd.grad(actual * 0.3, leaves)
    torch.testing.assert_close(actual_gradients, expected_gradients, rtol=1e-11, atol=1e-11)


def test_gradients_pass_gradcheck() -> None:
    features, weight, bias, targets = output_layer()
    assert torch.autograd.gradcheck(lambda f, w, b: token_loss(f, w, b, targets, 0.1).loss, (features, weight, bias))


def divergence_by_torch(logits: Tensor) -> Tensor:
    """KL(p || q) + KL(q || p) of rows 0 and 1, 2 and 3, ..., summed."""
    p, q = logits[::2].log_softmax(1), logits[1::2].log_softmax(1)
    return F.kl_div(p, q, reduction="sum", log_target=True) + F.kl_div(q, p, reduction="sum", log_target=True)


def test_consistency_adds_the_divergence_of_neighbours_and_its_gradients() -> None:
    features, weight, bias, targets = output_layer(num_tokens=12)
    logits = F.linear(features, weight, bias)
    plain = F.cross_entropy(logits, targets, label_smoothing=0.1, reduction="sum")
    expected = plain + 5.0 / 2 * divergence_by_torch(logits)
    actual = token_loss(features, weight, bias, targets, 0.1, consistency=5.0)

    torch.testing.assert_close(actual.loss, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(actual.nll, token_loss(features, weight, bias, targets).nll, rtol=0, atol=0)
    leaves = [features, weight, bias]
    expected_gradients = torch.autograd.grad(expected * 0.3, leaves)
    torch.testing.assert_close(
        torch.autograd.grad(actual.loss * 0.3, leaves), expected_gradients, rtol=1e-11, atol=1e-11
    )


def test_counts_likelihood_and_correct_tokens() -> None:
    features, weight, bias, targets = output_layer()
    logits = F.linear(features, weight, bias)
    sums = token_loss(features, weight, bias, targets, 0.1)
    torch.testing.assert_close(sums.nll, F.cross_entropy(logits, targets, reduction="sum").detach())
    assert sums.num_correct == (logits.argmax(1) == targets).sum()
    assert not sums.nll.requires_grad


def test_without_gradients_the_sums_are_the_same() -> None:
    features, weight, bias, targets = output_layer()
    with_gradients = token_loss(features, weight, bias, targets, 0.1)
    with torch.no_grad():
        without = token_loss(features, weight, bias, targets, 0.1)
    assert not without.loss.requires_grad
    torch.testing.assert_close(without.loss, with_gradients.loss.detach(), rtol=0, atol=0)


def test_large_logits_do_not_overflow() -> None:
    features = torch.tensor([[1000.0], [-1000.0]], requires_grad=True)
    weight = torch.tensor([[1.0], [0.0], [-1.0]], requires_grad=True)
    sums = token_loss(features, weight, None, torch.tensor([2, 2]))
    assert sums.nll == 2000
    (gradient,) = torch.autograd.grad(sums.loss, features)
    torch.testing.assert_close(gradient, torch.tensor([[2.0], [0.0]]))


def test_a_tied_weight_collects_both_gradients() -> None:
    features, weight, _, targets = output_layer()
    inputs = torch.tensor([0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3])
    expected = F.cross_entropy((weight[inputs] + features) @ weight.T, targets, reduction="sum")
    actual = token_loss(weight[inputs] + features, weight, None, targets).loss
    torch.testing.assert_close(torch.autograd.grad(actual, weight), torch.autograd.grad(expected, weight))


def test_bfloat16_features_come_near() -> None:
    features, weight, bias, targets = (tensor.detach() for tensor in output_layer())
    weight, bias = weight.float().requires_grad_(), bias.float()
    features16 = features.to(torch.bfloat16).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        sums = token_loss(features16, weight, bias, targets, 0.1)
    expected = F.cross_entropy(features.float() @ weight.T + bias, targets, label_smoothing=0.1, reduction="sum")
    assert sums.loss.dtype == torch.float32
    torch.testing.assert_close(sums.loss, expected, rtol=0.02, atol=0.1)
    actual_gradient, features_gradient = torch.autograd.grad(sums.loss, [weight, features16])
    assert features_gradient.dtype == torch.bfloat16
    torch.testing.assert_close(actual_gradient, torch.autograd.grad(expected, weight)[0], rtol=0.05, atol=0.1)
