"""The page of `transduce serve`: the views of what happens inside the model, in a real browser."""

import re
import struct
import xml.etree.ElementTree as ElementTree
from urllib.parse import urlencode

import pytest
from pages import DOG, inside_of, overflow, visit, wait_text

VIEWS = ["ribbon", "heads", "steps", "beam", "whatif", "equation", "positions"]
AT_DOG = {"tab": "inside", "q": DOG, "s": "en", "t": "de"}
STORY = "The old woman told the children a story because they could not sleep."


def inside(seen, server, view="ribbon", **state):
    page = visit(seen, server, **{**AT_DOG, **state, "view": view})
    page.wait_for_selector(f"#figure[data-drawn={view}]")
    return page


def show(seen, server, view):
    """Goes to a view without loading the page again."""
    page = seen.page
    if "tab=inside" not in page.url:
        return inside(seen, server, view)
    page.goto(f"{server.url}/#{urlencode({**AT_DOG, 'view': view})}")
    page.wait_for_selector(f"#figure[data-drawn={view}]")
    return page


@pytest.fixture(scope="module")
def block(page_server):
    """The header and the weights of POST /attention."""
    return inside_of(page_server)


@pytest.fixture(scope="module")
def dog(block) -> str:
    """The translation of DOG."""
    return block[0]["translation"]


def test_hovering_a_word_keeps_its_links_and_a_click_pins_it(page_server, seen) -> None:
    page = inside(seen, page_server)
    assert page.locator(".link").count() > 5
    page.hover("[data-word=q1]")
    kept = page.eval_on_selector_all(".link.on", "all => all.map(e => e.dataset.query)")
    assert kept
    assert set(kept) == {"1"}
    word = page.text_content("[data-word=q1]")
    assert page.inner_text("#saying").startswith(f"{word} attends to ")
    page.hover("#translation")
    assert page.locator(".link.on").count() == 0
    page.click("[data-word=q1]")
    page.hover("#translation")
    assert page.locator(".link.on").count() == len(kept)
    assert "pin=q1" in page.url
    assert not seen.errors
    assert all(address.startswith(page_server.url) for address in seen.requests)


def test_the_keyboard_moves_between_words(page_server, seen) -> None:
    page = inside(seen, page_server, pin="q1")
    page.focus("[data-word=q1]")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.word") == "q2"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.dataset.word") == "k2"
    page.keyboard.press("Escape")
    assert page.locator(".link.on").count() == 0


def test_one_selection_is_shared_by_all_views(page_server, seen) -> None:
    page = inside(seen, page_server, layer=1, head=2)
    page.click("[data-word=q2]")
    token = int(re.search(r"pin=q(\d+)", page.url)[1])
    page.click("[data-view=steps]")
    page.wait_for_selector(f".chip.on[data-step='{token}']")
    page.keyboard.press("ArrowRight")  # the tab of the next view
    page.wait_for_selector("#figure[data-drawn=beam]")
    assert page.text_content("#figure svg .strong") == str(token + 1)
    page.click("[data-view=equation]")
    page.wait_for_selector("#figure[data-drawn=equation]")
    assert page.input_value(".scrubber select") == str(token)
    page.click("[data-view=heads]")
    page.wait_for_selector(".band[visibility=visible]")
    page.click("[data-word=k1]")
    page.click("[data-view=positions]")
    wait_text(page, "#figure", "dot product of position 1 with")
    page.focus("#figure .scroll")
    page.keyboard.press("ArrowDown")
    wait_text(page, "#figure", "dot product of position 2 with")
    page.click("[data-view=ribbon]")
    page.wait_for_selector(".word.on[data-word^=k]")


