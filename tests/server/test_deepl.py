"""DeepL's interface, with DeepL's own client."""

from __future__ import annotations

import html
import io
import time
from pathlib import Path

import deepl
import httpx
import pytest
import regex
from deepl.api_data import MultilingualGlossaryDictionaryEntries

from alidade.documents.formats import FORMATS, read_document
from sample_files import sample
from server.running import Running


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


def test_weblates_placeholders_come_back(client: httpx.Client) -> None:
    """As Weblate sends them: escaped, each placeholder an empty element with the place where it stood."""
    messages = ["Copy %(name)s to <b>%s</b> & wait", "{count} new messages", "Nothing to <i>see</i> here"]
    asked = []
    for message in messages:
        placeholders = [(match.start(), match[0]) for match in PLACEHOLDER.finditer(message)]
        text = html.escape(PLACEHOLDER.sub(lambda match: f"\0{match.start()}\0", message), quote=False)
        asked.append((regex.sub("\0(\\d+)\0", r'<x id="\1"></x>', text), dict(placeholders)))
    answer = client.post(
        "/v2/translate",
        json={
            "text": [text for text, _ in asked],
            "source_lang": "EN",
            "target_lang": "RO",
            "formality": "default",
            "tag_handling": "xml",
            "ignore_tags": ["x"],
        },
        headers={"Authorization": "DeepL-Auth-Key unused"},
    )
    for message, (_, kept), one in zip(messages, asked, answer.json()["translations"], strict=True):
        for place, text in kept.items():
            assert one["text"].count(f'<x id="{place}"></x>') == 1
            one["text"] = one["text"].replace(f'<x id="{place}"></x>', text)
        restored = html.unescape(one["text"])
        assert sorted(PLACEHOLDER.findall(restored)) == sorted(PLACEHOLDER.findall(message))
        assert regex.findall("</?[bi]>", restored) == regex.findall("</?[bi]>", message)


PLACEHOLDER = regex.compile(r"%(?:\(\w+\))?s|\{\w+\}")


def test_sentences_end_where_the_client_says(client: httpx.Client) -> None:
    def translate(text: str, **options: object) -> str:
        asked = {"text": [text], "target_lang": "RO", **options}
        answer = client.post("/v2/translate", json=asked)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["translations"][0]["text"])

    one, other = translate("The disk"), translate("Is full.")
    assert translate("The disk\nIs full.") == translate("The disk\nIs full.", split_sentences="1") == f"{one}\n{other}"
    together = translate("The disk\nIs full.", split_sentences="nonewlines")
    assert together != f"{one}\n{other}"
    assert translate("The disk\nIs full.", split_sentences=0) == together
    assert translate("The disk\nIs full.", tag_handling="html") == together
    parts = "<x>The disk</x><y>Is full.</y>"
    assert translate(parts, tag_handling="xml", splitting_tags=["x"]) == f"<x>{one}</x><y>{other}</y>"
    blocks = "<p>The disk</p><p>Is full.</p>"
    assert translate(blocks, tag_handling="html") == f"<p>{one}</p><p>{other}</p>"
    assert translate(blocks, tag_handling="html", outline_detection=False) != f"<p>{one}</p><p>{other}</p>"
    assert translate(blocks, tag_handling="xml", non_splitting_tags="p,q") != f"<p>{one}</p><p>{other}</p>"
    assert client.post("/v2/translate", json={"text": ["x"], "target_lang": "RO", "split_sentences": 2}).is_client_error


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


def test_glossaries_of_version_2(translator: deepl.DeepLClient) -> None:
    entries = {"file": "zmeu", "disk": "a|b"}
    made = translator.create_glossary("menus", "EN", "RO", entries)
    assert (made.name, made.entry_count, made.ready) == ("menus", 2, True)
    assert translator.get_glossary_entries(made) == entries
    assert made.glossary_id in [one.glossary_id for one in translator.list_glossaries()]
    assert translator.get_glossary(made.glossary_id).creation_time == made.creation_time
    one = translator.translate_text("Open the file.", source_lang="EN", target_lang="RO", glossary=made)
    assert isinstance(one, deepl.TextResult)
    assert "zmeu" in one.text
    translator.delete_glossary(made)
    with pytest.raises(deepl.GlossaryNotFoundException):
        translator.get_glossary(made.glossary_id)


