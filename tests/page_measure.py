"""Measures the page in Chromium: `python tests/page_measure.py` (needs playwright and chromium)."""

import statistics
import tempfile
from pathlib import Path

import browser
import pages

SENTENCES = [
    f"{who} {what}."
    for who in ("A dog", "A man", "The girl", "Two boys", "My friend")
    for what in ("runs on the beach", "is reading a book")
]
LONG = (
    "The old woman who lives in the small house at the end of the street told the children a very "
    "long story because it was raining and they could not play in the garden with their new dog."
)
KEY_TO_TRANSLATION = """text => new Promise(done => {
    const area = document.querySelector('#text'), output = document.querySelector('#output');
    const start = performance.now();
    new MutationObserver((_, observer) => {
        if (!output.textContent) return;
        observer.disconnect();
        requestAnimationFrame(() => done(performance.now() - start));
    }).observe(output, {childList: true});
    area.value = text;
    area.dispatchEvent(new Event('input'));
})"""
OPENING = """async () => {
    const all = performance.getEntriesByType('resource').filter(e => /attention$/.test(e.name));
    const arrived = Math.max(...all.map(e => e.responseEnd));
    return window.drawnAt - arrived;
}"""
WATCH = """new MutationObserver(() => {
    const figure = document.querySelector('#figure');
    if (figure?.dataset.drawn && !window.drawnAt)
        requestAnimationFrame(() => { window.drawnAt = performance.now(); });
}).observe(document, {subtree: true, childList: true, attributes: true});"""
FRAMES = """async hover => {
    const words = hover ? [...document.querySelectorAll('#figure .word')] : [new EventTarget()];
    const times = [];
    let last = performance.now();
    for (let i = 0; i < 180; i++) {
        words[i % words.length].dispatchEvent(new PointerEvent('pointerenter'));
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - last);
        last = performance.now();
    }
    return times.sort((a, b) => a - b);
}"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        pages.served(Path(folder)) as server,
        browser.opened(server.url) as seen,
    ):
        page = pages.visit(seen, server, s="en", t="de")
        times = [page.evaluate(KEY_TO_TRANSLATION, text) for text in SENTENCES]
        print(f"last key to translation: median {statistics.median(times):.0f} ms of {len(times)}")
        page.add_init_script(WATCH)
        page = pages.visit(seen, server, tab="inside", q=LONG, s="en", t="de", unit="pieces")
        page.wait_for_selector("#figure[data-drawn]")
        page.wait_for_timeout(300)
        words = page.locator("#figure .word").count()
        print(f"{words} tokens: drawn {page.evaluate(OPENING):.0f} ms after the data arrived")
        idle, hovering = (statistics.median(page.evaluate(FRAMES, on)) for on in (False, True))
        print(f"median frame: {hovering:.1f} ms while hovering, {idle:.1f} ms idle")


if __name__ == "__main__":
    main()
