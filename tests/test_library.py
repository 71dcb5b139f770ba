"""The library, as it is used in a notebook."""

import doctest
import inspect
import json
import pydoc
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch
from models import model_directory, pairs
from test_install import python

import transduce
from transduce import Translator, load
from transduce.directory import ModelDirectory
from transduce.errors import InputError
from transduce.model import Transformer
from transduce.search import Search
from transduce.tokenizer import MarianTokenizer, Tokenizer, TokenizerLike
from transduce.translate.attention import Attention, join_words, word_starts
from transduce.translate.options import TranslateOptions

TEXTS = [source for source, _ in pairs(6)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    return model_directory(tmp_path_factory.mktemp("library") / "model", eos=5.0)


@pytest.fixture(scope="module")
def translator(directory) -> Translator:
    return Translator.load(directory)


def test_the_examples_of_the_packages_help_are_true() -> None:
    outcome = doctest.testmod(transduce)
    assert outcome.failed == 0
    assert outcome.attempted > 10
    assert max(map(len, transduce.__doc__.splitlines())) <= 76  # help indents it, in 80 columns


def test_tab_completion_offers_the_public_names_alone() -> None:
    public = {name for name in dir(transduce) if not name.startswith("_")}
    assert public == {"ModelConfig", "Search", "Transformer", "Translator", "attention", "load"}
    assert public | {"__version__"} == set(transduce.__all__)


def test_help_describes_every_field_of_the_settings() -> None:
    text = pydoc.render_doc(transduce.ModelConfig, renderer=pydoc.plaintext)
    for name, field in transduce.ModelConfig.model_fields.items():
        assert f"{name} = {field.default!r}: {field.description}" in text


def test_one_text_gives_one_translation(translator) -> None:
    one = translator.translate(TEXTS[0])
    assert isinstance(one, str)
    assert [one] == translator.translate(TEXTS[:1])
    assert translator.translate("") == ""
    assert [r.translation for r in translator.results(TEXTS[0])] == [one]


def test_any_iterable_of_texts_gives_a_list(translator) -> None:
    expected = translator.translate(TEXTS)
    assert translator.translate(iter(TEXTS)) == translator.translate(tuple(TEXTS)) == expected


def test_keywords_are_those_of_the_options(translator) -> None:
    search = Search(beam=2, alpha=1.0, penalty="average", n_best=2)
    options = TranslateOptions(search, batch_size=3, prefix="Der Hund", scores=True)
    texts = TEXTS[:2]
    expected = translator.results(texts, options)
    found = translator.results(
        texts,
        beam=2,
        alpha=1.0,
        penalty="average",
        n_best=2,
        batch_size=3,
        prefix="Der Hund",
        scores=True,
    )
    assert found == expected
    assert all(len(result.alternatives) == 2 for result in found)
    keywords = {"beam": 2, "alpha": 1.0, "penalty": "average", "prefix": "Der Hund"}
    assert translator.translate(texts, **keywords) == [r.translation for r in expected]


def test_every_keyword_has_a_type_that_an_editor_understands() -> None:
    for function in (Translator.translate, Translator.results):
        parameters = inspect.signature(function).parameters.values()
        assert not [p for p in parameters if p.kind == p.VAR_KEYWORD]
        assert all(p.annotation is not p.empty for p in parameters if p.name != "self")


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"beam": 0}, "beam=0 must be at least 1"),
        ({"batch_size": -1}, "batch_size=-1 must be at least 1"),
        ({"alpha": -0.5}, "alpha=-0.5 must be at least 0"),
        ({"alpha": float("nan")}, "alpha=nan must be at least 0"),
        ({"n_best": 5}, "n_best=5 needs a beam at least as wide: give beam=5"),
    ],
)
def test_an_impossible_keyword_gets_a_sentence(translator, keywords, sentence) -> None:
    with pytest.raises(InputError) as caught:
        translator.results(TEXTS, **keywords)
    assert str(caught.value) == sentence


def test_a_text_that_is_not_a_string_gets_a_sentence(translator) -> None:
    column: Iterable[object] = iter(["a dog", float("nan")])
    with pytest.raises(InputError, match=r'^texts\[1\] is nan, not a string: use "" for none$'):
        translator.translate(column)


