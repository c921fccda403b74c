"""Correct a word and the rest adapts; accept words with Tab; take it back."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from stories.desk import Desk

SAVED = "The file could not be saved because the disk is full."


@pytest.fixture
def menu(desk: Desk) -> Locator:
    desk.write(SAVED)
    return desk.page.get_by_role("dialog")


def test_an_alternative_of_the_model_takes_a_words_place(desk: Desk, menu: Locator) -> None:
    before = desk.translate(SAVED)
    last = len(before["target_words"]) - 2
    prefix = before["text"][: before["target_words"][last]["start"]].strip()
    wanted = desk.ask("/api/alternatives", text=SAVED, prefix=prefix)["alternatives"][1]
    desk.target_word(last).click()
    expect(menu.get_by_role("button").first).to_contain_text("%")
    menu.get_by_role("button", name=wanted["word"]).first.click()
    expect(desk.translation).to_have_text(desk.translate(SAVED, prefix=f"{prefix} {wanted['word']}")["text"])
    expect(desk.page.locator(".w.own")).to_have_text([wanted["word"]])
    expect(desk.target_word(last)).to_be_focused()


def test_an_own_word_is_kept_and_what_follows_adapts(desk: Desk, menu: Locator) -> None:
    desk.target_word(0).click()
    menu.get_by_role("textbox").fill("Documentul")
    menu.get_by_role("textbox").press("Enter")
    expected = desk.translate(SAVED, prefix="Documentul")["text"]
    expect(desk.translation).to_have_text(expected)
    expect(desk.page.locator(".w.own")).to_have_text(["Documentul"])


def test_corrections_are_undone_and_redone(desk: Desk, menu: Locator) -> None:
    original = desk.translation.inner_text()
    desk.target_word(0).click()
    menu.get_by_role("textbox").fill("Documentul")
    menu.get_by_role("textbox").press("Enter")
    expect(desk.page.locator(".w.own")).to_have_count(1)
    corrected = desk.translation.inner_text()
    desk.page.get_by_role("button", name="Undo").click()
    expect(desk.translation).to_have_text(original)
    expect(desk.page.locator(".w.own")).to_have_count(0)
    desk.page.get_by_role("button", name="Redo").click()
    expect(desk.translation).to_have_text(corrected)
    desk.target_word(1).focus()
    desk.page.keyboard.press("Control+z")
    expect(desk.translation).to_have_text(original)


def test_words_are_accepted_one_by_one_with_tab(desk: Desk) -> None:
    desk.write(SAVED)
    desk.translation.focus()
    desk.page.keyboard.press("ArrowRight")
    for number in range(3):
        expect(desk.target_word(number)).to_be_focused()
        desk.page.keyboard.press("Tab")
        expect(desk.page.locator(".w.kept")).to_have_count(number + 1)
    expect(desk.target_word(3)).to_be_focused()
    desk.page.keyboard.press("Escape")
    expect(desk.translation).to_be_focused()
    desk.page.keyboard.press("Tab")  # leaves the translation
    expect(desk.page.locator(".w.kept")).to_have_count(3)
    expect(desk.translation).not_to_be_focused()


def test_what_was_accepted_stays_while_a_later_word_changes(desk: Desk, menu: Locator) -> None:
    desk.target_word(1).focus()
    desk.page.keyboard.press("Tab")
    kept = [desk.target_word(number).inner_text() for number in range(2)]
    desk.target_word(2).click()
    menu.get_by_role("textbox").fill("poate")
    menu.get_by_role("textbox").press("Enter")
    expect(desk.target_word(2)).to_have_text("poate")
    assert [desk.target_word(number).inner_text() for number in range(2)] == kept
