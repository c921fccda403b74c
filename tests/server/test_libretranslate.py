"""LibreTranslate's interface, with its own client."""

from __future__ import annotations

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from server.running import Running


@pytest.fixture
def libre(server: Running) -> LibreTranslateAPI:
    return LibreTranslateAPI(server.address)


def test_the_client(libre: LibreTranslateAPI) -> None:
    assert libre.translate("Open the file.", "en", "ro").endswith(".")
    assert libre.translate("Open the file.", "auto", "ro") == libre.translate("Open the file.", "en", "ro")
    assert {one["code"]: one["targets"] for one in libre.languages()} == {"en": ["ro"], "ro": []}
    assert libre.detect("The disk is full and nothing works.")[0]["language"] == "en"
    assert libre.detect("Discul este plin și nimic nu merge.")[0]["language"] == "ro"


def test_json_form_and_query_are_alike(client: httpx.Client) -> None:
    values = {"q": "Open the file.", "source": "en", "target": "ro"}
    answers = [
        client.post("/translate", json=values),
        client.post("/translate", data=values),
        client.post("/translate", params=values),
    ]
    assert [one.status_code for one in answers] == [200] * 3
    assert len({one.text for one in answers}) == 1


def test_lists_alternatives_and_detection(client: httpx.Client) -> None:
    answer = client.post(
        "/translate", json={"q": ["Open.", "Close the file."], "source": "auto", "target": "ro", "alternatives": 2}
    ).json()
    assert len(answer["translatedText"]) == len(answer["alternatives"]) == len(answer["detectedLanguage"]) == 2
    assert len(answer["alternatives"][1]) == 2
    html = client.post("/translate", json={"q": "<b>Open</b> it.", "source": "en", "target": "ro", "format": "html"})
    assert "<b>" in html.json()["translatedText"]


def test_files(client: httpx.Client) -> None:
    values = {"source": "en", "target": "ro"}
    answer = client.post("/translate_file", data=values, files={"file": ("a.txt", b"Open the file.\n")})
    assert answer.status_code == 200, answer.text
    fetched = httpx.get(answer.json()["translatedFileUrl"])
    assert fetched.status_code == 200
    assert fetched.text.endswith("\n")


def test_errors_and_the_rest(client: httpx.Client) -> None:
    answer = client.post("/translate", json={"q": "x", "source": "en", "target": "xx"})
    assert answer.status_code == 400
    assert "xx" in answer.json()["error"]
    assert client.get("/health").json() == {"status": "ok"}
    assert client.get("/frontend/settings").json()["filesTranslation"]