def test_the_keyboard_alone_changes_what_the_model_does(page_server, seen, dog) -> None:
    page = inside(seen, page_server, "heads", kind="encoder")
    page.focus(".thumb[tabindex='0']")
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector(".enlarged svg")
    assert "layer=2&head=2" in page.url
    page = inside(seen, page_server, "steps")
    page.focus(".chip[tabindex='0']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_selector(".chip.on[data-step='1']")
    assert page.evaluate("document.activeElement.dataset.step") == "1"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the likeliest runner-up
    wait_text(page, "#changed", "A token is forced")
    page.focus("#changed button")
    page.keyboard.press("Enter")
    wait_text(page, "#translation", dog)
    page = inside(seen, page_server, "beam")
    page.focus(".node[tabindex='0']")
    page.keyboard.press("ArrowDown")
    assert "log-probability of the token" in page.inner_text("#saying")
    assert page.locator(".node.way").count() == 1
    page = inside(seen, page_server, "whatif")
    page.focus(".switch[data-name='e1.1']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.wait_for_selector("[data-name='e1.2'][aria-pressed=false]")
    wait_text(page, "#changed", "1 head switched off")
    assert page.evaluate("document.activeElement.dataset.name") == "e1.2"


def test_words_of_a_right_to_left_text_are_in_its_order(page_server, seen) -> None:
    page = visit(seen, page_server, **{**AT_DOG, "q": "مرحبا بالعالم الكبير"})
    page.wait_for_selector("#figure[data-drawn=ribbon] .word")
    first, second = (page.locator(f"[data-word=k{i}]").bounding_box()["x"] for i in (0, 1))
    assert first > second


def test_the_links_of_a_head_are_the_largest_weights_of_the_server(
    page_server, seen, block
) -> None:
    header, weights = block
    _, heads, queries, keys = header["kinds"]["cross"]["shape"]
    page = inside(seen, page_server, unit="pieces", layer=2, head=5)
    start = header["kinds"]["cross"]["offset"] + ((2 - 1) * heads + 5 - 1) * queries * keys
    expected = set()
    for i in range(queries):
        row = weights[start + i * keys : start + (i + 1) * keys]
        strongest = sorted(range(keys), key=lambda j: -row[j])[:3]
        expected |= {(i, j) for j in strongest if row[j] / 255 >= 1 / keys}
    drawn = page.eval_on_selector_all(
        ".link", "all => all.map(e => [e.dataset.query, e.dataset.key])"
    )
    assert {(int(i), int(j)) for i, j in drawn} == expected
    page.click(".controls label:has([name=head][value='3'])")
    assert "head=3" in page.url


def test_the_atlas_has_every_head_and_enlarges_one(page_server, seen, block) -> None:
    page = inside(seen, page_server, "heads", kind="encoder")
    layers, heads = block[0]["kinds"]["encoder"]["shape"][:2]
    assert page.locator(".thumb").count() == layers * heads
    page.click("[data-head='2.7']")
    assert "layer=2" in page.url
    assert "head=7" in page.url
    page.wait_for_selector(".enlarged svg")
    page.hover(".surface", position={"x": 5, "y": 5})
    assert page.inner_text("#saying").startswith("A attends to A:")
    page.click(".surface", position={"x": 5, "y": 5})
    page.wait_for_selector("#figure[data-drawn=equation]")


def test_roles_are_those_of_transduce_attend(page_server, seen, block) -> None:
    measures = pytest.importorskip(
        "transduce.attend.measures", reason="transduce attend is missing"
    )
    from transduce.attend.heads import role_of
    from transduce.model_names import bundled_models
    from transduce.translate.translator import Translator

    translator = Translator.load(bundled_models()["en-de"], engine="torch")
    attention = translator.attention(DOG, block[0]["translation"])
    page = inside(seen, page_server, "heads", kind="encoder", unit="pieces")
    (encoder,) = (one for one in measures.measure([attention], "en") if one.kind == "encoder")
    shown = page.eval_on_selector_all(".thumb .role", "all => all.map(e => e.textContent)")
    layers, heads = encoder.values["entropy"].shape
    expected = [role_of(encoder, i, j) for i in range(layers) for j in range(heads)]
    assert sum(a == b for a, b in zip(shown, expected, strict=True)) >= 0.95 * len(expected)


def test_forcing_a_runner_up_goes_on_from_there(page_server, seen) -> None:
    page = inside(seen, page_server, "steps")
    before = page.inner_text("#translation")
    page.click("[data-step='1']")
    page.wait_for_selector(".runner.chosen")
    other = page.locator(".runner:not(.chosen)").first
    word = other.locator("text").first.inner_html()
    other.click()
    page.wait_for_function(
        "before => document.querySelector('#translation').textContent !== before", arg=before
    )
    assert word.strip("-") in page.inner_text("#translation")
    assert "A token is forced" in page.inner_text("#changed")
    page.click("#changed button")
    wait_text(page, "#translation", before)
    page.focus("input[type=range]")
    page.keyboard.press("End")
    wait_text(page, ".chip.on", "</s>")


def test_the_length_penalty_is_recomputed_in_the_browser(page_server, seen) -> None:
    page = inside(seen, page_server, "beam", q=STORY)
    found = page_server.post("/beam", q=STORY, source="en", target="de").json
    assert page.locator(".node").count() == len(found["nodes"])
    assert page.locator(".node.pruned").count() > 0
    for alpha in (0, 0.6, 2):
        page.evaluate(
            """alpha => { const slider = document.querySelector('#alpha');
            slider.value = alpha; slider.dispatchEvent(new Event('input')); }""",
            alpha,
        )
        ended = [n for n in found["nodes"] if n["text"] == "</s>" and n["state"] != "pruned"]
        best = max(ended, key=lambda n: n["total"] / ((5 + n["length"]) / 6) ** alpha)
        score = f"{best['total'] / ((5 + best['length']) / 6) ** alpha:.2f}".replace("-", "−")
        assert f"score {score}" in page.inner_text(".hypotheses li.first")


def test_switching_heads_off_changes_the_translation_and_undoes(page_server, seen, block) -> None:
    layers, heads = block[0]["kinds"]["cross"]["shape"][:2]
    page = inside(seen, page_server, "whatif")
    before = page.inner_text("#translation")
    assert page.locator(".diff.removed, .diff.added").count() == 0
    for layer in range(1, layers + 1):
        page.click(f"fieldset:last-child .switch-row:nth-of-type({layer}) .layer")
        page.wait_for_selector(f"[data-name='c{layer}.1'][aria-pressed=false]")
    page.wait_for_function("() => document.querySelectorAll('.diff.added').length > 0")
    assert page.inner_text("#translation") != before
    assert f"{layers * heads} heads switched off" in page.inner_text("#changed")
    page.click("#changed button")
    wait_text(page, "#translation", before)


def test_an_edited_word_is_compared_with_the_original(page_server, seen, dog) -> None:
    page = inside(seen, page_server, "whatif")
    page.fill(".edit-words input[aria-label='Word 2']", "cat")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.diff.added').length > 0")
    edited = inside_of(page_server, DOG.replace("dog", "cat"))[0]["translation"]
    wait_text(page, "#translation", edited)
    shown = page.eval_on_selector_all("#figure .diff", "all => all.map(e => e.textContent)")
    assert "".join(shown) == f"{dog}{edited}".replace(" ", "")
    assert "edit=A+cat+runs" in page.url


def test_the_equation_shows_the_numbers_of_explain(page_server, seen) -> None:
    page = inside(seen, page_server, "equation", layer=2, head=3, cell="1,2")
    fields = {"kind": "cross", "layer": 2, "head": 3, "query": 1, "key": 2}
    found = page_server.post("/explain", q=DOG, source="en", target="de", **fields).json
    shown = page.text_content("#figure svg").replace("−", "-")
    assert f"{found['products'][2]:.2f} / √{found['d_k']}  =  {found['scores'][2]:.2f}" in shown


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_saved_as_svg_and_png(page_server, seen, view) -> None:
    page = show(seen, page_server, view)
    with page.expect_download() as saved:
        page.click(".exports button:has-text('SVG')")
    root = ElementTree.fromstring(saved.value.path().read_bytes())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter())) > 10
    assert "var(" not in saved.value.path().read_text("utf-8")
    with page.expect_download() as saved:
        page.click(".exports button:has-text('PNG')")
    data = saved.value.path().read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width > 400
    assert height > 60
    assert len(data) > 2000
    assert not seen.errors


