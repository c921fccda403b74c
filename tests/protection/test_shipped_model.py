"""With the model in the box: placeholders survive, tags go to the right words, sentences are translated one by one."""

from __future__ import annotations

import functools

import pytest

from alidade.text.placeholders import find_placeholders, same_placeholders
from alidade.translator import Translator


@functools.cache
def translator() -> Translator:
    return Translator(threads=1)


MESSAGES = [
    "Could not open %(filename)s: %(error)s",
    "Write to user@example.com or see https://example.com/help.",
    "Use --single-transaction with user_id.\\nThen open config.yml…",
    "You have {count} new messages 😀.",
    "Delete %1$s from %2$s?",
    "100%% of {{ total }} files were copied to /var/lib/data",
    "  Press Ctrl+C to stop:  ",
    "ERROR_NOT_FOUND: the version 1.2.3 of ${package} has no #{item}",
    '<a href="https://x.org" target="_blank">Read more</a>',
]


@pytest.mark.parametrize("text", MESSAGES)
def test_everything_is_kept(text: str) -> None:
    translation = translator().translate(text)
    assert same_placeholders(find_placeholders(text), find_placeholders(translation.text)), translation.text
    assert translation.source.text == text


def test_a_text_of_several_sentences_is_its_sentences() -> None:
    sentences = ["The file was not found.", "Try again later!", "Do you want to save the changes?"]
    together = translator().translate("  ".join(sentences))
    assert together.text == "  ".join([one.text for one in translator().translate_all(sentences)])


def test_offsets_and_links_speak_of_the_text_as_given() -> None:
    text = "  Open <b>{file}</b>.\nThen close it."
    translation = translator().translate(text)
    for word in translation.source.words:
        assert text[word.start : word.end] == word.text
    for word in translation.target.words:
        assert translation.text[word.start : word.end] == word.text
    names = {
        (translation.source.words[i].text, translation.target.words[j].text) for i, j in translation.alignment or ()
    }
    assert ("{file}", "{file}") in names
    assert translation.to_json()["original"] == text


def test_protection_can_be_turned_off() -> None:
    assert translator().translate("  Open the file. ", protect=False).text == "Deschide fișierul."


def test_a_dictionary_has_the_last_word() -> None:
    translation = translator().translate(
        "Open config.yml now", dictionary={"config.yml": "reglaje.yml"}, mode="require"
    )
    assert "reglaje.yml" in translation.text
    assert len(translation.uses) == 1


def test_entries_and_placeholders_go_together() -> None:
    translation = translator().translate("Delete the file {name}?", dictionary={"file": "dosarul"}, mode="require")
    assert "dosarul" in translation.text
    assert "{name}" in translation.text
    assert [match.entry.source for match in translation.matches] == ["file"]


def test_alternatives_are_restored_too() -> None:
    translation = translator().translate("Open {file} in the editor. Close it.", num_best=3)
    texts = [translation.text, *[other.text for other in translation.alternatives]]
    assert len(set(texts)) == len(texts) == 3
    assert all(text.count("{file}") == 1 for text in texts)


def test_a_prefix_may_have_a_placeholder() -> None:
    translation = translator().translate("Open {file} in the editor", prefix="Deschide {file}")
    assert translation.text.startswith("Deschide {file}")


def test_links_may_be_left_out() -> None:
    translation = translator().translate("Open {file}.", with_links=False)
    assert translation.alignment is None
    assert "{file}" in translation.text
