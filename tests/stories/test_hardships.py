"""What goes wrong in the world: servers go away, answers come late, texts are hostile, screens are small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect

from server.running import Running
from stories.desk import FRAME, Desk, busy_time

FULL = "The disk is full."
HOSTILE = '<script>window.caught = 1</script><img src="x" onerror="window.caught = 2">'


def test_slow_answers_in_the_wrong_order_do_not_overwrite_newer_ones(desk: Desk) -> None:
    late: list[Route] = []

    def delay_the_first(route: Route) -> None:
        if "Open" in (route.request.post_data or "") and not late:
            late.append(route)
        else:
            route.continue_()

    desk.page.route("**/api/translate", delay_the_first)
    # Without the page's own stopping of old questions, so that the late answer does come.
    desk.page.evaluate("AbortController.prototype.abort = () => {}")
    desk.source.fill("Open the file.")
    while not late:
        desk.page.wait_for_timeout(20)
    desk.write(FULL)
    expected = desk.translate(FULL)["text"]
    expect(desk.translation).to_have_text(expected)
    late[0].continue_()
    with desk.page.expect_response("**/api/translate"):
        pass
    desk.page.wait_for_timeout(200)
    expect(desk.translation).to_have_text(expected)


def test_a_server_that_goes_away_is_waited_for(browser: Browser, tmp_path: Path) -> None:
    server = Running(tmp_path / "server.sqlite", "--workers", "1")
    try:
        server.wait_until_ready()
        port = server.address.rpartition(":")[2]
        page = browser.new_page(base_url=server.address, locale="en-GB")
        page.goto("/")
        desk = Desk(page)
        desk.write(FULL)
        server.kill()
        desk.source.fill("Open the file.")
        expect(page.get_by_role("status").first).to_contain_text("does not answer")
        assert desk.source.input_value() == "Open the file."
        server = Running(tmp_path / "server.sqlite", "--workers", "1", "--port", port)
        expect(page.get_by_role("status").first).to_be_empty(timeout=60_000)
        desk.wait()
        expect(desk.translation).to_have_text(desk.translate("Open the file.")["text"])
        page.close()
    finally:
        server.kill()


def test_hostile_texts_stay_texts(desk: Desk) -> None:
    desk.write(f"{HOSTILE} The disk is full.")
    expect(desk.page.locator("#text-s-0")).to_contain_text("<script>")
    desk.page.get_by_role("button", name="New term").or_(desk.page.get_by_role("button", name="New dictionary")).click()
    dialogue = desk.page.get_by_role("dialog")
    dialogue.get_by_label("Name").fill(HOSTILE)
    dialogue.get_by_role("button", name="Save").click()
    pane = desk.page.get_by_role("region", name="Dictionary")
    expect(pane.get_by_label("Dictionary", exact=True).first).to_contain_text("<script>")
    pane.get_by_role("button", name="New term").click()
    dialogue.get_by_label("English").fill("disk")
    dialogue.get_by_label("Romanian").fill(HOSTILE)
    dialogue.get_by_role("button", name="Save").click()
    expect(pane.get_by_role("row", name="disk")).to_contain_text("onerror")
    desk.wait()
    assert desk.page.evaluate("window.caught") is None
    assert desk.page.locator("main script, main img").count() == 0


def test_nothing_is_asked_of_another_host(page: Page, server: Running) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    answer = page.goto("/")
    assert answer is not None
    Desk(page).write(FULL)
    page.goto("/#files")
    page.goto("/#check")
    assert asked
    assert all(url.startswith((server.address, "blob:")) for url in asked)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_page_is_small_and_soon_there(page: Page) -> None:
    sizes: list[int] = []
    page.on("requestfinished", lambda request: sizes.append(request.sizes()["responseBodySize"]))
    page.goto("/")
    expect(page.get_by_role("textbox", name="Source")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert sum(sizes) < 60_000
    with busy_time(page) as spent:
        page.reload()
        expect(page.get_by_role("textbox", name="Source")).to_be_visible()
    assert spent["seconds"] < 0.3


HOVERING = """async (area) => {
  const words = [...document.querySelectorAll(".target .w")];
  area.scrollIntoView();
  for (let n = 0; n < 120; n++) {
    const place = words[(n * 7) % 300].getBoundingClientRect();
    document.getElementById("app").dispatchEvent(new PointerEvent("pointermove",
      { bubbles: true, clientX: place.left + 2, clientY: place.top + 5, pointerType: "mouse" }));
    await new Promise(requestAnimationFrame);
  }
  return words.length;
}"""


def answer_at_once(page: Page) -> None:
    """Answers made up: the model would take a minute for so many sentences."""

    def answer(route: Route) -> None:
        asked = route.request.post_data_json or {}
        texts = [made_up(text) for text in asked["text"]]
        route.fulfill(json={"source_language": "en", "target_language": "ro", "translations": texts})

    page.route("**/api/translate", answer)


def test_hovering_over_two_thousand_words_stays_within_a_frame(desk: Desk) -> None:
    answer_at_once(desk.page)
    sentence = " ".join([f"word{n}" for n in range(19)])
    desk.write(" ".join([f"The {sentence} {n}." for n in range(100)]))
    with busy_time(desk.page) as spent:
        count = desk.page.locator(".words").evaluate(HOVERING)
    assert count >= 2000
    assert spent["seconds"] / 120 < FRAME, f"{spent['seconds'] / 120:.4f} s of work for each frame"


def made_up(text: str) -> dict[str, object]:
    words = [{"text": m[0], "start": m.start(), "end": m.end()} for m in re.finditer(r"\w+|\.", text)]
    links = [{"source": n, "target": n, "confidence": 0.9} for n in range(len(words))]
    return {
        "text": text,
        "source_text": text,
        "source_words": words,
        "target_words": [word | {"is_from_dictionary": False} for word in words],
        "links": links,
        "entries": [],
        "alternatives": [],
    }


def test_everything_by_keyboard_alone(desk: Desk) -> None:
    keyboard = desk.page.keyboard
    for _ in range(12):
        if desk.source.evaluate("(field) => field === document.activeElement"):
            break
        keyboard.press("Tab")
    expect(desk.source).to_be_focused()
    keyboard.type(FULL)
    desk.wait()
    # A term, from a selection.
    keyboard.press("Home")
    for _ in range(4):
        keyboard.press("ArrowRight")
    for _ in range(4):
        keyboard.press("Shift+ArrowRight")
    term = desk.page.get_by_role("button", name="Always translate as")
    expect(term).to_be_enabled()
    while not term.evaluate("(button) => button === document.activeElement"):
        keyboard.press("Shift+Tab")
    keyboard.press("Enter")
    expect(desk.page.get_by_role("dialog").get_by_label("Romanian")).to_be_focused()
    keyboard.press("Control+a")
    keyboard.type("hardul")
    keyboard.press("Enter")
    expect(desk.page.locator(".w.starred")).to_have_count(1)
    # A correction: into the translation, to its last word, an own word typed.
    for _ in range(12):
        if desk.translation.evaluate("(group) => group === document.activeElement"):
            break
        keyboard.press("Tab")
    keyboard.press("Enter")
    keyboard.press("End")
    keyboard.press("ArrowLeft")
    expect(desk.lit.first).to_be_visible()
    keyboard.press("Enter")
    menu = desk.page.get_by_role("dialog")
    expect(menu.get_by_role("button").first).to_contain_text("%")
    keyboard.press("ArrowDown")
    expect(menu.get_by_role("button").first).to_be_focused()
    keyboard.press("Escape")
    expect(menu).to_be_hidden()
    keyboard.type("x")
    expect(menu.get_by_role("textbox")).to_have_value("x")
    keyboard.type("yz")
    keyboard.press("Enter")
    expect(desk.page.locator(".w.own")).to_have_text(["xyz"])
    keyboard.press("Control+z")
    expect(desk.page.locator(".w.own")).to_have_count(0)


def test_a_narrow_screen_has_all_of_it(desk: Desk) -> None:
    desk.page.set_viewport_size({"width": 360, "height": 740})
    desk.write(FULL)
    upper, lower = desk.source.bounding_box(), desk.translation.bounding_box()
    assert upper is not None
    assert lower is not None
    assert lower["y"] > upper["y"] + upper["height"] - 1
    for view in ("text", "files", "check"):
        desk.page.goto(f"/#{view}")
        assert desk.page.evaluate("document.documentElement.scrollWidth") <= 360
    desk.page.goto("/#text")
    desk.target_word(0).click()
    box = desk.page.get_by_role("dialog").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_kept_out(browser: Browser, server: Running, scheme: str) -> None:
    """axe-core finds nothing to say about any view, with a menu and a dialogue open, too."""
    context = browser.new_context(base_url=server.address, color_scheme=scheme, locale="en-GB")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto("/")
    desk = Desk(page)

    def check(where: str) -> None:
        violations = Axe().run(page, options=AXE).response["violations"]
        assert not violations, f"{where}: {violations}"

    check("empty")
    desk.write("The file could not be saved because the disk is full. Remove some files.")
    desk.target_word(1).click()
    expect(page.get_by_role("dialog").get_by_role("button").first).to_contain_text("%")
    check("a word's menu")
    page.get_by_role("button", name="Why this word?").click()
    expect(page.locator(".cell").first).to_be_visible()
    check("why")
    page.get_by_role("tab", name="Dictionary").click()
    page.get_by_role("button", name="New dictionary").click()
    check("a dialogue")
    page.get_by_role("dialog").get_by_label("Name").fill("Terms")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="New term")).to_be_visible()
    check("dictionary")
    page.goto("/#files")
    check("files")
    content = b'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Open"\nmsgstr ""\n'
    chosen = page.get_by_label("Choose a file").and_(page.locator("input"))
    chosen.set_input_files({"name": "one.po", "mimeType": "text/plain", "buffer": content})
    expect(page.get_by_role("button", name="Download")).to_be_enabled()
    check("segments")
    page.get_by_role("row").first.click()
    expect(page.get_by_role("button", name="Save, next")).to_be_visible()
    check("a segment")
    page.goto("/#check")
    page.get_by_role("textbox", name="Source").fill(FULL)
    page.get_by_role("textbox", name="Translation").fill("Discul pe bicicletă.")
    expect(page.get_by_role("region", name="Findings")).to_contain_text("bicicletă")
    check("check")
    context.close()


AXE = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}}


@pytest.mark.parametrize(("language", "title"), [("en", "Source"), ("de", "Ausgangstext"), ("ro", "Text sursă")])
def test_the_page_speaks_three_languages(browser: Browser, server: Running, language: str, title: str) -> None:
    context = browser.new_context(base_url=server.address, locale=language)
    page = context.new_page()
    page.goto("/")
    expect(page.get_by_role("textbox", name=title)).to_be_visible()
    assert page.locator("html").get_attribute("lang") == language
    context.close()


def test_the_chosen_language_and_colours_are_remembered(desk: Desk) -> None:
    desk.page.get_by_label("Language of the page").select_option("de")
    expect(desk.page.get_by_role("link", name="Dateien")).to_be_visible()
    desk.page.get_by_role("button", name="Farben").click()
    desk.page.get_by_role("button", name="Farben").click()
    desk.page.reload()
    expect(desk.page.get_by_role("link", name="Dateien")).to_be_visible()
    assert desk.page.locator("html").get_attribute("data-theme") == "dark"
