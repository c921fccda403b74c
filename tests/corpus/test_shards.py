"""Several processes prepare one corpus: whatever happens to them, it is the one that a single process makes."""

from __future__ import annotations

import hashlib
import io
import itertools
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from alidade.alignment.statistical import EflomalAligner
from alidade.cli import app
from alidade.config import PrepareConfig
from alidade.corpus import links, parts
from alidade.corpus.parts import Shard
from alidade.corpus.prepare import Preparation
from alidade.errors import AlidadeError, WaitingError
from alidade.io import read_json, read_lines, write_json

NOUNS = {"dog": "Hund", "cat": "Kater", "man": "Mann", "tree": "Baum", "king": "König", "fish": "Fisch"}
PAIRS = [
    (f"The {one} sees {number} {two}s.", f"Der {NOUNS[one]} sieht {number} {NOUNS[two]}e.")
    for one, two in itertools.product(NOUNS, NOUNS)
    for number in range(2, 5)
]
COUNT = 3


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    for side, language in enumerate(("en", "de")):
        (folder / f"{name}.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    return {"source": str(folder / f"{name}.en"), "target": str(folder / f"{name}.de")}


def config(folder: Path, **settings: Any) -> PrepareConfig:
    """Two bitexts, of which one counts twice and repeats pairs of the other one and its own."""
    folder.mkdir(exist_ok=True)
    again = [*PAIRS[5:50], ("A new pair.", "Ein neues Paar."), ("", "leer"), ("A new pair.", "Ein neues Paar.")]
    (folder / "links").write_text("0-0 1-1\n" * (len(PAIRS) + len(again)))
    values = {
        "corpus": folder / "corpus",
        "source_language": "en",
        "target_language": "de",
        "bitext": [write_pairs(folder, "train", PAIRS), {**write_pairs(folder, "again", again), "weight": 2}],
        "dev": write_pairs(folder, "dev", PAIRS[:7]),
        "subwords": {"vocabulary_size": 320},
        "cleaning": {"drop_duplicates": True},
        "aligner": {"kind": "pharaoh", "train_links": str(folder / "links")},
        **settings,
    }
    return PrepareConfig.model_validate(values)


def run(settings: PrepareConfig, shard: Shard | None = None) -> str:
    """Prepare as far as it goes; returns why no further."""
    try:
        Preparation(settings, 1, Console(file=io.StringIO()), shard=shard or Shard()).run()
    except WaitingError as error:
        return str(error)
    return ""


def run_in_order(settings: PrepareConfig, order: Sequence[int]) -> int:
    """Give the commands of all shards, in this order, until all have gone through; returns how often each was given."""
    for times in range(1, 10):
        reasons = [run(settings, Shard(number, COUNT)) for number in order]
        if not any(reasons):
            return times
    raise AssertionError("they wait for each other for ever")


def hashes(folder: Path) -> dict[str, str]:
    """Of all that is in a corpus, but for its settings, which name folders."""
    files = [*(folder / "corpus").glob("*.*"), *(folder / "corpus" / "stages").glob("*.npy")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.suffix != ".json"}


def clean_report(folder: Path) -> Any:
    return read_json(folder / "corpus" / "stages" / "clean.json")["report"]


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a single process makes."""
    run(config(tmp_path / "whole"))
    monkeypatch.setattr(parts, "PART_PAIRS", 10)
    return tmp_path / "whole"


@pytest.mark.parametrize("order", list(itertools.permutations(range(COUNT))))
def test_shards_make_what_one_process_makes(tmp_path: Path, whole: Path, order: Sequence[int]) -> None:
    assert run_in_order(config(tmp_path / "shards"), order) <= 4, "a barrier each after clean, encode and positions"
    assert hashes(tmp_path / "shards") == hashes(whole)
    assert clean_report(tmp_path / "shards") == clean_report(whole)
    assert not list(tmp_path.rglob("*.parts"))
    assert not list(tmp_path.rglob("*.partial"))


def test_nothing_is_done_twice_and_each_does_its_own(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []

    def write(path: Path, values: object) -> None:
        written.append(path)
        write_json(path, values)

    monkeypatch.setattr(parts, "write_json", write)
    settings = config(tmp_path / "shards")
    message = run(settings, Shard(1, COUNT))
    assert "clean: shards 0, 2 have parts to do; give this command again" in message
    assert {int(path.parent.name) % COUNT for path in written} == {1}
    run_in_order(settings, range(COUNT))
    assert len(written) == len(set(written))
    assert hashes(tmp_path / "shards") == hashes(whole)


@pytest.mark.parametrize("seed", range(4))
def test_shards_that_are_killed_go_on(tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Each time at another place: after some parts, in the middle of one, while they are joined."""
    chance = random.Random(seed)
    settings = config(tmp_path / "shards")

    def write_or_die(path: Path, values: Any) -> None:
        if chance.random() < 0.2:
            raise KeyboardInterrupt
        write_json(path, values)

    monkeypatch.setattr(parts, "write_json", write_or_die)
    monkeypatch.setattr("alidade.corpus.prepare.write_json", write_or_die)
    for _ in range(200):
        try:
            Preparation(settings, 1, Console(file=io.StringIO()), shard=Shard(chance.randrange(COUNT), COUNT)).run()
        except (KeyboardInterrupt, WaitingError):
            continue
        break
    assert hashes(tmp_path / "shards") == hashes(whole)


def test_one_process_finishes_what_shards_have_begun(tmp_path: Path, whole: Path) -> None:
    settings = config(tmp_path / "shards")
    assert run(settings, Shard(2, COUNT))
    assert run(settings, Shard(0, COUNT))
    assert run(settings) == ""
    assert hashes(tmp_path / "shards") == hashes(whole)
    assert run(settings, Shard(1, COUNT)) == "", "for the late one there is nothing left to do"


def test_a_shard_has_one_process_and_all_count_alike(tmp_path: Path) -> None:
    settings = config(tmp_path)
    stages = settings.corpus / "stages"
    with Shard(1, COUNT).hold(stages):
        for other in (Shard(1, COUNT), Shard(0, 2), Shard()):
            with pytest.raises(AlidadeError, match="another process is working in this folder"):
                run(settings, other)
        assert run(settings, Shard(0, COUNT)) == "", "the only part is its own"
    with pytest.raises(AlidadeError, match="--shard 3: there are 3 shards, 0 to 2"):
        Shard(3, COUNT)


def test_chunks_of_the_aligner_are_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An aligner that draws no random numbers: what links a pair gets depends on the priors and the pair alone."""
    pytest.importorskip("eflomal")
    aligned: list[str] = []

    def align(
        _: EflomalAligner, source: Path, target: Path, forward: Path, reverse: Path, priors: Path, learned: Path
    ) -> None:
        sizes = [(len(s.split()), len(t.split())) for s, t in zip(read_lines(source), read_lines(target), strict=True)]
        known = 0 if priors is None else sum(1 for _ in read_lines(priors))
        for path in (forward, reverse):
            path.write_text("".join(f"{known % num}-{known % other}\n" for num, other in sizes))
        if learned is not None:
            lines = sorted({f"LEX\t{word}\tx\t1" for line in read_lines(source) for word in line.split()})
            learned.write_text("".join(f"{line}\n" for line in lines))
        aligned.append(str(source.parent.name))

    monkeypatch.setattr(EflomalAligner, "_align", align)
    monkeypatch.setattr(links, "BYTES_A_UNIT", 100_000)
    aligner = {"kind": "eflomal", "unit": "words", "max_memory": 100}
    run(config(tmp_path / "whole", aligner=aligner))
    assert read_json(tmp_path / "whole" / "corpus" / "stages" / "align.json")["report"]["chunks"] > COUNT
    once = sorted(aligned)
    aligned.clear()
    monkeypatch.setattr(parts, "PART_PAIRS", 10)
    run_in_order(config(tmp_path / "shards", aligner=aligner), (2, 0, 1))
    assert sorted(aligned) == once, "the sample, every chunk twice, and dev"
    assert hashes(tmp_path / "shards") == hashes(tmp_path / "whole")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shards", "3"], "give both"),
        (["--shard", "1"], "give both"),
        (["--wait"], "--wait is for shards"),
        (["--shards", "3", "--shard", "3"], "there are 3 shards, 0 to 2"),
    ],
)
def test_options_that_say_too_little(tmp_path: Path, options: list[str], message: str) -> None:
    (tmp_path / "prepare.toml").write_text(SETTINGS)
    with pytest.raises(AlidadeError, match=message):
        CliRunner().invoke(app, ["prepare", str(tmp_path / "prepare.toml"), *options], catch_exceptions=False)


SETTINGS = """
corpus = "corpus"
source_language = "en"
target_language = "de"
cleaning = { drop_duplicates = true }
subwords = { vocabulary_size = 320 }
aligner = { kind = "pharaoh", train_links = "links" }
dev = { source = "dev.en", target = "dev.de" }
bitext = [{ source = "train.en", target = "train.de" }, { source = "again.en", target = "again.de", weight = 2 }]
"""
SHARD = """
import sys
from alidade.cli import main
from alidade.corpus import parts

if __name__ == "__main__":
    parts.PART_PAIRS, parts.WAITING_SECONDS = 10, 0.05
    main()
"""


def test_processes_that_wait_for_each_other(tmp_path: Path, whole: Path) -> None:
    """One of them is killed and comes back; without --wait the exit code is 75."""
    folder = tmp_path / "shards"
    config(folder)
    (folder / "prepare.toml").write_text(SETTINGS)
    (folder / "shard.py").write_text(SHARD)

    def start(number: int, *options: str) -> subprocess.Popen[str]:
        sharing = ["--shards", str(COUNT), "--shard", str(number), "--workers", "1", *options]
        command = [sys.executable, str(folder / "shard.py"), "prepare", str(folder / "prepare.toml"), *sharing]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    first = start(0)
    assert first.communicate(timeout=60)[1].endswith("give this command again when they are done, or with --wait\n")
    assert first.returncode == 75
    killed = start(1, "--wait")
    assert killed.stderr is not None
    assert "clean: shards 2 have parts to do; waiting" in killed.stderr.readline()
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    processes = [start(number, "--wait") for number in range(COUNT)]
    time.sleep(0.1)
    for process in processes:
        assert process.communicate(timeout=120)[0], "it tells what the corpus is"
        assert process.returncode == 0
    assert hashes(folder) == hashes(whole)
