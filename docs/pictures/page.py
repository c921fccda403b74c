"""The pictures of the page, as README.md shows them: a text with a term, reasons for a word, a file, a phone.

    python docs/pictures/page.py           # needs chromium, the extras serve and dev, and a font like Inter

Look at them before you commit them.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

HERE = Path(__file__).parent
TEXT = (
    "The file could not be saved because the disk is full. Remove some files, then try again.\n\n"
    "Enter your password to unlock the printer. Click <b>Save</b> to keep %d pictures."
)
MESSAGES = [
    *("Open the selected folder", "Could not find the printer", "Enter the password for the archive"),
    *("The disk is full", "Copying %d files to the new folder", "Do you want to replace the picture?"),
    *("Restart the computer to finish the installation", "Show hidden files", "Compress the selected files"),
    *("The connection was closed", "Remove the selected messages", "Print the current page"),
]
CATALOGUE = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n' + "\n".join(
    [f'msgid "{message}"\nmsgstr ""\n' for message in MESSAGES]
)
WIDE, NARROW = (1280, 860), (390, 844)


def main() -> None:
    chromium = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "alidade", "serve", "--database", f"{folder}/server.sqlite", "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout is not None
            address = "http://127.0.0.1:" + server.stdout.readline().split("http://127.0.0.1:")[1].split()[0]
            with sync_playwright() as playwright:
                flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
                take_all(playwright.chromium.launch(executable_path=chromium, args=flags), address)
        finally:
            server.terminate()
            server.wait()


def take_all(browser: Browser, address: str) -> None:
    for scheme, (width, height) in (("light", WIDE), ("dark", WIDE), ("light", NARROW), ("dark", NARROW)):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-GB", device_scale_factor=1.5
        )  # type: ignore[arg-type]
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.goto(address)
        size = "wide" if width > 800 else "narrow"
        write(page)
        if size == "narrow":
            page.locator("#text-t-0 [data-i='5']").hover()
            save(page, f"page-{size}-{scheme}")
        elif scheme == "light":
            give_term(page)
            look_at_alternatives(page)
            save(page, f"page-{size}-{scheme}")
        else:
            page.locator("#text-t-0 [data-i='5']").click()
            page.get_by_role("button", name="Why this word?").click()
            page.locator(".cell").first.wait_for()
            save(page, f"page-{size}-{scheme}")
            context.close()
            continue
        if size == "wide":
            review(page, address)
            save(page, f"page-files-{scheme}")
        context.close()


def write(page: Page) -> None:
    page.get_by_role("textbox", name="Source").fill(TEXT)
    page.locator("#text-t-3 .w").first.wait_for()
    page.get_by_text("English → Romanian").wait_for()


def give_term(page: Page) -> None:
    field = page.get_by_role("textbox", name="Source")
    start = TEXT.index("password")
    field.evaluate("(field, [start, end]) => field.setSelectionRange(start, end)", [start, start + len("password")])
    field.press("Shift")
    page.get_by_role("button", name="Always translate as").click()
    page.get_by_role("dialog").get_by_label("Romanian").fill("codul de acces")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.locator(".w.starred").first.wait_for()


def look_at_alternatives(page: Page) -> None:
    last = page.locator("#text-t-0 [data-i]").count() - 2
    page.locator("#text-t-0 [data-i]").nth(last).click()
    page.locator(".menu .share").nth(1).wait_for()


def review(page: Page, address: str) -> None:
    page.goto(f"{address}/#files")
    chosen = page.get_by_label("Choose a file").and_(page.locator("input"))
    chosen.set_input_files({"name": "messages.po", "mimeType": "text/plain", "buffer": CATALOGUE.encode()})
    page.locator("button.main:enabled", has_text="Download").wait_for()
    page.get_by_role("row").nth(1).click()
    page.locator("#segment0-t-0 .w").first.wait_for()
    page.keyboard.press("Control+Enter")
    page.get_by_text("Enter the password for the archive").wait_for()
    page.locator("#segment0-t-0 [data-i='5']").hover()
    page.locator(".lit").first.wait_for()


def save(page: Page, name: str) -> None:
    """In 128 colours: a page has few, and the file is a third as large."""
    page.wait_for_timeout(400)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(HERE / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
