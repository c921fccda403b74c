"""Linear layers that train on a CPU with oneDNN's matrix products.

PyTorch multiplies float32 matrices with MKL, which leaves a fifth of an AMD core idle: at the sizes of a
transformer's layers it makes 80 to 90 GFLOP/s where oneDNN, which PyTorch brings along, makes 100 to 105
(`benchmarks/training.py`). Forward and backward of a layer's input go through oneDNN here; the gradient of the weight,
a product of two transposed matrices, goes through whichever is quicker for its shape.

Factors may be rounded to bfloat16 (`round_factors`): a core with instructions for it multiplies them at more than twice
the rate. Sums stay float32 inside a product, and so does everything outside of products: attention, norms, dropout,
the weights themselves. Torch's own mixed precision (autocast) makes attention bfloat16, too, and loses more there than
it gains elsewhere.

The operator is torch's own but not part of its public interface; torch's version is pinned, and where it is missing,
on another device or in another precision, the layer is `nn.Linear`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class Linear(nn.Linear):
    """`nn.Linear`, quicker to train on a CPU."""

    factors = torch.float32
    """The precision of the factors of products in training."""

    def forward(self, x: Tensor) -> Tensor:
        return self._train(x) if self._can_train(x) else F.linear(x, self.weight, self.bias)

    def rectified(self, x: Tensor) -> Tensor:
        """max(0, forward(x)), in one go."""
        return self._train(x, rectified=True) if self._can_train(x) else F.relu(F.linear(x, self.weight, self.bias))

    def _can_train(self, x: Tensor) -> bool:
        return torch.is_grad_enabled() and can_multiply(x) and can_multiply(self.weight)

    def _train(self, x: Tensor, *, rectified: bool = False) -> Tensor:
        product: Tensor = _OneDnnLinear.apply(x, self.weight, self.bias, self.factors, rectified)  # type: ignore[no-untyped-call]  # torch has no types for it
        return product


def round_factors(model: nn.Module, precision: torch.dtype) -> None:
    """Let all products of a model's training have factors of this precision."""
    for module in model.modules():
        if isinstance(module, Linear):
            module.factors = precision


def can_multiply(x: Tensor) -> bool:
    """Whether oneDNN multiplies such tensors."""
    return (
        x.device.type == "cpu"
        and x.dtype == torch.float32
        and not torch.is_autocast_enabled("cpu")
        and bool(torch._C._has_mkldnn)
    )


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, rectified: bool = False) -> Tensor:
    """x weight^T + bias, by oneDNN, without a gradient. Transposed matrices need not be copied first."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "relu" if rectified else "none", [], "")
    return product


class _OneDnnLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, factors: torch.dtype, rectified: bool
    ) -> Tensor:
        x, weight = x.to(factors), weight.to(factors)
        output = multiply(x, weight, None if bias is None else bias.to(factors), rectified=rectified)
        ctx.save_for_backward(x, weight, output if rectified else None)
        return output.float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, rectified_output = ctx.saved_tensors
        gradient = gradients[0].to(x.dtype).contiguous()
        if rectified_output is not None:
            gradient = torch.ops.aten.threshold_backward(gradient, rectified_output, 0)
        rows = gradient.view(-1, gradient.shape[-1])
        needs_x, needs_weight, needs_bias, *_ = ctx.needs_input_grad
        return (
            multiply(gradient, weight.T).float() if needs_x else None,
            _multiply_transposed(rows, x.reshape(-1, x.shape[-1])).float() if needs_weight else None,
            rows.sum(0, dtype=torch.float32) if needs_bias else None,
            None,
            None,
        )


def _multiply_transposed(gradient: Tensor, x: Tensor) -> Tensor:
    """gradient^T x: the gradient of a weight. gradient: (N, outputs), x: (N, inputs)."""
    outputs, inputs = gradient.shape[1], x.shape[1]
    if gradient.dtype != torch.float32:
        return torch.mm(gradient.T, x)  # torch multiplies bfloat16 with oneDNN, whatever the shape
    if outputs >= 4 * inputs:
        return multiply(x.T, gradient.T).T
    if inputs >= 4 * outputs:
        return multiply(gradient.T, x.T)
    return torch.mm(gradient.T, x)
