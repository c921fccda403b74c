"""Translation speed on one thread, side by side with CTranslate2 in eight bits running the plain transformer.

    python benchmarks/translation.py --input dev.en                      # the shipped system
    python benchmarks/translation.py --input dev.en --plain BASELINE --system SYSTEM
    python benchmarks/translation.py --input dev.en --shape base         # 512, 6+6 layers, 32,000 pieces, random

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
from functools import partial
from pathlib import Path
from typing import Any, get_args

import ctranslate2

from alidade.config import SearchSettings, TransformerSettings
from alidade.engine.graph import Precision
from alidade.engine.system import EngineSystem, load_engine
from alidade.engine.transformer import LexicalTransformer
from alidade.engine.weights import Weights
from alidade.exchange.ctranslate2 import export_ctranslate2
from alidade.io import read_lines
from alidade.model_folder import ModelFolder, default_model, load_model_folder, save_model_folder
from alidade.models.system import build_system, load_system, named_weights
from alidade.search.batches import batches_by_length
from alidade.search.beam import BeamSearch
from alidade.search.hypotheses import Request
from alidade.text.subwords import Encoding
from record import TRANSLATING, record

SHAPES = {
    "base": {"width": 512, "feed_forward": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6},
    "small": {"width": 256, "feed_forward": 1024, "heads": 4, "encoder_layers": 6, "decoder_layers": 2},
}
NUM_PIECES = {"base": 32_000, "small": 8_000}
"""Of the shapes above. Texts are read with the system's pieces; the others are there to be written."""
BEAM = 5
PEER = "CTranslate2 int8"

Contender = Callable[[int], float]
"""Target tokens a second with so many sentences at a time."""
MakeEngine = Callable[[Precision], EngineSystem]


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
        rounded = {name: {key: round(speed) for key, speed in row.items()} for name, row in figures.items()}
        record(options.record, rounded, depends_on=TRANSLATING, command=command_of(options))


def command_of(options: argparse.Namespace) -> str:
    """What was called, with the names of files and systems for wherever they were."""
    isa = os.environ.get("CT2_FORCE_CPU_ISA", "")
    words = [f"CT2_FORCE_CPU_ISA={isa}"] if isa else []
    words += ["python benchmarks/translation.py", f"--input {options.input.name}"]
    folders = {"plain": options.plain, "system": options.system}
    words += [f"--{name} {folder.resolve().parent.name}" for name, folder in folders.items() if folder is not None]
    words += [f"--shape {options.shape}"] if options.shape else []
    return " ".join([*words, f"--limit {options.limit}", f"--repeats {options.repeats}"])


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
    texts = list(read_lines(options.input))[: options.limit]
    sources = [system.source_subwords.encode(system.normalise_source(text)) for text in texts]
    sources = sorted([source for source in sources if 0 < len(source) <= 200], key=len)[::-1]
    engines: dict[str, MakeEngine] = {}
    if options.shape:
        lexical, engines["plain"] = make_random(options.shape)
    else:
        plain = options.plain or save_without_heads(system, folder / "plain")
        baseline = load_model_folder(plain)
        lexical = load_system(baseline).lexical
        engines = {"plain": partial(load, baseline), "assisted": partial(load, system)}
    export(lexical, system, folder / "ctranslate2")
    contenders: dict[str, Contender] = {
        f"CTranslate2 {kind}": ctranslate2_contender(folder / "ctranslate2", sources, kind)
        for kind in ("int8", "float32")
    }
    for name, make_engine in engines.items():
        search = SearchSettings() if name == "plain" else system.search
        settings = search.model_copy(update={"beam_size": BEAM, "can_repeat": bool(options.shape)})
        for precision in get_args(Precision):
            contenders[f"{name} {precision}"] = our_contender(make_engine(precision), settings, sources)
    return contenders


def load(folder: ModelFolder, precision: Precision) -> EngineSystem:
    return load_engine(folder, precision=precision, threads=1)


def make_random(shape: str) -> tuple[Any, MakeEngine]:
    """A transformer with fresh weights, and what makes an engine of it."""
    settings = TransformerSettings.model_validate({"kind": "transformer", **SHAPES[shape]})
    system = build_system(settings, None, NUM_PIECES[shape], NUM_PIECES[shape])
    weights = Weights(named_weights(system)).at("lexical")

    def make(precision: Precision) -> EngineSystem:
        lexical = LexicalTransformer(settings, weights, precision=precision, threads=1, device="cpu")
        return EngineSystem(lexical, None, shares_encoder=False, precision=precision)

    return system.lexical, make


def save_without_heads(system: ModelFolder, path: Path) -> Path:
    """The lexical model of an assisted system as a plain transformer."""
    lexical = system.description.lexical
    assert isinstance(lexical, TransformerSettings)
    weights = {name: weight for name, weight in system.weights_of("lexical").items() if "alignment_heads" not in name}
    plain = lexical.model_copy(update={"kind": "transformer"})
    subwords = system.source_subwords, system.target_subwords
    save_model_folder(path, weights, plain, None, *subwords, SearchSettings(), system.description.normalisation)
    return path


def export(lexical: Any, system: ModelFolder, path: Path) -> None:
    """For CTranslate2; lexical: a torch transformer that reads the system's pieces, and may have more."""
    num_pieces = len(lexical.output.bias)
    source, target = [
        [side.piece(number) if number < len(side) else f"<{number}>" for number in range(num_pieces)]
        for side in (system.source_subwords, system.target_subwords)
    ]
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


def our_contender(engine: EngineSystem, settings: SearchSettings, sources: Sequence[Encoding]) -> Contender:
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
