"""Translation speed, side by side with CTranslate2, and the effect of pruning.

    python benchmarks/translation.py                       # shapes tiny and base, 32 sentences and 1 at a time
    python benchmarks/translation.py --shape tiny --batch 32 --repeats 5
    python benchmarks/translation.py --trained BASELINE SYSTEM --input dev.en

Without `--trained`: random weights, made as sharp as trained ones (`sharpen`), and all systems translate the same
sources into targets of the same length. Repeats are interleaved and the medians printed, in target tokens a second;
"of limit" is the share of what the step's matrix products alone would allow at the rate that one thread of this machine
was measured to reach.

CTranslate2 runs the very same baseline, exported (`alidade export`; `tests/equivalence/test_search_ctranslate2.py`
shows that both give the same translations), with `--threads` threads, which is its best way to use that many cores in
float32. Ours is to use them by as many workers with a thread each, so that is the fair comparison for many sentences;
one sentence at a time is compared by latency. The ways to prune are compared with the plain transformer on one thread.

With `--cpu-time` the processor's time counts instead of the clock's, for machines on which others work, too; contenders
with several threads or workers are then left out.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2
import torch
from alidade.models.packing import fast_linear, pack_linears
from torch import Tensor

from alidade.config import SearchSettings, TransformerJumpsSettings, TransformerSettings
from alidade.exchange.ctranslate2 import export_ctranslate2
from alidade.io import read_lines
from alidade.model_folder import load_model_folder
from alidade.models.system import System, build_system
from alidade.search.batches import batches_by_length, map_batches
from alidade.search.beam import BeamSearch, Request
from alidade.search.forced import GivenPairs
from alidade.search.hypotheses import SearchResult
from alidade.text.vocabulary import BOS, EOS, PAD, UNK

SHAPES = {
    "tiny": ({"width": 256, "feed_forward": 1024, "heads": 4, "encoder_layers": 3, "decoder_layers": 3}, 8000),
    "base": ({"width": 512, "feed_forward": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6}, 32000),
}
PRUNINGS = ("none", "threshold", "pairs", "histogram", "exact")
PLAIN = "transformer, 1 thread"
BEAM = 5
LENGTH = 25
"""Pieces of every target; sources have 20 to 30."""
LEXICAL_LOGP = -0.46
POSITION_LOGP = -0.30
"""The mean log-probability of the best word and of the best jump, which `sharpen` aims at: as the assisted system of
`experiments/multi30k` has them on 300 dev pairs with their positions."""


PAUSE = 0.3
"""Seconds between two measurements: threads of the one before may spin for a while before they sleep."""


class Counts(NamedTuple):
    """What a contender did for all sources."""

    rows: int
    """Evaluated."""
    picked: int
    """Pairs that pruning let pass: what the paper's algorithm would have evaluated."""
    tokens: int
    """Of the targets."""


@dataclass(frozen=True)
class Contender:
    """Something that translates all sources."""

    name: str
    translate: Callable[[], Counts]
    flops_per_row: float
    cores: int = 1


