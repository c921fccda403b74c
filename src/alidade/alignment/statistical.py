"""Where training alignments come from: eflomal, or Pharaoh files that any other aligner wrote.

eflomal (Östling and Tiedemann, 2016) samples alignments in both directions from two files of space-separated units.
It is GPL-licensed and therefore optional: imported only when it runs. It draws its random numbers from the system and
takes no seed, so two runs differ in a few links. Units are compared in lower case (eflomal lowers them itself).
"""

from __future__ import annotations

import collections
import contextlib
import heapq
import itertools
import math
import operator
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TextIO, TypeVar

from alidade.alignment.links import Alignment, GoldAlignment
from alidade.errors import AlidadeError, require_package
from alidade.io import aside_name, count_lines, read_lines, write_aside

Parsed = TypeVar("Parsed")
_Fertilities = collections.Counter[tuple[str, int]]
"""How often a unit had so many links."""


MAX_ITERATIONS_WITH_PRIORS = 32
"""Of the last model. eflomal takes the more iterations the fewer pairs there are, some 300 for 250 pairs; what was
learned before makes a tenth of them as good (experiments/LOG.md)."""


class EflomalAligner:
    """Aligns files with eflomal in both directions, and later files in the same way through the kept priors.

    num_samplers: so many samplers are asked, and the mean of their probabilities decides.
    """

    def __init__(self, num_samplers: int = 3) -> None:
        self._num_samplers = num_samplers

    def align_files(self, source: Path, target: Path, forward: Path, reverse: Path, priors: Path | None = None) -> None:
        """Align two line-parallel files of space-separated units; write a Pharaoh line for each pair.

        forward: links that give each target unit at most one source unit; reverse: the other way round; both are
        written `source-target`. priors: where to keep what was learned, for `align_with_priors`. No file appears
        under its name before all are complete.
        """
        self._align(source, target, forward, reverse, None, priors)

    def align_with_priors(
        self, source: Path, target: Path, forward: Path, reverse: Path, priors: Path, learned: Path | None = None
    ) -> None:
        """Align further pairs, a dev set for example, with what `align_files` learned and kept in `priors`.

        learned: where to keep what these pairs teach, without the priors.
        """
        if not priors.exists():
            raise AlidadeError(f"{priors}: no such file; it is written when the training bitext is aligned")
        self._align(source, target, forward, reverse, priors, learned)

    def _align(
        self, source: Path, target: Path, forward: Path, reverse: Path, priors: Path | None, learned: Path | None
    ) -> None:
        eflomal = import_eflomal()
        with _written_aside([path for path in (forward, reverse, learned) if path is not None]) as aside:
            self._run(eflomal, source, target, aside[forward], aside[reverse], priors)
            if learned is not None:
                _write_priors(eflomal, source, target, aside[forward], aside[reverse], aside[learned])

    def _run(
        self, eflomal: ModuleType, source: Path, target: Path, forward: Path, reverse: Path, priors: Path | None
    ) -> None:
        num_lines = count_lines(source)
        if num_lines != (num_target := count_lines(target)):
            raise AlidadeError(
                f"{source} has {num_lines} lines but {target} has {num_target}: a bitext needs as many on both sides"
            )
        if num_lines == 0:
            raise AlidadeError(f"{source}: there is nothing to align, the file is empty")
        try:
            with (
                _open_plain(source) as source_file,
                _open_plain(target) as target_file,
                _open_if_given(priors) as priors_file,
            ):
                share = 1.0 if priors is None else _share_of_iterations(num_lines)
                eflomal.Aligner(n_samplers=self._num_samplers, rel_iterations=share).align(
                    source_file,
                    target_file,
                    links_filename_fwd=str(forward),
                    links_filename_rev=str(reverse),
                    priors_input=priors_file,
                )
        except subprocess.CalledProcessError as error:
            raise AlidadeError(f"eflomal failed on {source} and {target} (exit code {error.returncode})") from None
        for links in (forward, reverse):
            # eflomal does not notice a full disk.
            if count_lines(links) != num_lines:
                raise AlidadeError(
                    f"eflomal wrote {count_lines(links)} of {num_lines} lines to {links}: is the disk full?"
                )


def add_priors(parts: Sequence[Path], total: Path) -> None:
    """Write the sum of the counts in several files of priors, holding none of them in memory."""
    _write_sums(map(_read_counts, parts), total)


def subtract_priors(total: Path, part: Path, others: Path) -> None:
    """Write the counts of a sum of priors without those of one part of it."""
    _write_sums([_read_counts(total), ((key, -count) for key, count in _read_counts(part))], others)


