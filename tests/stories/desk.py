"""What people do at the page, in their words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Locator, Page, expect

FRAME = 1 / 60


@contextlib.contextmanager
def busy_time(page: Page) -> Iterator[dict[str, float]]:
    """The processor time of the page's main thread, scripts, style and layout together: what else runs on the machine
    does not count."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    spent: dict[str, float] = {}
    start = seconds()
    yield spent
    spent["seconds"] = seconds() - start
    session.detach()


class Desk:
    """The page in front of somebody."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def source(self) -> Locator:
        return self.page.get_by_role("textbox", name="Source", exact=True)

    @property
    def translation(self) -> Locator:
        return self.page.get_by_role("group", name="Translation", exact=True)

    @property
    def lit(self) -> Locator:
        return self.page.locator(".lit")

    def write(self, text: str) -> None:
        """Write a text, and wait until all of it is translated."""
        self.source.fill(text)
        self.wait()

    def wait(self) -> None:
        expect(self.page.get_by_role("region", name="Translation")).to_have_attribute("aria-busy", "false")
        expect(self.translation.get_by_role("button").first).to_be_visible()

    def target_word(self, number: int, sentence: int = 0) -> Locator:
        return self.page.locator(f"#text-t-{sentence} [data-i='{number}']")

    def source_word(self, number: int, sentence: int = 0) -> Locator:
        return self.page.locator(f"#text-s-{sentence} [data-i='{number}']")

    def ask(self, path: str, **values: Any) -> Any:
        """What the server's interface answers."""
        languages = {"source_language": "en", "target_language": "ro"}
        response = self.page.request.post(path, data=languages | values)
        assert response.ok, response.text()
        return response.json()

    def translate(self, text: str, **values: Any) -> Any:
        return self.ask("/api/translate", text=text, **values)["translations"][0]


def linked_words(answer: Any) -> tuple[int, list[str], int, list[str]]:
    """A target word with links and its partners' texts, and the same for a source word; words of several letters."""

    def find(side: str, other: str) -> tuple[int, list[str]]:
        for number, word in enumerate(answer[f"{side}_words"]):
            partners = sorted({link[other] for link in answer["links"] if link[side] == number})
            if partners and len(word["text"]) > 3:
                return number, [answer[f"{other}_words"][n]["text"] for n in partners]
        raise AssertionError("no word has a link")

    return *find("target", "source"), *find("source", "target")
