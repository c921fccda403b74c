"""Linear layers laid out for search: weights in the order in which oneDNN's matrix products read them.

A step of the search multiplies few rows, 5 to some hundreds, by the same weights again and again. Packed once, the
products take from a third (5 rows) to nine tenths (160 rows) of the time that the plain layers need; the figures
are in `benchmarks/translation.py`. Packed layers are for inference on a CPU: nothing trains through them.

Where oneDNN is missing (`alidade.hardware`), layers stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from alidade.hardware import has_onednn, onednn_linear, pack_weight


class PackedLinear(nn.Module):
    """A linear layer whose weight is packed; `weight` and `bias` stay readable."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        # The very parameters, so that a weight tied to an embedding stays tied and is saved once.
        self.weight = weight if isinstance(weight, nn.Parameter) else nn.Parameter(weight, requires_grad=False)
        self.bias = bias if bias is None or isinstance(bias, nn.Parameter) else nn.Parameter(bias, requires_grad=False)
        self._packed = pack_weight(self.weight.detach())
        self._added = (None if self.bias is None else self.bias.detach(),)

    def __call__(self, x: Tensor) -> Tensor:
        """x weight^T + bias. No module's machinery: for a few rows it would cost a tenth of the product."""
        return onednn_linear(x, self._packed, *self._added)

    def rectified(self, x: Tensor) -> Tensor:
        """max(0, x weight^T + bias), in one go."""
        return onednn_linear(x, self._packed, *self._added, activation="relu")


def fast_linear(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """x -> x weight^T + bias, packed where that is possible."""
    return PackedLinear(weight, bias) if can_pack(weight) else partial(F.linear, weight=weight, bias=bias)


def can_pack(weight: Tensor) -> bool:
    """Whether oneDNN can lay this weight out."""
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and has_onednn()


def pack_linears(module: nn.Module) -> None:
    """Replace every linear layer inside `module` by a packed one."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            if can_pack(child.weight):
                setattr(module, name, PackedLinear(child.weight, child.bias))
        else:
            pack_linears(child)
