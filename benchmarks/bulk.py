"""Lines a second of `alidade translate` in bulk: plain workers, shards, and shards on Ray, one after the other.

    python benchmarks/bulk.py --input ../shared/data/enro/train.en

All translate the same short lines with the shipped model on all cores. Shards must be the same with Ray and without.
Plain workers cut the text into other batches, and where two words are equally likely, rounding in a batch of others
may decide for the other one: such lines are counted. A run is watched from outside: how much it has written, and how
much memory all its processes take (shared pages divided among them). Its speed is that between the first lines that it
writes and the last; what is before is its start. With --record NAME the figures are kept as
experiments/results/speed/NAME.json.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from alidade.io import read_lines
from prepare import process_tree
from record import TRANSLATING, record

DEPENDS_ON = [*TRANSLATING, "src/alidade/bulk", "benchmarks/bulk.py"]


@dataclass(frozen=True, slots=True)
class Run:
    """What was seen of one run."""

    start: float
    """Seconds until it wrote its first lines."""
    speed: float
    """Lines a second from then on."""
    seconds: float
    """From beginning to end."""
    peak: int
    """Most megabytes of memory."""
    content: list[bytes]


def measure(
    source: Annotated[Path, typer.Option("--input", help="Text, a sentence a line.")],
    lines: Annotated[int, typer.Option(help="Take so many lines.")] = 20_000,
    words: Annotated[int, typer.Option(help="Take lines of at most so many words.")] = 3,
    shards: int = 20,
    without_ray: Annotated[bool, typer.Option("--without-ray", help="Leave Ray out.")] = False,
    name: Annotated[str | None, typer.Option("--record", help="Keep the figures under this name.")] = None,
) -> None:
    """Translate the same lines in all ways and print a table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        text = folder / "text"
        short = itertools.islice((line for line in read_lines(source) if 0 < len(line.split()) <= words), lines)
        text.write_text("".join(f"{line}\n" for line in short), encoding="utf-8")
        num_lines = sum(1 for _ in read_lines(text))
        ways = {"workers": [], "shards": [f"--shards={shards}"], "Ray": [f"--shards={shards}", "--ray"]}
        if without_ray:
            del ways["Ray"]
        runs = {way: watch(text, folder / way, options, num_lines) for way, options in ways.items()}
    print("| | lines a second | of workers | start, s | all, s | peak memory, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for way, run in runs.items():
        share = run.speed / runs["workers"].speed
        print(f"| {way} | {run.speed:,.0f} | {share:.2f} | {run.start:.1f} | {run.seconds:.1f} | {run.peak:,} |")
    same = all(run.content == runs["shards"].content for way, run in runs.items() if way != "workers")
    others = [one != other for one, other in zip(runs["workers"].content, runs["shards"].content, strict=True)]
    print(f"\n{num_lines:,} lines, {sum(others)} of them in other words with workers than in shards")
    print("shards are the same with Ray and without" if same else "SHARDS DIFFER")
    if name:
        figures = {
            way: {
                "lines a second": round(run.speed),
                "start, seconds": round(run.start, 1),
                "peak memory, MB": run.peak,
            }
            for way, run in runs.items()
        }
        record(f"speed/{name}", figures, depends_on=DEPENDS_ON, command="python benchmarks/bulk.py --input train.en")
    if not same:
        raise SystemExit(1)


def watch(text: Path, output: Path, options: list[str], num_lines: int) -> Run:
    """Run the command, and look at it until it ends."""
    command = [sys.executable, "-m", "alidade", "translate", "--input", str(text), "--output", str(output), *options]
    began = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    seen: list[tuple[float, int]] = []
    peak = rounds = 0
    while process.poll() is None:
        size = written(output)
        if size and (not seen or size > seen[-1][1]):
            seen.append((time.perf_counter() - began, size))
        if rounds % 20 == 0:
            peak = max(peak, sum(map(share_of_memory, process_tree(process.pid))))
        rounds += 1
        time.sleep(0.05)
    seconds = time.perf_counter() - began
    _, said = process.communicate()
    if process.returncode:
        raise SystemExit(said.decode())
    (first, size), (last, total) = seen[0], seen[-1]
    speed = num_lines * (total - size) / total / (last - first)
    content = b"".join([path.read_bytes() for path in finished(output)]).splitlines()
    return Run(first, speed, seconds, peak // 2**20, content)


def finished(output: Path) -> Iterator[Path]:
    yield from sorted(output.glob("*.txt")) if output.is_dir() else [output]


def written(output: Path) -> int:
    """Bytes that a run has written, finished or not."""
    beside = output.with_name(f"{output.name}.partial")
    paths = list(output.glob("*.txt*")) if output.is_dir() else [output, beside]
    return sum(size_of(path) for path in paths)


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # not there yet, or renamed meanwhile
        return 0


def share_of_memory(process: int) -> int:
    """Bytes of a process in memory, its part of what it shares with others."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    typer.run(measure)
