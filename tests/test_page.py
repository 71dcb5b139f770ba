"""The page of `transduce serve`: the Translate tab in a real browser."""

import json
import re
from pathlib import Path

import pytest
from pages import DOG, overflow, visit, wait_text

from transduce.translate.flags import FLAGS

ALTERNATIVES = "#alternatives button"
TEXTS = "all => all.map(e => e.textContent)"
PAGE = Path(__file__).parents[1] / "transduce" / "serve" / "page"


@pytest.fixture(scope="module")
def dog(page_server) -> str:
    """The translation of DOG."""
    return page_server.translate(DOG).json["translatedText"]


def test_the_page_is_small_and_names_no_other_host() -> None:
    files = [file for file in PAGE.iterdir() if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 300_000
    for file in files:
        addresses = re.findall(r"https?://[^\s\"'`<)]+", file.read_text("utf-8"))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, file.name


def test_every_flag_has_a_sentence_on_the_page() -> None:
    script = (PAGE / "translate.js").read_text("utf-8")
    table = script[script.index("const FLAGS") : script.index("const GOOD")]
    assert set(re.findall(r'^  "?([\w-]+)"?: "', table, re.MULTILINE)) == set(FLAGS)


def test_what_is_typed_is_translated(page_server, seen, dog) -> None:
    page = visit(seen, page_server)
    assert page.evaluate("document.activeElement.id") == "text"
    page.keyboard.type(DOG)
    wait_text(page, "#output", dog)
    assert page.inner_text("#source-language option:checked") == "English (detected)"
    found = page_server.translate(DOG, alternatives=3).json["alternatives"]
    assert found
    assert page.eval_on_selector_all(ALTERNATIVES, TEXTS) == [one for one in found if one != dog]
    assert not seen.errors
    assert all(address.startswith(page_server.url) for address in seen.requests)


def test_an_older_answer_never_replaces_a_newer_one(page_server, seen) -> None:
    page = visit(seen, page_server)
    held = []

    def hold_first(route):
        if json.loads(route.request.post_data)["q"] == "first":
            held.append(route)
        else:
            route.fulfill(json={"translatedText": "the newer answer"})

    page.route("**/translate", hold_first)
    page.fill("#text", "first")
    page.wait_for_timeout(200)
    page.fill("#text", "second")
    wait_text(page, "#output", "the newer answer")
    for route in held:
        route.fulfill(json={"translatedText": "the older answer"})
    page.wait_for_timeout(200)
    assert page.inner_text("#output") == "the newer answer"


def test_the_translation_is_copied(page_server, seen, dog) -> None:
    page = visit(seen, page_server, q=DOG, s="en", t="de")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    wait_text(page, "#output", dog)
    page.click("#copy")
    wait_text(page, "#copy", "Copied")
    assert page.evaluate("navigator.clipboard.readText()") == dog
    other = page.text_content(f"{ALTERNATIVES} >> nth=0")
    page.click(f"{ALTERNATIVES} >> nth=0")
    page.wait_for_function("async text => await navigator.clipboard.readText() === text", arg=other)


def test_what_differs_is_marked_and_nothing_is_lost(page_server, seen) -> None:
    page = visit(seen, page_server)
    for before, after in (
        ("Er sah einen alten Mann im Park las.", "Er sah einen Mann im Park."),
        ("", "Ein Hund."),
        ("a  b\nc", "a b c d"),
    ):
        parts = page.evaluate(
            "async texts => (await import('/page/diff.js')).compare(...texts)", [before, after]
        )
        old = [one["before"] for one in parts if one["kind"] != "added"]
        new = [one["text"] for one in parts if one["kind"] != "removed"]
        assert ("".join(old), "".join(new)) == (before, after)


def test_swapping_translates_the_translation_back(page_server, seen, dog) -> None:
    page = visit(seen, page_server, q=DOG, s="en", t="de")
    wait_text(page, "#output", dog)
    page.click("#swap")
    assert page.input_value("#text") == dog
    assert page.input_value("#source-language") == "de"
    assert page.input_value("#target-language") == "en"
    page.wait_for_function("() => document.querySelector('#output').textContent.length > 0")


def test_a_text_in_the_target_language_is_translated_the_other_way_round(
    page_server, seen, dog
) -> None:
    page = visit(seen, page_server)
    assert page.input_value("#target-language") == "de"
    with page.expect_request(lambda one: '"target":"en"' in (one.post_data or "")):
        page.fill("#text", "Ich möchte bitte eine Tasse Kaffee, aber nicht mit der Milch.")
    wait_text(page, "#source-language option:checked", "German (detected)")
    assert page.input_value("#target-language") == "en"
    page.fill("#text", DOG)
    wait_text(page, "#output", dog)
    assert page.input_value("#target-language") == "de"
    assert page.input_value("#source-language") == "auto"


def test_a_direction_appears_when_its_model_is_loaded(page_server, seen) -> None:
    page = visit(seen, page_server)
    settings = page_server.get("/frontend/settings").json
    languages = page_server.get("/languages").json
    one = [{**language, "targets": ["de"]} for language in languages]
    page.route("**/frontend/settings", lambda r: r.fulfill(json={**settings, "loading": True}))
    page.route("**/languages", lambda route: route.fulfill(json=one))
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#source-language option").count() == 2
    assert page.is_disabled("#swap")
    page.unroute_all()
    page.wait_for_selector("#source-language [value=de]", state="attached")
    assert page.is_enabled("#swap")


def test_markup_is_shown_as_text(page_server, seen) -> None:
    page = visit(seen, page_server)
    markup = "<img src=x onerror=alert(1)><b>bold</b>"
    page.route(
        "**/translate",
        lambda route: route.fulfill(
            json={"translatedText": markup, "alternatives": [markup + "!"]}
        ),
    )
    page.fill("#text", markup)
    wait_text(page, "#output", markup)
    assert page.locator("#output b, #output img, #alternatives img").count() == 0
    assert page.inner_text("#alternatives button") == markup + "!"
    assert not seen.errors


def test_a_right_to_left_text_is_laid_out_from_the_right(page_server, seen) -> None:
    page = visit(seen, page_server)
    page.route("**/translate", lambda route: route.fulfill(json={"translatedText": "שלום עולם"}))
    page.fill("#text", "مرحبا")
    wait_text(page, "#output", "שלום")
    for selector in ("#text", "#output"):
        assert page.eval_on_selector(selector, "e => e.matches(':dir(rtl)')")


def test_a_language_that_is_not_recognised_is_called_a_guess(page_server, seen) -> None:
    page = visit(seen, page_server)
    page.fill("#text", "مرحبا بالعالم")
    wait_text(page, "#source-language option:checked", "English (a guess)")


def test_doubtful_words_are_marked_on_demand(page_server, seen) -> None:
    page = visit(seen, page_server)
    answer = {
        "translatedText": "Ein Hund. Zwei Katzen.",
        "scores": {
            "tokens": ["▁Ein", "▁Hund", ".", "▁Zwei", "▁Katz", "en", "."],
            "tokenScores": [-0.01, -0.01, -0.01, -9.0, -0.01, -2.0, -0.01, -0.01, -9.0],
            "units": [3, 4],
        },
    }
    page.route("**/translate", lambda route: route.fulfill(json=answer))
    page.fill("#text", "x")
    wait_text(page, "#output", "Katzen")
    titles = page.eval_on_selector_all("#output .word", "all => all.map(e => e.title)")
    assert titles == [f"probability {p} %" for p in (99, 98, 99, 13)]
    background = "getComputedStyle(document.querySelectorAll('#output .word')[3]).backgroundColor"
    before = page.evaluate(background)
    assert page.is_hidden(".target .scale >> nth=0")
    page.check("#confidence")
    assert page.is_visible(".target .scale >> nth=0")
    page.wait_for_function(f"() => {background} !== {before!r}")


def test_what_the_checks_found_is_said(page_server, seen) -> None:
    page = visit(seen, page_server, q="HELLO THERE", s="en")
    page.wait_for_selector("#guards [data-flag=capitals]")
    assert "in capitals" in page.inner_text("#guards")


def test_a_long_text_is_translated_in_parts_and_keeps_its_lines(page_server, seen) -> None:
    page = visit(seen, page_server)
    asked = []

    def echo(route):
        asked.append(json.loads(route.request.post_data)["q"])
        route.fulfill(json={"translatedText": asked[-1].upper()})

    page.route("**/translate", echo)
    lines = [f"line {i} " + "word " * 20 for i in range(200)]
    page.fill("#text", "\n".join(lines))
    wait_text(page, "#output", "LINE 199")
    assert len(asked) > 5
    assert (
        page.evaluate("document.querySelector('#output').textContent") == "\n".join(lines).upper()
    )


def test_a_dropped_text_file_is_translated_and_others_are_refused(page_server, seen, dog) -> None:
    page = visit(seen, page_server, tab="inside")
    drop = """([name, bytes]) => {
        const files = new DataTransfer();
        files.items.add(new File([new Uint8Array(bytes)], name));
        const drop = new DragEvent('drop', {dataTransfer: files, bubbles: true, cancelable: true});
        document.querySelector('footer').dispatchEvent(drop);
    }"""
    page.evaluate(drop, ["dog.txt", list(DOG.encode())])
    wait_text(page, "#output", dog)
    with page.expect_download() as saved:
        page.click("#save")
    assert saved.value.suggested_filename == "dog.de.txt"
    assert saved.value.path().read_text("utf-8") == dog
    page.evaluate(drop, ["picture.png", [137, 80, 0, 0, 255, 255]])
    wait_text(page, "#state", "picture.png is not a text file in UTF-8.")


def test_an_overloaded_server_is_asked_again(page_server, seen, dog) -> None:
    page = visit(seen, page_server)
    refused = []

    def busy_once(route):
        if refused:
            return route.continue_()
        refused.append(1)
        return route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "Slowdown"})

    page.route("**/translate", busy_once)
    page.fill("#text", DOG)
    wait_text(page, "#state", "The server is busy; trying again")
    wait_text(page, "#output", dog)
    assert page.inner_text("#state") == ""


