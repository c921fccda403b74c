"""How fast `alidade serve` is beside `alidade translate`, when it is idle, and when too much is asked of it.

    python benchmarks/server.py --input ../shared/data/enro/test.en

Three measurements against a server process on loopback, with the shipped model:

- 64 clients, each with one text at a time, share the lines; beside it, in turns, the same lines by `alidade translate`;
- one client with nobody else: the latency beside that of `Translator.translate` in one process;
- clients for several times the queue's room: how many are refused and how fast, how long the others wait, whether any
  got another's answer, and how much memory the server's processes take meanwhile.

With --record NAME the figures are kept as experiments/results/speed/NAME.json.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from alidade.parallel import available_cores
from alidade.translator import Translator
from record import TRANSLATING, record


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    seconds: float
    text: str


class Client:
    """One connection that is kept; as little HTTP as can be, for it takes time from the same processor."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def translate(self, text: str) -> Answer:
        start = time.perf_counter()
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        body = json.dumps({"text": [text], "target_lang": "RO", "source_lang": "EN"}).encode()
        head = f"POST /v2/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(answer.split("content-length:")[1].split("\r\n")[0])
        values = json.loads(await reader.readexactly(length))
        status = int(answer.split()[1])
        text = values["translations"][0]["text"] if status == 200 else ""
        return Answer(status, time.perf_counter() - start, text)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()


async def ask_all(port: int, lines: Sequence[str], num_clients: int) -> tuple[float, dict[int, Answer]]:
    """All lines through some clients, each with one text at a time; the seconds, and the answers by line."""
    pending = iter(enumerate(lines))
    answers: dict[int, Answer] = {}

    async def work(client: Client) -> None:
        for number, line in pending:
            answers[number] = await client.translate(line)
        client.close()

    start = time.perf_counter()
    await asyncio.gather(*[work(Client(port)) for _ in range(num_clients)])
    return time.perf_counter() - start, answers


class Server:
    """A server process."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "alidade", "serve", "--port", "0", "--database", str(folder / "a.sqlite")]
        log = (folder / "log").open("w")
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split("127.0.0.1:")[1].split()[0])
        asyncio.run(Client(self.port).translate("Ready."))
        asyncio.run(ask_all(self.port, ["Ready."] * 64, 16))

    def megabytes(self) -> float:
        """Resident in the server and its workers."""
        folder = Path(f"/proc/{self.process.pid}/task")
        children = [int(pid) for path in folder.glob("*/children") for pid in path.read_text().split()]
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in (self.process.pid, *children)]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def batches(self) -> tuple[float, float]:
        """How many there were, and the seconds that they took."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        found = dict(line.rsplit(" ", 1) for line in lines if line.startswith("alidade_batch_seconds_"))
        name = 'alidade_batch_seconds_{}{{kind="text"}}'
        return float(found[name.format("count")]), float(found[name.format("sum")])

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()


def command_rate(lines: Sequence[str], folder: Path) -> float:
    """Sentences a second of `alidade translate`, without its start: by the difference to a few lines."""
    few = 64
    seconds = []
    for number in (few, len(lines)):
        path = folder / "lines.en"
        path.write_text("".join([f"{line}\n" for line in lines[:number]]))
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "alidade", "translate", "-i", str(path), "-o", "/dev/null"], check=True)
        seconds.append(time.perf_counter() - start)
    return (len(lines) - few) / (seconds[1] - seconds[0])


def throughput(lines: Sequence[str], folder: Path, rounds: int) -> dict[str, Any]:
    rates: dict[str, list[float]] = {"server": [], "command": []}
    failed = 0
    for _ in range(rounds):
        server = Server(folder)
        seconds, answers = asyncio.run(ask_all(server.port, lines, 64))
        server.end()
        failed += sum(answer.status != 200 for answer in answers.values())
        rates["server"].append(len(lines) / seconds)
        rates["command"].append(command_rate(lines, folder))
    server_rate, command = (statistics.median(rates[name]) for name in ("server", "command"))
    return {
        "server_sentences_a_second": server_rate,
        "command_sentences_a_second": command,
        "ratio": server_rate / command,
        "failed": failed,
        "rounds": rates,
    }


def idle_latency(lines: Sequence[str], folder: Path) -> dict[str, Any]:
    """In turns, so that whatever else the machine does falls on both."""
    server, translator = Server(folder, "--workers", "1"), Translator(threads=1)
    translator.translate("Ready.")
    here, there = [], []
    with asyncio.Runner() as runner:
        client = Client(server.port)
        for line in lines:
            there.append(runner.run(client.translate(line)).seconds)
            start = time.perf_counter()
            translator.translate(line)
            here.append(time.perf_counter() - start)
        client.close()
    server.end()
    ratio = statistics.median([one / other for one, other in zip(there, here, strict=True)])
    return {
        "server_milliseconds": 1000 * statistics.median(there),
        "translator_milliseconds": 1000 * statistics.median(here),
        "ratio": ratio,
    }


