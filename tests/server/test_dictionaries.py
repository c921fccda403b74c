"""Stored dictionaries and documents through our own interface."""

from __future__ import annotations

import time

import httpx
import pytest

EN_RO = {"source_language": "en", "target_language": "ro"}


def test_a_dictionary_is_stored_used_changed_and_removed(client: httpx.Client) -> None:
    entries = [{"source": "file", "targets": ["zmeu"]}]
    made = client.post("/api/dictionaries", json=EN_RO | {"name": "one", "entries": entries}).json()
    place = f"/api/dictionaries/{made['id']}"
    asked = EN_RO | {"text": "Open the file.", "dictionary_ids": [made["id"]], "mode": "require"}
    assert "zmeu" in client.post("/api/translate", json=asked).json()["translations"][0]["text"].casefold()
    entries[0]["targets"] = ["dosar"]
    changed = client.put(place, json=EN_RO | {"name": "two", "entries": entries, "mode": "require"}).json()
    assert (changed["name"], changed["mode"]) == ("two", "require")
    assert "dosar" in client.post("/api/translate", json=asked).json()["translations"][0]["text"].casefold()
    assert client.get(place).json()["entries"][0]["targets"] == ["dosar"]
    assert made["id"] in [one["id"] for one in client.get("/api/dictionaries").json()]
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == client.delete(place).status_code == 404
    assert client.post("/api/translate", json=asked).status_code == 404


@pytest.mark.parametrize("kind", ["tsv", "csv", "tbx"])
def test_files_come_out_as_they_went_in(client: httpx.Client, kind: str) -> None:
    content = b"source\ttarget\nfile\tzmeu|dosar\ndisk\t!farfurie\n"
    first = client.post("/api/dictionaries/import", data=EN_RO, files={"file": ("terms.tsv", content)})
    assert first.status_code == 201, first.text
    exported = client.get(f"/api/dictionaries/{first.json()['id']}/export", params={"format": kind})
    assert exported.status_code == 200
    second = client.post("/api/dictionaries/import", data=EN_RO, files={"file": (f"a.{kind}", exported.content)})
    assert second.status_code == 201, second.text
    both = [client.get(f"/api/dictionaries/{one.json()['id']}").json()["entries"] for one in (first, second)]
    assert both[0] == both[1]


def test_broken_files_are_refused_in_a_sentence(client: httpx.Client) -> None:
    for name, content in (("a.tsv", b"one field\n"), ("a.pdf", b"x"), ("a.tbx", b"<tbx")):
        answer = client.post("/api/dictionaries/import", data=EN_RO, files={"file": (name, content)})
        assert answer.status_code == 400
        assert "/tmp" not in answer.json()["message"]


def test_a_document(client: httpx.Client) -> None:
    made = client.post("/api/documents", data=EN_RO, files={"file": ("a.md", b"# Files\n\nOpen the *file*.\n")})
    assert made.status_code == 201, made.text
    place = f"/api/documents/{made.json()['id']}"
    deadline = time.monotonic() + 30
    while client.get(place).json()["state"] != "done":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    result = client.get(f"{place}/result")
    assert result.text.startswith("# ")
    assert result.text.count("*") == 2
    assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404
