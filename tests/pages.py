"""The page of the server in a browser, for tests."""

import json
import shutil
from contextlib import contextmanager
from urllib.parse import urlencode

import browser
import models
import pytest
import serving

from transduce.model_names import bundled_models

DOG = "A dog runs on the beach."
PAIR = {"q": DOG, "source": "en", "target": "de"}
READY = "html[data-ready]"
SERIOUS = ("serious", "critical")


def require_browser() -> None:
    """Skips a test where `browser.opened` would, before anything is started."""
    pytest.importorskip("playwright.sync_api", reason="no playwright: pip install playwright")
    if not any(map(shutil.which, browser.CHROMIUM)):
        pytest.skip("no browser: apt-get install chromium")


@contextmanager
def served(folder):
    """A server with the bundled model and an untrained one for the other direction."""
    back = models.model_directory(folder / "back")
    names = (f"en-de={bundled_models()['en-de']}", f"de-en={back}")
    words = [word for name in names for word in ("--model", name)]
    with serving.running(folder, *words) as server:
        serving.wait_for(lambda: server.post("/attention", **PAIR).status == 200, 90)  # loads torch
        yield server


def visit(seen, server, **state):
    """Loads the page anew, as a link with this state would."""
    page = seen.page
    page.set_default_timeout(60_000)
    page.unroute_all()
    page.context.set_offline(False)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1200, "height": 1000})
    page.goto("about:blank")
    seen.errors.clear()
    seen.requests.clear()
    page.goto(f"{server.url}/#{urlencode(state)}")
    page.wait_for_selector(READY)
    return page


def inside_of(server, q=DOG, **fields):
    """What POST /attention says of a sentence, and the weights."""
    body = server.post("/attention", **{**PAIR, "q": q}, **fields).body
    length = int.from_bytes(body[:4], "little")
    return json.loads(body[4 : 4 + length]), body[4 + length :]


def wait_text(page, selector, text):
    """Waits until an element has a text."""
    page.wait_for_function(
        "([s, t]) => document.querySelector(s)?.textContent.includes(t)", arg=[selector, text]
    )


def serious_findings(page, axe: str) -> list[tuple[str, str]]:
    """What axe-core says of the page: the rule, and the first element that breaks it."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in SERIOUS]


def overflow(page) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
