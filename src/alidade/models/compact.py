"""Weights that take less room on a disk: in half precision, or in eight bits with a scale for each row.

They are read back as float32, so nothing else in the project knows of them. A matrix in eight bits is W = scales * Q,
Q of whole numbers from -127 to 127; each of its numbers is off by at most half a scale, 0.4 % of the largest weight of
its row. Vectors (biases, norms) are few and stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from alidade.errors import AlidadeError

WeightForm = Literal["float32", "float16", "int8"]

_LARGEST = 127
_SCALES = ":scales"
"""No parameter's name has a colon."""


def compact_weights(weights: Mapping[str, Tensor], form: WeightForm) -> dict[str, Tensor]:
    """Weights as they are stored."""
    if form == "float32":
        return dict(weights)
    if form == "float16":
        return {name: weight.half() for name, weight in weights.items()}
    stored: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.dim() == 2:
            stored[name], stored[name + _SCALES] = _round_rows(weight)
        else:
            stored[name] = weight
    return stored


def expand_weights(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Stored weights in float32, under the parameters' names."""
    return {
        name: _scale_rows(name, weight, stored.get(name + _SCALES)) if weight.dtype == torch.int8 else weight.float()
        for name, weight in stored.items()
        if not name.endswith(_SCALES)
    }


def _round_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """(R, C) weights as whole numbers and their (R,) scales."""
    scales = weight.abs().amax(dim=1) / _LARGEST
    scales[scales == 0] = 1.0
    return torch.round(weight / scales[:, None]).to(torch.int8), scales


def _scale_rows(name: str, rounded: Tensor, scales: Tensor | None) -> Tensor:
    if scales is None or scales.shape != rounded.shape[:1]:
        raise AlidadeError(f"the weight {name} is in eight bits, but the scales of its rows are not with it")
    return rounded * scales.float()[:, None]
