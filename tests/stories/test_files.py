"""Files: dropped, watched, reviewed segment by segment, and taken away again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from server.running import Running
from stories.desk import FRAME, Desk, busy_time

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def catalogue(messages: list[str]) -> str:
    return HEADER + "\n".join([f'msgid "{message}"\nmsgstr ""\n' for message in messages])


@pytest.fixture
def files(page: Page) -> Desk:
    page.goto("/#files")
    return Desk(page)


def upload(files: Desk, path: Path) -> Locator:
    """Choose a file, and wait until it is translated."""
    files.page.get_by_label("Choose a file").and_(files.page.locator("input")).set_input_files(path)
    expect(files.page.get_by_role("button", name="Download")).to_be_enabled()
    return files.page.get_by_role("grid", name="Segments")


def fetch(files: Desk, path: Path) -> str:
    with files.page.expect_download() as download:
        files.page.get_by_role("button", name="Download").click()
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_a_catalogue_is_translated_reviewed_and_fetched(files: Desk, tmp_path: Path) -> None:
    path = tmp_path / "messages.po"
    path.write_text(catalogue(["Open the file", "Save the picture", "Close the window"]), encoding="utf-8")
    table = upload(files, path)
    expect(table.get_by_role("row")).to_have_count(3)
    expect(table.get_by_role("row").first).to_contain_text("machine")

    # The same words, links and corrections as in a text.
    table.get_by_role("row").nth(1).click()
    words = table.get_by_role("group", name="Translation").get_by_role("button")
    words.first.hover()
    expect(files.lit.first).to_be_visible()
    words.last.click()
    files.page.get_by_role("dialog").get_by_role("textbox").fill("poza")
    files.page.get_by_role("dialog").get_by_role("textbox").press("Enter")
    expect(words.last).to_have_text("poza")
    files.page.get_by_role("button", name="Undo").click()
    expect(words.last).not_to_have_text("poza")
    words.last.click()
    files.page.get_by_role("dialog").get_by_role("textbox").fill("poza")
    files.page.get_by_role("dialog").get_by_role("textbox").press("Enter")
    expect(words.last).to_have_text("poza")
    corrected = table.get_by_role("group", name="Translation").inner_text()
    files.page.get_by_role("button", name="Save, next").click()

    # The next one, as plain text.
    files.page.get_by_role("button", name="Edit as text").click()
    field = table.get_by_role("textbox", name="Translation")
    field.fill("Închideți geamul")
    field.press("Control+Enter")
    expect(table.get_by_role("row").nth(2)).to_contain_text("reviewed")

    files.page.get_by_label("Show").select_option("person")
    expect(table.get_by_role("row")).to_have_count(2)
    result = fetch(files, tmp_path / "result.po")
    assert f'msgid "Save the picture"\nmsgstr "{corrected}"' in result
    assert 'msgid "Close the window"\nmsgstr "Închideți geamul"' in result
    assert result.count("#, fuzzy") == 1  # what nobody has looked at


def hold_back_the_first(page: Page, address: str) -> list[Route]:
    """The next question that the page asks of an address, as soon as it has; later ones are answered."""
    held: list[Route] = []
    page.route(address, lambda route: route.continue_() if held else held.append(route))
    return held


def release(page: Page, held: list[Route]) -> None:
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()


def test_what_is_written_stays_when_an_answer_comes_late(files: Desk, tmp_path: Path) -> None:
    """The links of the translation that was there are asked for when a segment opens, and they bring its text along."""
    path = tmp_path / "messages.po"
    path.write_text(catalogue(["Close the window"]), encoding="utf-8")
    table = upload(files, path)
    held = hold_back_the_first(files.page, "**/api/align")
    table.get_by_role("row").first.click()
    files.page.get_by_role("button", name="Edit as text").click()
    field = table.get_by_role("textbox", name="Translation")
    with files.page.expect_response("**/api/align"):
        field.fill("Închideți geamul")
    release(files.page, held)
    files.page.wait_for_timeout(500)  # for what may be shown now
    expect(field).to_have_value("Închideți geamul")
    field.press("Control+Enter")
    expect(table.get_by_role("row").first).to_contain_text("Închideți geamul")


def test_what_is_written_stays_when_a_term_is_given(files: Desk, tmp_path: Path) -> None:
    path = tmp_path / "messages.po"
    path.write_text(catalogue(["Close the window"]), encoding="utf-8")
    table = upload(files, path)
    table.get_by_role("row").first.click()
    files.page.get_by_role("button", name="Edit as text").click()
    field = table.get_by_role("textbox", name="Translation")
    field.fill("Închideți imediat")
    files.page.get_by_role("button", name="Always translate as").click()
    dialogue = files.page.get_by_role("dialog")
    dialogue.get_by_label("English").fill("window")
    dialogue.get_by_label("Romanian").fill("geamul")
    with files.page.expect_response("**/api/align"):
        dialogue.get_by_role("button", name="Save").click()
    files.page.wait_for_timeout(500)  # for what may be shown now
    expect(field).to_have_value("Închideți imediat")


def test_a_correction_that_is_saved_at_once_is_saved_whole(files: Desk, tmp_path: Path) -> None:
    """Its rest is still being translated."""
    path = tmp_path / "messages.po"
    path.write_text(catalogue(["Open the file and close the window"]), encoding="utf-8")
    table = upload(files, path)
    table.get_by_role("row").first.click()
    words = table.get_by_role("group", name="Translation").get_by_role("button")
    held = hold_back_the_first(files.page, "**/api/translate")
    words.first.click()
    own = files.page.get_by_role("dialog").get_by_role("textbox")
    own.fill("Deschideți")
    own.press("Enter")
    files.page.get_by_role("button", name="Save", exact=True).click()
    release(files.page, held)
    expect(table.get_by_role("row").first).to_contain_text("reviewed")
    assert "Deschideți " in fetch(files, tmp_path / "result.po")


def test_a_file_is_translated_again_with_a_new_term(files: Desk, tmp_path: Path) -> None:
    path = tmp_path / "messages.po"
    path.write_text(catalogue(["Open the window", "Close the window", "Print the page"]), encoding="utf-8")
    table = upload(files, path)
    table.get_by_role("row").nth(2).click()
    files.page.get_by_role("button", name="Save", exact=True).click()
    expect(table.get_by_role("row").nth(2)).to_contain_text("reviewed")
    table.get_by_role("row").first.click()
    files.page.get_by_role("button", name="Always translate as").click()
    dialogue = files.page.get_by_role("dialog")
    dialogue.get_by_label("English").fill("window")
    dialogue.get_by_label("Romanian").fill("geamul")
    dialogue.get_by_role("button", name="Save").click()
    expect(table.get_by_role("group", name="Translation")).to_contain_text("geamul", ignore_case=True)
    files.page.get_by_role("button", name="Cancel").click()
    files.page.get_by_role("button", name="Translate again").click()
    expect(table.get_by_role("row").nth(1)).to_contain_text("geamul", ignore_case=True)
    expect(table.get_by_role("row").nth(2)).to_contain_text("reviewed")


def test_a_file_that_is_dropped_is_taken(files: Desk) -> None:
    content = catalogue(["Open the file"])
    dropped = files.page.evaluate_handle(
        """(content) => {
          const data = new DataTransfer();
          data.items.add(new File([content], "dropped.po", { type: "text/plain" }));
          return data;
        }""",
        content,
    )
    place = files.page.locator(".drop")
    place.dispatch_event("dragover", {"dataTransfer": dropped})
    expect(place).to_have_class("drop over")
    place.dispatch_event("drop", {"dataTransfer": dropped})
    rows = files.page.get_by_role("grid", name="Segments").get_by_role("row")
    expect(rows).to_have_count(1)  # the file before it is gone
    expect(rows).to_contain_text("Open the file")
    expect(files.page.get_by_role("button", name="Download")).to_be_enabled()


def test_what_cannot_be_read_is_refused_with_a_reason(files: Desk, tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG")
    files.page.get_by_label("Choose a file").and_(files.page.locator("input")).set_input_files(path)
    expect(files.page.get_by_role("alert")).to_contain_text("known are")


def test_ten_thousand_segments_scroll_and_few_are_in_the_page(files: Desk, tmp_path: Path) -> None:
    """All are translated in the file already: it is the table that is tried here."""
    path = tmp_path / "large.po"
    units = [f'msgid "Message number {n}"\nmsgstr "Mesajul numărul {n}"\n' for n in range(10_000)]
    path.write_text(HEADER + "\n".join(units), encoding="utf-8")
    table = upload(files, path)
    expect(table).to_have_attribute("aria-rowcount", "10000")
    with busy_time(files.page) as spent:
        table.evaluate(SCROLLING)
    assert spent["seconds"] / 60 < FRAME, f"{spent['seconds'] / 60:.4f} s of work for each scrolled frame"
    assert table.get_by_role("row").count() < 60
    expect(table.get_by_role("row").last).to_contain_text("Mesajul numărul 9999")
    table.get_by_role("row").last.focus()
    files.page.keyboard.press("Home")
    expect(table.get_by_role("row", name="Mesajul numărul 0")).to_be_focused()


SCROLLING = """async (table) => {
  for (let n = 1; n <= 60; n++) {
    table.scrollTop = (table.scrollHeight - table.clientHeight) * n / 60;
    await new Promise(requestAnimationFrame);
  }
}"""


def test_segments_are_listed_filtered_and_changed_over_http(server: Running, page: Page, tmp_path: Path) -> None:
    source = 'msgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\nmsgstr[2] ""\n'
    content = HEADER.replace('UTF-8\\n"', 'UTF-8\\n"\n"Plural-Forms: nplurals=3; plural=(n==1?0:1);\\n"') + source
    form: dict[str, Any] = {
        "source_language": "en",
        "target_language": "ro",
        "file": {"name": "plural.po", "mimeType": "text/plain", "buffer": content.encode()},
    }
    made = page.request.post(f"{server.address}/api/documents", multipart=form).json()
    address = f"{server.address}/api/documents/{made['id']}"
    deadline = time.monotonic() + 30
    while page.request.get(address).json()["state"] != "done":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    [segment] = page.request.get(f"{address}/segments").json()["segments"]
    assert len(segment["targets"]) == 3
    assert page.request.put(f"{address}/segments/0", data={"targets": ["a"]}).status == 400
    assert page.request.put(f"{address}/segments/7", data={"targets": ["a"]}).status == 404
    assert page.request.put(f"{address}/segments/0", data={"targets": ["a%d", "b%d", "c_%d"]}).ok
    assert page.request.get(f"{address}/segments?search=c_").json()["total"] == 1
    assert page.request.get(f"{address}/segments?search=c%25").json()["total"] == 0
    assert page.request.get(f"{address}/segments?show=machine").json()["total"] == 0
    assert 'msgstr[2] "c_%d"' in page.request.get(f"{address}/result").text()
