"""The page of `transduce serve` has no serious fault of accessibility, by axe-core."""

import pytest
from pages import DOG, serious_findings, visit

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
