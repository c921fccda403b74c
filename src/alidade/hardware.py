"""What this processor and this torch can do, found out once, at run time, by trying.

PyTorch multiplies float32 matrices with MKL, which leaves a fifth of an AMD core idle: at the sizes of a
transformer's layers it makes 80 to 90 GFLOP/s where oneDNN, which most builds of PyTorch bring along, makes 100 to 105
(`benchmarks/training.py`). oneDNN also multiplies bfloat16 numbers at more than twice that rate if the processor has
instructions for it. Its operators are not part of torch's public interface, so this is the only module that names
them, and everything works without them: on a Mac, on most ARM builds, on processors without AVX-512.

`ALIDADE_ONEDNN=off` in the environment lets all of it, torch's own use included, go without oneDNN.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

IS_ONEDNN_WANTED = os.environ.get("ALIDADE_ONEDNN", "on").lower() not in {"off", "0", "no"}

if not IS_ONEDNN_WANTED:
    torch.backends.mkldnn.set_flags(_enabled=False)  # type: ignore[no-untyped-call]  # torch's own


@functools.cache
def has_onednn(precision: torch.dtype = torch.float32) -> bool:
    """Whether oneDNN multiplies matrices of this precision here."""
    if not IS_ONEDNN_WANTED:
        return False
    ones = torch.ones(2, 2, dtype=precision)
    try:
        return torch.equal(_multiply_by_onednn(ones, ones, None), ones + ones)
    except (AttributeError, NotImplementedError, RuntimeError):  # no such operator, or none for this processor
        return False


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, rectified: bool = False) -> Tensor:
    """x weight^T + bias on a CPU, without a gradient, in the precision of x, the quickest way there is."""
    if has_onednn(x.dtype):
        return _multiply_by_onednn(x, weight, bias, "relu" if rectified else "none")
    if x.dtype == torch.bfloat16:
        added = None if bias is None else bias.float()
        return multiply(x.float(), weight.float(), added, rectified=rectified).bfloat16()
    product = F.linear(x, weight, bias)
    return F.relu(product) if rectified else product


def _multiply_by_onednn(x: Tensor, weight: Tensor, bias: Tensor | None, activation: str = "none") -> Tensor:
    """Transposed matrices need not be copied first."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise.default(x, weight, bias, activation, [], "")
    return product


def multiply_matrices(x: Tensor, y: Tensor) -> Tensor:
    """x y, (M, N) and (N, P) on any device, without a gradient, in their precision.

    Where a processor cannot multiply bfloat16 numbers, torch does it one by one: float32 products, rounded afterwards,
    take a small part of that time, and their sums are as exact.
    """
    if x.dtype == torch.bfloat16 and x.device.type == "cpu" and not has_onednn(torch.bfloat16):
        return torch.mm(x.float(), y.float()).bfloat16()
    return torch.mm(x, y)


def keep_freed_memory() -> None:
    """Tell glibc's malloc not to give freed memory back to the system.

    Every update of a training allocates the same large tensors anew. By default malloc returns them to the system when
    they are freed, which then has to find and clear every page again: some 4 % of a small model's time on a CPU.
    What is kept has to be returned from time to time (`return_freed_memory`).
    """
    mallopt = _of_malloc("mallopt")
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGEST)
        mallopt(_M_TRIM_THRESHOLD, _LARGEST)


def return_freed_memory() -> None:
    """Give back to the system what malloc has kept.

    Tensors have other sizes in every update, and what is freed has holes of the wrong sizes: without this a training
    whose tensors need 1.3 GB holds more than twice that after a quarter of an hour, and goes on growing.
    """
    malloc_trim = _of_malloc("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def _of_malloc(name: str) -> Callable[..., int] | None:
    """A function that glibc's malloc has; another C library may lack it."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform.startswith("linux") else None


_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST = 2**31 - 1