def _write_sums(files: Iterable[Iterator[tuple[str, int]]], path: Path) -> None:
    """Add counts that come in the order of what is counted; what sums to nothing is left out."""
    key_of = operator.itemgetter(0)
    with write_aside(path) as file:
        for key, counts in itertools.groupby(heapq.merge(*files, key=key_of), key_of):
            if total := sum(count for _, count in counts):
                print(key, total, sep="\t", file=file)


def _read_counts(path: Path) -> Iterator[tuple[str, int]]:
    """What was counted (its kind and units, with tabs between them) and how often, in order."""
    for line in read_lines(path):
        key, _, count = line.rpartition("\t")
        yield key, int(count)


def read_alignments(path: Path, *, one_based: bool = False) -> Iterator[Alignment]:
    """The alignments of a Pharaoh file, a line each; a line that is not one is an error with its number."""
    return _parse_lines(path, lambda line: Alignment.parse(line, one_based=one_based))


def read_gold_alignments(path: Path, *, one_based: bool = False) -> Iterator[GoldAlignment]:
    """The gold alignments of a file with sure `2-3` and possible `2p3` links, a line each."""
    return _parse_lines(path, lambda line: GoldAlignment.parse(line, one_based=one_based))


def import_eflomal() -> ModuleType:
    """The aligner's module; an error says how to get it."""
    return require_package("eflomal", "eflomal", 'aligner.kind = "eflomal" (not "pharaoh", another aligner\'s links)')


def _share_of_iterations(num_pairs: int) -> float:
    """Of those that eflomal would take, as many as are needed with priors."""
    return min(1.0, MAX_ITERATIONS_WITH_PRIORS * math.sqrt(num_pairs) / 5000)


def _write_priors(eflomal: ModuleType, source: Path, target: Path, forward: Path, reverse: Path, priors: Path) -> None:
    """Count links, jumps and fertilities of an aligned bitext: the pseudo-counts that later alignments start from."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(_open_plain(path)) for path in (source, target, forward, reverse)]
        # eflomal counts units as written, and compares them in lower case when it reads the counts.
        lexical, *others = eflomal.calculate_priors(*[map(str.lower, file) for file in files])
    jumps = zip(("HMMF", "HMMR"), others[:2], strict=True)
    unlinked = _count_unlinked(source, target, forward, reverse)
    fertilities = zip(("FERF", "FERR"), map(operator.or_, others[2:], unlinked), strict=True)
    # Not by eflomal's own `write_priors`, which rounds to six digits, and in an order in which files can be added.
    lines = [f"LEX\t{source}\t{target}\t{count}" for (source, target), count in lexical.items()]
    lines += [f"{kind}\t{jump}\t{count}" for kind, counts in jumps for jump, count in counts.items()]
    lines += [f"{kind}\t{unit}\t{n}\t{count}" for kind, counts in fertilities for (unit, n), count in counts.items()]
    with priors.open("w", encoding="utf-8") as priors_file:
        priors_file.writelines([f"{line}\n" for line in sorted(lines, key=lambda line: line.rpartition("\t")[0])])


def _count_unlinked(source: Path, target: Path, forward: Path, reverse: Path) -> list[_Fertilities]:
    """How often source units have no forward link, and target units no reverse link: a fertility of 0.

    eflomal counts fertilities from 1 on. With these alone it believes that every unit has a link.
    """
    counts: list[_Fertilities] = []
    for side, (units, links) in enumerate(((source, forward), (target, reverse))):
        unlinked: collections.Counter[tuple[str, int]] = collections.Counter()
        with _open_plain(units) as units_file, _open_plain(links) as links_file:
            for line, links_line in zip(units_file, links_file, strict=True):
                linked = {link.split("-")[side] for link in links_line.split()}
                words = line.lower().split()
                unlinked.update([(unit, 0) for number, unit in enumerate(words) if str(number) not in linked])
        counts.append(unlinked)
    return counts


@contextlib.contextmanager
def _written_aside(paths: list[Path]) -> Iterator[dict[Path, Path]]:
    """Names beside the wanted ones to write to; all are renamed at the end, or all are removed."""
    aside = {path: aside_name(path) for path in paths}
    try:
        yield aside
        for path, partial in aside.items():
            partial.replace(path)
    finally:
        for partial in aside.values():
            partial.unlink(missing_ok=True)


def _parse_lines(path: Path, parse: Callable[[str], Parsed]) -> Iterator[Parsed]:
    for number, line in enumerate(read_lines(path), start=1):
        try:
            parsed = parse(line)
        except AlidadeError as error:
            raise AlidadeError(f"{path}, line {number}: {error}") from None
        yield parsed


def _open_plain(path: Path) -> TextIO:
    return path.open(encoding="utf-8", newline="\n")


def _open_if_given(path: Path | None) -> contextlib.AbstractContextManager[TextIO | None]:
    return contextlib.nullcontext() if path is None else _open_plain(path)
