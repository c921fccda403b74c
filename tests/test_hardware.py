"""Products are the same whatever the processor and torch can do; what they can do is found out, never assumed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from alidade import hardware


@pytest.fixture(params=["as it is", "no bfloat16", "no oneDNN"])
def _machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine, and the lesser ones that it can play."""
    known = hardware.has_onednn
    if request.param == "no bfloat16":
        monkeypatch.setattr(hardware, "has_onednn", lambda dtype=torch.float32: dtype == torch.float32 and known(dtype))
    elif request.param == "no oneDNN":
        monkeypatch.setattr(hardware, "has_onednn", lambda dtype=torch.float32: False)


@pytest.mark.usefixtures("_machine")
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_products_agree_with_exact_ones(precision: torch.dtype, rectified: bool, has_bias: bool) -> None:
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(shape).to(precision) for shape in ((7, 16), (5, 16), (5,)))
    actual = hardware.multiply(x, weight, bias if has_bias else None, rectified=rectified)
    exact = F.linear(x.double(), weight.double(), bias.double() if has_bias else None)
    expected = F.relu(exact) if rectified else exact
    tolerance = 2**-8 if precision == torch.bfloat16 else 1e-6  # of the result: half of a bfloat16's last place
    assert actual.dtype == precision
    torch.testing.assert_close(actual.double(), expected, rtol=tolerance, atol=1e-5)


@pytest.mark.usefixtures("_machine")
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_matrices_may_be_transposed(precision: torch.dtype) -> None:
    torch.manual_seed(0)
    gradient, x = torch.randn(20, 4).to(precision), torch.randn(20, 6).to(precision)
    actual = hardware.multiply_matrices(gradient.T, x)
    assert actual.dtype == precision
    torch.testing.assert_close(actual.double(), gradient.double().T @ x.double(), rtol=2**-8, atol=1e-5)
    torch.testing.assert_close(hardware.multiply(gradient.T, x.T), actual, rtol=2**-7, atol=1e-5)


def test_onednn_can_be_switched_off() -> None:
    program = (
        "import torch, alidade.hardware as hardware; "
        "print(hardware.has_onednn(), hardware.has_onednn(torch.bfloat16), torch.backends.mkldnn.enabled)"
    )
    environment = os.environ | {"ALIDADE_ONEDNN": "off"}
    printed = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert printed.split() == ["False", "False", "False"]


def test_freed_memory_may_be_kept_and_returned_anywhere() -> None:
    hardware.keep_freed_memory()
    hardware.return_freed_memory()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell how much memory is used")
def test_freed_memory_is_kept_until_it_is_returned() -> None:
    program = """
import pathlib, torch, alidade.hardware as hardware
def num_pages():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1])
hardware.keep_freed_memory()
before = num_pages()
blocks = [torch.ones(2**18) for _ in range(400)]
last = torch.ones(2**18)
full = num_pages()
del blocks
kept = num_pages()
hardware.return_freed_memory()
print(full - before, kept - before, num_pages() - before)
"""
    full, kept, returned = map(int, subprocess.check_output([sys.executable, "-c", program], text=True).split())
    assert kept > 0.9 * full
    assert returned < 0.2 * full
