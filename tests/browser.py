"""A headless browser for tests of HTML pages; tests are skipped where it is not installed."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Seen:
    """A page in the browser, with the errors of its console and all requests that it made."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(address: str, dark: bool = False, width: int = 1200) -> Iterator[Seen]:
    """The page of an address, in Debian's Chromium, driven by playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no browser: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            scheme = "dark" if dark else "light"
            size = {"width": width, "height": 1000}
            page = browser.new_page(color_scheme=scheme, viewport=size)
            seen = Seen(page)
            page.on("request", lambda request: seen.requests.append(request.url))
            page.on("pageerror", lambda error: seen.errors.append(str(error)))
            page.on(
                "console",
                lambda note: seen.errors.append(note.text) if note.type == "error" else None,
            )
            page.goto(address)
            yield seen
        finally:
            browser.close()
