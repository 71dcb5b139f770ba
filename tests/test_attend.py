"""Attention figures: they show the network's weights, and nothing is cut off."""

import json
import re
from itertools import combinations

import browser
import models
import numpy as np
import pytest
import torch
from click.testing import CliRunner
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection

import transduce
from transduce.attend.reader import Reader
from transduce.attend.view import View, choose, row_of, strongest, view_of
from transduce.cli import main
from transduce.directory import ModelDirectory, write_model
from transduce.errors import InputError, ModelError
from transduce.figures.attention import LEAST, draw, grid, lines, matrix
from transduce.figures.attention_marks import HEADS
from transduce.figures.attention_page import draw_page, page
from transduce.model import build_network
from transduce.translate.translator import Translator

TEXT = "The dog, which is old, sleeps."


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return models.model_directory(tmp_path_factory.mktemp("attend") / "model")


@pytest.fixture(scope="module")
def found(directory):
    return transduce.attention(directory, TEXT, "Der alte Hund schläft.")


def other_network(directory, place, **settings):
    """A model directory with the vocabulary of another and a network of another kind."""
    opened = ModelDirectory.open(directory)
    config = {"vocab_size": opened.config.vocab_size, "d_model": 16, "d_ff": 32, "n_layers": 2}
    network = build_network(transduce.ModelConfig(**config, **settings))
    files = {"tokens.model": (directory / "tokens.model").read_bytes()}
    task = "lm" if settings["kind"] == "lm" else "translation"
    write_model(place, network.eval(), max_length=60, files=files, task=task)
    return place


def random_view(queries, keys, layers=2, heads=3):
    weights = np.random.default_rng().random((layers, heads, queries, keys)).astype(np.float32)
    words = [tuple(f"w{i}" for i in range(n)) for n in (queries, keys)]
    return View("cross", *words, weights / weights.sum(-1, keepdims=True))


def invoke(*words):
    return CliRunner().invoke(main, ["attend", *map(str, words)], catch_exceptions=False)


def test_attention_of_a_directory_a_loaded_model_and_a_translator_are_the_same(directory) -> None:
    target = "Der alte Hund schläft."
    given = [directory, str(directory), transduce.load(directory), Translator.load(directory)]
    first, *others = (transduce.attention(model, TEXT, target) for model in given)
    for other in others:
        assert (other.source, other.target) == (first.source, first.target)
        assert np.array_equal(other.encoder, first.encoder)
        assert np.array_equal(other.cross, first.cross)
    own = transduce.attention(directory, TEXT)
    assert own.target == Translator.load(directory, engine="torch").attention(TEXT).target


def test_a_row_of_cross_attention_is_the_step_that_writes_its_word(found) -> None:
    view = view_of(found, "cross", pieces=True)
    assert view.queries[-1] == "</s>"
    assert len(view.queries) == len(found.target)
    assert np.array_equal(view.weights, found.cross)
    words = view_of(found, "cross")
    assert words.queries == ("Der", "alte", "Hund", "schläft", ".", "</s>")
    assert view_of(found, "decoder").queries == ("<s>", *words.queries[:-1])
    row = [token.startswith("▁") for token in found.target[1:]].index(True, 1)  # of ▁alte…
    end = next(i for i in range(row + 1, 99) if found.target[i + 1].startswith("▁"))
    mean = found.cross[:, :, row:end, -1].mean(2)
    assert words.weights[:, :, 1, -1] == pytest.approx(mean, abs=1e-6)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_weights_of_words_sum_to_one(found, kind) -> None:
    view = view_of(found, kind)
    assert view.weights.sum(-1) == pytest.approx(1.0, abs=1e-5)
    assert view.weights.shape[2:] == (len(view.queries), len(view.keys))


def test_a_word_is_found_with_or_without_punctuation(found) -> None:
    view = view_of(found)
    assert view.queries == ("The", "dog", ",", "which", "is", "old", ",", "sleeps", ".", "</s>")
    assert row_of(view, "dog,") == row_of(view, "Dog") == 1
    assert row_of(view, ",") == 2
    assert row_of(view, "</s>") == 9


