"""How fast `alidade prepare` is, stage by stage, and how much memory it takes.

    python benchmarks/prepare.py ../shared/data/europarl-ende/train.en ../shared/data/europarl-ende/train.de

Prints a Markdown table: pairs a second for each stage, and the most memory that all its processes together were
resident in at once (shared pages count in each process). With --pairs 5000000 the lines are repeated, which shows that
memory does not grow with the corpus; --aligner none leaves the aligner out, whose memory does. With --record NAME the
figures are kept as experiments/results/speed/NAME.json, from which the tables on the project's pages are made.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from alidade.config import PrepareConfig
from alidade.corpus.prepare import Preparation
from alidade.parallel import available_cores
from record import record

PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Samples memory and CPU time of this process and its descendants, stage by stage."""

    def __init__(self, preparation: Preparation, stages: list[str]) -> None:
        self.peaks = dict.fromkeys(stages, 0)
        """The most bytes that were resident at once in each stage."""
        self.cpu_seconds = dict.fromkeys(stages, 0.0)
        self._preparation = preparation
        self._stages = stages
        self._is_running = True
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_running = False
        self._thread.join()

    def _watch(self) -> None:
        before = 0.0
        while self._is_running:
            stage = self._stages[min(len(self._preparation.results), len(self._stages) - 1)]
            processes = list(process_tree(os.getpid()))
            self.peaks[stage] = max(self.peaks[stage], sum(map(resident, processes)))
            now = max(before, sum(map(cpu_seconds, processes)))
            self.cpu_seconds[stage] += now - before
            before = now
            time.sleep(0.05)


def process_tree(root: int) -> Iterator[int]:
    """A process and all its descendants."""
    yield root
    for task in Path(f"/proc/{root}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # it has ended meanwhile
            continue
        for child in children:
            yield from process_tree(int(child))


def resident(process: int) -> int:
    """Bytes of a process that are in memory."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0


def cpu_seconds(process: int) -> float:
    """CPU time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def repeat_lines(path: Path, count: int, out: Path) -> None:
    """Write the first `count` lines of a file, from the start again when it ends."""
    with out.open("wb") as file:
        written = 0
        while written < count:
            with path.open("rb") as lines:
                for line in itertools.islice(lines, count - written):
                    file.write(line)
                    written += 1


def measure(
    source: Path,
    target: Path,
    pairs: Annotated[int, typer.Option(help="Pairs to prepare; lines repeat if there are fewer.")] = 200_000,
    aligner: Annotated[str, typer.Option(help="eflomal, or none to leave aligning out.")] = "eflomal",
    languages: Annotated[str, typer.Option(help="Source and target language.")] = "en-de",
    vocabulary_size: int = 16_000,
    workers: Annotated[int, typer.Option(help="Processes.")] = available_cores(),
    name: Annotated[str | None, typer.Option("--record", help="Keep the figures under this name.")] = None,
) -> None:
    """Prepare a bitext in a temporary folder and print a table."""
    source_language, target_language = languages.split("-")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        repeat_lines(source, pairs, folder / "source")
        repeat_lines(target, pairs, folder / "target")
        config = PrepareConfig.model_validate(
            {
                "corpus": folder / "corpus",
                "source_language": source_language,
                "target_language": target_language,
                "bitext": [{"source": folder / "source", "target": folder / "target"}],
                "subwords": {"vocabulary_size": vocabulary_size},
                "aligner": {"kind": aligner},
            }
        )
        stages = ["clean", "subwords", "encode", *(["align"] if aligner != "none" else []), "positions"]
        preparation = Preparation(config, workers)
        with Watch(preparation, stages) as watch:
            preparation.run()
        print_table(preparation, watch, pairs, workers)
    if name is not None:
        figures = {
            stage: {"pairs a second": pairs / max(result.seconds, 0.01), "peak MB": watch.peaks[stage] / 1e6}
            for stage, result in preparation.results.items()
        }
        note = f"{pairs:,} pairs, {languages}, {workers} processes, aligner: {aligner}"
        record(f"speed/{name}", figures, depends_on=["src/alidade/corpus", "src/alidade/text"], note=note)


def print_table(preparation: Preparation, watch: Watch, pairs: int, workers: int) -> None:
    """The figures as a Markdown table."""
    print(f"\n{pairs:,} pairs, {workers} processes\n")
    print("| stage | seconds | CPU seconds | pairs a second | peak memory, MB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, result in preparation.results.items():
        rate = pairs / max(result.seconds, 0.01)
        figures = f"{result.seconds:.1f} | {watch.cpu_seconds[name]:.1f} | {rate:,.0f} | {watch.peaks[name] / 1e6:,.0f}"
        print(f"| {name} | {figures} |")


if __name__ == "__main__":
    typer.run(measure)
