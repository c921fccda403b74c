"""Check: both sides are given, and the page shows what belongs together and what nothing explains."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from stories.desk import Desk, linked_words

GIVEN = {"source": "Open the file %s.", "target": "Deschideți fișierul pe bicicletă."}


def test_links_and_unexplained_words_of_a_given_pair(page: Page) -> None:
    page.goto("/#check")
    page.get_by_role("textbox", name="Source").fill(GIVEN["source"])
    page.get_by_role("textbox", name="Translation").fill(GIVEN["target"])
    findings = page.get_by_role("region", name="Findings")
    expect(findings).to_contain_text("bicicletă")
    expect(findings).to_contain_text("%s is missing in the translation")
    word = page.locator("#check-target-0 .w", has_text="bicicletă")
    expect(word).to_have_class("w x")
    _, _, source, targets = linked_words(Desk(page).ask("/api/check", **GIVEN))
    place = page.locator(f"#check-source-0 [data-i='{source}']").bounding_box()
    assert place is not None
    page.mouse.move(place["x"] + 3, place["y"] + place["height"] / 2)
    expect(page.locator(".lit")).to_have_text(targets)
    # What was given is still there after the page is loaded again.
    page.reload()
    expect(findings).to_contain_text("bicicletă")
