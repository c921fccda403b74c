"""`alidade prepare`: from raw bitext to a prepared corpus, in five stages or six.

    clean        bitexts -> clean text; dropped pairs are counted by reason
    subwords     clean text -> sentencepiece models
    encode       clean text -> pieces
    align        clean text -> links in both directions
    positions    links -> one source position for each target piece
    bpe_dropout  pieces and positions -> copies of the pairs in other pieces, if `bpe_dropout.copies` asks for them

All stream through chunks of pairs, in as many processes as there are cores; the aligner takes as many pairs at once as
its memory allows. What the stages do lies in
`clean.py`, `encode.py`, `links.py` and `bpe_dropout.py`; this module says in what order, and when one can be skipped: a
stage has a fingerprint of its inputs (its settings, the files that it reads, the stages before it), and leaves a record
with this fingerprint when it has finished. One that was stopped in the middle leaves none and is done again, all but
the parts of it that were finished (`parts.py`); its files are written aside and renamed, so none is ever half there.
Several processes can share the parts of cleaning, encoding, aligning and storing positions; one does the rest.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from alidade.alignment.statistical import import_eflomal
from alidade.config import PrepareConfig
from alidade.corpus.arrays import SIDES, Layout
from alidade.corpus.bpe_dropout import apply_bpe_dropout
from alidade.corpus.clean import clean_parts, join_clean_parts
from alidade.corpus.encode import encode_parts, join_encoded_parts, learn_subwords, subwords_like
from alidade.corpus.links import align_chunks, align_units, join_position_parts, num_chunks, store_position_parts
from alidade.corpus.parts import Parts, Shard, StageFinished, keep_parts
from alidade.corpus.store import BPE_DROPOUT, PreparedCorpus, Split, SplitManifest, write_manifest
from alidade.errors import AlidadeError
from alidade.io import hash_file, read_json, write_json
from alidade.parallel import Workers, available_cores
from alidade.text.subwords import Subwords


@dataclass(frozen=True, slots=True)
class StageResult:
    """What a stage did, now or in an earlier run."""

    name: str
    fingerprint: str
    report: dict[str, Any]
    seconds: float
    was_skipped: bool


class StageRunner:
    """Runs stages that keep their records in one folder."""

    def __init__(
        self, records: Path, invalidates: Sequence[Path], announce: Callable[[str], None], shard: Shard | None = None
    ) -> None:
        self._records = records
        self._invalidates = invalidates
        self._announce = announce
        self._shard = shard or Shard()

    def run(
        self,
        name: str,
        inputs: object,
        outputs: Sequence[Path],
        work: Callable[[], dict[str, Any]],
        work_on_parts: Callable[[Parts], None] | None = None,
    ) -> StageResult:
        """Do the work unless an earlier run, or another shard, has done it from the same inputs.

        inputs: plain values; whatever changes them makes the stage run again. work returns its report, plain values.
        work_on_parts comes before it, and shards share it; the work itself is done by one of them. Before a stage runs,
        files that promise a complete result (`invalidates`) are removed.
        """
        fingerprint = _fingerprint(name, inputs)
        path = self._records / f"{name}.json"

        def is_finished() -> bool:
            record = read_json(path) if path.exists() else {}
            return bool(record.get("fingerprint") == fingerprint and record.get("sizes") == _sizes(outputs))

        if is_finished():
            return self._skip(name)
        parts = Parts(self._records / f"{name}.parts", self._shard, is_finished, self._announce)
        started = time.perf_counter()
        try:
            with parts.in_turn():
                for promise in (path, *self._invalidates):
                    promise.unlink(missing_ok=True)
                keep_parts(parts.folder, fingerprint)
            if work_on_parts is not None:
                work_on_parts(parts)
            with parts.alone():
                report = work()
                seconds = round(time.perf_counter() - started, 2)
                sizes = _sizes(outputs)
                write_json(path, {"fingerprint": fingerprint, "sizes": sizes, "seconds": seconds, "report": report})
                shutil.rmtree(parts.folder)
        except StageFinished:
            return self._skip(name)
        self._announce(f"{name}: done in {seconds:.1f} s")
        return StageResult(name, fingerprint, report, seconds, was_skipped=False)

    def _skip(self, name: str) -> StageResult:
        self._announce(f"{name}: unchanged, skipped")
        record = read_json(self._records / f"{name}.json")
        return StageResult(name, record["fingerprint"], record["report"], record["seconds"], was_skipped=True)


def _fingerprint(name: str, inputs: object) -> str:
    return hashlib.sha256(json.dumps([name, inputs], sort_keys=True, default=str).encode()).hexdigest()


def _sizes(paths: Sequence[Path]) -> dict[str, int]:
    """The sizes of files; a missing one has the impossible size -1, so that its stage runs."""
    return {path.name: path.stat().st_size if path.exists() else -1 for path in paths}


@dataclass
class Preparation:
    """Prepares one corpus; what each stage did stands in `results` afterwards."""

    config: PrepareConfig
    num_workers: int = field(default_factory=available_cores)
    console: Console = field(default_factory=lambda: Console(stderr=True))
    results: dict[str, StageResult] = field(default_factory=dict)
    shard: Shard = field(default_factory=Shard)

    def __post_init__(self) -> None:
        self.layout = Layout(self.config.corpus)
        self.splits = ("train",) if self.config.dev is None else ("train", "dev")
        self._workers = Workers(self.num_workers)
        self._runner = StageRunner(self.layout.stages, [self.layout.manifest], self.console.print, self.shard)

    def run(self) -> PreparedCorpus:
        """Do the stages whose inputs have changed, and open the corpus."""
        self._check_aligner()
        with self.shard.hold(self.layout.stages), self._workers:
            clean = self._clean()
            subwords = self._learn_subwords(clean)
            encode = self._encode(subwords)
            align = self._align(clean, encode)
            positions = self._store(clean, encode, align)
            copies = self._apply_bpe_dropout(positions)
            with self.shard.in_turn(self.layout.stages):
                self._write_manifest(encode, positions, copies)
        return PreparedCorpus.open(self.config.corpus)

    def _clean(self) -> StageResult:
        config = self.config
        bitexts = [path for bitext in config.bitext for path in (bitext.source, bitext.target, bitext.domains) if path]
        dev = [] if config.dev is None else [config.dev.source, config.dev.target]
        settings = config.model_dump(mode="json", include={"source_language", "target_language", "bitext", "cleaning"})
        if not config.cleaning.moses_punctuation:  # corpora that are older than this setting need not be made anew
            del settings["cleaning"]["moses_punctuation"]
        return self._run(
            "clean",
            [settings, [hash_file(path) for path in (*bitexts, *dev)]],
            [self.layout.text(split, side) for split in self.splits for side in SIDES] + [self.layout.origins],
            lambda: join_clean_parts(config, self.layout),
            lambda parts: clean_parts(config, parts, self._workers, self.console),
        )

    def _learn_subwords(self, clean: StageResult) -> StageResult:
        settings = self.config.subwords
        taken = [] if settings.like is None else [[hash_file(path) for path in subwords_like(settings.like)]]
        return self._run(
            "subwords",
            [clean.fingerprint, settings.model_dump(mode="json", exclude={"like"}), *taken],
            [self.layout.subwords(side) for side in SIDES],
            lambda: learn_subwords(self.config, self.layout, clean.report["written"], self._workers, self.console),
        )

    def _encode(self, subwords: StageResult) -> StageResult:
        return self._run(
            "encode",
            [subwords.fingerprint],
            [path for split in self.splits for side in SIDES for path in self.layout.arrays(split, side)],
            lambda: join_encoded_parts(self._subwords(), self.layout, self.splits),
            lambda parts: encode_parts(self._subwords(), self.layout, self.splits, parts, self._workers, self.console),
        )

    def _align(self, clean: StageResult, encode: StageResult) -> StageResult | None:
        """Links from the aligner; words are aligned whatever the subwords are."""
        unit, max_memory = self.config.aligner.unit, self.config.aligner.max_memory
        if self.config.aligner.kind != "eflomal":
            return None
        text = clean if unit == "words" else encode
        links = [self.layout.links(split, way) for split in self.splits for way in ("forward", "reverse")]
        chunks = num_chunks(self.layout, max_memory)

        def align_parts(parts: Parts) -> None:
            if chunks > 1:
                align_chunks(self._subwords(), unit, chunks, self.layout, parts, self._workers, self.console)

        return self._run(
            "align",
            [text.fingerprint, unit, *([chunks] if chunks > 1 else [])],
            [*links, self.layout.priors],
            lambda: align_units(self._subwords(), unit, chunks, self.layout, self.splits, self._workers, self.console),
            align_parts,
        )

    def _store(self, clean: StageResult, encode: StageResult, align: StageResult | None) -> StageResult:
        aligner = self.config.aligner
        settings = aligner.model_dump(mode="json", exclude={"max_memory"})
        given = [hash_file(path) for path in (aligner.train_links, aligner.dev_links) if path]
        splits = self._aligned_splits()
        return self._run(
            "positions",
            [
                encode.fingerprint,
                align and align.fingerprint,
                settings,
                given,
            ],
            [self.layout.positions(split) for split in splits],
            lambda: join_position_parts(self.layout, splits),
            lambda parts: store_position_parts(
                self._subwords(), aligner, self.layout, splits, clean.report, parts, self._workers, self.console
            ),
        )

    def _apply_bpe_dropout(self, positions: StageResult) -> StageResult | None:
        settings = self.config.bpe_dropout
        if not settings.copies:
            return None
        train = Split(self.config.corpus, "train", "train" in positions.report)
        arrays = [path for side in SIDES for path in self.layout.arrays(BPE_DROPOUT, side)]
        return self._run(
            "bpe_dropout",
            [positions.fingerprint, settings.model_dump(mode="json")],
            [*arrays, self.layout.positions(BPE_DROPOUT)],
            lambda: apply_bpe_dropout(self._subwords(), settings, self.layout, train, self._workers, self.console),
        )

    def _write_manifest(self, encode: StageResult, positions: StageResult, copies: StageResult | None) -> None:
        aligned = positions.report
        splits: dict[str, SplitManifest] = {}
        for split in self.splits:
            hashes = [aligned[split]["content"]] if split in aligned else []
            splits[split] = {
                "size": encode.report[split]["pairs"],
                "has_positions": split in aligned,
                "content": [*encode.report[split]["content"], *hashes],
            }
        if copies is not None:
            splits[BPE_DROPOUT] = {
                "size": copies.report["pairs"],
                "has_positions": "train" in aligned,
                "content": copies.report["content"],
            }
        write_manifest(self.layout, *self._subwords(), splits, self.config.model_dump(mode="json"))

    def _aligned_splits(self) -> list[str]:
        """The splits that get positions; with Pharaoh files those that have one."""
        aligner = self.config.aligner
        if aligner.kind == "eflomal":
            return list(self.splits)
        files = {"train": aligner.train_links, "dev": aligner.dev_links}
        return [split for split in self.splits if aligner.kind == "pharaoh" and files[split] is not None]

    def _check_aligner(self) -> None:
        aligner = self.config.aligner
        if aligner.kind == "pharaoh" and aligner.train_links is None:
            raise AlidadeError('aligner.kind = "pharaoh" needs aligner.train_links, the file with the links')
        if aligner.kind != "pharaoh" and (aligner.train_links or aligner.dev_links):
            raise AlidadeError(
                f'aligner.train_links and dev_links are for aligner.kind = "pharaoh", not "{aligner.kind}"'
            )
        if aligner.kind == "eflomal":
            import_eflomal()  # before the stages that come first take their time

    def _subwords(self) -> tuple[Subwords, Subwords]:
        config = self.config
        return (
            Subwords.load(self.layout.subwords("source"), config.source_language),
            Subwords.load(self.layout.subwords("target"), config.target_language),
        )

    def _run(
        self,
        name: str,
        inputs: object,
        outputs: list[Path],
        work: Callable[[], dict[str, Any]],
        work_on_parts: Callable[[Parts], None] | None = None,
    ) -> StageResult:
        self.results[name] = self._runner.run(name, inputs, outputs, work, work_on_parts)
        return self.results[name]