def test_glossaries_of_version_3(translator: deepl.DeepLClient) -> None:
    first = MultilingualGlossaryDictionaryEntries("EN", "RO", {"file": "zmeu"})
    made = translator.create_multilingual_glossary("menus", [first])
    more = MultilingualGlossaryDictionaryEntries("EN", "RO", {"disk": "farfurie", "file": "dosar"})
    changed = translator.update_multilingual_glossary_dictionary(made, more)
    assert changed.dictionaries[0].entry_count == 2
    assert translator.update_multilingual_glossary_name(made, "others").name == "others"
    [section] = translator.get_multilingual_glossary_entries(made, "EN", "RO").dictionaries
    assert str(section.entries).split("\n") == ["disk\tfarfurie", "file\tdosar"]  # the client leaves TSV as it is
    replaced = translator.replace_multilingual_glossary_dictionary(made, first)
    assert replaced.entry_count == 1
    one = translator.translate_text("Open the file.", source_lang="EN", target_lang="RO", glossary=made)
    assert isinstance(one, deepl.TextResult)
    assert "zmeu" in one.text
    translator.delete_multilingual_glossary_dictionary(made, source_lang="EN", target_lang="RO")
    assert translator.get_multilingual_glossary(made.glossary_id).dictionaries == []
    assert made.glossary_id in [glossary.glossary_id for glossary in translator.list_multilingual_glossaries()]
    translator.delete_multilingual_glossary(made)
    assert [(one.source_lang, one.target_lang) for one in translator.get_glossary_languages()] == [("en", "ro")]


def test_ten_thousand_entries_are_stored_and_used(translator: deepl.DeepLClient) -> None:
    entries = {f"term{number}": f"cuvant{number}" for number in range(10_000)} | {"file": "zmeu"}
    made = translator.create_glossary("large", "EN", "RO", entries)
    assert made.entry_count == 10_001
    one = translator.translate_text("Open the file.", source_lang="EN", target_lang="RO", glossary=made)
    assert isinstance(one, deepl.TextResult)
    assert "zmeu" in one.text
    assert len(translator.get_glossary_entries(made)) == 10_001
    translator.delete_glossary(made)


CATALOGUE = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open the file."\nmsgstr ""\n'


def test_documents(translator: deepl.DeepLClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _, sleep=time.sleep: sleep(0.1))  # the client polls every five seconds
    glossary = translator.create_glossary("menus", "EN", "RO", {"file": "zmeu"})
    handle = translator.translate_document_upload(
        CATALOGUE, filename="../../etc/menus.po", source_lang="EN", target_lang="RO", glossary=glossary
    )
    status = translator.translate_document_wait_until_done(handle, timeout_s=30)
    assert status.done
    assert status.billed_characters == len("Open the file.")
    output = io.BytesIO()
    translator.translate_document_download(handle, output)
    assert "zmeu" in output.getvalue().decode()
    with pytest.raises(deepl.DeepLException):
        translator.translate_document_get_status(deepl.DocumentHandle(handle.document_id, "wrong"))


@pytest.mark.parametrize("suffix", [*FORMATS])
def test_documents_of_every_kind(translator: deepl.DeepLClient, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    monkeypatch.setattr("time.sleep", lambda _, sleep=time.sleep: sleep(0.05))
    content, output = sample(suffix), io.BytesIO()
    handle = translator.translate_document_upload(content, filename=f"file{suffix}", target_lang="RO")
    assert translator.translate_document_wait_until_done(handle, timeout_s=30).done
    translator.translate_document_download(handle, output)
    result, path = output.getvalue(), Path(f"file{suffix}")
    assert result != content
    before, after = (read_document(path, one, ("en", "ro")) for one in (content, result))
    assert len(before.units) == len(after.units)


def test_documents_that_cannot_be_read_are_refused(translator: deepl.DeepLClient) -> None:
    for name, content in (("a.exe", "x"), ("a.docx", "no archive"), ("a.xlf", "<xliff")):
        with pytest.raises(deepl.DeepLException):
            translator.translate_document_upload(content, filename=name, target_lang="RO")
