"""What heads do: measures against heads whose behaviour is known, and heads switched off."""

import json
from dataclasses import replace

import models
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from transduce.attend.examples import paper_figure
from transduce.attend.examples import render as render_figure
from transduce.attend.heads import HeadReport, mean_loss, measure_heads
from transduce.attend.measures import FAR, clause_numbers, measure
from transduce.attend.reader import Reader, builtin_texts
from transduce.attend.report import render, to_json
from transduce.cli import main
from transduce.config import ModelConfig
from transduce.errors import InputError, ModelError
from transduce.figures.attention import draw_paper_figure
from transduce.figures.head_roles import heads as draw_tiles
from transduce.model import ConvolutionalNetwork, Transformer
from transduce.model.heads import Head, attention_of, without_heads
from transduce.translate.attention import Attention

SOURCE = (
    "▁The",
    "▁old",
    "▁teacher",
    "▁laughed",
    ",",
    "▁because",
    "▁his",
    "▁dog",
    "▁sang",
    ".",
    "</s>",
)
TARGET = ("<s>", "▁Der", "▁Lehrer", "▁lachte", ".")


def pattern(queries, keys, offset=None, key=None):
    """Weights of one head on one key of each row, or equal ones; the first key where it lacks."""
    weights = np.zeros((queries, keys), np.float32)
    for i in range(queries):
        if key is None and offset is None:
            weights[i] = 1 / keys
        else:
            j = i + offset if key is None else key
            weights[i, j if 0 <= j < keys else 0] = 1
    return weights


def attention(*heads):
    """Encoder heads with given weights, beside plain ones of the decoder."""
    n, m = len(SOURCE), len(TARGET)
    encoder = np.stack(heads)[None]
    causal = np.tril(np.ones((m, m), np.float32))
    decoder = np.repeat((causal / causal.sum(1, keepdims=True))[None, None], len(heads), 1)
    cross = np.repeat(pattern(m, n)[None, None], len(heads), 1)
    return Attention(SOURCE, TARGET, encoder, decoder, cross)


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    place = models.model_directory(tmp_path_factory.mktemp("heads") / "model")
    return replace(Reader.load(place), max_length=200, source_language="en")


def test_the_measures_of_heads_with_known_weights() -> None:
    n = len(SOURCE)
    known = [
        pattern(n, n, offset=-1),
        pattern(n, n, offset=0),
        pattern(n, n, offset=1),
        pattern(n, n, key=n - 1),
        pattern(n, n, key=n - 2),
        pattern(n, n),
    ]
    encoder, decoder, _ = measure([attention(*known)], "en")
    values = {name: value[0] for name, value in encoder.values.items()}
    assert values["previous"][0] == pytest.approx((n - 1) / n)
    assert values["same"][1] == 1
    assert values["next"][2] == pytest.approx((n - 1) / n)
    assert values["special"][3] == 1
    assert values["punctuation"][4] == 1
    assert values["entropy"] == pytest.approx([0, 0, 0, 0, 0, np.log2(n)], abs=1e-5)
    assert values["distance"][1] == 0
    assert values["distance"][3] == pytest.approx(np.mean(np.arange(n)))
    for name, equal in encoder.uniform.items():
        assert values[name][5] == pytest.approx(equal, abs=1e-5)
    for name, equal in decoder.uniform.items():
        assert decoder.values[name][0] == pytest.approx(np.full(6, equal), abs=1e-5)


def test_far_weight_is_on_words_far_away_but_not_on_marks_or_eos() -> None:
    n = len(SOURCE)
    far = pattern(n, n, key=0)
    (encoder, *_) = measure([attention(far, pattern(n, n, key=n - 1), pattern(n, n, key=4))], "en")
    assert encoder.values["far"][0] == pytest.approx([(n - FAR) / n, 0, 0])


def test_anaphora_is_weight_from_a_pronoun_to_content_words_before_it() -> None:
    n = len(SOURCE)
    to_teacher, to_the, to_dog = (pattern(n, n, key=j) for j in (2, 0, 7))
    (encoder, *_) = measure([attention(to_teacher, to_the, to_dog)], "en")
    assert encoder.values["anaphora"][0].tolist() == [1, 0, 0]
    (french, *_) = measure([attention(to_teacher)], "fr")
    assert "anaphora" not in french.values


def test_the_clause_of_a_word_is_divided_by_marks_and_conjunctions() -> None:
    words = ["we", "left", ",", "because", "it", "rained", ".", "</s>"]
    assert clause_numbers(words, ["because"]).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert clause_numbers(["he", "sang", "and", "ran", "</s>"], ["and"]).tolist() == [0, 0, 1, 1, 1]
    assert clause_numbers(["because", "it", "rained", "</s>"], ["because"]).tolist() == [0] * 4
    n = len(SOURCE)
    own = np.zeros((n, n), np.float32)
    own[:5, 0], own[0, 3], own[5:, 7], own[5:8, 8] = 1, 1, 1, 1
    own /= own.sum(1, keepdims=True)
    other = np.zeros((n, n), np.float32)
    other[:5, 8], other[5:, 0] = 1, 1
    (encoder, *_) = measure([attention(own, other)], "en")
    assert encoder.values["clause"][0, 1] == 0
    assert encoder.excess("clause")[0, 0] > 0.2


