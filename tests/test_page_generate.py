"""The page of `transduce serve`: the Language model tab in a real browser."""

import json
import re

import browser
import models
import pages
import pytest
import serving
from pages import overflow, serious_findings, visit, wait_text

ASKED = {"tab": "generate", "prompt": "a and ", "length": 30, "topk": 8}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server with a language model and a translator."""
    pages.require_browser()
    folder = tmp_path_factory.mktemp("generate")
    names = str(models.language_model(folder)), f"en-de={models.model_directory(folder / 'back')}"
    words = [word for name in names for word in ("--model", name)]
    with serving.running(folder, *words, "--set", "serve.tokens_limit=9000") as server:
        serving.wait_for(lambda: server.get("/frontend/settings").json["generation"])
        serving.wait_for(lambda: server.get("/languages").json)
        yield server


@pytest.fixture(scope="module")
def seen(server):
    with browser.opened(server.url) as seen:
        yield seen


def steps(server, **fields) -> list[dict]:
    """What the server writes for the same request."""
    asked = {"prompt": "a and ", "tokens": 30, "top_k": 8, "scores": True, **fields}
    return server.post("/generate", **asked).json["results"][0]["tokens"]


def written(page) -> str:
    """The tokens of the page, without the signs for those that cannot be seen."""
    return page.eval_on_selector_all(
        ".token", "all => all.map(e => [...e.childNodes].at(-1).data ?? '').join('')"
    )


def texts(found: list[dict]) -> str:
    return "".join(one["text"] for one in found)


def finished(page, count=30):
    wait_text(page, "#generate-state", f"{count} tokens")
    return page


def test_the_tab_is_there_only_if_a_language_model_is_served(page_server) -> None:
    with browser.opened(page_server.url) as other:
        page = visit(other, page_server, tab="generate")
        assert page.locator("#tab-generate").is_hidden()
        assert page.locator("#translate").is_visible()


def test_the_tab_appears_when_the_model_is_loaded(server, seen) -> None:
    page = visit(seen, server)
    loading = {**server.get("/frontend/settings").json, "loading": True, "generation": False}
    page.route("**/frontend/settings", lambda route: route.fulfill(json=loading))
    page.reload()
    page.wait_for_selector(pages.READY)
    assert page.locator("#tab-generate").is_hidden()
    page.unroute_all()
    page.wait_for_selector("#tab-generate")


def test_a_text_is_written_after_the_prompt(server, seen) -> None:
    page = visit(seen, server)
    page.click("#tab-generate")
    page.fill("#prompt", "a and ")
    page.fill("[name=length]", "30")
    page.fill("[name=topk]", "8")
    page.keyboard.press("Enter")
    finished(page)
    assert written(page) == texts(steps(server))
    page.click("#reseed")
    page.wait_for_function("() => document.querySelector('[name=seed]').value === '2'")
    finished(page)
    assert written(page) == texts(steps(server, seed=2))
    assert not seen.errors
    assert all(address.startswith(server.url) for address in seen.requests)


def test_hovering_a_token_shows_its_runners_up_and_a_click_forces_one(server, seen) -> None:
    page = finished(visit(seen, server, **ASKED))
    found = steps(server)
    page.hover(".token[data-number='4']")
    shown = page.eval_on_selector_all("#runners button", "all => all.map(e => +e.dataset.id)")
    assert shown == [one["id"] for one in found[4]["runners_up"]]
    shown_percent = float(re.search(r"([\d.]+) %", page.inner_text("#runners p"))[1])
    assert abs(shown_percent - 100 * found[4]["probability"]) < 0.51
    page.click(f"#runners [data-id='{shown[1]}']")
    wait_text(page, "#generate-state", "35 tokens")
    prefix = [*(one["id"] for one in found[:4]), shown[1]]
    assert written(page) == texts(steps(server, tokens=35, prefix=prefix))
    assert page.locator(".token.chosen").count() == 1
    link, text = page.url, written(page)
    page.goto("about:blank")
    page.goto(link)
    wait_text(page, "#generate-state", "35 tokens")
    assert written(page) == text
    assert page.locator(".token.chosen").get_attribute("data-number") == "4"


def test_the_keyboard_does_the_same(server, seen) -> None:
    page = finished(visit(seen, server, **ASKED))
    page.focus(".token[tabindex='0']")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    runner = steps(server)[2]["runners_up"][1]["id"]
    assert page.evaluate("+document.activeElement.dataset.id") == runner
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.number") == "2"
    page.keyboard.press("Escape")
    assert page.locator("#runners").is_hidden()
    for key in ("Enter", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    wait_text(page, "#generate-state", "33 tokens")
    assert page.evaluate("document.activeElement.dataset.number") == "2"
    assert f"{runner}" in page.url.rpartition("forced=")[2]


def test_stop_stops_and_go_on_goes_on(server, seen) -> None:
    page = visit(seen, server, **{**ASKED, "length": 5000})
    page.wait_for_selector(".token[data-number='5']", state="attached")
    page.click("#stop")
    wait_text(page, "#generate-state", "Stopped after")
    before, count = written(page), page.locator(".token").count()
    page.wait_for_timeout(200)
    assert page.locator(".token").count() == count
    page.fill("[name=length]", "10")
    page.click("#go-on")
    finished(page, count + 10)
    assert written(page).startswith(before)


def test_markup_is_text_and_an_error_is_told(server, seen) -> None:
    page = visit(seen, server, tab="generate")
    token = {"id": 5, "token": "<b>x</b>", "text": "<b>x</b>", "probability": 0.5, "runners_up": []}
    lines = [token, {"error": "the engine ended"}]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    page.route("**/generate", lambda route: route.fulfill(body=body))
    page.click("#write")
    wait_text(page, "#generate-state", "The engine ended")
    assert page.inner_text("#written") == "<b>x</b>"
    assert page.locator("#stop").is_hidden()


def test_a_busy_server_is_asked_again(server, seen) -> None:
    page = visit(seen, server, tab="generate")
    refused = []

    def busy_once(route):
        if refused:
            return route.continue_()
        refused.append(1)
        return route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "busy"})

    page.route("**/generate", busy_once)
    page.fill("[name=length]", "30")
    page.click("#write")
    wait_text(page, "#generate-state", "The server is busy; trying again")
    finished(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(server, seen, scheme) -> None:
    page = visit(seen, server, **ASKED)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 800})
    finished(page)
    for number in (0, 12, 29):
        page.click(f".token[data-number='{number}']")
        assert page.locator("#runners button").count() == 5
        assert overflow(page) <= 0
        page.keyboard.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_has_no_serious_fault_of_accessibility(axe, server, seen, scheme) -> None:
    page = finished(visit(seen, server, **ASKED))
    page.emulate_media(color_scheme=scheme)
    page.focus(".token[data-number='4']")
    page.wait_for_timeout(250)  # transitions
    assert not serious_findings(page, axe)
