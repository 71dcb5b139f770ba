"""The routes that look inside a model: attention, the beam, equation 1, scores."""

import itertools
import json
import struct

import numpy as np
import pytest
from serving import running

from transduce import Translator
from transduce.search import Search, length_penalty

SENTENCE = "Where is the nearest station?"
GERMAN = "Wo ist der nächste Bahnhof?"
PAIR = {"q": SENTENCE, "source": "en", "target": "de"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("serve"), "--deadline", "60") as server:
        yield server


def attention(server, **fields) -> tuple[dict, dict[str, np.ndarray]]:
    """The header and the weights of a block."""
    answer = server.post("/attention", timeout=60, **PAIR, **fields)
    assert answer.status == 200, answer.body
    (size,) = struct.unpack("<I", answer.body[:4])
    header, data = json.loads(answer.body[4 : 4 + size]), answer.body[4 + size :]
    weights = {}
    for kind, place in header["kinds"].items():
        count = int(np.prod(place["shape"]))
        block = np.frombuffer(data, np.uint8, count, place["offset"])
        weights[kind] = block.reshape(place["shape"]) / 255
    embedding = int(np.prod(header["embedding"]["shape"]))
    assert sum(array.size for array in weights.values()) + embedding == len(data)
    return header, weights


def test_the_block_has_the_weights_of_every_head(server) -> None:
    header, weights = attention(server)
    assert header["translation"] == GERMAN
    expected = Translator.load().attention(SENTENCE, GERMAN)
    assert tuple(header["source"]["tokens"]) == expected.source
    assert tuple(header["target"]["tokens"]) == expected.target
    for kind, array in weights.items():
        assert np.abs(array - getattr(expected, kind)).max() <= 0.5 / 255 + 1e-4
    words = header["target"]["words"]
    assert len(words) == len(expected.by_word().target)


def test_steps_have_the_probability_of_each_token_and_the_runners_up(server) -> None:
    header, _ = attention(server)
    steps = header["steps"]
    assert [step["id"] for step in steps][:-1] == header["target"]["ids"]
    (scores,) = Translator.load(engine="torch").score([SENTENCE], [GERMAN])
    assert [step["log_prob"] for step in steps] == pytest.approx(scores, abs=1e-3)
    for step in steps:
        assert len({step["id"], *(one["id"] for one in step["runners_up"])}) == 6


def test_a_runner_up_can_be_forced(server) -> None:
    first = attention(server)[0]
    wanted = first["steps"][2]["runners_up"][0]["id"]
    prefix = [*first["target"]["ids"][:2], wanted]
    forced = attention(server, prefix=prefix)[0]
    assert forced["target"]["ids"][:3] == prefix
    lattice = server.post("/beam", **PAIR, prefix=prefix).json
    assert all(one["ids"][:3] == prefix for one in lattice["hypotheses"])


def test_a_head_that_is_switched_off_changes_what_comes_after_it_only(server) -> None:
    _, before = attention(server, translation=GERMAN)
    off = [{"kind": "encoder", "layer": 2, "head": 1}]
    _, after = attention(server, translation=GERMAN, heads_off=off)
    assert (before["encoder"][:2] == after["encoder"][:2]).all()
    assert (before["encoder"][2:] != after["encoder"][2:]).any()
    assert (before["cross"] != after["cross"]).any()
    again = attention(server, translation=GERMAN)[1]
    assert all((before[kind] == again[kind]).all() for kind in before)


def test_equal_tokens_have_equal_embeddings_at_every_position(server) -> None:
    body = server.post("/attention", **{**PAIR, "q": "the dog and the dog"}).body
    (length,) = struct.unpack("<I", body[:4])
    header = json.loads(body[4 : 4 + length])
    shape, offset = header["embedding"]["shape"], header["embedding"]["offset"]
    assert shape == [len(header["source"]["tokens"]), header["model"]["d_model"]]
    rows = np.frombuffer(body[4 + length + offset :], np.uint8).reshape(shape)
    tokens = header["source"]["tokens"]
    for i, j in itertools.combinations(range(len(tokens)), 2):
        near = np.abs(rows[i].astype(int) - rows[j]).max() <= 1  # of 127
        assert near == (tokens[i] == tokens[j])


