"""What goes wrong: workers and servers are killed, clients are slow or go away, the queue is full."""

from __future__ import annotations

import concurrent.futures
import os
import signal
import socket
import sqlite3
import statistics
import time
from pathlib import Path

import httpx
import pytest

from server.running import Running, running

ASKED = {"text": ["The disk is full."], "target_lang": "RO"}
LONG = "The disk is full and nothing more can be written to it. " * 10


def translate(server: Running, text: str) -> httpx.Response:
    return httpx.post(f"{server.address}/v2/translate", json={"text": [text], "target_lang": "RO"}, timeout=120)


def test_a_worker_that_dies_is_replaced_and_its_batch_done_again(server: Running) -> None:
    expected = translate(server, LONG).json()
    [pid] = server.worker_pids()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(translate, server, LONG) for _ in range(4)]
        time.sleep(0.3)
        os.kill(pid, signal.SIGKILL)
        results = [answer.result() for answer in answers]
    assert [one.status_code for one in results] == [200] * 4
    assert all(one.json() == expected for one in results)
    assert pid not in server.worker_pids()
    assert "alidade_workers_lost_total 1.0" in httpx.get(f"{server.address}/metrics").text


def test_a_client_that_goes_away_frees_its_place(server: Running) -> None:
    def waiting() -> float:
        lines = httpx.get(f"{server.address}/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("alidade_waiting_texts ")))

    with pytest.raises(httpx.TimeoutException):
        httpx.post(
            f"{server.address}/v2/translate",
            json={"text": [LONG] * 50, "target_lang": "RO"},
            timeout=httpx.Timeout(0.5),
        )
    deadline = time.monotonic() + 30
    while waiting():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert translate(server, "Open.").status_code == 200


def test_a_slow_client_stops_nobody_and_is_sent_away(tmp_path: Path) -> None:
    with running(tmp_path / "a.sqlite", "--workers", "1", "--body-seconds", "2") as server:
        port = int(server.address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.sendall(b"POST /v2/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
            start = time.monotonic()
            slow.settimeout(10)
            for _ in range(2):
                slow.sendall(b"{")
                assert translate(server, "Open.").status_code == 200
                time.sleep(0.5)
            assert b"408" in slow.recv(1000)
            assert time.monotonic() - start < 20


def test_a_full_queue_refuses_at_once_and_answers_the_rest_rightly(tmp_path: Path) -> None:
    with running(tmp_path / "a.sqlite", "--workers", "1", "--waiting", "20") as server:
        expected = translate(server, "The disk is full.").json()
        with concurrent.futures.ThreadPoolExecutor(48) as pool:
            answers = [*pool.map(lambda _: translate(server, "The disk is full."), range(96))]
        refused = [one for one in answers if one.status_code == 429]
        served = [one for one in answers if one.status_code == 200]
        assert len(refused) + len(served) == 96
        assert all(one.json() == expected for one in served)
        assert all(int(one.headers["retry-after"]) > 0 and one.json()["message"] for one in refused)
        assert (
            httpx.post(f"{server.address}/v2/translate", json={"text": ["x"] * 21, "target_lang": "RO"}).status_code
            == 429
        )


def test_documents_and_glossaries_survive_the_death_of_the_server(tmp_path: Path) -> None:
    lines = "".join([f"The disk {number} is full and cannot be written.\n\n" for number in range(40)]).encode()
    values = {"source_language": "en", "target_language": "ro"}
    database = tmp_path / "a.sqlite"
    with running(database, "--workers", "1") as server:
        entries = [{"source": "file", "targets": ["zmeu"]}]
        made = httpx.post(f"{server.address}/api/dictionaries", json=values | {"name": "a", "entries": entries}).json()
        ids = [
            httpx.post(f"{server.address}/api/documents", data=values, files={"file": (f"{n}.txt", lines)}).json()["id"]
            for n in range(3)
        ]
        time.sleep(0.5)
        assert translate(server, "Open.").status_code == 200  # a person overtakes them
        states = [httpx.get(f"{server.address}/api/documents/{identity}").json()["state"] for identity in ids]
        assert states.count("done") < 3
        pids = server.worker_pids()
        server.kill()
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a worker outlives its server"
        time.sleep(0.05)
    with running(database, "--workers", "1") as server:
        assert httpx.get(f"{server.address}/api/dictionaries/{made['id']}").json()["entries"][0]["targets"] == ["zmeu"]
        deadline = time.monotonic() + 60
        for identity in ids:
            while httpx.get(f"{server.address}/api/documents/{identity}").json()["state"] != "done":
                assert time.monotonic() < deadline
                time.sleep(0.2)
        results = [httpx.get(f"{server.address}/api/documents/{one}/result").text for one in ids]
        assert len(set(results)) == 1
        assert results[0].count("\n") == 80
        undisturbed = httpx.post(
            f"{server.address}/translate_file", data={"target": "ro"}, files={"file": ("a.txt", lines)}, timeout=60
        ).json()["translatedFileUrl"]
        assert httpx.get(undisturbed).text == results[0]


def test_sigterm_finishes_what_is_under_way(tmp_path: Path) -> None:
    with running(tmp_path / "a.sqlite", "--workers", "1") as server:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(translate, server, LONG)
            time.sleep(0.4)
            code = server.end()
            assert answer.result().status_code == 200
        assert code in (0, -signal.SIGTERM)


def test_a_full_disk_loses_nothing_and_is_said(tmp_path: Path) -> None:
    """The database may grow no further: what would be written is refused, what is there stays, texts are translated."""
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


def test_no_answer_waits_for_an_acknowledgement(client: httpx.Client) -> None:
    """Nagle's algorithm held the end of every answer back for 40 ms."""
    seconds = []
    for _ in range(15):
        start = time.perf_counter()
        client.post("/v2/translate", json=ASKED | {"text": [""]})
        seconds.append(time.perf_counter() - start)
    assert statistics.median(seconds) < 0.035