def test_the_strongest_links_are_the_largest_weights_between_words() -> None:
    view = random_view(6, 7)
    choice = choose(view, 2, (1, 3))
    links = strongest(view, choice, 5)
    weights = np.sort(view.weights[1, [0, 2]][:, :, :-1].ravel())[::-1]
    assert [link.weight for link in links] == pytest.approx(weights[:5])
    for link in links:
        i, j = int(link.query[1:]), int(link.key[1:])
        assert view.of(2, link.head)[i, j] == pytest.approx(link.weight)


def test_the_opacity_of_a_line_is_its_weight_and_its_colour_the_head() -> None:
    view = random_view(5, 6)
    page = lines(view, choose(view, 1, (1, 3), "w2"))
    drawn = [c for c in page.axes[0].collections if isinstance(c, LineCollection)]
    assert len(drawn) == 2
    for head, collection in zip((1, 3), drawn, strict=True):
        weights = view.of(1, head)[2]
        colors = collection.get_colors()
        assert colors[:, 3] == pytest.approx(weights[weights >= LEAST])
        red = int(HEADS[head - 1][1:3], 16) / 255
        assert colors[:, 0] == pytest.approx(np.full(len(colors), red))


def test_heat_maps_show_the_weights() -> None:
    view = random_view(5, 6)
    images = matrix(view, choose(view, 2, (3, 1))).axes[0].images
    for head, image in zip((3, 1), images, strict=True):
        assert np.array_equal(image.get_array(), view.of(2, head))
    (image,) = matrix(view, choose(view, 2, word="w4"), values=True).axes[0].images
    assert np.array_equal(image.get_array(), view.weights[1, :, 4])
    every = grid(view).axes[0].images
    assert len(every) == 2 * 3
    assert np.array_equal(every[4].get_array(), view.of(2, 2))


@pytest.mark.parametrize("form", ["lines", "from", "matrix", "values", "grid"])
@pytest.mark.parametrize("length", [1, 9, 30])
def test_no_label_is_cut_off_or_lies_on_another(form, length) -> None:
    words = tuple("w" * (1 + 7 * i % 40) for i in range(length))
    weights = np.full((6, 8, length, length), 1 / length, np.float32)
    view = View("encoder", words, words, weights)
    heads = (1, 8) if form == "values" else ()
    choice = choose(view, None, heads, words[0] if form == "from" else None)
    if form in ("lines", "from"):
        figure = lines(view, choice)
    else:
        figure = grid(view) if form == "grid" else matrix(view, choice, values=form == "values")
    figure.set_dpi(200)
    wide, high = figure.get_size_inches() * 200
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= wide
        assert box.y1 <= high
    if length < 30:
        shrunk = [box.shrunk(0.9, 0.6) for box in boxes if box.width and box.height]
        assert not any(a.overlaps(b) and _area(a, b) > 30 for a, b in combinations(shrunk, 2))


def _area(a, b) -> float:
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    return max(wide, 0) * max(min(a.y1, b.y1) - max(a.y0, b.y0), 0)


