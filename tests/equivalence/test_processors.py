"""Training gives the same models on processors of all kinds, as far as rounding allows.

This machine plays lesser ones: `ONEDNN_MAX_CPU_ISA` and `ATEN_CPU_CAPABILITY` keep oneDNN and torch from using later
instructions than AVX2, and `ALIDADE_ONEDNN=off` lets both go without oneDNN, as on a Mac.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file
from torch import Tensor

PROGRAM = Path(__file__).parent.parent / "logits_after_updates.py"
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
WITHOUT_ONEDNN = {"ALIDADE_ONEDNN": "off"}
TOLERANCES = {"float32": 1e-5, "bfloat16": 0.05}
"""Of logits, whose standard deviation is about one; seen were 1.5e-6 and 0.007. Products of rounded factors are rounded
themselves, to three digits, and Adam turns a small gradient's change of sign into a whole step."""


def logits_on(processor: dict[str, str], corpus: Path, folder: Path) -> dict[str, Tensor]:
    folder.mkdir()
    usual = {name: value for name, value in os.environ.items() if name not in {*AVX2, *WITHOUT_ONEDNN}}
    paths = os.pathsep.join([str(PROGRAM.parent), *sys.path])
    environment = {**usual, **processor, "PYTHONPATH": paths}
    subprocess.run([sys.executable, str(PROGRAM), str(corpus), str(folder)], env=environment, check=True)
    return load_file(folder / "logits.safetensors")


@pytest.fixture(scope="module")
def expected(lexicon_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    """What this machine computes with all that it has."""
    return logits_on({}, lexicon_corpus, tmp_path_factory.mktemp("processor") / "this")


@pytest.mark.parametrize("processor", [AVX2, WITHOUT_ONEDNN, AVX2 | WITHOUT_ONEDNN], ids=["avx2", "plain", "both"])
def test_a_lesser_processor_trains_the_same_model(
    processor: dict[str, str], lexicon_corpus: Path, tmp_path: Path, expected: dict[str, Tensor]
) -> None:
    actual = logits_on(processor, lexicon_corpus, tmp_path / "lesser")
    assert actual.keys() == expected.keys()
    for name, logits in expected.items():
        tolerance = TOLERANCES[name.split(".")[0]]
        assert float((actual[name] - logits).abs().max()) < tolerance, name
