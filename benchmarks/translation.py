"""Translation speed on one thread, side by side with CTranslate2 in eight bits running the plain transformer.

    python benchmarks/translation.py --input dev.en                      # the shipped system
    python benchmarks/translation.py --input dev.en --plain BASELINE --system SYSTEM
    python benchmarks/translation.py --input dev.en --shape base         # 512, 6+6 layers, random weights

All translate the same sentences with a beam of five, 32 at a time and one at a time; repeats are interleaved, and
medians are printed in target tokens a second of processor time, with the share of CTranslate2's. It runs the very same
plain transformer, exported (`tests/equivalence/test_search_ctranslate2.py` shows that both give the same translations).
Without `--plain` that is the system's lexical model without its alignment heads. Set CT2_FORCE_CPU_ISA=AVX2 to hold
CTranslate2 to what most processors have. Random weights may repeat themselves, as trained ones hardly do.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ctranslate2

from alidade.config import SearchSettings, TransformerSettings
from alidade.engine.graph import Precision
from alidade.engine.system import load_engine
from alidade.exchange.ctranslate2 import export_ctranslate2
from alidade.io import read_lines
from alidade.model_folder import ModelFolder, default_model, load_model_folder, save_model_folder
from alidade.models.system import build_system, load_system, named_weights
from alidade.search.batches import batches_by_length
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Request
from alidade.text.subwords import Encoding
from record import TRANSLATING, record

SHAPES = {"base": {"width": 512, "feed_forward": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6}}
BEAM = 5
PEER = "CTranslate2 int8"

Contender = Callable[[int], float]
"""Target tokens a second with so many sentences at a time."""


def main() -> None:
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        contenders = make_contenders(options, Path(folder))
        speeds = measure(contenders, options.repeats)
    figures = {
        name: {at_a_time(size): statistics.median(runs) for size, runs in row.items()} for name, row in speeds.items()
    }
    for name, row in figures.items():
        shares = [f"{key}: {speed:,.0f} ({speed / figures[PEER][key]:.2f})" for key, speed in row.items()]
        print(f"{name:24}" + "   ".join(shares))
    if options.record:
        isa = os.environ.get("CT2_FORCE_CPU_ISA", "")
        command = f"{'CT2_FORCE_CPU_ISA=' + isa + ' ' if isa else ''}python benchmarks/translation.py --input dev.en"
        rounded = {name: {key: round(speed) for key, speed in row.items()} for name, row in figures.items()}
        record(options.record, rounded, depends_on=TRANSLATING, command=command)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="sentences to translate, one a line")
    parser.add_argument("--system", type=Path, help="an assisted system; the shipped one if left out")
    parser.add_argument("--plain", type=Path, help="a plain transformer; the system's, without its heads, if left out")
    parser.add_argument(
        "--shape", choices=SHAPES, help="random weights of this shape instead, without an assisted system"
    )
    parser.add_argument("--limit", type=int, default=128, help="take so many sentences, and a third of them one by one")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--record", metavar="NAME", help="write a result file, speed/translation-shipped for instance")
    return parser.parse_args()


def make_contenders(options: argparse.Namespace, folder: Path) -> dict[str, Contender]:
    system = load_model_folder(options.system or default_model())
    plain = options.plain or folder / "plain"
    if options.shape:
        save_random(system, SHAPES[options.shape], plain)
    elif options.plain is None:
        save_without_heads(system, plain)
    baseline = load_model_folder(plain)
    texts = list(read_lines(options.input))[: options.limit]
    sources = [baseline.source_subwords.encode(baseline.normalise_source(text)) for text in texts]
    sources = sorted([source for source in sources if 0 < len(source) <= 200], key=len)[::-1]
    export(baseline, folder / "ctranslate2")
    contenders: dict[str, Contender] = {
        f"CTranslate2 {kind}": ctranslate2_contender(folder / "ctranslate2", sources, kind)
        for kind in ("int8", "float32")
    }
    systems = [("plain", baseline)] if options.shape else [("plain", baseline), ("assisted", system)]
    for name, model in systems:
        for precision in ("int8", "float32"):
            contenders[f"{name} {precision}"] = our_contender(model, sources, precision, can_repeat=bool(options.shape))
    return contenders


def save_without_heads(system: ModelFolder, path: Path) -> None:
    """The lexical model of an assisted system as a plain transformer."""
    lexical = system.description.lexical
    assert isinstance(lexical, TransformerSettings)
    weights = {name: weight for name, weight in system.weights_of("lexical").items() if "alignment_heads" not in name}
    save_like(system, weights, lexical.model_copy(update={"kind": "transformer"}), path)


def save_random(system: ModelFolder, shape: dict[str, Any], path: Path) -> None:
    """A transformer with fresh weights; its vocabulary is the system's, so that it can read the text."""
    settings = TransformerSettings(kind="transformer", **shape)
    sizes = system.description.source.size, system.description.target.size
    save_like(system, named_weights(build_system(settings, None, *sizes)), settings, path)


