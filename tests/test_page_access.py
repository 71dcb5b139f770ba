"""The page of `transduce serve` has no serious fault of accessibility, by axe-core."""

import pytest
from pages import DOG, serious_findings, visit, wait_text

STATES = [
    {},
    {"q": DOG},
    {"tab": "inside"},
    *(
        {"tab": "inside", "q": DOG, "layer": "2", "head": "3", "view": view}
        for view in ("ribbon", "heads", "steps", "beam", "equation", "positions")
    ),
    {"tab": "inside", "q": DOG, "view": "whatif", "off": "c1.1,c1.2", "tour": "2"},
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_state_has_a_serious_finding(axe, page_server, seen, scheme) -> None:
    for state in STATES:
        page = visit(seen, page_server, **state)
        page.emulate_media(color_scheme=scheme)
        if "view" in state:
            page.wait_for_selector(f"#figure[data-drawn={state['view']}]")
        elif "q" in state:
            page.wait_for_selector("#output .word")
        page.wait_for_function("() => !document.querySelector('.stale')")
        page.wait_for_timeout(250)  # transitions
        assert not serious_findings(page, axe), state


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_failure_has_a_serious_finding(axe, page_server, seen, scheme) -> None:
    page = visit(seen, page_server, q="HELLO THERE", s="en")
    page.emulate_media(color_scheme=scheme)
    page.wait_for_selector("#guards li")
    assert not serious_findings(page, axe)
    refusal = {"status": 400, "json": {"error": "too long"}}
    for path in ("translate", "attention", "parse"):
        page.route(f"**/{path}", lambda route: route.fulfill(**refusal))
    settings = {**page_server.get("/frontend/settings").json, "parsing": True}
    page.route("**/frontend/settings", lambda route: route.fulfill(json=settings))
    page.reload()
    for tab, state in (
        ("translate", "#state"),
        ("inside", "#inside-state"),
        ("parse", "#parse-state"),
    ):
        page.click(f"#tab-{tab}")
        wait_text(page, state, "Too long")
        page.wait_for_timeout(250)  # transitions
        assert not serious_findings(page, axe), tab


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_tree_has_no_serious_finding(axe, page_server, seen, scheme) -> None:
    page = visit(seen, page_server)
    page.emulate_media(color_scheme=scheme)
    settings = {**page_server.get("/frontend/settings").json, "parsing": True}
    page.route("**/frontend/settings", lambda route: route.fulfill(json=settings))
    tree = {"tree": "(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))", "score": -1.0}
    page.route("**/parse", lambda route: route.fulfill(json=tree))
    page.reload()
    page.click("#tab-parse")
    assert not serious_findings(page, axe)
    page.click("#parse-figure button")
    page.wait_for_selector("#parse-figure .leaf")
    page.click("summary")
    page.wait_for_timeout(250)  # transitions
    assert not serious_findings(page, axe)
