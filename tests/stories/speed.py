"""How soon the page is there, and how smoothly it moves: 2,000 words under the pointer, 10,000 segments scrolled.

    PYTHONPATH=tests python -m stories.speed

Frames are counted as the browser shows them; work is the processor time of the page's main thread for each of them.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

from server.running import running
from stories.conftest import FLAGS
from stories.desk import Desk, busy_time
from stories.test_hardships import answer_at_once

FIRST_VIEW = """() => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return paint ? paint.startTime : NaN;
}"""
FRAMES = """async (count) => {
  const step = %s;
  const times = [];
  let before = await new Promise(requestAnimationFrame);
  for (let n = 0; n < count; n++) {
    step(n);
    const now = await new Promise(requestAnimationFrame);
    times.push(now - before);
    before = now;
  }
  return times;
}"""
HOVER = """(n) => {
  const words = document.querySelectorAll(".target .w");
  const place = words[(n * 7) % 300].getBoundingClientRect();
  document.getElementById("app").dispatchEvent(new PointerEvent("pointermove",
    { bubbles: true, clientX: place.left + 2, clientY: place.top + 5, pointerType: "mouse" }));
}"""
SCROLL = """(n) => {
  const table = document.querySelector(".segments");
  table.scrollTop = (table.scrollHeight - table.clientHeight) * n / 300;
}"""
NUM_FRAMES = 300


def first_view(browser: Browser, address: str) -> float:
    """Milliseconds from the request to the first text on the screen, with nothing in the browser's cache."""
    page = browser.new_page()
    page.goto(address)
    expect(page.get_by_role("textbox").first).to_be_visible()
    page.wait_for_timeout(200)
    milliseconds = float(page.evaluate(FIRST_VIEW))
    page.close()
    return milliseconds


def frames(page: Page, what: str, move: str) -> None:
    with busy_time(page) as spent:
        times = page.evaluate(FRAMES % move, NUM_FRAMES)
    rate = 1000 / statistics.mean(times)
    late = sum(time > 1.5 * 1000 / 60 for time in times)
    work = 1000 * spent["seconds"] / NUM_FRAMES
    print(f"{what}: {rate:.1f} frames a second, {late} of {NUM_FRAMES} late, {work:.1f} ms of work each")  # noqa: T201


def measure(browser: Browser, address: str) -> None:
    views = [first_view(browser, address) for _ in range(7)]
    print(f"first view: {statistics.median(views):.0f} ms (median of {len(views)}, worst {max(views):.0f})")  # noqa: T201
    context = browser.new_context(base_url=address, locale="en-GB")
    page = context.new_page()
    page.goto("/")
    answer_at_once(page)
    words = " ".join([f"word{n}" for n in range(19)])
    Desk(page).write(" ".join([f"The {words} {n}." for n in range(100)]))
    frames(page, f"hovering over {page.locator('.target .w').count()} words", HOVER)
    page.goto("/#files")
    units = [f'msgid "Message number {n}"\nmsgstr "Mesajul numărul {n}"\n' for n in range(10_000)]
    content = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n' + "\n".join(units)
    chosen = page.get_by_label("Choose a file").and_(page.locator("input"))
    chosen.set_input_files({"name": "large.po", "mimeType": "text/plain", "buffer": content.encode()})
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "10000", timeout=60_000)
    frames(page, "scrolling through 10,000 segments", SCROLL)
    context.close()


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder) / "server.sqlite", "--workers", "1") as server,
        sync_playwright() as playwright,
    ):
        measure(playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS), server.address)


if __name__ == "__main__":
    main()
