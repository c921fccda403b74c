"""What `translate`, `align` and `score` share where the work is done in shards: options, and the way from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alidade.errors import AlidadeError

if TYPE_CHECKING:
    from alidade.bulk.records import Column
    from alidade.bulk.work import Work

ShardsOption = Annotated[
    int | None,
    typer.Option(
        "--shards",
        min=1,
        help="Cut the input into so many parts; `--output` is then a folder, and only what is missing in it is done.",
        show_default=False,
    ),
]
ShardOption = Annotated[
    int | None,
    typer.Option("--shard", min=0, help="Do this one of the shards, counted from 0.", show_default="all"),
]
RayOption = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="[ADDRESS]",
        help="Do the shards on a Ray cluster; without an address, on one that is started for them on this machine.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class ShardOptions:
    """How work is shared out."""

    shards: int | None
    shard: int | None
    ray: str | None

    @property
    def are_given(self) -> bool:
        return self.shards is not None or self.shard is not None or self.ray is not None

    @property
    def threads(self) -> int | None:
        """Of one process, if that is not for anybody to say: Ray has a process for each core."""
        return None if self.ray is None else 1

    def run(
        self,
        work: Work,
        columns: Sequence[Column],
        folder: Path | None,
        suffix: str,
        workers: int,
        *,
        uses_gpus: bool = False,
    ) -> None:
        """Do what is missing."""
        from alidade.bulk.manifest import open_manifest
        from alidade.bulk.shards import Progress, Shards, do_shards
        from alidade.parallel import Workers

        if folder is None:
            raise AlidadeError("shards are written into a folder: name it with --output")
        if folder.exists() and not folder.is_dir():
            raise AlidadeError(f"{folder}: shards are written into a folder, and this is a file")
        with Workers(workers) as pool:
            manifest = open_manifest(folder, columns, work.origin, self.shards, pool, _say)
        shards = Shards(folder, manifest, suffix)
        numbers = shards.missing(self._numbers(manifest.shards))
        if not numbers:
            _say(f"{folder}: nothing is left to do")
            return
        with Progress(shards, numbers) as progress, Workers(workers) as pool:
            if self.ray is None:
                do_shards(shards, numbers, work, pool, progress)
            else:
                from alidade.bulk.ray import do_shards_on_ray

                do_shards_on_ray(shards, numbers, work, self.ray, progress, uses_gpus=uses_gpus)

    def _numbers(self, count: int) -> Sequence[int]:
        if self.shard is None:
            return range(count)
        if self.shard >= count:
            raise AlidadeError(f"--shard {self.shard}: there are {count} shards, 0 to {count - 1}")
        return [self.shard]


def _say(message: str) -> None:
    typer.echo(f"alidade: {message}", err=True)