@dataclass(frozen=True)
class Task:
    """What is translated, and how."""

    requests: list[Request]
    batch_size: int
    cores: int
    """Of contenders that use more than one."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=list(SHAPES), action="append")
    parser.add_argument("--trained", nargs=2, type=Path, metavar=("BASELINE", "SYSTEM"), help="model folders")
    parser.add_argument("--input", type=Path, help="text to translate with trained models")
    parser.add_argument("--batch", type=int, action="append", help="sentences at a time")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2, help="cores that may be used")
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's time, not the clock's")
    parser.add_argument("--only", help="contenders whose names contain one of these, divided by commas")
    options = parser.parse_args()
    torch.set_num_threads(1)
    clock = time.process_time if options.cpu_time else time.perf_counter
    rate = machine_rate(clock)
    print(f"{rate / 1e9:.0f} GFLOP/s on one thread in matrix products of 160 × 512 × 2048")
    for shape in ["trained"] if options.trained else options.shape or SHAPES:
        for batch_size in options.batch or (32, 1):
            num_sentences = options.sentences if batch_size > 1 else max(1, options.sentences // 16)
            if options.trained:
                contenders = trained_contenders(options, batch_size, num_sentences)
            else:
                sources = make_sources(SHAPES[shape][1], num_sentences)
                requests = [Request(source, min_length=LENGTH, max_length=LENGTH) for source in sources]
                contenders = random_contenders(shape, Task(requests, batch_size, options.threads))
            wanted = (options.only or "").lower().split(",")
            contenders = [
                contender
                for contender in contenders
                if any(name in contender.name.lower() for name in wanted)
                and (contender.cores == 1 or not options.cpu_time)
            ]
            print(f"\n{shape}, beam {BEAM}, {batch_size} at a time, {num_sentences} sentences")
            report(contenders, measure(contenders, options.repeats, clock), rate)


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


def random_contenders(shape: str, task: Task) -> list[Contender]:
    values, vocabulary = SHAPES[shape]
    baseline = make_system(values, vocabulary, "transformer")
    contenders = baseline_contenders(baseline, task)
    assisted = make_system(values, vocabulary, "transformer-aligned")
    sharpen(assisted, [request.source for request in task.requests])
    contenders += [ours(f"aligned, {pruning}", assisted, task, pruning=pruning) for pruning in PRUNINGS]
    top = make_system(values, vocabulary, "transformer-aligned", assisted_layers="top")
    sharpen(top, [request.source for request in task.requests])
    contenders += [ours(f"aligned at the top, {pruning}", top, task, pruning=pruning) for pruning in ("none", "exact")]
    return contenders


def trained_contenders(options: argparse.Namespace, batch_size: int, num_sentences: int) -> list[Contender]:
    baseline, system = (load_model_folder(path) for path in options.trained)
    texts = list(read_lines(options.input))[:num_sentences]
    requests = [Request(baseline.source_subwords.encode(baseline.normalise_source(text)).ids) for text in texts]
    task = Task(requests, batch_size, options.threads)
    contenders = baseline_contenders(baseline.system, task)
    weights = system.search.model_dump(include={"lexical_weight", "alignment_weight", "length_normalisation"})
    contenders += [ours(f"aligned, {pruning}", system.system, task, pruning=pruning, **weights) for pruning in PRUNINGS]
    return contenders


def baseline_contenders(baseline: System, task: Task) -> list[Contender]:
    """CTranslate2 first: the others are compared with it."""
    contenders = [peer_of(baseline, task, cores) for cores in sorted({task.cores, 1}, reverse=True)]  # before packing
    if task.batch_size > 1:
        contenders.append(ours(f"transformer, {task.cores} workers", baseline, task, workers=task.cores))
    contenders.append(ours(f"transformer, {task.cores} threads", baseline, task, threads=task.cores))
    contenders.append(ours(PLAIN, baseline, task))
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
def sharpen(system: System, sources: Sequence[Sequence[int]]) -> None:
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


def map_in_forks(function: Any, items: Sequence[Any], workers: int) -> list[Any]:
    """Results of forks of this process, which need no loading and no sending of the system."""
    global _forked  # what a fork inherits needs no pickling
    _forked = function
    with multiprocessing.get_context("fork").Pool(workers, torch.set_num_threads, (1,)) as pool:
        return pool.map(_call_forked, items, chunksize=1)


_forked: Any = None


def _call_forked(item: Any) -> Any:
    return _forked(item)


def ours(name: str, system: System, task: Task, *, threads: int = 1, workers: int = 1, **changes: Any) -> Contender:
    pack_linears(system)
    search = BeamSearch(system, SearchSettings.model_validate({"beam_size": BEAM, "threshold": 0.15} | changes))

    def run(requests: list[Request]) -> list[SearchResult]:
        return map_batches(search.search, requests, lambda request: len(request.source), task.batch_size)

    def translate() -> Counts:
        torch.set_num_threads(threads)
        if workers == 1:
            results = run(task.requests)
        else:  # as `alidade translate` does it; to fork is part of the time
            batches = batches_by_length([len(request.source) for request in task.requests], task.batch_size)
            lots = [[task.requests[number] for number in batch] for batch in batches]
            results = [result for lot in map_in_forks(run, lots, workers) for result in lot]
        torch.set_num_threads(1)
        return Counts(
            sum(result.num_evaluations for result in results),
            sum(result.num_picked for result in results),
            sum(len(result.best.words) + 1 for result in results),
        )

    return Contender(name, translate, flops(system), max(threads, workers))


def peer_of(system: System, task: Task, threads: int) -> Contender:
    assert system.lexical is not None
    vocabulary = len(system.lexical.output.weight)  # type: ignore[union-attr, arg-type]
    pieces = ["<pad>", "<s>", "</s>", "<unk>", *(f"piece{number}" for number in range(4, vocabulary))]
    with tempfile.TemporaryDirectory() as folder:
        export_ctranslate2(system.lexical, pieces, pieces, Path(folder))
        translator = ctranslate2.Translator(folder, compute_type="float32", inter_threads=1, intra_threads=threads)
    texts = [[pieces[word] for word in request.source] for request in task.requests]
    limits: dict[str, int] = {}
    if task.requests[0].min_length:
        limits = {"min_decoding_length": LENGTH, "max_decoding_length": LENGTH}

    def translate() -> Counts:
        results = translator.translate_batch(
            texts, beam_size=BEAM, max_batch_size=task.batch_size, length_penalty=1.0, disable_unk=True, **limits
        )
        tokens = sum(len(result.hypotheses[0]) + 1 for result in results)
        rows = (tokens - len(texts)) * BEAM
        return Counts(rows, rows, tokens)

    return Contender(f"CTranslate2 float32, {threads} thread{'s' * (threads > 1)}", translate, flops(system), threads)


def flops(system: System) -> float:
    """Multiplications and additions in the matrix products of one lexical evaluation, decoder and output layer.

    The encoder and what attention multiplies are left out, so this is a little less than the truth.
    """
    model: Any = system.lexical
    layers = [layer for layer in model.decoder.modules() if hasattr(layer, "weight") and layer.weight.dim() == 2]
    used = [layer.weight.numel() for layer in layers if not isinstance(layer, torch.nn.Embedding)]
    once_a_sentence = sum(layer.source_attention.keys_values.weight.numel() for layer in model.decoder.layers)
    return float(2 * (sum(used) - once_a_sentence + model.output.weight.numel()))


@dataclass(frozen=True)
class Measured:
    """What a contender took."""

    seconds: float
    """The median."""
    counts: Counts


def measure(contenders: list[Contender], repeats: int, clock: Callable[[], float]) -> dict[str, Measured]:
    """Time all contenders, in turns."""
    times: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    counts = {contender.name: contender.translate() for contender in contenders}  # and warm up
    for _ in range(repeats):
        for contender in contenders:
            time.sleep(PAUSE)
            start = clock()
            contender.translate()
            times[contender.name].append(clock() - start)
    return {name: Measured(statistics.median(values), counts[name]) for name, values in times.items()}


def report(contenders: list[Contender], measured: dict[str, Measured], rate: float) -> None:
    speeds = {name: found.counts.tokens / found.seconds for name, found in measured.items()}
    peer = next((speed for name, speed in speeds.items() if name.startswith("CTranslate2")), 0.0)
    plain = speeds.get(PLAIN, 0.0)
    print(f"{'':32} tokens/s  × CTranslate2  × plain  rows/token  picked/token  ms/token  of limit")
    for contender in contenders:
        counts, speed = measured[contender.name].counts, speeds[contender.name]
        seconds = measured[contender.name].seconds
        share = contender.flops_per_row * counts.rows / (rate * contender.cores) / seconds
        print(
            f"{contender.name:32} {speed:8.0f} {_ratio(speed, peer):>14} {_ratio(speed, plain):>8} "
            f"{counts.rows / counts.tokens:11.1f} {counts.picked / counts.tokens:13.1f} {1000 / speed:9.2f} "
            f"{100 * share:7.0f} %"
        )


def _ratio(speed: float, reference: float) -> str:
    return f"{speed / reference:.2f}" if reference else "–"


if __name__ == "__main__":
    main()
