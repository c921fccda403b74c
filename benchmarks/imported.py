"""Speed of a model with Marian's conventions, as `alidade import` leaves it, beside one of our own of the same shape.

    python benchmarks/imported.py --input dev.en

Both have the shape of OPUS-MT's models (512 wide, 6+6 layers), random weights and the shipped system's vocabulary. They
write exactly as many pieces as the source has, so that both do the same work whatever they write: a beam of five, eight
bits, one thread, 32 sentences at a time and one at a time. Repeats are interleaved; medians are printed in target
tokens a second of processor time.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alidade.config import SearchSettings, TransformerSettings
from alidade.engine.system import load_engine
from alidade.io import read_lines
from alidade.model_folder import ModelFolder, default_model, load_model_folder, save_model_folder
from alidade.models.system import build_system, named_weights
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Request
from alidade.text.subwords import Encoding
from translation import BEAM, SHAPES, Contender, at_a_time, measure, timed

MARIANS = {"pre_norm": False, "activation": "swish", "norm_epsilon": 1e-6, "position_rates": "marian"}
CONVENTIONS = {"own": {}, "imported": MARIANS | {"source_start": "skipped"}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="sentences to translate, one a line")
    parser.add_argument("--limit", type=int, default=64, help="take so many, and a third of them one by one")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    shipped = load_model_folder(default_model())
    texts = list(read_lines(options.input))[: options.limit]
    sources = [shipped.source_subwords.encode(shipped.normalise_source(text)) for text in texts]
    contenders = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, conventions in CONVENTIONS.items():
            save_random(shipped, SHAPES["base"] | conventions, Path(folder) / name)
            contenders[name] = make_contender(load_model_folder(Path(folder) / name), sources)
        speeds = measure(contenders, options.repeats)
    figures = {
        name: {at_a_time(size): round(statistics.median(runs)) for size, runs in row.items()}
        for name, row in speeds.items()
    }
    for name, row in figures.items():
        print(
            f"{name:12}"
            + "   ".join(f"{key}: {speed} ({speed / figures['own'][key]:.2f})" for key, speed in row.items())
        )


def save_random(shipped: ModelFolder, shape: dict[str, Any], path: Path) -> None:
    """A transformer with fresh weights; its vocabulary is the shipped system's, so that it can read the text."""
    settings = TransformerSettings(kind="transformer", **shape)
    system = build_system(settings, None, shipped.description.source.size, shipped.description.target.size)
    subwords = shipped.source_subwords, shipped.target_subwords
    save_model_folder(path, named_weights(system), settings, None, *subwords, SearchSettings())


def make_contender(model: ModelFolder, sources: Sequence[Encoding]) -> Contender:
    search = BeamSearch(
        load_engine(model, precision="int8", threads=1), SearchSettings(beam_size=BEAM, can_repeat=True)
    )

    def run(size: int) -> float:
        def translate(batch: list[int]) -> int:
            lengths = [len(sources[number]) for number in batch]
            requests = [
                Request(sources[number].ids, min_length=length, max_length=length)
                for number, length in zip(batch, lengths, strict=True)
            ]
            search.search(requests)
            return sum(lengths)

        return timed(translate, sources, size)

    return run


if __name__ == "__main__":
    main()