def test_a_longer_wait_is_said(page_server, seen) -> None:
    page = visit(seen, page_server)
    answer = {"status": 503, "headers": {"Retry-After": "30"}, "json": {"error": "loading"}}
    page.route("**/translate", lambda route: route.fulfill(**answer))
    page.fill("#text", DOG)
    wait_text(page, "#state", "The server is not ready; trying again in 30\u00a0s")


def test_a_text_for_which_time_ran_out_is_not_sent_again(page_server, seen) -> None:
    page = visit(seen, page_server)
    asked = []

    def late(route):
        asked.append(1)
        route.fulfill(status=503, json={"error": "the answer was not ready in time"})

    page.route("**/translate", late)
    page.fill("#text", DOG)
    wait_text(page, "#state", "The answer was not ready in time")
    page.wait_for_timeout(1500)
    assert len(asked) == 1


def test_being_offline_is_said_and_ends_by_itself(page_server, seen, dog) -> None:
    page = visit(seen, page_server)
    page.context.set_offline(True)
    page.fill("#text", DOG)
    wait_text(page, "#state", "The server cannot be reached")
    page.context.set_offline(False)
    wait_text(page, "#output", dog)


def test_a_refusal_is_shown_in_the_words_of_the_server(page_server, seen) -> None:
    page = visit(seen, page_server)
    sentence = "Japanese (ja) is not available as a source language for German (de)"
    page.route("**/translate", lambda route: route.fulfill(status=400, json={"error": sentence}))
    page.fill("#text", "こんにちは")
    wait_text(page, "#state", sentence)


