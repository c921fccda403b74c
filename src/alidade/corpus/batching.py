"""Batching: which pairs of a prepared corpus are computed together, so that little is padding.

An epoch is planned at once (`BatchPlan`): shuffled pairs are grouped by the lengths of both sides into updates of
about the same number of target tokens, and each update is split in the same way into the parts that processes
and accumulation compute. The plan is a pure function of the seed and the epoch, which is what makes a resumed
run see the same batches. `models/batch.py` gathers a part's pairs into padded tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from alidade.corpus.arrays import Integers, Ragged
from alidade.errors import AlidadeError

POOL_UPDATES = 512
"""Updates that are grouped together: more leave less padding, fewer mix the corpus better."""


class Pairs(Protocol):
    """Sentence pairs as batching reads them, without `<s>` and `</s>`; `corpus.store.Split` is one."""

    @property
    def sources(self) -> Ragged: ...

    @property
    def targets(self) -> Ragged: ...

    @property
    def all_positions(self) -> Ragged | None:
        """b_1 .. b_I, from 1; None if the corpus has no alignments."""


@dataclass(frozen=True, slots=True)
class Update:
    """The pairs of one update of the weights."""

    parts: list[Integers]
    """The numbers of the pairs, in parts that are computed one after another or by different processes."""
    num_target_tokens: int
    """Real target tokens of all parts: what the loss is divided by."""


class BatchPlan:
    """How the pairs of a corpus become updates, epoch after epoch."""

    def __init__(
        self,
        source_lengths: Integers,
        target_lengths: Integers,
        *,
        batch_tokens: int,
        num_parts: int,
        max_length: int,
        seed: int,
    ) -> None:
        """batch_tokens: target tokens of an update, `</s>` among them. Pairs longer than max_length are left out."""
        longest = np.maximum(source_lengths, target_lengths)
        is_empty = np.minimum(source_lengths, target_lengths) == 0
        self.usable: Integers = np.flatnonzero((longest <= max_length) & ~is_empty)
        if len(self.usable) < num_parts:
            raise AlidadeError(
                f"only {len(self.usable)} of {len(longest)} training pairs are usable (not empty, at most {max_length} "
                f"pieces a side), but {num_parts} are needed: one for each process and accumulated part; prepare a "
                "larger corpus or raise training.max_length"
            )
        self._lengths = _Lengths(source_lengths, target_lengths)
        self._num_parts = num_parts
        self._seed = seed
        self.updates_per_epoch = min(
            self._lengths.num_batches(self.usable, batch_tokens),
            len(self.usable) // num_parts,
        )

    def updates_from(self, step: int) -> Iterator[Update]:
        """Update number `step`, counted from 0 over all epochs, and all after it, without end."""
        epoch, first = divmod(step, self.updates_per_epoch)
        while True:
            yield from self.epoch(epoch)[first:]
            epoch, first = epoch + 1, 0

    def epoch(self, epoch: int) -> list[Update]:
        """All updates of an epoch, in order: a pure function of the plan and the number of the epoch."""
        random = np.random.default_rng([self._seed, epoch])
        num_pools = -(-self.updates_per_epoch // POOL_UPDATES)
        pools = np.array_split(random.permutation(self.usable), num_pools)
        pool_sizes = [len(part) for part in np.array_split(np.arange(self.updates_per_epoch), num_pools)]
        updates = [
            Update(
                parts=self._lengths.group(numbers, self._num_parts),
                num_target_tokens=self._lengths.num_target_tokens(numbers),
            )
            for pool, pool_size in zip(pools, pool_sizes, strict=True)
            for numbers in self._lengths.group(pool, pool_size, random, smallest=self._num_parts)
        ]
        return [updates[i] for i in random.permutation(len(updates))]


def group_all(pairs: Pairs, batch_tokens: int) -> list[Integers]:
    """The numbers of all pairs once, in groups of similar lengths: for validation."""
    lengths = _Lengths(pairs.sources.lengths, pairs.targets.lengths)
    numbers = np.arange(len(pairs.targets.lengths))
    return lengths.group(numbers, min(lengths.num_batches(numbers, batch_tokens), len(numbers)))


@dataclass(frozen=True, slots=True)
class _Lengths:
    """The lengths of both sides, and how to group pairs by them."""

    source: Integers
    target: Integers

    def num_target_tokens(self, numbers: Integers) -> int:
        """Target tokens of some pairs, `</s>` among them."""
        return int(self.target[numbers].sum()) + len(numbers)

    def num_batches(self, numbers: Integers, batch_tokens: int) -> int:
        """How many batches it takes to hold all these pairs."""
        return -(-self.num_target_tokens(numbers) // batch_tokens)

    def group(
        self, numbers: Integers, num_groups: int, random: np.random.Generator | None = None, smallest: int = 1
    ) -> list[Integers]:
        """Divide pairs into groups of about equally many target tokens and at least `smallest` pairs each.

        The pairs are halved again and again, each time along the side, source or target, that leaves less padding.
        With `random` the halves are unequal by chance, so that the borders between groups change with every epoch.
        """
        if num_groups == 1:
            return [numbers]
        half = num_groups / 2 if random is None else num_groups * random.uniform(0.25, 0.75)
        num_left = min(max(round(half), 1), num_groups - 1)
        halves = [
            self._halve(numbers[np.argsort(lengths[numbers], kind="stable")], num_left, num_groups, smallest)
            for lengths in (self.source, self.target)
        ]
        left, right = min(halves, key=lambda pair: self._padded_size(pair[0]) + self._padded_size(pair[1]))
        return [
            *self.group(left, num_left, random, smallest),
            *self.group(right, num_groups - num_left, random, smallest),
        ]

    def _halve(self, ordered: Integers, num_left: int, num_groups: int, smallest: int) -> tuple[Integers, Integers]:
        tokens = np.cumsum(self.target[ordered] + 1)
        middle = int(np.searchsorted(tokens, tokens[-1] * (num_left / num_groups)))
        middle = min(max(middle, num_left * smallest), len(ordered) - (num_groups - num_left) * smallest)
        return ordered[:middle], ordered[middle:]

    def _padded_size(self, numbers: Integers) -> int:
        return len(numbers) * (int(self.source[numbers].max()) + int(self.target[numbers].max()))