def test_a_head_without_output_adds_nothing_and_the_model_is_unchanged() -> None:
    model = models.untrained(50, d_model=16, n_heads=4)
    source, target = torch.randint(3, 50, (2, 7)), torch.randint(3, 50, (2, 5))
    before = model(source, target)
    head = Head("encoder", 2, 3)
    changed = without_heads(model, [head])
    attention, silenced = (attention_of(m, head) for m in (model, changed))
    x = torch.randn(1, 6, 16)
    q, kv = attention.project(x)
    own = attention.weights(q, kv)[0, 2] @ kv.values[0, 2]
    added = own @ attention.output.weight[:, 8:12].T
    assert torch.allclose(attention.attend(q, kv) - silenced.attend(q, kv), added[None], atol=1e-5)
    assert torch.equal(model(source, target), before)
    assert not torch.allclose(changed(source, target), before, atol=1e-4)
    shared = {p.data_ptr() for p in model.parameters()}
    own_tensors = [p for p in changed.parameters() if p.data_ptr() not in shared]
    assert [p.shape for p in own_tensors] == [silenced.output.weight.shape]


def test_with_all_heads_of_cross_attention_off_the_source_does_not_matter() -> None:
    model = models.untrained(50, d_model=16, n_heads=4)
    every = [Head("cross", layer, head) for layer in (1, 2) for head in (1, 2, 3, 4)]
    changed = without_heads(model, every)
    target = torch.randint(3, 50, (2, 5))
    outputs = [changed(torch.randint(3, 50, (2, 7)), target) for _ in range(2)]
    assert torch.allclose(*outputs, atol=1e-5)


def test_heads_that_do_not_exist_get_a_sentence() -> None:
    model = models.untrained(50, d_model=16, n_heads=4)
    for head in (Head("encoder", 3, 1), Head("cross", 1, 5), Head("decoder", 0, 1)):
        with pytest.raises(InputError, match=r"^this model has no \w+ head \d in layer \d$"):
            without_heads(model, [head])
    config = ModelConfig(vocab_size=50, d_model=16, n_layers=1, kind="convolutional")
    with pytest.raises(ModelError, match="this model's kind is convolutional"):
        without_heads(ConvolutionalNetwork(config), [Head("cross", 1, 1)])


@pytest.fixture(scope="module")
def report(reader) -> HeadReport:
    return measure_heads(reader, builtin_texts(12))


def test_every_head_of_the_model_is_measured(reader, report) -> None:
    assert isinstance(reader.network, Transformer)
    expected = [
        (kind, layer, head)
        for kind in ("encoder", "decoder", "cross")
        for layer in (1, 2)
        for head in (1, 2, 3, 4)
    ]
    assert [(h.kind, h.layer, h.head) for h in report.heads] == expected
    pairs = reader.encode_batch(builtin_texts(12))
    head = report.heads[5]
    changed = without_heads(reader.network, [Head(head.kind, head.layer, head.head)])
    difference = mean_loss(changed, pairs) - mean_loss(reader.network, pairs)
    assert head.loss == pytest.approx(difference, abs=1e-5)


def test_a_batch_gives_each_sentence_its_own_weights(reader) -> None:
    pairs = reader.encode_batch(builtin_texts(5))
    texts = builtin_texts(5)
    for text, found, (_, target) in zip(texts, reader.attentions(pairs), pairs, strict=True):
        alone = reader.attention(text, reader.tokenizer.decode(target))
        if alone.target == found.target:
            assert alone.source == found.source
            assert alone.encoder == pytest.approx(found.encoder, abs=1e-5)
            assert alone.cross == pytest.approx(found.cross, abs=1e-5)


def test_examples_are_the_heads_with_the_largest_shares(report) -> None:
    for name, quantity in (("long_distance", "far"), ("structure", "clause")):
        found = report.examples(name)
        assert all(e.share > e.equal for e in found)
        assert [e.share for e in found] == sorted((e.share for e in found), reverse=True)
        assert all(e.share == getattr(e.head, quantity) for e in found)
        assert {e.head.layer for e in report.ranked(name, layer=2)} == {2}


def test_the_table_the_json_and_the_picture_have_every_head(report) -> None:
    text = render(report)
    rows = [line.split() for line in text.split("\n") if line.split()[:1] in (["1"], ["2"])]
    assert [row[1] for row in rows] == list("1234") * 6
    assert [row[2] for row in rows] == [head.role for head in report.heads]
    data = json.loads(to_json(report))
    assert data["sentences"] == 12
    assert [head["entropy"] for head in data["heads"]] == [h.entropy for h in report.heads]
    assert set(data["examples"]) == {"long_distance", "anaphora", "structure"}
    words = [text.get_text() for text in draw_tiles(report).axes[0].texts]
    assert sum(word.endswith(" bits") for word in words) == len(report.heads)


