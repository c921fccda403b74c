"""Our own interface, through a real server."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

EN_RO = {"source_language": "en", "target_language": "ro"}


def ask(client: httpx.Client, path: str, **values: Any) -> Any:
    response = client.post(path, json=EN_RO | values)
    assert response.status_code == 200, response.text
    return response.json()


def test_words_links_and_sentences_fit_the_texts(client: httpx.Client) -> None:
    text = "The disk is full.  Remove some files."
    [one] = ask(client, "/api/translate", text=text)["translations"]
    assert one["source_text"] == text
    assert [text[w["start"] : w["end"]] for w in one["source_words"]] == [w["text"] for w in one["source_words"]]
    target = one["text"]
    assert [target[w["start"] : w["end"]] for w in one["target_words"]] == [w["text"] for w in one["target_words"]]
    sides = [(link["source"], link["target"]) for link in one["links"]]
    assert sides
    assert all(0 <= link["confidence"] <= 1 for link in one["links"])
    assert {n for n, _ in sides} | set(one["unlinked_source"]) == set(range(len(one["source_words"])))
    assert {n for _, n in sides} | set(one["unlinked_target"]) == set(range(len(one["target_words"])))
    assert len(one["sentences"]) == 2
    assert [n for sentence in one["sentences"] for n in sentence["target_words"]] == [*range(len(one["target_words"]))]


def test_several_texts_alternatives_and_attention(client: httpx.Client) -> None:
    answer = ask(client, "/api/translate", text=["Open the file.", "Close it."], num_best=3, with_attention=True)
    first, second = answer["translations"]
    assert first["text"] != second["text"]
    texts = [first["text"], *[other["text"] for other in first["alternatives"]]]
    assert len(set(texts)) == 3
    assert len(first["attention"]) == len(first["target_words"])
    assert len(first["attention"][0]) == len(first["source_words"])


def test_a_dictionary_of_the_request_is_used_and_reported(client: httpx.Client) -> None:
    entries = [{"source": "file", "targets": ["zmeu"]}]
    [one] = ask(client, "/api/translate", text="Open the file.", dictionary=entries, mode="require")["translations"]
    assert "zmeu" in one["text"]
    assert one["entries"][0]["is_used"]
    assert any(word["is_from_dictionary"] for word in one["target_words"])


def test_a_prefix_begins_the_translation_and_has_alternatives(client: httpx.Client) -> None:
    text, prefix = "Please check the connection.", "Verificați"
    [one] = ask(client, "/api/translate", text=text, prefix=prefix)["translations"]
    assert one["text"].startswith(prefix)
    found = ask(client, "/api/alternatives", text=text, prefix=prefix)["alternatives"]
    assert len(found) > 1
    assert sum(one["share"] for one in found) == pytest.approx(1, abs=0.01)
    assert [one["share"] for one in found] == sorted([one["share"] for one in found], reverse=True)
    for alternative in found:
        assert alternative["translation"].removeprefix(prefix).lstrip().startswith(alternative["word"])


@pytest.mark.parametrize("mode", ["suggest", "require"])
def test_a_prefix_stays_whole_where_a_term_would_go_on_with_its_last_word(client: httpx.Client, mode: str) -> None:
    entries = [{"source": "archive", "targets": ["arhivă", "arhiva", "arhivei"]}]
    values = {"text": "Archive Manager", "prefix": "Manager de arhive", "dictionary": entries, "mode": mode}
    [one] = ask(client, "/api/translate", **values)["translations"]
    assert [word["text"] for word in one["target_words"]][:3] == ["Manager", "de", "arhive"]


def test_alternatives_at_the_first_word(client: httpx.Client) -> None:
    found = ask(client, "/api/alternatives", text="The disk is full.")["alternatives"]
    assert len({one["word"] for one in found}) == len(found) > 1


def test_a_given_pair_is_aligned_and_checked(client: httpx.Client) -> None:
    pair = {"source": "The disk %s is full.", "target": "Discul este plin."}
    assert ask(client, "/api/align", **pair)["links"]
    entries = [{"source": "full", "targets": ["complet"]}]
    problems = ask(client, "/api/check", **pair, dictionary=entries)["problems"]
    assert {problem["kind"] for problem in problems} == {"placeholder", "term"}


def test_words_that_nothing_explains_are_named(client: httpx.Client) -> None:
    right = ask(client, "/api/check", source="Open the file.", target="Deschideți fișierul.")
    assert right["unexplained"] == []
    wrong = ask(client, "/api/check", source="Open the file.", target="Deschideți fișierul pe bicicletă.")
    named = [wrong["target_words"][number]["text"] for number in wrong["unexplained"]]
    assert named in (["bicicletă"], ["pe", "bicicletă"])  # a preposition is never out of place


def test_sentences_are_found(client: httpx.Client) -> None:
    text = "The disk is full.  Remove some files.\n\nTry again"
    spans = ask(client, "/api/sentences", text=text)
    assert [text[one["start"] : one["end"]] for one in spans] == [
        "The disk is full.",
        "Remove some files.",
        "Try again",
    ]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_stream_comes_sentence_by_sentence(client: httpx.Client, method: str) -> None:
    text = "The disk is full. Remove some files. Then try again."
    values = EN_RO | {"text": text}
    request = {"params": values} if method == "GET" else {"json": values}
    with client.stream(method, "/api/stream", **request) as response:  # type: ignore[arg-type]
        assert response.headers["content-type"].startswith("text/event-stream")
        events = [event.split("\n") for event in "".join(response.iter_text()).strip().split("\n\n")]
    assert [event[0] for event in events] == ["event: sentence"] * 3 + ["event: done"]
    sentences = [json.loads(event[1].removeprefix("data: ")) for event in events[:3]]
    assert [text[one["start"] : one["end"]] for one in sentences] == [one["source_text"] for one in sentences]


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ({"text": "x", "target_language": "xx"}, "xx"),
        ({"text": "x"}, "target_language"),
        ({"text": "x", "target_language": "ro", "num_best": 1000}, "num_best"),
        ({"text": "x", "target_language": "ro", "dictionary": [{"source": "a"}]}, "no translation"),
    ],
)
def test_mistakes_are_one_sentence(client: httpx.Client, values: dict[str, Any], part: str) -> None:
    response = client.post("/api/translate", json=values)
    assert response.status_code == 400
    assert part in response.json()["message"]


def test_half_a_character_is_refused(client: httpx.Client) -> None:
    body = rb'{"text": "a \ud800 b", "target_language": "ro"}'
    response = client.post("/api/translate", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400


def test_nothing_stays_nothing(client: httpx.Client) -> None:
    answer = ask(client, "/api/translate", text=["", "  ", "\n"])
    assert [one["text"] for one in answer["translations"]] == ["", "  ", "\n"]
