"""DeepL's interface, with DeepL's own client."""

from __future__ import annotations

import deepl
import httpx
import pytest
from running import Running


@pytest.fixture
def translator(server: Running) -> deepl.DeepLClient:
    return deepl.DeepLClient("unused", server_url=server.address)


def test_texts(translator: deepl.DeepLClient) -> None:
    one = translator.translate_text("The disk is full.", target_lang="RO")
    assert isinstance(one, deepl.TextResult)
    assert one.text.endswith(".")
    assert one.detected_source_lang == "EN"
    assert one.billed_characters == len("The disk is full.")
    several = translator.translate_text(
        ["Open.", "Close."], source_lang="EN", target_lang="RO", formality="more", context="a menu", split_sentences="0"
    )
    assert isinstance(several, list)
    assert len(several) == 2


def test_tags_stay(translator: deepl.DeepLClient) -> None:
    one = translator.translate_text("Press <b>Save</b> now.", target_lang="RO", tag_handling="xml")
    assert isinstance(one, deepl.TextResult)
    assert one.text.count("<b>") == one.text.count("</b>") == 1


def test_elements_of_ignored_names_are_not_translated(translator: deepl.DeepLClient) -> None:
    text = 'Open <x id="5"></x> and <x>the red file</x>, then wait.'
    one = translator.translate_text(text, target_lang="RO", tag_handling="xml", ignore_tags=["x"])
    assert isinstance(one, deepl.TextResult)
    assert one.text.count('<x id="5"></x>') == 1
    assert one.text.count("<x>the red file</x>") == 1


def test_languages_and_usage(translator: deepl.DeepLClient, client: httpx.Client) -> None:
    assert [one.code for one in translator.get_source_languages()] == ["EN"]
    assert [one.code for one in translator.get_target_languages()] == ["RO"]
    assert [one["language"] for one in client.get("/v2/languages?type=target").json()] == ["RO"]
    before = translator.get_usage().character.count
    translator.translate_text("12345", target_lang="RO")
    assert before is not None
    assert translator.get_usage().character.count == before + 5


def test_forms_are_read_as_json_is(client: httpx.Client) -> None:
    values = {"text": ["Open the file.", "Close it."], "target_lang": "RO"}
    by_form, by_json = client.post("/v2/translate", data=values), client.post("/v2/translate", json=values)
    assert by_form.status_code == 200
    assert by_form.json() == by_json.json()


def test_errors_are_what_the_client_expects(translator: deepl.DeepLClient, client: httpx.Client) -> None:
    with pytest.raises(deepl.DeepLException, match="'XX'"):
        translator.translate_text("x", target_lang="XX")
    assert isinstance(client.post("/v2/translate", json={"text": 3}).json()["message"], str)
    assert client.post("/v2/translate", content=b"{").status_code == 400
