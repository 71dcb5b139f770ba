"""Renews the pictures of the page: `python tests/page_pictures.py docs/page`.

Needs playwright, chromium and Pillow. generate.png and parse.png need a language model and a
parser: `--lm` and `--parser`, by default what recipes/shakespeare.sh trained and the bundled one.
With `--every`, every state of the page is pictured instead, in light and dark, on a desktop and on
a phone.
"""

import argparse
import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import browser
import pages
import serving
from PIL import Image

from transduce.model_names import bundled_models, bundled_parser

DESKTOP, PHONE = (1200, 860), (390, 844)
SENTENCE = "Yesterday I saw an old man who was reading a newspaper in the park."
BIOMEDICAL = "Mutations in this gene cause glaucoma in mice that lack the receptor."
LONG = (
    "The old woman who lives in the small house at the end of the street told the children a very "
    "long story because it was raining and they could not play in the garden with their new dog."
)


def translated(page: Any) -> None:
    page.wait_for_selector("#output .word")


def confident(page: Any) -> None:
    translated(page)
    page.check("#confidence")


def drawn(page: Any) -> None:
    page.wait_for_selector("#figure[data-drawn]")
    page.wait_for_function("() => !document.querySelector('.stale')")


def parsed(page: Any) -> None:
    page.wait_for_selector("#parse-figure .leaf")


def written(page: Any) -> None:
    pages.wait_text(page, "#generate-state", "tokens")
    page.eval_on_selector("#written", "box => { box.scrollTop = 0 }")
    page.hover(".token[data-number='60']")


def failed(page: Any) -> None:
    page.wait_for_timeout(1000)


@dataclass(frozen=True)
class Shot:
    """A state of the page, and what is waited for; requests to the path `fail` get `answer`."""

    state: dict[str, str] = field(default_factory=dict)
    act: Callable[[Any], None] = lambda page: None
    fail: str = ""
    answer: Callable[[Any], None] = lambda route: None


TRANSLATE = {"q": SENTENCE, "s": "en", "t": "de"}
INSIDE = {**TRANSLATE, "tab": "inside"}
PARSE = {"q": BIOMEDICAL, "tab": "parse"}
WRITE = {"tab": "generate", "prompt": "ROMEO:", "temperature": "0.8", "length": "400"}
TOUR = {"tour": "3", "kind": "encoder", "layer": "1", "head": "1", "pin": "q2"}
LAYER_OFF = ",".join(f"c1.{head}" for head in range(1, 9))
REFUSED = {"error": "the text is too long for this model"}
FAILURES: dict[str, Callable[[Any], None]] = {
    "busy": lambda route: route.fulfill(status=429, headers={"Retry-After": "20"}, json={}),
    "refused": lambda route: route.fulfill(status=400, json=REFUSED),
    "offline": lambda route: route.abort(),
    "waiting": lambda route: None,
}
SHOTS = {
    "empty": Shot(),
    "translate": Shot(TRANSLATE, confident),
    "checks": Shot({"q": "PLEASE CALL 0171 555 0199 BEFORE 5 PM!", "s": "en"}, translated),
    "long": Shot({"q": f"{LONG}\n\n" * 12, "s": "en"}, translated),
    "right-to-left": Shot({"q": "مرحبا بالعالم"}, translated),
    "inside": Shot({"tab": "inside"}),
    "ribbon": Shot({**INSIDE, "layer": "2"}, drawn),
    "pinned": Shot({**INSIDE, "layer": "2", "pin": "q2"}, drawn),
    "pieces": Shot({**INSIDE, "q": LONG, "unit": "pieces"}, drawn),
    "roles": Shot({**INSIDE, "view": "heads", "kind": "encoder"}, drawn),
    "heads": Shot({**INSIDE, "view": "heads", "layer": "2", "head": "2", "pin": "q2"}, drawn),
    "steps": Shot({**INSIDE, "view": "steps", "step": "1"}, drawn),
    "beam": Shot({**INSIDE, "view": "beam"}, drawn),
    "whatif": Shot({**INSIDE, "view": "whatif", "off": LAYER_OFF}, drawn),
    "equation": Shot({**INSIDE, "view": "equation", **TOUR}, drawn),
    "embeddings": Shot({**INSIDE, "view": "positions", "input": "embeddings"}, drawn),
    "positions": Shot({**INSIDE, "view": "positions", "pin": "k4"}, drawn),
    "parse": Shot(PARSE, parsed),
    "parse-empty": Shot({"tab": "parse"}),
    "generate": Shot(WRITE, written),
    "generate-empty": Shot({"tab": "generate"}),
    **{
        f"{path}-{name}": Shot(state, failed, path, answer)
        for path, state in {
            "translate": TRANSLATE,
            "attention": INSIDE,
            "parse": PARSE,
            "generate": WRITE,
        }.items()
        for name, answer in FAILURES.items()
    },
}
# the pictures of docs/page: the shot, the size of the window, the colours
PICTURES = {
    **{
        name: (name, DESKTOP, "light")
        for name in ("translate", "ribbon", "heads", "steps", "whatif", "equation", "parse")
    },
    "beam": ("beam", DESKTOP, "dark"),
    "phone": ("pinned", PHONE, "light"),
    "generate": ("generate", DESKTOP, "light"),
}


