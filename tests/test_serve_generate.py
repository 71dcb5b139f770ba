"""POST /generate: texts of a language model over HTTP."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import models
import pytest
from serving import JSON, running, wait_for

from transduce.generate import TextGenerator
from transduce.search import Sampling
from transduce.serve.keys import add_key
from transduce.serve.work import generator_work

ASKED = {"prompt": "a an", "tokens": 30, "temperature": 0.9, "top_k": 20, "top_p": 0.95}
SAMPLING = Sampling(0.9, 20, 0.95)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return models.language_model(tmp_path_factory.mktemp("lm"))


@pytest.fixture(scope="module")
def generator(model):
    return TextGenerator.load(model, engine="torch")


@pytest.fixture(scope="module")
def server(tmp_path_factory, model):
    words = ["--model", str(model), "--set", "serve.tokens_limit=100000", "--deadline", "20"]
    with running(tmp_path_factory.mktemp("serve"), *words) as server:
        yield server


def stream(server, **fields) -> list[dict]:
    answer = server.post("/generate", stream=True, **{**ASKED, **fields})
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.body.decode().split("\n") if line]


def test_texts_are_those_of_generate(server, generator) -> None:
    answer = server.post("/generate", **ASKED, seed=5, n=3)
    wanted = [generator.generate("a an", 30, SAMPLING, seed) for seed in (5, 6, 7)]
    assert [one["text"] for one in answer.json["results"]] == wanted
    assert [one["seed"] for one in answer.json["results"]] == [5, 6, 7]
    assert {one["end"] for one in answer.json["results"]} == {"length"}


def test_a_form_is_answered_as_json_is(server) -> None:
    assert server.form("/generate", **ASKED).json == server.post("/generate", **ASKED).json


def test_a_text_does_not_depend_on_others_at_the_same_time(server) -> None:
    alone = [server.post("/generate", **ASKED, seed=seed).json for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda seed: server.post("/generate", **ASKED, seed=seed), range(4))
        assert [answer.json for answer in together] == alone


def test_a_stream_has_every_token_with_its_probability_and_runners_up(server, generator) -> None:
    lines = stream(server, seed=5, n=2)
    for sample in (0, 1):
        *tokens, last = [line for line in lines if line["sample"] == sample]
        steps = list(generator.steps("a an", 30, SAMPLING, 5 + sample))
        assert [one["id"] for one in tokens] == [step.chosen.id for step in steps]
        for one, step in zip(tokens, steps, strict=True):
            assert one["probability"] == pytest.approx(step.chosen.probability)
            assert [other["id"] for other in one["runners_up"]] == [
                other.id for other in step.runners_up
            ]
            assert len(one["runners_up"]) == 5
        assert last["text"] == generator.generate("a an", 30, SAMPLING, 5 + sample)
        assert last["end"] == "length"
    whole = server.post("/generate", **ASKED, seed=5, scores=True).json["results"][0]
    keys = ("sample", "seed")
    assert whole["tokens"] == [
        {name: value for name, value in line.items() if name not in keys}
        for line in lines
        if line["sample"] == 0 and "end" not in line
    ]


def test_a_stream_is_sent_while_it_is_written(server) -> None:
    with server.connect() as connection:
        connection.sendall(request(tokens=100_000))
        early = connection.recv(65536)
        assert b"200 OK" in early
        while early.count(b"runners_up") < 3:
            early += connection.recv(65536)
        assert b'"end"' not in early


def test_the_model_stops_when_the_client_goes_away(server) -> None:
    for streamed in (True, False):
        with server.connect() as connection:
            connection.sendall(request(tokens=100_000, stream=streamed))
            time.sleep(0.5)
        (engine,) = server.engines()
        time.sleep(0.3)
        before = cpu_seconds(engine)
        time.sleep(0.7)
        assert cpu_seconds(engine) - before < 0.1


def test_a_runner_up_can_be_forced(server) -> None:
    free = stream(server, seed=2)
    wanted = free[3]["runners_up"][1]
    prefix = [*(one["id"] for one in free[:3]), wanted["id"]]
    forced = stream(server, seed=2, prefix=prefix)
    assert [one["id"] for one in forced[:4]] == prefix
    assert [one["forced"] for one in forced[:5]] == [True] * 4 + [False]
    assert forced[3]["probability"] == pytest.approx(wanted["probability"])
    assert stream(server, seed=2, prefix=[one["id"] for one in free[:9]])[9:] == free[9:]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"tokens": 0}, "tokens must be between 1 and 100000"),
        ({"n": 11}, "n must be between 1 and 10"),
        ({"temperature": -1}, "temperature must be between 0 and 100"),
        ({"top_k": 0}, "top_k must be between 1 and"),
        ({"top_p": 0}, "top_p must be between 1e-09 and 1"),
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"prompt": 7}, "prompt must be a string"),
        ({"prompt": "a" * 50_001}, "exceeds text limit"),
        ({"prefix": [10**6]}, "token 1000000: the vocabulary has"),
        ({"prefix": [5, 6, 7], "tokens": 2}, "prefix has 3 ids but tokens is 2"),
    ],
)
@pytest.mark.parametrize("streamed", [True, False])
def test_what_is_wrong_is_told(fields, sentence, streamed, server) -> None:
    answer = server.post("/generate", **{**ASKED, **fields}, stream=streamed)
    assert answer.status == 400
    assert sentence in answer.json["error"]


def test_the_settings_tell_the_limits(server) -> None:
    found = server.get("/frontend/settings").json
    assert found["generation"] is True
    assert (found["tokensLimit"], found["samplesLimit"]) == (100_000, 10)
    assert server.get("/languages").json == []


def test_a_line_ends_with_eos_which_can_be_forced(tmp_path) -> None:
    lines = TextGenerator.load(models.language_model(tmp_path, "lm-lines"), engine="torch")
    eos = lines.config.eos_id
    asked = {"prompt": "a", "tokens": 9, "sampling": {}, "seed": 1, "n": 2}
    frames = [one.fields for one in generator_work(lines)["generate"](**asked, prefix=[5, eos])]
    assert [one.get("id") for one in frames] == [5, eos, None, 5, eos, None]
    assert [one["more"] for one in frames] == [True] * 5 + [False]
    assert frames[1]["text"] == ""
    assert frames[2]["end"] == "eos"
    assert frames[2]["text"] == "a" + lines.tokenizer.decode([5])


def test_deadline_key_and_rate_limit_hold_beside_a_translator(tmp_path, model) -> None:
    translator = models.model_directory(tmp_path / "translator")
    keys = tmp_path / "keys"
    secret = add_key(keys, "anna", "")[1]
    words = ["--model", str(model), "--model", f"en-de={translator}", "--deadline", "2"]
    words += ["--set", "serve.tokens_limit=1000000", "--rate-limit", "6/hour"]
    with running(tmp_path, *words, "--require-key", "--keys-file", str(keys)) as server:
        wait_for(lambda: server.get("/frontend/settings").json["generation"])
        wait_for(lambda: server.get("/languages").json)
        assert server.post("/generate").status == 400
        late = server.post("/generate", tokens=900_000, api_key=secret)
        assert late.status == 503
        assert "not ready in time" in late.json["error"]
        assert stream(server, tokens=900_000, api_key=secret)[-1] == {"end": "deadline"}
        assert server.translate("A dog.", api_key=secret).status == 200
        statuses = [server.post("/generate", tokens=1, api_key=secret).status for _ in range(4)]
        assert statuses == [200] * 3 + [429]


def request(**fields) -> bytes:
    """A request for a stream, as bytes."""
    body = json.dumps({"stream": True, **fields}).encode()
    head = f"POST /generate HTTP/1.1\r\nHost: a\r\nContent-Type: {JSON['Content-Type']}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def cpu_seconds(process: int) -> float:
    words = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / 100


def test_without_a_parsing_model_parse_says_so(server) -> None:
    answer = server.post("/parse", q="The dog runs.")
    assert answer.status == 404
    assert "no parsing model" in answer.json["error"]
