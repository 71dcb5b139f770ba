"""The page of `transduce serve`: the Parse tab in a real browser."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
from pages import READY, overflow, visit, wait_text

SENTENCE = "The dog sleeps."
TREE = "(TOP (S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (-RRB- -RRB-)))"
WORDS = "all => all.map(e => e.textContent)"
BUSY = {"status": 429, "headers": {"Retry-After": "1"}, "json": {"error": "busy"}}


def parsing(seen, server, *answers, **state):
    """The page of a server with a parser that gives these answers, the last one again and again."""
    page = visit(seen, server, **state)
    assert page.is_hidden("#tab-parse")
    settings = {**server.get("/frontend/settings").json, "parsing": True}
    asked, left = [], list(answers)

    def answer(route):
        asked.append(json.loads(route.request.post_data)["q"])
        route.fulfill(**(left.pop(0) if len(left) > 1 else left[0]))

    page.route("**/frontend/settings", lambda route: route.fulfill(json=settings))
    page.route("**/parse", answer)
    page.reload()
    page.wait_for_selector(READY)
    page.click("#tab-parse")
    return page, asked


def tree(text=TREE):
    return {"json": {"tree": text, "score": -1.0}}


def test_a_tree_is_drawn_and_saved_if_a_parser_is_served(page_server, seen) -> None:
    page, _ = parsing(seen, page_server, tree())
    page.fill("#parse-text", SENTENCE)
    page.keyboard.press("Enter")
    wait_text(page, "#parse-figure", TREE)
    assert page.eval_on_selector_all("#parse-figure .leaf", WORDS) == ["The", "dog", "sleeps", ")"]
    assert page.locator("#parse-figure .branch").count() == 6  # words stand below their tags
    for kind in ("SVG", "PNG"):
        with page.expect_download() as saved:
            page.click(f"#parse-figure .exports button:has-text('{kind}')")
        data = saved.value.path().read_bytes()
        assert data[:4] == b"\x89PNG" if kind == "PNG" else ElementTree.fromstring(data) is not None
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_selector("#parse-figure text[text-anchor=start]")
    assert page.locator("#parse-figure .branch").count() == 6
    assert overflow(page) <= 0
    outline = page.eval_on_selector_all("#parse-figure text", WORDS)
    assert outline == ["S", "NP", "DT", "The", "NN", "dog", "VP", "VBZ", "sleeps", "-RRB-", ")"]
    assert not seen.errors


def test_the_tabs_share_their_text_and_a_busy_parser_is_asked_again(page_server, seen) -> None:
    page, asked = parsing(seen, page_server, BUSY, tree(), q=SENTENCE)
    wait_text(page, "#parse-state", "The server is busy; trying again")
    page.wait_for_selector("#parse-figure .leaf")
    assert asked == [SENTENCE] * 2
    assert page.inner_text("#parse-state") == ""


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"status": 400, "json": {"error": "the words are too many"}}, "The words are too many"),
        (
            {"status": 503, "json": {"error": "the engine took too long"}},
            "The engine took too long",
        ),
        ({"body": "null", "content_type": "application/json"}, "too long for this model"),
    ],
)
def test_a_failure_is_said_in_place_of_the_tree_and_the_sentence_can_be_sent_again(
    page_server, seen, answer, sentence
) -> None:
    page, asked = parsing(seen, page_server, answer, tree(), q=SENTENCE)
    wait_text(page, "#parse-figure #parse-state", sentence)
    page.click("#parse-form button")
    page.wait_for_selector("#parse-figure .leaf")
    assert asked == [SENTENCE] * 2


def test_the_tree_of_another_sentence_is_pale(page_server, seen) -> None:
    page, _ = parsing(seen, page_server, tree(), {"status": 400, "json": {"error": "no"}}, q="One.")
    page.wait_for_selector("#parse-figure .leaf")
    page.fill("#parse-text", SENTENCE)
    page.keyboard.press("Enter")
    wait_text(page, "#parse-state", "No")
    assert page.locator("#parse-figure.stale .leaf").count() == 4
    page.fill("#parse-text", "")
    page.keyboard.press("Enter")
    wait_text(page, "#parse-figure", "Type a sentence above")