def take(page: Any, url: str, shot: Shot, file: Path, size: tuple[int, int], scheme: str) -> None:
    """One picture, down to the end of the shown tab."""
    tab = shot.state.get("tab", "")

    def settings(route: Any) -> None:  # other pictures show the tabs of a plain `transduce serve`
        found = route.fetch().json()
        shown = {"parsing": tab == "parse", "generation": tab == "generate"}
        route.fulfill(json={**found, **{name: shown[name] and found[name] for name in shown}})

    page.unroute_all()
    page.route("**/frontend/settings", settings)
    if shot.fail:
        page.route(f"**/{shot.fail}", shot.answer)
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.emulate_media(color_scheme=scheme)
    page.goto("about:blank")
    page.goto(f"{url}/#{urlencode(shot.state)}")
    page.wait_for_selector(pages.READY)
    shot.act(page)
    page.wait_for_timeout(400)  # transitions
    end = page.evaluate("document.querySelector('main > :not([hidden]):not(h1)').offsetHeight")
    top = page.evaluate("document.querySelector('main').offsetTop")
    clip = {"x": 0, "y": 0, "width": size[0], "height": top + end + 32}
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
    picture.convert("RGB").quantize(256).save(file, optimize=True)  # a third of the bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lm", type=Path, default=Path("runs/shakespeare/run"))
    parser.add_argument("--parser", type=Path, default=bundled_parser())
    parser.add_argument("--every", action="store_true")
    options = parser.parse_args()
    models = [f"{name}={path}" for name, path in bundled_models().items()]
    tabs = {"generate": options.lm, "parse": options.parser}
    missing = [tab for tab, model in tabs.items() if not (model and model.is_dir())]
    for tab in missing:
        print(f"{tab}.png is not renewed: there is no model {tabs[tab]}")
    models += [str(model) for tab, model in tabs.items() if tab not in missing]
    wanted = PICTURES
    if options.every:
        wanted = {
            f"{name}-{'phone' if size == PHONE else 'desktop'}-{scheme}": (name, size, scheme)
            for name in SHOTS
            for size in (DESKTOP, PHONE)
            for scheme in ("light", "dark")
        }
    options.folder.mkdir(parents=True, exist_ok=True)
    words = [word for model in models for word in ("--model", model)]
    with (
        tempfile.TemporaryDirectory() as folder,
        serving.running(Path(folder), *words) as server,
        browser.opened(server.url) as seen,
    ):
        serving.wait_for(lambda: not server.get("/frontend/settings").json["loading"], 60)
        for file, (name, size, scheme) in wanted.items():
            if SHOTS[name].state.get("tab") not in missing:
                take(
                    seen.page, server.url, SHOTS[name], options.folder / f"{file}.png", size, scheme
                )


if __name__ == "__main__":
    main()
