"""Training on two nodes: two launchers in two network namespaces of this machine, with a wire between them."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from alidade.training.loop import train
from equivalence.test_processes import assert_same_course
from small_runs import ALIGNED, JUMPS, logged, run_config, write_config

JOINT = {"lexical": ALIGNED | {"dropout": 0.0}, "alignment": JUMPS | {"dropout": 0.0, "encoder": "lexical"}}
UPDATES = {"steps": 30, "validate_every": 10, "save_every": 10, "average_last": 2, "bleu_every": 30}


class Node:
    """A network namespace and the launcher that runs in it."""

    def __init__(self, number: int) -> None:
        self.name = f"alidade{os.getpid()}-{number}"
        self.wire = f"al{os.getpid() % 100000}-{number}"
        self.address = f"10.77.0.{number}"
        self.is_host = number == 1
        self.launcher: subprocess.Popen[bytes] | None = None

    def launch(self, config: Path, log: Path) -> None:
        launcher = [
            *("ip", "netns", "exec", self.name, sys.executable, "-m", "torch.distributed.run", "--nnodes=2"),
            *("--nproc-per-node=1", "--max-restarts=3", "--rdzv-backend=c10d", "--rdzv-id=test"),
            *("--rdzv-endpoint=10.77.0.1:29431", f"--local-addr={self.address}"),
            f"--rdzv-conf=is_host={int(self.is_host)}",  # by its address it cannot tell: the machine has others
        ]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": self.wire,
            # Else a launcher that comes back waits for an address that the others announced once, at the beginning.
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        }
        with log.open("ab") as file:
            self.launcher = subprocess.Popen(
                [*launcher, "-m", "alidade", "train", str(config)], env=environment, stdout=file, stderr=file
            )

    def die(self) -> None:
        """All of its processes at once, as when a machine loses its power."""
        processes = run("ip", "netns", "pids", self.name).split()
        for process in processes:
            os.kill(int(process), signal.SIGKILL)
        if self.launcher is not None:
            self.launcher.wait()
        self.launcher = None


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def nodes() -> Iterator[tuple[Node, Node]]:
    one, other = Node(1), Node(2)
    try:
        for node in (one, other):
            run("ip", "netns", "add", node.name)
        run("ip", "link", "add", one.wire, "netns", one.name, "type", "veth", "peer", other.wire, "netns", other.name)
    except (OSError, subprocess.CalledProcessError):
        for node in (one, other):
            subprocess.run(["ip", "netns", "delete", node.name], check=False, capture_output=True)
        pytest.skip("network namespaces need iproute2 and root")
    for node in (one, other):
        run("ip", "-n", node.name, "address", "add", f"{node.address}/24", "dev", node.wire)
        for link in ("lo", node.wire):
            run("ip", "-n", node.name, "link", "set", link, "up")
    yield one, other
    for node in (one, other):
        node.die()
        run("ip", "netns", "delete", node.name)


def test_a_node_that_was_killed_comes_back(lexicon_corpus: Path, tmp_path: Path, nodes: tuple[Node, Node]) -> None:
    train(run_config(tmp_path / "one", lexicon_corpus, **JOINT, **UPDATES))
    config = write_config(tmp_path / "two.toml", run_config(tmp_path / "two", lexicon_corpus, **JOINT, **UPDATES))
    for node in nodes:
        node.launch(config, tmp_path / f"{node.name}.log")
    first = nodes[0].launcher
    while not list((tmp_path / "two" / "checkpoints").glob("*10")) and first is not None and first.poll() is None:
        time.sleep(0.05)
    nodes[1].die()
    assert not (tmp_path / "two" / "result.json").exists()
    nodes[1].launch(config, tmp_path / f"{nodes[1].name}.log")
    for node in nodes:
        assert node.launcher is not None
        assert node.launcher.wait(timeout=200) == 0, (tmp_path / f"{node.name}.log").read_text()
    assert_same_course(tmp_path / "two", tmp_path / "one")
    steps = [line["step"] for line in logged(tmp_path / "two", "train")]
    assert all(before < after for before, after in itertools.pairwise(steps))