def test_results_are_rows_of_a_table(translator) -> None:
    results = translator.results([*TEXTS, ""], beam=3, n_best=3)
    rows = [asdict(result) for result in results]
    assert len({tuple(row) for row in rows}) == 1  # the same columns
    assert json.loads(json.dumps(rows))[0]["text"] == TEXTS[0]


def test_pandas_makes_a_table_of_results(translator) -> None:
    results = translator.results(TEXTS)
    pandas = pytest.importorskip("pandas")
    for table in (pandas.DataFrame(results), pandas.DataFrame(map(asdict, results))):
        assert list(table.columns) == list(asdict(results[0]))
        assert list(table["translation"]) == [result.translation for result in results]


@pytest.mark.parametrize("kind", [str, Path])
def test_load_gives_the_model_and_the_tokenizer_of_a_directory(directory, kind) -> None:
    model, tokenizer = load(kind(directory))
    expected = ModelDirectory.open(directory)
    ids = torch.tensor([tokenizer.encode(TEXTS[0])])
    assert torch.equal(model(ids, ids), expected.network()(ids, ids))
    assert not model.training
    assert tokenizer.vocabulary == expected.tokenizer.vocabulary
    assert load(directory).tokenizer.decode(ids[0].tolist()) == TEXTS[0]


def test_encode_adds_nothing_and_says_so() -> None:
    tokenizer = load().tokenizer
    assert not {0, 1, 2} & set(tokenizer.encode("A dog runs. <s> </s>"))
    assert tokenizer.decode(tokenizer.encode("A dog runs.")) == "A dog runs."
    for cls in (Tokenizer, MarianTokenizer, TokenizerLike):
        assert "Nothing is added to them, neither BOS nor EOS." in cls.encode.__doc__


def test_attention_has_the_weights_of_every_head_of_the_network(translator, directory) -> None:
    attention = translator.attention(TEXTS[0])
    model, tokenizer = load(directory)
    ids = tokenizer.encode(TEXTS[0])
    assert attention.source == (*tokenizer.pieces(TEXTS[0]), "</s>")
    (result,) = translator.results([TEXTS[0]])
    assert attention.target == ("<s>", *result.tokens)
    written = [tokenizer.target_vocabulary.index(token) for token in attention.target]
    maps = model.attention_maps(torch.tensor([[*ids, 2]]), torch.tensor([written]))
    for kind in ("encoder", "decoder", "cross"):
        found = getattr(attention, kind)
        assert isinstance(found, np.ndarray)
        assert found.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)
        for layer, wanted in enumerate(getattr(maps, kind)):
            assert found[layer] == pytest.approx(wanted[0].detach().numpy(), abs=1e-5)


def test_attention_to_a_given_target(translator) -> None:
    attention = translator.attention(TEXTS[0], "Der Hund")
    assert "".join(attention.target).replace("▁", " ") == "<s> Der Hund"
    assert attention.cross.shape[2:] == (len(attention.target), len(attention.source))


def test_attention_by_word_sums_keys_and_averages_queries() -> None:
    rng = np.random.default_rng()
    source, target = ("▁a", "▁d", "og", "▁", "<0xC3>", "<0xBC>", "</s>"), ("<s>", "▁e", "in")
    shapes = {"encoder": (7, 7), "decoder": (3, 3), "cross": (3, 7)}
    raw = {kind: rng.random((2, 4, *shape)) for kind, shape in shapes.items()}
    weights = {kind: w / w.sum(-1, keepdims=True) for kind, w in raw.items()}
    merged = Attention(source, target, **weights).by_word()
    assert merged.source == ("a", "dog", "ü", "</s>")
    assert merged.target == ("<s>", "ein")
    for kind in weights:
        assert getattr(merged, kind).sum(-1) == pytest.approx(1.0)
    cross = weights["cross"]
    assert merged.cross[:, :, 0, 1] == pytest.approx(cross[:, :, 0, 1:3].sum(-1))
    assert merged.cross[:, :, 1, 2] == pytest.approx(cross[:, :, 1:, 3:6].sum(-1).mean(-1))


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ("▁“ W here ’ s ▁it ?! </s>", "“ Where’s it ?! </s>"),
        ("▁ “ A ” ▁... ▁ <0xC3> <0xBC> </s>", "“ A ” ... ü </s>"),
        ("▁( a , b ) </s>", "( a,b ) </s>"),
        ("</s>", "</s>"),
    ],
)
def test_punctuation_around_a_word_is_a_word_of_its_own(pieces, words) -> None:
    tokens = tuple(pieces.split(" "))
    starts = word_starts(tokens, special=len(tokens) - 1)
    assert join_words(tokens, starts) == tuple(words.split(" "))


