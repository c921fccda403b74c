"""Translation speed, side by side with CTranslate2, and the effect of pruning.

    python benchmarks/translation.py                       # shapes tiny and base, 32 sentences and 1 at a time
    python benchmarks/translation.py --shape tiny --batch 32 --repeats 5

Random weights, made as sharp as trained ones (`sharpen`); all systems translate the same sources into targets of the
same length. Repeats are interleaved and the medians printed, in target tokens a second; the last column is the share
of what the step's matrix products alone would allow at the rate that this machine was measured to reach.

CTranslate2 runs the very same baseline, exported (`alidade export`; `tests/equivalence/test_search_ctranslate2.py`
shows that both give the same translations). With `--cpu-time` the processor's time counts instead of the clock's, for
machines on which others work, too: use it with one thread.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import torch
from torch import Tensor

from alidade.config import SearchSettings, TransformerJumpsSettings, TransformerSettings
from alidade.models.build import build_system
from alidade.models.ctranslate2_export import export_ctranslate2
from alidade.models.packing import fast_linear, pack_linears
from alidade.models.system import System
from alidade.search.batches import map_batches
from alidade.search.beam import BeamSearch, Request
from alidade.search.scoring import GivenPairs
from alidade.text.vocabulary import BOS, EOS, PAD, UNK

SHAPES = {
    "tiny": ({"width": 256, "feed_forward": 1024, "heads": 4, "encoder_layers": 3, "decoder_layers": 3}, 8000),
    "base": ({"width": 512, "feed_forward": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6}, 32000),
}
BEAM = 5
LENGTH = 25
"""Pieces of every target; sources have 20 to 30."""
LEXICAL_LOGP = -1.0
POSITION_LOGP = -0.7
"""The mean log-probability of the best word and of the best position in trained systems, which `sharpen` aims at."""


PAUSE = 0.3
"""Seconds between two measurements: threads of the one before may spin for a while before they sleep."""


@dataclass(frozen=True)
class Contender:
    """Something that translates all sources; called with nothing, it says how many rows it evaluated."""

    name: str
    translate: Callable[[], int]
    flops_per_token: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=list(SHAPES), action="append")
    parser.add_argument("--batch", type=int, action="append", help="sentences at a time")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time, not the clock's")
    parser.add_argument("--only", help="contenders whose names contain this")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.cpu_time else time.perf_counter
    rate = machine_rate(clock)
    print(f"{options.threads} threads, {rate / 1e9:.0f} GFLOP/s in matrix products of 160 × 512 × 2048")
    for shape in options.shape or SHAPES:
        for batch_size in options.batch or (32, 1):
            num_sentences = options.sentences if batch_size > 1 else max(1, options.sentences // 8)
            sources = make_sources(SHAPES[shape][1], num_sentences)
            contenders = [
                c
                for c in make_contenders(shape, sources, batch_size, options.threads)
                if (options.only or "").lower() in c.name.lower()
            ]
            print(f"\n{shape}, beam {BEAM}, {batch_size} at a time, {len(sources)} sentences")
            report(
                contenders,
                measure(contenders, options.repeats, clock),
                len(sources),
                rate,
            )


def machine_rate(clock: Callable[[], float]) -> float:
    """FLOP/s of the matrix products that a step is made of."""
    multiply = fast_linear(torch.randn(2048, 512), torch.randn(2048))
    x = torch.randn(160, 512)
    times = []
    with torch.inference_mode():
        for _ in range(40):
            start = clock()
            multiply(x)
            times.append(clock() - start)
    return 2 * 160 * 512 * 2048 / statistics.median(times[5:])


def make_sources(vocabulary: int, count: int) -> list[list[int]]:
    generator = random.Random(1)
    return [[generator.randrange(4, vocabulary) for _ in range(generator.randint(20, 30))] for _ in range(count)]


def make_contenders(shape: str, sources: list[list[int]], batch_size: int, threads: int) -> list[Contender]:
    values, vocabulary = SHAPES[shape]
    baseline = make_system(values, vocabulary, "transformer")
    peer = peer_of(baseline, vocabulary, sources, batch_size, threads)  # before packing
    contenders = [
        Contender("CTranslate2 float32", peer, flops(baseline)),
        ours("transformer", baseline, sources, batch_size),
    ]
    assisted = make_system(values, vocabulary, "transformer-aligned")
    sharpen(assisted, sources)
    contenders += [
        ours(f"aligned, {pruning}", assisted, sources, batch_size, pruning=pruning)
        for pruning in ("none", "threshold", "pairs", "histogram", "exact")
    ]
    top = make_system(values, vocabulary, "transformer-aligned", assisted_layers="top")
    sharpen(top, sources)
    contenders += [
        ours(f"aligned at the top, {pruning}", top, sources, batch_size, pruning=pruning)
        for pruning in ("none", "exact")
    ]
    return contenders


def make_system(values: dict[str, int], vocabulary: int, kind: str, **changes: Any) -> System:
    torch.manual_seed(2)
    lexical = TransformerSettings.model_validate(values | {"kind": kind} | changes)
    alignment = TransformerJumpsSettings.model_validate(values) if kind == "transformer-aligned" else None
    system = build_system(lexical, alignment, vocabulary, vocabulary).eval()
    with torch.no_grad():
        for parameter in system.parameters():
            if not parameter.any():
                parameter.normal_(std=0.02)  # alignment heads start at zero
        bias: Any = system.lexical.output.bias  # type: ignore[union-attr]
        bias[[PAD, BOS, UNK]] = -1e9
        bias[EOS] = -1e4  # all targets have the same length
    return system


@torch.no_grad()
def sharpen(system: System, sources: list[list[int]]) -> None:
    """Scale the output layers until the best word and the best position are as probable as in trained systems."""
    generator = random.Random(3)
    vocabulary = len(system.lexical.output.weight)  # type: ignore[union-attr, arg-type]
    targets = [[generator.randrange(4, vocabulary) for _ in source] for source in sources[:8]]
    paths = [list(range(1, len(source) + 1)) for source in sources[:8]]
    batch = GivenPairs.of(sources[:8], targets, paths).batch()
    features = system(batch)
    for role, wanted in (("lexical", LEXICAL_LOGP), ("alignment", POSITION_LOGP)):
        output = system.roles[role].output
        logits = features[role] @ output.weight.T  # type: ignore[union-attr]
        if role == "alignment":  # what a jump can reach
            middle = logits.shape[1] // 2
            logits = logits[:, middle - LENGTH // 2 : middle + LENGTH // 2]
        output.weight.mul_(scale_for(logits, wanted))  # type: ignore[union-attr, operator]


def scale_for(logits: Tensor, wanted: float) -> float:
    """The factor at which the best class has this log-probability on average."""
    low, high = 0.0, 1000.0
    for _ in range(40):
        middle = (low + high) / 2
        best = torch.log_softmax(logits * middle, dim=1).amax(dim=1).mean()
        low, high = (middle, high) if best < wanted else (low, middle)
    return low


def ours(name: str, system: System, sources: list[list[int]], batch_size: int, **changes: Any) -> Contender:
    pack_linears(system)
    search = BeamSearch(system, SearchSettings.model_validate({"beam_size": BEAM, "threshold": 0.15} | changes))
    requests = [Request(source, min_length=LENGTH, max_length=LENGTH) for source in sources]

    def translate() -> int:
        results = map_batches(search.search, requests, lambda request: len(request.source), batch_size)
        assert all(len(result.best.words) == LENGTH for result in results), name
        return sum(result.num_evaluations for result in results)

    return Contender(name, translate, flops(system))


def peer_of(
    system: System, vocabulary: int, sources: list[list[int]], batch_size: int, threads: int
) -> Callable[[], int]:
    pieces = ["<pad>", "<s>", "</s>", "<unk>", *(f"piece{number}" for number in range(4, vocabulary))]
    with tempfile.TemporaryDirectory() as folder:
        assert system.lexical is not None
        export_ctranslate2(system.lexical, pieces, pieces, Path(folder))
        translator = ctranslate2.Translator(folder, compute_type="float32", inter_threads=1, intra_threads=threads)
    texts = [[pieces[word] for word in source] for source in sources]

    def translate() -> int:
        results = translator.translate_batch(
            texts,
            beam_size=BEAM,
            max_batch_size=batch_size,
            length_penalty=1.0,
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
            disable_unk=True,
        )
        assert all(len(result.hypotheses[0]) == LENGTH for result in results)
        return len(texts) * ((LENGTH - 1) * BEAM + 1)

    return translate


def flops(system: System) -> float:
    """Multiplications and additions in the matrix products of one lexical evaluation, decoder and output layer.

    The encoder and what attention multiplies are left out, so this is a little less than the truth.
    """
    model: Any = system.lexical
    layers = [layer for layer in model.decoder.modules() if hasattr(layer, "weight") and layer.weight.dim() == 2]
    used = [layer.weight.numel() for layer in layers if not isinstance(layer, torch.nn.Embedding)]
    once_a_sentence = sum(layer.source_attention.keys_values.weight.numel() for layer in model.decoder.layers)
    return float(2 * (sum(used) - once_a_sentence + model.output.weight.numel()))


def measure(contenders: list[Contender], repeats: int, clock: Callable[[], float]) -> dict[str, tuple[float, int]]:
    """The median time of each contender and the rows that it evaluated."""
    times: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    rows = {contender.name: contender.translate() for contender in contenders}  # and warm up
    for _ in range(repeats):
        for contender in contenders:
            time.sleep(PAUSE)
            start = clock()
            contender.translate()
            times[contender.name].append(clock() - start)
    return {name: (statistics.median(values), rows[name]) for name, values in times.items()}


def report(
    contenders: list[Contender], measured: dict[str, tuple[float, int]], num_sentences: int, rate: float
) -> None:
    num_tokens = num_sentences * LENGTH
    names = [contender.name for contender in contenders]
    speeds = {name: num_tokens / measured[name][0] for name in names}
    reference = speeds.get("CTranslate2 float32") or speeds[names[0]]
    print(f"{'':24} tokens/s   × first   rows/token   ms/token   share of limit")
    for contender in contenders:
        seconds, rows = measured[contender.name]
        share = contender.flops_per_token * rows / rate / seconds
        print(
            f"{contender.name:24} {speeds[contender.name]:8.0f} {speeds[contender.name] / reference:9.2f} "
            f"{rows / num_tokens:12.1f} {1000 * seconds / num_tokens:10.2f} {100 * share:10.0f} %"
        )


if __name__ == "__main__":
    main()