def save_like(system: ModelFolder, weights: Any, lexical: TransformerSettings, path: Path) -> None:
    subwords = system.source_subwords, system.target_subwords
    save_model_folder(path, weights, lexical, None, *subwords, SearchSettings(), system.description.normalisation)


def export(baseline: ModelFolder, path: Path) -> None:
    lexical = load_system(baseline).lexical
    assert lexical is not None
    sides = [baseline.source_subwords, baseline.target_subwords]
    source, target = [[side.piece(number) for number in range(len(side))] for side in sides]
    export_ctranslate2(lexical, source, target, path)


def ctranslate2_contender(path: Path, sources: Sequence[Encoding], kind: str) -> Contender:
    translator = ctranslate2.Translator(str(path), compute_type=kind, inter_threads=1, intra_threads=1)
    pieces = [["<s>", *source.pieces, "</s>"] for source in sources]

    def run(size: int) -> float:
        def translate(batch: list[int]) -> int:
            limit = 2 * max(len(pieces[number]) for number in batch) + 10
            found = translator.translate_batch(
                [pieces[number] for number in batch],
                beam_size=BEAM,
                length_penalty=1.0,
                max_decoding_length=limit,
                return_end_token=True,
                disable_unk=True,
            )
            return sum(len(one.hypotheses[0]) for one in found)

        return timed(translate, sources, size)

    return run


def our_contender(
    model: ModelFolder, sources: Sequence[Encoding], precision: Precision, *, can_repeat: bool
) -> Contender:
    engine = load_engine(model, precision=precision, threads=1)
    settings = model.search.model_copy(update={"beam_size": BEAM, "can_repeat": can_repeat})
    search = BeamSearch(engine, settings)

    def run(size: int) -> float:
        def translate(batch: list[int]) -> int:
            found = search.search([Request(sources[number].ids) for number in batch])
            return sum(len(one.best.pieces) + 1 for one in found)

        return timed(translate, sources, size)

    return run


def timed(translate: Callable[[list[int]], int], sources: Sequence[Encoding], size: int) -> float:
    """Target tokens a second of processor time."""
    lengths = [len(source) for source in sources[:: 3 if size == 1 else 1]]
    start = time.process_time()
    num_tokens = sum(translate(batch) for batch in batches_by_length(lengths, size))
    return num_tokens / (time.process_time() - start)


def measure(contenders: dict[str, Contender], repeats: int) -> dict[str, dict[int, list[float]]]:
    speeds: dict[str, dict[int, list[float]]] = {name: {32: [], 1: []} for name in contenders}
    for _ in range(repeats):
        for size in (32, 1):
            for name, contender in contenders.items():
                speeds[name][size].append(contender(size))
    return speeds


def at_a_time(size: int) -> str:
    return "one at a time" if size == 1 else f"{size} at a time"


if __name__ == "__main__":
    main()
