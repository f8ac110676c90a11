"""Fixtures of the tests in a browser. One that is not there is a failure, never a skip: these tests
run only when they are asked for, with --browser.

SQLMETRICS_SCREENSHOTS names a folder that the page is drawn into, for somebody to look at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sqlmetrics.report.page import page as html_of
from tests.browser.made_up import content

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Return the system's Chromium."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        pytest.fail(f"{error}; pip install -e '.[report,browser]'", pytrace=False)
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.fail(
            f"none of {', '.join(NAMES)} is on the PATH; install one, such as with"
            " apt-get install chromium",
            pytrace=False,
        )
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the made-up report."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html_of(content()), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, file: Path) -> Iterator[Callable[..., Page]]:
    """Return what opens the page, its charts drawn; at the end, nothing must have gone wrong.

    That is an error, anything on the console but hints of Vega-Lite, a dialog, or a request for
    anything but the file.
    """
    contexts, wrong = [], []

    def open_page(script: str = "", path: Path = file, **options: Any) -> Page:
        context = browser.new_context(offline=True, **options)
        contexts.append(context)
        context.set_default_timeout(10_000)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))

        def said(message: Any) -> None:
            if not message.text.startswith("WARN "):  # what Vega-Lite would rather have
                wrong.append(f"console: {message.text}")

        def dialog(shown: Any) -> None:
            wrong.append(f"dialog: {shown.message}")
            shown.dismiss()

        def request(made: Any) -> None:
            if not made.url.startswith(("data:", "blob:")) and made.url != path.as_uri():
                wrong.append(f"request: {made.url}")

        page.on("console", said)
        page.on("dialog", dialog)
        page.on("request", request)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def keep_picture() -> Callable[[Page, str], None]:
    """Return what keeps a picture of the whole page, if a folder for them is named."""
    folder = os.environ.get("SQLMETRICS_SCREENSHOTS")

    def keep(page: Page, name: str) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)

    return keep
