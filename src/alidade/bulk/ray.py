"""Shards on a Ray cluster: one actor for each core (or GPU) loads the model once and does shard after shard.

Ray Data hands the numbers of the missing shards to its pool of actors and starts actors that died, or whose node died,
anew: what they were at is done again. Texts do not travel through Ray: every node reads the input and writes into the
folder of shards by itself, so both must lie where all nodes see them. Which shards are finished is known from our
markers, not from Ray, so a driver that is killed and started again goes on as any other run does.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from alidade.bulk.shards import Progress, Shards
from alidade.bulk.work import Work
from alidade.errors import AlidadeError, require_package
from alidade.parallel import Workers

LOCAL = "local"
"""The address of no cluster: Ray is started on this machine, and ends with the work."""


class ShardActor:
    """In a process of Ray: does shards."""

    def __init__(self, shards: Shards, work: Work) -> None:
        self._shards, self._work = shards, work

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        errors = [self._do(int(shard)) for shard in batch["shard"]]
        return {"shard": batch["shard"], "error": errors}

    def _do(self, shard: int) -> str:
        """What went wrong; nothing, if all is well."""
        if self._shards.is_done(shard):  # by an actor whose node was taken for dead
            return ""
        try:
            self._shards.do(shard, self._work, Workers(1), lambda _: None)
        except AlidadeError as error:
            return str(error)
        return ""


def do_shards_on_ray(
    shards: Shards, numbers: Sequence[int], work: Work, address: str, progress: Progress, *, uses_gpus: bool
) -> None:
    """Let all cores, or all GPUs, of a Ray cluster do shards."""
    with _connected(address) as ray:
        available = int(ray.cluster_resources().get("GPU" if uses_gpus else "CPU", 0))
        if not available:
            raise AlidadeError(f"--ray {address}: the cluster has no {'GPU' if uses_gpus else 'CPU'}")
        # A task at a time for each actor: a second one would wait for it while others have nothing to do.
        pool = ray.data.ActorPoolStrategy(size=min(available, len(numbers)), max_tasks_in_flight_per_actor=1)
        ray.data.DataContext.get_current().enable_progress_bars = False  # ours knows about records
        logging.getLogger("ray.data").setLevel(logging.WARNING)
        dataset = ray.data.from_items([{"shard": shard} for shard in numbers], override_num_blocks=len(numbers))
        done = dataset.map_batches(
            ShardActor,
            fn_constructor_args=(shards, work),
            batch_size=1,
            compute=pool,
            **({"num_gpus": 1} if uses_gpus else {"num_cpus": 1}),
        )
        progress.start_clock()
        for row in done.iter_rows():
            shard = int(row["shard"])
            if row["error"]:
                progress.fail(shard, row["error"])
            else:
                progress.advance(shards.size(shard))
                progress.finish(shard)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # read when Ray is imported
    os.environ.setdefault("RAY_worker_niceness", "0")  # not 15, which would let everything else go first
    ray = require_package("ray", "ray", "--ray")
    require_package("ray.data", "ray", "--ray")
    options: dict[str, Any] = {"include_dashboard": False} if address == LOCAL else {"address": address}
    try:
        ray.init(**options, logging_level="warning", log_to_driver=False)
    except ConnectionError as error:
        raise AlidadeError(f"--ray {address}: there is no Ray cluster at this address: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()
