"""Terms: given where they are missed, used at once, kept in a dictionary; and reasons for a word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Route, expect

from stories.desk import Desk

FULL = "The disk is full. Remove some files."


def select(desk: Desk, text: str) -> None:
    """As with the mouse: the word is marked."""
    start = desk.source.input_value().index(text)
    desk.source.evaluate("(field, [start, end]) => field.setSelectionRange(start, end)", [start, start + len(text)])
    desk.source.press("Shift")


def give_term(desk: Desk, source: str, target: str) -> None:
    select(desk, source)
    desk.page.get_by_role("button", name="Always translate as").click()
    dialogue = desk.page.get_by_role("dialog")
    expect(dialogue.get_by_label("English")).to_have_value(source)
    dialogue.get_by_label("Romanian").fill(target)
    dialogue.get_by_role("button", name="Save").click()
    expect(dialogue).to_be_hidden()
    desk.wait()


@pytest.fixture
def pane(desk: Desk) -> Locator:
    return desk.page.get_by_role("region", name="Dictionary")


def test_a_term_changes_the_sentence_and_is_starred(desk: Desk, pane: Locator) -> None:
    desk.write(FULL)
    give_term(desk, "disk", "hardul")
    expect(desk.page.locator(".w.starred")).to_have_text(["hardul"], ignore_case=True)
    row = pane.get_by_role("row", name="disk")
    expect(row).to_contain_text("★ hardul", ignore_case=True)
    # It stays when the page is loaded again.
    desk.page.reload()
    expect(desk.page.locator(".w.starred")).to_have_text(["hardul"], ignore_case=True)


def test_entries_are_searched_edited_removed_and_shown_unused(desk: Desk, pane: Locator) -> None:
    desk.write(FULL)
    give_term(desk, "disk", "hardul")
    give_term(desk, "files", "documente")
    pane.get_by_role("button", name="New term").click()
    dialogue = desk.page.get_by_role("dialog")
    dialogue.get_by_label("English").fill("mouse")
    dialogue.get_by_label("Romanian").fill("maus | șoarece")
    dialogue.get_by_role("button", name="Save").click()
    expect(pane.get_by_role("row", name="mouse")).to_contain_text("–")  # nothing of it in this text
    pane.get_by_role("searchbox").fill("hardul")
    expect(pane.locator("tbody tr")).to_have_count(1)
    pane.get_by_role("button", name="Edit disk").click()
    dialogue.get_by_label("Romanian").fill("discheta")
    dialogue.get_by_role("button", name="Save").click()
    expect(dialogue).to_be_hidden()
    pane.get_by_role("searchbox").fill("")
    expect(pane.get_by_role("row", name="disk")).to_contain_text("★ discheta", ignore_case=True)
    pane.get_by_role("button", name="Remove files").click()
    expect(pane.locator("tbody tr")).to_have_count(2)
    expect(desk.page.locator(".w.starred")).to_have_text(["discheta"], ignore_case=True)


def test_how_entries_count_can_be_changed(desk: Desk, pane: Locator) -> None:
    desk.write(FULL)
    give_term(desk, "disk", "hardul")
    pane.get_by_label("How entries count").select_option("suggest")
    expect(pane.get_by_label("How entries count")).to_have_value("suggest")
    pane.get_by_label("Inflect all").check()
    expect(pane.get_by_label("Inflect all")).to_be_checked()
    desk.wait()
    stored = [one for one in desk.page.request.get("/api/dictionaries").json() if one["inflect"]]
    assert {one["mode"] for one in stored} == {"suggest"}


def test_a_setting_stays_as_chosen_while_the_server_is_still_told_of_another(desk: Desk, pane: Locator) -> None:
    desk.write(FULL)
    give_term(desk, "disk", "hardul")
    told: list[Route] = []
    desk.page.route(
        "**/api/dictionaries/*",
        lambda route: told.append(route) if route.request.method == "PATCH" else route.continue_(),
    )
    mode, inflect = pane.get_by_label("How entries count"), pane.get_by_label("Inflect all")
    mode.select_option("suggest")
    inflect.check()
    with desk.page.expect_response(lambda response: response.request.method == "PATCH"):
        told[0].continue_()
    desk.page.wait_for_timeout(500)  # for what the page may ask for now, and show
    expect(inflect).to_be_checked()
    expect(mode).to_have_value("suggest")
    with desk.page.expect_response(lambda response: response.request.method == "GET"):
        told[1].continue_()
    expect(inflect).to_be_checked()
    expect(mode).to_have_value("suggest")


@pytest.mark.parametrize("kind", ["tsv", "csv", "tbx"])
def test_dictionaries_come_and_go_as_files(desk: Desk, pane: Locator, tmp_path: Path, kind: str) -> None:
    desk.write(FULL)
    given = tmp_path / "terms.tsv"
    given.write_text("disk\thardul\nfiles\tdocumente\n", encoding="utf-8")
    pane.get_by_label("Import", exact=True).and_(desk.page.locator("input")).set_input_files(given)
    expect(pane.locator("tbody tr")).to_have_count(2)
    with desk.page.expect_download() as download:
        pane.get_by_label("Export").select_option(kind)
    path = tmp_path / f"again.{kind}"
    download.value.save_as(path)
    assert "hardul" in path.read_text(encoding="utf-8")
    pane.get_by_label("Import", exact=True).and_(desk.page.locator("input")).set_input_files(path)
    expect(pane.get_by_label("Dictionary", exact=True).first).to_contain_text("again")
    expect(pane.locator("tbody tr")).to_have_count(2)


def test_a_file_that_is_no_dictionary_is_refused_with_a_reason(desk: Desk, pane: Locator, tmp_path: Path) -> None:
    bad = tmp_path / "bad.tbx"
    bad.write_text("<nothing", encoding="utf-8")
    pane.get_by_label("Import", exact=True).and_(desk.page.locator("input")).set_input_files(bad)
    expect(pane.get_by_role("alert")).not_to_be_empty()


def test_why_this_word(desk: Desk) -> None:
    text = "The disk is full."
    desk.write(text)
    best = desk.translate(text, num_best=5, with_attention=True)
    desk.target_word(0).click()
    desk.page.get_by_role("dialog").get_by_role("button", name="Why this word?").click()
    why = desk.page.get_by_role("region", name="Why this word?")
    rows = why.locator("tbody tr td:first-child")
    expect(rows).to_have_count(1 + len(best["alternatives"]))
    answers = {one["text"]: one for one in (best, *best["alternatives"])}
    assert set(rows.all_inner_texts()) == set(answers)
    assert rows.first.inner_text() == desk.translation.inner_text()

    answer = answers[rows.first.inner_text()]
    expect(why.locator(".cell")).to_have_count(len(answer["source_words"]) * len(answer["target_words"]))
    expect(why.locator(".pointer")).to_have_count(len(answer["links"]))
    expect(why.locator("tbody tr").first).to_contain_text(f"{round(answer['lexical_score'], 2):g}")
    shades = why.locator(".cell").evaluate_all("all => all.map((cell) => Number(cell.getAttribute('fill-opacity')))")
    assert abs(max(shades) - max(map(max, answer["attention"]))) < 0.01

    # The words of all n best are linked with the source, too.
    link = answers[rows.nth(1).inner_text()]["links"][0]
    why.locator(f"#why-b-1 [data-i='{link['target']}']").hover()
    expect(desk.source_word(link["source"])).to_have_class(re.compile("lit"))
