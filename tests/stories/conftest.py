"""Stories of people who use the page: a real server, and a real Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from server.running import Running, running
from stories.desk import Desk

CHROMIUM = os.environ.get("ALIDADE_CHROMIUM") or shutil.which("chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

expect.set_options(timeout=15_000)  # machines are busy at times


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("stories") / "server.sqlite", "--workers", "1") as one:
        yield one


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium here: `apt-get install chromium`, or name one in ALIDADE_CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser, server: Running) -> Iterator[BrowserContext]:
    context = browser.new_context(base_url=server.address, viewport={"width": 1280, "height": 800}, locale="en-GB")
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that makes no mistakes: what goes wrong in its scripts fails the story."""
    page = context.new_page()
    mistakes: list[str] = []
    page.on("pageerror", lambda error: mistakes.append(str(error)))
    yield page
    assert not mistakes


@pytest.fixture
def desk(page: Page) -> Desk:
    page.goto("/")
    return Desk(page)