def test_a_link_reproduces_the_view(page_server, seen) -> None:
    page = inside(seen, page_server)
    page.click("[data-view=heads]")
    page.click(".controls label:has([value=encoder])")
    page.click("[data-head='3.2']")
    address, shown = page.url, page.inner_html("#figure")
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#figure[data-drawn=heads]")
    assert page.inner_html("#figure") == shown


def test_the_tour_leads_through_the_views(page_server, seen) -> None:
    page = inside(seen, page_server)
    page.click("#start-tour")
    visited = []
    for number in range(1, 10):
        wait_text(page, ".tour", f"{number} of 9")
        visited.append(page.get_attribute(".views [aria-selected=true]", "data-view"))
        page.click(".tour .strong")
    assert {"positions", "equation", "heads", "steps", "beam", "ribbon"} <= set(visited)
    assert page.locator(".tour").count() == 0


def test_the_tour_begins_with_the_tokens_of_the_source_and_has_a_sentence(
    page_server, seen
) -> None:
    page = visit(seen, page_server, tab="inside")
    page.click("#start-tour")
    page.wait_for_selector("#figure[data-drawn=positions]")
    tokens = inside_of(page_server, page.input_value("#sentence"))[0]["source"]["tokens"]
    shown = page.text_content("#figure svg")
    assert all(token.strip("▁") in shown for token in tokens)
    assert page.is_checked(".controls [value=embeddings]")


