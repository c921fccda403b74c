"""Training speed, side by side with Marian and Joey NMT: real target tokens a second on a CPU.

    python benchmarks/training.py                          # shapes tiny and base, three repeats: about an hour
    python benchmarks/training.py --shape tiny --only alidade --only marian

All train the same transformer (tied embeddings, dropout 0.1, label smoothing 0.1, Adam) on the same random bitext in
updates of about 4,096 target tokens, in float32. Each repeat runs every contender once, as a process of its own, and
the medians over the repeats are printed. The first updates of a run are not counted, nor is padding.

The last column is the share of the machine's rate, measured between the runs with `torch.mm` of 2,048 × 2,048, that
goes into useful arithmetic: the multiplications and additions of the model's matrix products, forward and backward,
for real tokens only.

On a machine that is busy with other things, `--cpu-time --threads 1` counts seconds of CPU time instead: each
contender runs twice, with more and with fewer updates, and the difference is what the updates took.

With `--record` the figures go to `experiments/results`, from which the tables on the project's pages are made.

Marian (pymarian) and Joey NMT are installed into virtual environments of their own on the first run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch

from record import record

CACHE = Path.home() / ".cache" / "alidade" / "benchmarks"
BATCH_TOKENS = 4096
NUM_PAIRS = 20_000
SPECIALS = 4
DEPENDS_ON = ["src/alidade/models", "src/alidade/training", "src/alidade/corpus/batching.py", "benchmarks/training.py"]
TITLES = {"alidade": "Alidade", "marian": "Marian", "joey": "Joey NMT"}
UNCOUNTED_UPDATES = 2
LARGEST_MARIAN_VOCABULARY = 16_000
"""With larger ones Marian's batches are divided among its threads."""


@dataclass(frozen=True)
class Shape:
    """A transformer and how many of its updates are timed in one run."""

    width: int
    feed_forward: int
    heads: int
    layers: int
    vocabulary: int
    num_updates: int


SHAPES = {
    "tiny": Shape(width=256, feed_forward=1024, heads=4, layers=3, vocabulary=8000, num_updates=10),
    "base": Shape(width=512, feed_forward=2048, heads=8, layers=6, vocabulary=32_000, num_updates=4),
}


@dataclass(frozen=True)
class Run:
    """What a contender did."""

    updates: Sequence[tuple[float, float]]
    """Target tokens and seconds of each update."""
    cpu_seconds: float
    """CPU time of the whole process."""


@dataclass(frozen=True)
class Bitext:
    """A random bitext on disk: `train.source` and `train.target`, a sentence of words w0, w1, .. a line."""

    folder: Path
    sources: Sequence[Sequence[int]]
    targets: Sequence[Sequence[int]]