async def press(
    server: Server, lines: Sequence[str], num_clients: int, seconds: float
) -> tuple[list[tuple[int, Answer]], list[float], float]:
    """So many clients for some time, each with one line after the other; their answers, the server's memory, the time.

    The last ones get their answers after the time is over: it is longer than asked for.

    Who is refused waits a little, as a client would, else refusing is all that there is time for.
    """
    answers: list[tuple[int, Answer]] = []
    megabytes = [server.megabytes()]
    start = time.perf_counter()
    end = time.perf_counter() + seconds

    async def work(client: Client, number: int) -> None:
        while time.perf_counter() < end:
            answer = await client.translate(lines[number % len(lines)])
            answers.append((number % len(lines), answer))
            number += 1
            if answer.status == 429:
                await asyncio.sleep(PAUSE)
        client.close()

    async def watch() -> None:
        while time.perf_counter() < end:
            await asyncio.sleep(seconds / 20)
            megabytes.append(server.megabytes())

    await asyncio.gather(watch(), *[work(Client(server.port), number) for number in range(num_clients)])
    return answers, megabytes, time.perf_counter() - start


PAUSE = 0.25


def overload(lines: Sequence[str], folder: Path, room: int, factor: int, seconds: float) -> dict[str, Any]:
    """So many times as many clients as there is room.

    A text that is accepted may find the whole queue before it, which takes its room by the rate of answers, and both
    workers at the start of a batch; then comes its own: queue and two batches, of the mean length.
    """
    server = Server(folder, "--waiting", str(room))
    _, alone = asyncio.run(ask_all(server.port, lines, 8))
    batches_before, batch_seconds_before = server.batches()
    answers, megabytes, seconds = asyncio.run(press(server, lines, room * factor, seconds))
    batches, batch_seconds = server.batches()
    server.end()
    accepted = sorted(answer.seconds for _, answer in answers if answer.status == 200)
    refused = sorted(answer.seconds for _, answer in answers if answer.status == 429)
    others = {answer.text for answer in alone.values()}
    different = [
        answer.text for number, answer in answers if answer.status == 200 and answer.text != alone[number].text
    ]
    batch = (batch_seconds - batch_seconds_before) / (batches - batches_before)
    rate = len(accepted) / seconds
    return {
        "seconds": seconds,
        "statuses": {str(status): count for status, count in sorted(Counter(a.status for _, a in answers).items())},
        # In eight bits a text may come out differently beside others; another line's translation never may.
        "different_from_alone": len(different),
        "of_another_line": sum(text in others for text in different),
        "accepted_a_second": rate,
        "accepted_p99_seconds": accepted[int(0.99 * (len(accepted) - 1))],
        "queue_and_two_batches_seconds": room / rate + 2 * batch,
        "refused_median_seconds": statistics.median(refused) if refused else None,
        "megabytes": [round(one) for one in megabytes],
    }


def main(
    input_file: Annotated[Path, typer.Option("--input", help="Lines to translate.")],
    num_lines: Annotated[int, typer.Option("--lines")] = 1000,
    rounds: Annotated[int, typer.Option("--rounds")] = 3,
    seconds: Annotated[float, typer.Option("--overload-seconds")] = 30.0,
    only: Annotated[str | None, typer.Option("--only", help="idle, clients_64 or overload.")] = None,
    name: Annotated[str | None, typer.Option("--record", help="Keep the figures under this name.")] = None,
) -> None:
    """Measure the server."""
    lines = [line for line in input_file.read_text().splitlines() if line.strip()][:num_lines]
    figures: dict[str, Any] = {"lines": len(lines), "cores": available_cores()}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        measurements: dict[str, Callable[[], dict[str, Any]]] = {
            "idle": lambda: idle_latency(lines[:200], place),
            "clients_64": lambda: throughput(lines, place, rounds),
            "overload": lambda: overload(lines[:64], place, 64, 4, seconds),
        }
        figures |= {what: measure() for what, measure in measurements.items() if only in (None, what)}
    print(json.dumps(figures, indent=2))
    if name is not None:
        print(record(f"speed/{name}", figures, depends_on=[*TRANSLATING, "src/alidade/server", "benchmarks/server.py"]))


if __name__ == "__main__":
    typer.run(main)