def test_attention_to_nothing_or_to_too_much_gets_a_sentence(translator) -> None:
    with pytest.raises(InputError, match=r"^attention needs a text that is not blank$"):
        translator.attention("  ")
    with pytest.raises(InputError, match=r"tokens and the model takes 60: give a shorter one$"):
        translator.attention(" ".join(TEXTS))


def test_a_repr_says_what_it_is(translator, directory) -> None:
    model, tokenizer = load(directory)
    count = f"{sum(p.numel() for p in model.parameters()):,} parameters"
    assert repr(translator) == (
        f"Translator(ModelDirectory({str(directory)!r}, translation, {count}), "
        "ctranslate2 int8 on cpu)"
    )
    assert re.search(r"en → de, \d+,\d{3},\d{3} parameters", repr(Translator.load()))
    assert repr(model).splitlines()[1].strip() == (
        f"{count}, 2 + 2 layers, d_model=32, d_ff=64, n_heads=4, vocab_size=600"
    )
    assert repr(tokenizer) == "Tokenizer(600 tokens)"
    (result,) = translator.results([TEXTS[0]], scores=True)
    assert repr(result).startswith(f"Translation({TEXTS[0]!r} → {result.translation!r}, score=-")
    assert len(repr(result)) < len(TEXTS[0]) + len(result.translation) + 90
    attention = translator.attention(TEXTS[0])
    assert re.fullmatch(
        r"Attention\('.+</s>' → '<s> .+', 2 \+ 2 layers, 4 heads\)", repr(attention)
    )


# without the hook that checks shapes in tests
MISTAKES = """
import torch
from transduce import ModelConfig, Transformer
model = Transformer(ModelConfig(vocab_size=9, d_model=8, d_ff=8, n_heads=2, n_layers=1))
ids = torch.ones(4, 3, dtype=torch.long)
model(ids, ids)
for call in (
    lambda: model(ids[:2], ids),
    lambda: model(ids[0], ids),
    lambda: model(ids, ids[0]),
    lambda: model.decode(ids[:3], model.encode(ids[:2])),
):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_mismatched_batches_get_a_sentence() -> None:
    done = python(MISTAKES)
    assert done.stdout.splitlines() == [
        "InputError source has 2 sentences and target 4: row i of the target must be the "
        "translation of row i of the source",
        "InputError source has shape [3], but must be [batch, length]: one sentence is "
        "source[None]",
        "InputError target has shape [3], but must be [batch, length]: one sentence is "
        "target[None]",
        "InputError the target has 3 rows and the memory 2 sentences: it must have as many, or a "
        "multiple",
    ], done.stderr


CORE = """
import pydoc, sys
sys.modules["torch"] = sys.modules["matplotlib"] = None
import transduce
assert "Transformer" not in dir(transduce)
assert "translator.attention(" in pydoc.render_doc(transduce)
for use in (
    lambda: transduce.Transformer,
    lambda: transduce.load(),
    lambda: transduce.Translator.load().attention("Good morning."),
):
    try:
        use()
    except ImportError as error:
        print(error)
"""


def test_without_torch_what_needs_it_says_so() -> None:
    done = python(CORE)
    install = "needs torch: pip install 'transduce[train]'"
    assert done.stdout.splitlines() == [
        f"{what} {install}" for what in ("Transformer", "a network", "attention")
    ], done.stderr


def test_attention_and_load_work_without_matplotlib() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; import transduce\n"
        "print(transduce.Translator.load().attention('Good morning.').by_word().source)"
    )
    assert python(code).stdout == "('Good', 'morning', '.', '</s>')\n"


def test_the_transformer_is_the_one_of_the_model() -> None:
    assert transduce.Transformer is Transformer
    assert transduce.Search is Search