def main() -> None:
    if sys.argv[1:2] == ["--time-alidade"]:
        print(json.dumps(time_alidade(Path(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=list(SHAPES), action="append", help="by default all")
    parser.add_argument("--only", choices=list(CONTENDERS), action="append", help="by default all contenders")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu-time", action="store_true", help="count CPU time; for busy machines")
    parser.add_argument(
        "--record", action="store_true", help="keep the figures as experiments/results/speed/training-*"
    )
    parser.add_argument("--environments", type=Path, default=CACHE, help="folder of the virtual environments")
    options = parser.parse_args()
    for shape in options.shape or SHAPES:
        compare(shape, options.only or list(CONTENDERS), options)


def compare(name: str, contenders: Sequence[str], options: argparse.Namespace) -> None:
    """Measure the contenders in turn, several times, and print the medians."""
    shape, threads = SHAPES[name], options.threads
    speeds: dict[str, list[float]] = {contender: [] for contender in contenders}
    rates: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        bitext = make_bitext(Path(folder), shape.vocabulary)
        for _ in range(options.repeats):
            for contender in contenders:
                rates.append(machine_rate(threads, time.process_time if options.cpu_time else time.perf_counter))
                start = partial(CONTENDERS[contender], shape, bitext, threads=threads, folder=options.environments)
                speeds[contender].append((speed_by_cpu if options.cpu_time else speed_by_clock)(start, shape))
    rate, flops = statistics.median(rates), flops_per_token(shape, bitext)
    print(f"\n{name}: {shape}")
    print(f"{threads} threads, torch.mm {rate / 1e9:.0f} GFLOP/s, {flops / 1e6:.0f} MFLOP a token", end="")
    print(", by CPU time" if options.cpu_time else "")
    print(f"{'':10} {'tokens/s':>9} {'Alidade is':>11} {'useful':>7}   all repeats")
    own = statistics.median(speeds["alidade"]) if "alidade" in speeds else None
    for contender, values in speeds.items():
        speed = statistics.median(values)
        factor = f"{own / speed:10.2f}x" if own else f"{'':11}"
        repeated = " ".join(f"{value:.0f}" for value in values)
        print(f"{contender:10} {speed:9.0f} {factor} {speed * flops / rate:7.1%}   {repeated}", flush=True)
    if options.record:
        keep(
            name, {contender: statistics.median(values) for contender, values in speeds.items()}, flops / rate, options
        )


def keep(name: str, speeds: Mapping[str, float], share: float, options: argparse.Namespace) -> None:
    """Write the result file; `share` is what one token a second takes of `torch.mm`."""
    shape = SHAPES[name]
    clock = "CPU time" if options.cpu_time else "clock time"
    record(
        f"speed/training-{name}",
        {
            TITLES[contender]: {"target tokens a second": speed, "share of torch.mm": speed * share}
            for contender, speed in speeds.items()
        },
        depends_on=DEPENDS_ON,
        note=f"width {shape.width}, {shape.layers}+{shape.layers} layers, {shape.vocabulary:,} pieces, "
        f"{options.threads} threads, {clock}, median of {options.repeats}",
    )


def speed_by_clock(start: Callable[[int], Run], shape: Shape) -> float:
    """Target tokens a second of all updates but the first few."""
    updates = start(UNCOUNTED_UPDATES + shape.num_updates).updates[UNCOUNTED_UPDATES:]
    return sum(tokens for tokens, _ in updates) / sum(seconds for _, seconds in updates)


def speed_by_cpu(start: Callable[[int], Run], shape: Shape) -> float:
    """Target tokens a second of CPU time: the difference between a long run and a short one."""
    short, long = start(UNCOUNTED_UPDATES), start(UNCOUNTED_UPDATES + shape.num_updates)
    num_tokens = sum(tokens for tokens, _ in long.updates) - sum(tokens for tokens, _ in short.updates)
    return num_tokens / (long.cpu_seconds - short.cpu_seconds)


def machine_rate(threads: int, clock: Callable[[], float]) -> float:
    """FLOP/s of `torch.mm`: the median of several products."""
    torch.set_num_threads(threads)
    a, b = torch.randn(2, 2048, 2048)
    times = []
    for _ in range(12):
        start = clock()
        torch.mm(a, b)
        times.append(clock() - start)
    return 2 * 2048**3 / statistics.median(times[2:])


def flops_per_token(shape: Shape, bitext: Bitext) -> float:
    """Useful operations for each target token, `</s>` among them: three times those of the forward pass."""
    source = np.array([len(words) + 2 for words in bitext.sources], dtype=np.float64)
    target = np.array([len(words) + 1 for words in bitext.targets], dtype=np.float64)
    width, feed_forward = shape.width, 2 * shape.width * shape.feed_forward
    encoder_layer = source.sum() * (4 * width**2 + feed_forward) + 2 * width * (source**2).sum()
    decoder_layer = target.sum() * (6 * width**2 + feed_forward) + source.sum() * 2 * width**2
    decoder_layer += width * (target**2).sum() + 2 * width * (source * target).sum()  # self-attention looks back only
    output = target.sum() * width * shape.vocabulary
    multiplications = shape.layers * (encoder_layer + decoder_layer) + output
    return float(2 * 3 * multiplications / target.sum())


def make_bitext(folder: Path, vocabulary: int) -> Bitext:
    """Sentences of some 25 words whose frequencies follow Zipf's law, and translations of a similar length."""
    random = np.random.default_rng(1)
    num_words = vocabulary - SPECIALS
    probabilities = 1 / np.arange(10, num_words + 10)
    probabilities /= probabilities.sum()
    source_lengths = np.exp(random.normal(np.log(23), 0.4, NUM_PAIRS)).round().clip(1, 100).astype(int)
    target_lengths = (source_lengths * np.exp(random.normal(0, 0.15, NUM_PAIRS))).round().clip(1, 100).astype(int)
    sides = []
    for name, lengths in (("source", source_lengths), ("target", target_lengths)):
        words = random.choice(num_words, lengths.sum(), p=probabilities)
        sentences = [part.tolist() for part in np.split(words, np.cumsum(lengths)[:-1])]
        lines = (" ".join(f"w{word}" for word in sentence) + "\n" for sentence in sentences)
        (folder / f"train.{name}").write_text("".join(lines))
        (folder / f"dev.{name}").write_text("w1 w2 w3\nw4 w5\n")
        sides.append(sentences)
    (folder / "words").write_text("".join(f"w{word}\n" for word in range(num_words)))
    return Bitext(folder, sides[0], sides[1])


# --- Alidade ---


def run_alidade(shape: Shape, bitext: Bitext, num_updates: int, *, threads: int, folder: Path) -> Run:
    del folder  # it runs in this environment
    corpus = bitext.folder / "corpus"
    if not corpus.exists():
        prepare_corpus(corpus, bitext, shape.vocabulary)
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "settings.toml"
        settings.write_text(f"""
[lexical]
kind = "transformer"
width = {shape.width}
feed_forward = {shape.feed_forward}
heads = {shape.heads}
encoder_layers = {shape.layers}
decoder_layers = {shape.layers}
dropout = 0.1
[training]
corpus = "{corpus}"
folder = "{scratch}/run"
steps = {num_updates}
batch_tokens = {BATCH_TOKENS}
threads = {threads}
""")
        output, cpu_seconds = run([sys.executable, __file__, "--time-alidade", str(settings)], threads)
    return Run(json.loads(output.splitlines()[-1]), cpu_seconds)


def prepare_corpus(folder: Path, bitext: Bitext, vocabulary: int) -> None:
    """The bitext as `alidade prepare` would write it, a piece a word."""
    import io

    import sentencepiece

    from alidade.corpus.store import write_corpus
    from alidade.text.subwords import Subwords
    from alidade.text.vocabulary import BOS, EOS, PAD, UNK

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(f"w{word}" for word in range(vocabulary - SPECIALS)),
        model_writer=model,
        model_type="word",
        vocab_size=vocabulary,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        unk_id=UNK,
        minloglevel=2,
    )
    subwords = Subwords(model.getvalue(), "en")
    pairs = [
        ([word + SPECIALS for word in source], [word + SPECIALS for word in target], None)
        for source, target in zip(bitext.sources, bitext.targets, strict=True)
    ]
    write_corpus(folder, subwords, subwords, pairs, pairs[:2])


def time_alidade(settings: Path) -> list[tuple[int, float]]:
    """Train, and note the target tokens and seconds of every update. Runs in a process of its own."""
    from rich.console import Console

    from alidade.config import TrainConfig, load_config
    from alidade.training.loop import make_trainer
    from alidade.training.monitor import Meter

    updates: list[tuple[int, float]] = []

    class NotingMeter(Meter):
        def add_update(
            self, sums: Mapping[str, Sequence[float]], num_tokens: int, seconds: float, **last: float
        ) -> None:
            updates.append((num_tokens, seconds))
            super().add_update(sums, num_tokens, seconds, **last)

    trainer = make_trainer(load_config(TrainConfig, settings), Console(quiet=True))
    trainer.meter = NotingMeter()
    trainer.run()
    return updates


# --- Marian ---


def run_marian(shape: Shape, bitext: Bitext, num_updates: int, *, threads: int, folder: Path) -> Run:
    python = environment(folder / "marian", ["pymarian"])
    words = (bitext.folder / "words").read_text().split()
    vocabulary = bitext.folder / "vocabulary.yml"
    vocabulary.write_text("".join(f'"{word}": {i}\n' for i, word in enumerate(["</s>", "<unk>", *words])))
    # Each thread works on a batch of its own; two whole ones with 32,000 words do not fit into 24 GB.
    parts = threads if shape.vocabulary > LARGEST_MARIAN_VOCABULARY else 1
    with tempfile.TemporaryDirectory() as scratch:
        arguments = {
            "type": "transformer",
            "train-sets": [bitext.folder / "train.source", bitext.folder / "train.target"],
            "vocabs": [vocabulary, vocabulary],
            "model": Path(scratch) / "model.npz",
            "dim-emb": shape.width,
            "transformer-dim-ffn": shape.feed_forward,
            "transformer-heads": shape.heads,
            "enc-depth": shape.layers,
            "dec-depth": shape.layers,
            "transformer-dropout": 0.1,
            "label-smoothing": 0.1,
            "tied-embeddings-all": "true",
            "max-length": 200,
            "mini-batch": 1000,
            "mini-batch-words": BATCH_TOKENS // parts,
            "maxi-batch": 1000,
            "learn-rate": 0.0003,
            "lr-warmup": 100,
            "clip-norm": 1,
            "cpu-threads": threads,
            "workspace": 4000,
            "disp-freq": "1u",
            "after": f"{num_updates * parts}u",
            "seed": 1,
        }
        command = [str(python.parent / "pymarian")]
        for name, value in arguments.items():
            command += [f"--{name}", *map(str, value if isinstance(value, list) else [value])]
        output, cpu_seconds = run(command, threads)
    found = re.findall(r"Cost [\d.]+ \* ([\d,]+) @ [\d,]+ after [\d,]+ : Time ([\d.]+)s", output)
    return Run([(int(tokens.replace(",", "")), float(seconds)) for tokens, seconds in found], cpu_seconds)


# --- Joey NMT ---


def run_joey(shape: Shape, bitext: Bitext, num_updates: int, *, threads: int, folder: Path) -> Run:
    python = environment(folder / "joey", ["torch==2.13.0", "joeynmt==2.3.0 importlib_metadata"])
    side = f"{{level: word, lowercase: False, max_length: 200, voc_file: {bitext.folder}/words}}"
    stack = (
        f"{{type: transformer, num_layers: {shape.layers}, num_heads: {shape.heads}, hidden_size: {shape.width}, "
        f"ff_size: {shape.feed_forward}, dropout: 0.1, layer_norm: pre, "
        f"embeddings: {{embedding_dim: {shape.width}, scale: True, dropout: 0.1}}}}"
    )
    with tempfile.TemporaryDirectory() as scratch:
        settings = Path(scratch) / "settings.yaml"
        settings.write_text(f"""
name: benchmark
joeynmt_version: 2.3.0
model_dir: {scratch}/model
use_cuda: False
fp16: False
data:
  train: {bitext.folder}/train
  dev: {bitext.folder}/dev
  dataset_type: plain
  src: {side[:1]}lang: source, {side[1:]}
  trg: {side[:1]}lang: target, {side[1:]}
training:
  random_seed: 1
  optimizer: adamw
  scheduling: warmupinversesquareroot
  learning_rate_warmup: 100
  learning_rate: 0.0003
  learning_rate_min: 0.0
  label_smoothing: 0.1
  loss: crossentropy
  normalization: tokens
  clip_grad_norm: 1.0
  batch_size: {BATCH_TOKENS}
  batch_type: token
  batch_multiplier: 1
  epochs: 1
  updates: {num_updates}
  validation_freq: 100000
  logging_freq: 1
  early_stopping_metric: loss
  overwrite: True
  shuffle: True
testing: {{beam_size: 1, batch_size: 100, batch_type: token, eval_metrics: []}}
model:
  initializer: xavier_uniform
  embed_initializer: xavier_uniform
  tied_embeddings: True
  tied_softmax: True
  encoder: {stack}
  decoder: {stack}
""")
        output, cpu_seconds = run([str(python), "-m", "joeynmt", "train", str(settings), "--skip-test"], threads)
    # Joey prints the speed of each update and the time of day, not its tokens.
    line = re.compile(r"^\S+ (\d+):(\d+):([\d,]+) .*(?:Epoch 1$|Tokens per Sec: +(\d+))", re.MULTILINE)
    found = [
        (3600 * int(hours) + 60 * int(minutes) + float(seconds.replace(",", ".")), float(speed or 0))
        for hours, minutes, seconds, speed in line.findall(output)
    ]
    times = [(now - before, speed) for (before, _), (now, speed) in itertools.pairwise(found)]
    return Run([(speed * seconds, seconds) for seconds, speed in times], cpu_seconds)


# --- running ---


def environment(folder: Path, packages: Sequence[str]) -> Path:
    """The Python of a virtual environment with these packages, installed one group after another."""
    python, mark = folder / "bin" / "python", folder / "installed"
    if not mark.exists():
        print(f"installing {', '.join(packages)} into {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        for group in packages:
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *group.split()], check=True)
        mark.touch()
    return python


def run(command: Sequence[str], threads: int) -> tuple[str, float]:
    """Everything that a process prints, and its CPU time."""
    limits = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    before = _children_seconds()
    done = subprocess.run(
        command, env=os.environ | limits, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}")
    return done.stdout, _children_seconds() - before


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


CONTENDERS: dict[str, Callable[..., Run]] = {
    "alidade": run_alidade,
    "marian": run_marian,
    "joey": run_joey,
}

if __name__ == "__main__":
    main()