@pytest.mark.parametrize("view", VIEWS)
def test_views_fit_a_phone_in_the_dark(page_server, seen, view) -> None:
    page = show(seen, page_server, view)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 740})
    assert overflow(page) <= 0


def test_errors_inside_are_said(page_server, seen, dog) -> None:
    page = visit(seen, page_server, tab="inside")
    assert "Type a sentence above" in page.inner_text("#figure")
    page.route("**/attention", lambda route: route.fulfill(status=400, json={"error": "too long"}))
    page.fill("#sentence", "x")
    wait_text(page, "#inside-state", "Too long")
    page.unroute_all()
    page.context.set_offline(True)
    page.fill("#sentence", DOG)
    wait_text(page, "#inside-state", "The server cannot be reached; trying again")
    page.context.set_offline(False)
    wait_text(page, "#translation", dog)
    page.route("**/beam", lambda route: route.fulfill(status=429, headers={"Retry-After": "20"}))
    page.click("[data-view=beam]")
    wait_text(page, "#inside-state", "The server is busy; trying again in 20")
    assert page.locator("#figure.stale").count() == 1  # what it shows is not the chosen view


def test_the_network_is_loaded_before_it_is_looked_into(page_server, seen) -> None:
    page = visit(seen, page_server, q=DOG)
    with page.expect_request("**/attention"):  # when the text has not changed for a while
        page.wait_for_selector("#output .word")
    page = visit(seen, page_server)
    with page.expect_request("**/attention"):
        page.hover("#tab-inside")


def test_the_first_look_says_that_the_network_is_loaded(page_server, seen) -> None:
    page = visit(seen, page_server)
    held = []
    page.route("**/attention", lambda route: held.append(route))
    page.goto(f"{page_server.url}/#{urlencode(AT_DOG)}")
    wait_text(page, "#figure", "The first time, the network is loaded")
    assert page.is_hidden(".exports")
    for route in held:
        route.continue_()
    page.wait_for_selector("#figure[data-drawn=ribbon] .link")
    assert page.is_visible(".exports")
    assert page.inner_text("#inside-state") == ""


def test_the_language_is_detected(page_server, seen, dog) -> None:
    german = "Das ist nicht mein Hund."
    page = visit(seen, page_server, tab="inside", q=german)
    page.wait_for_selector("#figure[data-drawn=ribbon]")
    assert page.input_value("#direction") == "de en"
    page.fill("#sentence", DOG)
    wait_text(page, "#translation", dog)
    assert page.input_value("#direction") == "en de"


def test_choosing_a_sentence_keeps_the_text(page_server, seen, dog) -> None:
    text = f"{DOG} {STORY}"
    page = visit(seen, page_server, **{**AT_DOG, "q": text})
    wait_text(page, "#translation", dog)
    page.select_option("#which", "1")
    wait_text(page, "#translation", inside_of(page_server, STORY)[0]["translation"])
    assert page.input_value("#sentence") == STORY
    page.click("#tab-translate")
    assert page.input_value("#text") == text