@pytest.mark.parametrize("form", ["lines", "matrix", "grid"])
@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_every_form_is_written_in_every_format(tmp_path, found, form, suffix) -> None:
    file = tmp_path / f"attention{suffix}"
    view = view_of(found)
    draw(form, view, choose(view, None), file)
    content = file.read_bytes()
    assert content.startswith({".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}[suffix])
    if suffix == ".svg" and form != "grid":
        assert content.count(b">sleeps</text>") >= 2 - (form == "matrix")


def test_words_that_look_like_mathematics_or_have_no_glyph_are_drawn(tmp_path) -> None:
    words = ("$x^2$", "$", "🙂", "<b>", "_")
    view = View("encoder", words, words, np.full((1, 1, 5, 5), 0.2, np.float32))
    for form in ("lines", "matrix", "grid"):
        draw(form, view, choose(view, None), tmp_path / "t.svg")
    draw("lines", view, choose(view, None), tmp_path / "t.svg")
    text = (tmp_path / "t.svg").read_text("utf-8")
    assert text.count(">$x^2$</text>") == 2
    assert text.count(">&lt;b&gt;</text>") == 2


def test_a_picture_too_large_for_a_png_is_one_sentence(tmp_path) -> None:
    words = tuple(f"w{i}" for i in range(1400))
    view = View("encoder", words, words, np.zeros((1, 1, 1400, 1400), np.float32))
    with pytest.raises(InputError, match=r"the picture is too large for t\.png: draw it as \.svg"):
        draw("lines", view, choose(view, None), tmp_path / "t.png")


@pytest.fixture(scope="module")
def html(found, tmp_path_factory):
    view = view_of(found)
    file = tmp_path_factory.mktemp("page") / "attention.html"
    draw_page(found, view, choose(view, 2, (1, 3)), "lines", file)
    return file


def test_the_page_has_the_weights_of_every_kind_and_names_no_other_file(html, found) -> None:
    text = html.read_text("utf-8")
    assert not re.findall(r"(?:src|href|url|import|fetch)\s*[=(]\s*[\"'`]?\w+[:/]", text)
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)
    data = json.loads(re.search(r'application/json">(.+?)</script>', text)[1])
    for kind in ("encoder", "decoder", "cross"):
        for unit in ("words", "pieces"):
            view, shown = view_of(found, kind, unit == "pieces"), data["views"][kind][unit]
            assert (tuple(shown["queries"]), tuple(shown["keys"])) == (view.queries, view.keys)
            assert np.array(shown["weights"]) / 1000 == pytest.approx(view.weights, abs=6e-4)


def test_a_sentence_cannot_break_out_of_the_page(directory) -> None:
    text = "</script><script>alert(1)</script> {{data}} <b> & $"
    found = transduce.attention(directory, text, text)
    view = view_of(found)
    made = page(found, view, choose(view, None), "lines")
    assert made.count("<script") == 2
    assert made.count("</script>") == 2
    assert "<b>" not in made


def visible(seen, selector):
    return seen.page.eval_on_selector_all(
        selector, "all => all.filter(e => e.getClientRects().length).length"
    )


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_works_with_mouse_and_keyboard(html, found, dark) -> None:
    view = view_of(found)
    with browser.opened(html.as_uri(), dark) as seen:
        shown = seen.page
        lines = int((view.weights[1, [0, 2]] >= 0.0095).sum())
        assert visible(seen, "line") == pytest.approx(lines, abs=2)
        shown.hover(".word[data-side=query][data-index='1']")
        assert visible(seen, "line:not([data-query='1'])") == 0
        assert visible(seen, "line[data-query='1']") > 0
        best = max((view.of(2, h)[1, j], j) for h in (1, 3) for j in range(len(view.keys)))
        assert shown.inner_text("#details").startswith(f"dog looks at {view.keys[best[1]]} ")
        shown.hover("h1")
        assert visible(seen, "line") == pytest.approx(lines, abs=2)
        shown.hover(".word[data-side=key][data-index='0']")
        assert shown.inner_text("#details").startswith("The is looked at by ")
        shown.hover("h1")
        shown.keyboard.press("ArrowDown")
        shown.keyboard.press("ArrowDown")
        assert shown.evaluate("document.activeElement.dataset.index") == "1"
        assert visible(seen, "line:not([data-query='1'])") == 0
        shown.keyboard.press("3")
        assert visible(seen, "line[data-head='3']") == 0
        shown.keyboard.press("[")
        assert shown.is_checked("input[name=layer][value='1']")
        shown.keyboard.press("m")
        assert shown.locator("canvas[data-head]").count() == 1
        shown.keyboard.press("0")
        assert shown.locator("canvas[data-head]").count() == view.n_heads
        shown.keyboard.press("g")
        assert shown.locator(".thumb").count() == view.n_layers * view.n_heads
        shown.locator(".thumb").nth(view.n_heads + 1).focus()
        shown.keyboard.press("Enter")
        assert visible(seen, "line[data-head='2']") > 0
        assert visible(seen, "line:not([data-head='2'])") == 0
        shown.focus("input[name=kind]:checked")
        shown.keyboard.press("ArrowRight")
        shown.keyboard.press("ArrowRight")
        assert shown.is_checked("input[name=kind][value=cross]")
        assert "written" in shown.inner_text("#notes")
        shown.check("input[name=unit][value=pieces]")
        assert shown.locator(".word[data-side=query]").count() == len(found.target)
        background = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") is not dark
        assert seen.errors == []
        assert seen.requests == [html.as_uri()]


def test_the_table_and_the_json_have_the_weights_of_the_model(directory, found) -> None:
    words = [TEXT, "--target", "Der alte Hund schläft.", "--model", directory, "--layer", 2]
    printed = json.loads(invoke(*words, "--json", "--head", 2, "--from", "dog").stdout)
    view = view_of(found)
    assert (printed["kind"], printed["layer"], printed["heads"]) == ("encoder", 2, [2])
    assert (printed["queries"], tuple(printed["keys"])) == (["dog"], view.keys)
    assert printed["weights"][0][0] == pytest.approx(view.of(2, 2)[1], abs=1e-5)
    table = invoke(*words, "--kind", "cross").stdout
    assert table.startswith("The strongest links: decoder attention over the source, layer 2 of 2")
    best = strongest(view_of(found, "cross"), choose(view_of(found, "cross"), 2), 1)[0]
    assert table.split("\n")[3].split()[:2] == [best.query, best.key]
    assert "on </s>, by head:  1: " in table


def test_a_figure_is_written_by_the_command(directory, tmp_path) -> None:
    file = tmp_path / "a.svg"
    done = invoke(TEXT, "--model", directory, "--form", "matrix", "--values", "--output", file)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", f"{file}: written\n")
    assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--from", "cat"], "--from cat: not a word of the sentence; known: The, dog, ,, which"),
        (["--from", "dogs"], "--from dogs: not a word of the sentence; did you mean dog?"),
        (["--layer", "3"], "--layer 3: encoder self-attention of this model has layers 1 to 2"),
        (["--head", "5"], "--head 5: encoder self-attention of this model has heads 1 to 4"),
        (["--values"], "--values are the numbers of heat maps: add --form matrix"),
        (["--json", "--output", "x.svg"], "--json prints weights: leave out --output"),
        (["--output", "x.gif"], "x.gif must end in .svg, .png, .pdf or .html"),
    ],
)
def test_a_mistake_gets_a_sentence(directory, words, sentence, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(TEXT, "--model", directory, *words)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_text_a_blank_one_and_one_that_is_too_long_get_a_sentence(directory) -> None:
    model = ["--model", directory]
    assert "there is no sentence: give TEXT" in invoke(*model).stderr
    assert "attention needs a text that is not blank" in invoke(" ", *model).stderr
    assert "the model takes 60: give a shorter one" in invoke("dog " * 90, *model).stderr


@pytest.mark.parametrize("kind", ["recurrent", "convolutional"])
def test_recurrent_and_convolutional_networks_have_cross_attention_only(
    directory, tmp_path, kind
) -> None:
    settings = {"share_embeddings": "none"} if kind == "recurrent" else {}
    place = other_network(directory, tmp_path / kind, kind=kind, **settings)
    found = transduce.attention(place, TEXT, "Der Hund")
    assert found.encoder.shape[0] == found.decoder.shape[0] == 0
    view = view_of(found)
    assert (view.kind, view.n_heads) == ("cross", 1)
    assert view.weights.sum(-1) == pytest.approx(1.0, abs=1e-5)
    sentence = r"^this model has no encoder self-attention: use --kind cross$"
    with pytest.raises(ModelError, match=sentence):
        view_of(found, "encoder")
    file = tmp_path / "a.png"
    assert invoke(TEXT, "--model", place, "--target", "Der Hund", "--output", file).exit_code == 0
    assert file.exists()


def test_a_language_model_has_decoder_self_attention_only(directory, tmp_path) -> None:
    place = other_network(directory, tmp_path / "lm", kind="lm", n_heads=4)
    reader = Reader.load(place)
    view = view_of(reader.attention(TEXT))
    assert (view.kind, view.n_layers, view.n_heads) == ("decoder", 2, 4)
    assert view.queries[:3] == ("<s>", "The", "dog")
    assert view.weights[:, :, 0, 0] == pytest.approx(1.0)
    assert not np.triu(view_of(reader.attention(TEXT), pieces=True).weights, 1).any()
    with pytest.raises(InputError, match="a language model has no target"):
        reader.attention(TEXT, "Hund")
    torch.manual_seed(1)