def test_a_server_that_loads_its_models_is_waited_for(page_server, seen) -> None:
    page = visit(seen, page_server)
    page.route("**/languages", lambda route: route.fulfill(json=[]))
    page.reload()
    wait_text(page, "#notice", "The server is loading its models")
    page.unroute_all()
    page.wait_for_selector("html[data-ready]")
    assert page.is_hidden("#notice")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone(page_server, seen, dog, scheme) -> None:
    page = visit(seen, page_server, q=DOG)
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 360, "height": 740})
    wait_text(page, "#output", dog)
    assert overflow(page) <= 0
    boxes = [page.locator(name).bounding_box() for name in ("#text", "#output")]
    assert boxes[1]["y"] > boxes[0]["y"] + 50
    shade = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)[0]")
    assert (int(shade) > 128) == (scheme == "light")


def test_the_keyboard_alone_translates_and_changes_the_tab(page_server, seen, dog) -> None:
    page = visit(seen, page_server)
    page.keyboard.type(DOG)
    wait_text(page, "#output", dog)
    page.focus("#tab-translate")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#inside")
    assert page.get_attribute("#tab-inside", "aria-selected") == "true"


def test_a_link_reproduces_text_and_languages(page_server, seen, dog) -> None:
    page = visit(seen, page_server)
    page.select_option("#source-language", "en")
    page.keyboard.type("")
    page.fill("#text", DOG)
    wait_text(page, "#output", dog)
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    wait_text(page, "#output", dog)
    assert (page.input_value("#text"), page.input_value("#source-language")) == (DOG, "en")


def test_a_server_that_asks_for_keys_is_given_one(page_server, seen, dog) -> None:
    page = visit(seen, page_server)
    settings = {**page_server.get("/frontend/settings").json, "keyRequired": True}
    asked = []

    def translate(route):
        asked.append(json.loads(route.request.post_data).get("api_key"))
        if asked[-1] != "secret":
            return route.fulfill(status=400, json={"error": "Please send an API key"})
        return route.continue_()

    page.route("**/frontend/settings", lambda route: route.fulfill(json=settings))
    page.route("**/translate", translate)
    page.reload()
    page.fill("#key", "secret")
    page.keyboard.press("Enter")
    page.fill("#text", DOG)
    wait_text(page, "#output", dog)
    assert page.is_hidden("#key-form")
    page.evaluate("sessionStorage.clear()")