def test_the_lattice_has_every_hypothesis_and_pruned_branches(server) -> None:
    found = server.post("/beam", **PAIR, beam=3).json
    nodes = found["nodes"]
    best = found["hypotheses"][0]
    assert best["translation"] == GERMAN
    on_path = [node for node in nodes if node["state"] == "best"]
    assert [node["token"] for node in on_path][:-1] == best["ids"]
    assert on_path[-1]["total"] == pytest.approx(best["log_prob"], abs=1e-4)
    states = {node["state"] for node in nodes}
    assert {"best", "live", "pruned", "ended"} >= states >= {"best", "pruned"}
    for node in nodes:
        before = nodes[node["parent"]]["total"] if node["parent"] >= 0 else 0.0
        assert node["total"] == pytest.approx(before + node["log_prob"], abs=1e-4)
        penalty = length_penalty(node["length"], Search(alpha=0.6))
        assert node["score"] == pytest.approx(node["total"] / penalty, abs=1e-4)
    for step in {node["length"] for node in nodes}:
        assert sum(n["length"] == step and n["state"] == "live" for n in nodes) <= 3


def test_equation_1_is_worked_out_for_a_cell(server) -> None:
    _, weights = attention(server)
    fields = {"kind": "cross", "layer": 2, "head": 3, "query": 1, "key": 2}
    found = server.post("/explain", **PAIR, **fields).json
    assert found["weights"] == pytest.approx(weights["cross"][1, 2, 1].tolist(), abs=0.01)
    products = np.array(found["products"])
    assert found["scores"] == pytest.approx((products / np.sqrt(found["d_k"])).tolist(), abs=1e-3)
    dot = float(np.dot(found["q"], found["k"]))
    assert dot == pytest.approx(found["products"][2], abs=1e-3)
    softmax = np.exp(found["scores"]) / np.exp(found["scores"]).sum()
    assert found["weights"] == pytest.approx(softmax.tolist(), abs=1e-4)


def test_translations_are_scored(server) -> None:
    pairs = {"source": "en", "target": "de", "translation": [GERMAN, "Hallo!"]}
    good, bad = server.post("/score", q=[SENTENCE, SENTENCE], **pairs).json
    assert good["per_token"] > bad["per_token"]
    assert good["log_prob"] == pytest.approx(sum(good["token_scores"]))
    one = server.post("/score", **PAIR, translation=GERMAN).json
    assert one == good


@pytest.mark.parametrize(
    ("path", "fields", "sentence"),
    [
        ("/attention", {"tokens": ["a"]}, "tokens must be a list of whole numbers"),
        ("/attention", {"tokens": [10**9]}, "the vocabulary has"),
        ("/attention", {"heads_off": [{"kind": "cross", "layer": 99, "head": 1}]}, "no cross head"),
        ("/attention", {"heads_off": "x"}, "heads_off must be a list"),
        ("/attention", {"q": " "}, "needs a text that is not blank"),
        ("/beam", {"beam": 1000}, "beam must be between 1 and 16"),
        ("/explain", {"kind": "x"}, "kind must be encoder, decoder or cross"),
        ("/explain", {"query": 999}, "query 999: there are"),
        ("/score", {}, "missing translation parameter"),
        ("/score", {"translation": ["a", "b"]}, "q has 1 texts and translation 2"),
    ],
)
def test_what_is_wrong_is_told(path, fields, sentence, server) -> None:
    answer = server.post(path, **{**PAIR, **fields})
    assert answer.status == 400
    assert sentence in answer.json["error"]


def test_without_a_language_model_generate_says_so(server) -> None:
    answer = server.post("/generate", prompt="a")
    assert answer.status == 404
    assert "no language model" in answer.json["error"]
    assert server.get("/frontend/settings").json["generation"] is False
