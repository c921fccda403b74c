"""What goes wrong: workers and servers are killed, clients are slow or go away, the queue is full."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import resource
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from alidade.server.app import bind
from server.running import Running, running

LONG = "The disk is full and nothing more can be written to it. " * 10


def translate(server: Running, text: str) -> httpx.Response:
    return server.client.post("/v2/translate", json={"text": [text], "target_lang": "RO"})


def gauge(server: Running, name: str) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith(f"alidade_{name} ")))


def wait_for(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextlib.contextmanager
def halted(server: Running) -> Iterator[int]:
    """Its only worker stands still: what is sent stays where it is."""
    [pid] = server.worker_pids()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_a_worker_that_dies_is_replaced_and_its_batch_done_again(server: Running) -> None:
    expected = translate(server, LONG).json()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        with halted(server) as pid:
            answers = [pool.submit(translate, server, LONG) for _ in range(4)]
            wait_for(lambda: gauge(server, "workers_busy") == 1)
            os.kill(pid, signal.SIGKILL)
        results = [answer.result() for answer in answers]
    assert [one.status_code for one in results] == [200] * 4
    assert all(one.json() == expected for one in results)
    assert pid not in server.worker_pids()
    assert "alidade_workers_lost_total 1.0" in server.client.get("/metrics").text


def test_a_client_that_goes_away_frees_its_place(server: Running) -> None:
    body = json.dumps({"text": [LONG] * 50, "target_lang": "RO"}).encode()
    head = f"POST /v2/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with halted(server):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(head.encode() + body)
            wait_for(lambda: gauge(server, "waiting_texts") > 0)
        wait_for(lambda: gauge(server, "waiting_texts") == 0)
    assert translate(server, "Open.").status_code == 200


def test_a_slow_client_stops_nobody_and_is_sent_away(tmp_path: Path) -> None:
    with (
        running(tmp_path / "a.sqlite", "--workers", "1", "--body-seconds", "2") as server,
        socket.create_connection(("127.0.0.1", server.port)) as slow,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        slow.settimeout(10)
        start = time.monotonic()
        slow.sendall(b"POST /v2/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
        answer = pool.submit(lambda: (slow.recv(1000), time.monotonic()))
        assert translate(server, "Open.").status_code == 200
        with contextlib.suppress(OSError):  # it may have been sent away already
            slow.sendall(b"{")
        received, end = answer.result()
        assert b"408" in received
        assert 2 <= end - start < 5


def test_a_full_queue_refuses_at_once_and_answers_the_rest_rightly(tmp_path: Path) -> None:
    with running(tmp_path / "a.sqlite", "--workers", "1", "--waiting", "20") as server:
        expected = translate(server, "The disk is full.").json()
        with concurrent.futures.ThreadPoolExecutor(21) as pool:
            with halted(server):
                accepted = [pool.submit(translate, server, "The disk is full.")]
                wait_for(lambda: gauge(server, "workers_busy") == 1)
                accepted += [pool.submit(translate, server, "The disk is full.") for _ in range(20)]
                wait_for(lambda: gauge(server, "waiting_texts") == 20)
                start = time.monotonic()
                refused = [translate(server, "The disk is full.") for _ in range(80)]
                assert time.monotonic() - start < 8
            answers = [one.result() for one in accepted]
        assert [one.status_code for one in answers] == [200] * 21
        assert all(one.json() == expected for one in answers)
        assert [one.status_code for one in refused] == [429] * 80
        assert all(int(one.headers["retry-after"]) > 0 and one.json()["message"] for one in refused)
        several = {"text": ["x"] * 21, "target_lang": "RO"}
        assert server.client.post("/v2/translate", json=several).status_code == 429


def test_documents_and_glossaries_survive_the_death_of_the_server(tmp_path: Path) -> None:
    lines = "".join([f"The disk {number} is full and cannot be written.\n\n" for number in range(40)]).encode()
    values = {"source_language": "en", "target_language": "ro"}
    database = tmp_path / "a.sqlite"
    ids: list[str] = []

    def states(server: Running) -> list[str]:
        return [server.client.get(f"/api/documents/{one}").json()["state"] for one in ids]

    with running(database, "--workers", "1") as server:
        entries = [{"source": "file", "targets": ["zmeu"]}]
        made = server.client.post("/api/dictionaries", json=values | {"name": "a", "entries": entries}).json()
        ids += [
            server.client.post("/api/documents", data=values, files={"file": (f"{n}.txt", lines)}).json()["id"]
            for n in range(3)
        ]
        wait_for(lambda: "translating" in states(server))
        assert translate(server, "Open.").status_code == 200  # a person overtakes them
        assert states(server).count("done") < 3
        pids = server.worker_pids()
        server.kill()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))  # no worker outlives its server
    with running(database, "--workers", "1") as server:
        assert server.client.get(f"/api/dictionaries/{made['id']}").json()["entries"][0]["targets"] == ["zmeu"]
        wait_for(lambda: set(states(server)) == {"done"}, 60)
        results = [server.client.get(f"/api/documents/{one}/result").text for one in ids]
        assert len(set(results)) == 1
        assert results[0].count("\n") == 80
        undisturbed = server.client.post(
            "/translate_file", data={"target": "ro"}, files={"file": ("a.txt", lines)}, timeout=60
        ).json()["translatedFileUrl"]
        assert httpx.get(undisturbed).text == results[0]


def test_sigterm_finishes_what_is_under_way(tmp_path: Path) -> None:
    with running(tmp_path / "a.sqlite", "--workers", "1") as server:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(translate, server, LONG)
            wait_for(lambda: gauge(server, "workers_busy") == 1)
            code = server.end()
            assert answer.result().status_code == 200
        assert code in (0, -signal.SIGTERM)


def test_a_full_disk_refuses_what_must_be_written_and_nothing_else(tmp_path: Path) -> None:
    """No file of the server may grow any more, as on a full disk; then there is room again."""
    database = tmp_path / "a.sqlite"
    values = {"source_language": "en", "target_language": "ro"}
    many = [{"source": f"term{number}", "targets": ["x" * 50]} for number in range(2000)]
    with running(database, "--workers", "1") as server:

        def add(name: str, entries: Sequence[Mapping[str, object]]) -> httpx.Response:
            made: dict[str, object] = {**values, "name": name, "entries": entries}
            return server.client.post("/api/dictionaries", json=made)

        assert add("kept", [{"source": "file", "targets": ["zmeu"]}]).status_code < 300
        largest = max(path.stat().st_size for path in tmp_path.iterdir())
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
        refused = add("more", many)
        assert refused.status_code == 503
        assert refused.json()["message"]
        assert translate(server, "Open.").status_code == 200
        names = [one["name"] for one in server.client.get("/api/dictionaries").json()]
        assert names == ["kept"]
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert add("more", many).status_code < 300
        server.kill()
    with running(database, "--workers", "1") as server:
        found = server.client.get("/api/dictionaries").json()
        assert [one["name"] for one in found] == ["kept", "more"]


def test_a_full_database_loses_nothing(tmp_path: Path) -> None:
    """The database may grow no further: what would be written is refused, and what is there stays."""
    from alidade.dictionary.entries import make_entry
    from alidade.server.store import Store

    store = Store(tmp_path / "a.sqlite")
    kept = store.add_dictionary("", "kept", [("en", "ro", [make_entry("file", ["dosar"])])], "require")
    pages = store._rows("PRAGMA page_count")[0][0]
    store._rows(f"PRAGMA max_page_count = {pages}")
    many = [make_entry(f"term{number}", ["x" * 50]) for number in range(1000)]
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.add_dictionary("", "more", [("en", "ro", many)], "require")
    assert [one.name for one in store.dictionaries("")] == ["kept"]
    assert store.entries(kept.id, "en", "ro")[0].targets == ("dosar",)
    store._rows("PRAGMA max_page_count = 1000000")
    store.add_dictionary("", "more", [("en", "ro", many)], "require")
    assert len(store.dictionaries("")) == 2


def test_no_answer_waits_for_an_acknowledgement() -> None:
    """Nagle's algorithm held the end of every answer back for 40 ms."""
    with bind("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