def test_the_command_measures_heads_on_a_file(tmp_path) -> None:
    place = models.model_directory(tmp_path / "model")
    (tmp_path / "some.txt").write_text("A dog runs.\n\nHe sleeps.\n", "utf-8")
    file = tmp_path / "heads.png"
    words = ["attend", "--heads", "--input", str(tmp_path / "some.txt"), "--model", str(place)]
    done = CliRunner().invoke(main, [*words, "--json", "--output", str(file)])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["sentences"] == 2
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--heads", "A dog."], "--heads measures all heads on many sentences: leave out TEXT"),
        (["--heads", "--output", "x.html"], "--heads draws one picture: name an --output in .svg"),
        (["--input", "x.txt"], "--input is for --heads: give TEXT, or add --heads"),
        (["--heads", "--input", "none.txt"], "none.txt"),
        (["--heads", "--input", "blank.txt"], "there are no sentences to measure heads on"),
    ],
)
def test_a_mistake_gets_a_sentence(words, sentence, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blank.txt").write_text("\n \n", "utf-8")
    done = CliRunner().invoke(main, ["attend", *words])
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module", params=[3, 4, 5])
def figure(request, reader, report):
    return paper_figure(request.param, reader, report)


def test_the_figures_have_the_papers_sentences_layer_and_forms(figure) -> None:
    layers = {choice.layer for _, choice in figure.panels}
    assert layers == {1}  # the last but one of two
    words = figure.view.queries
    rows = [None if c.row is None else words[c.row] for _, c in figure.panels]
    heads = [len(choice.heads) for _, choice in figure.panels]
    expected = {
        3: (["making"], [4]),
        4: ([None, "its"], [1, 2]),
        5: ([None, None], [1, 1]),
    }
    assert (rows, heads) == expected[figure.number]
    assert ("2009" in words) is (figure.number == 3)


def test_the_heads_of_a_figure_are_those_with_the_largest_measure(figure, report) -> None:
    quantity = {4: "anaphora", 5: "structure"}.get(figure.number)
    if quantity:
        drawn = {head for _, choice in figure.panels for head in choice.heads}
        assert drawn == {e.head.head for e in report.ranked(quantity, 1)[:2]}


def test_the_numbers_beside_the_papers_claim_are_those_of_the_weights(figure) -> None:
    printed = render_figure(figure)
    assert " ".join(printed.split()).count(" ".join(figure.claim.split())) == 1
    view = figure.view
    targets = {3: ("more", "difficult"), 4: ("Law", "application")}.get(figure.number, ())
    if targets:
        choice = figure.panels[-1][1]
        on = [j for j, key in enumerate(view.keys) if key in targets]
        share = np.mean([view.of(1, h)[choice.row, on].sum() for h in choice.heads])
        assert f"{100 * share:.0f} %" in figure.found
        assert f"({100 * len(on) / len(view.keys):.0f} % if all weights were equal)" in figure.found


def test_a_figure_is_drawn_with_the_claim(figure, tmp_path) -> None:
    draw_paper_figure(figure, tmp_path / "f.svg")
    text = (tmp_path / "f.svg").read_text("utf-8")
    assert f"Figure {figure.number}: " in text
    assert "The paper: " in text
    assert text.count(">making</text>" if figure.number == 3 else ">opinion</text>") == 2 * len(
        figure.panels
    )


def test_figures_need_a_model_that_reads_english_and_has_an_encoder(reader, report) -> None:
    german = replace(reader, source_language="de")
    with pytest.raises(
        InputError, match="Figure 4 is of an English sentence, and this model reads"
    ):
        paper_figure(4, german, report)
    config = ModelConfig(vocab_size=600, d_model=16, n_layers=1, kind="convolutional")
    convolutional = replace(reader, network=ConvolutionalNetwork(config).eval())
    with pytest.raises(ModelError, match="Figure 3 shows encoder self-attention, which this model"):
        paper_figure(3, convolutional, report)
    only_cross = measure_heads(convolutional, ["A dog runs.", "He sleeps."])
    assert {(head.kind, head.loss) for head in only_cross.heads} == {("cross", None)}
    assert "Encoder heads" not in render(only_cross)


def test_figure_and_what_it_does_not_take_get_a_sentence() -> None:
    for words, other in ((["A dog."], "TEXT"), (["--heads"], "--heads"), (["--json"], "--json")):
        done = CliRunner().invoke(main, ["attend", "--figure", "4", *words])
        assert done.exit_code == 2
        assert f"--figure 4 is the paper's: leave out {other}" in done.stderr


def test_the_papers_figures_are_also_commands_of_paper() -> None:
    for number in (3, 4, 5):
        done = CliRunner().invoke(main, ["paper", f"figure{number}", "--help"])
        assert "--model" in done.stdout
