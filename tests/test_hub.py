"""`hf:ORG/NAME` against a local server with the interface of the Hugging Face hub."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from marian_files import PAIRS, SOURCE, SPM, TARGET
from safetensors.torch import save

import transduce
from transduce import Translator
from transduce.cli import main
from transduce.config import ModelConfig
from transduce.directory import ModelDirectory
from transduce.errors import ModelError
from transduce.exchange import hub
from transduce.exchange.huggingface import write_huggingface
from transduce.exchange.marian import to_marian
from transduce.model import Transformer
from transduce.model_names import model_path
from transduce.tokenizer import MarianTokenizer

pytest.importorskip("huggingface_hub")

COMMIT = "c0ffee" * 6 + "cafe"
NAME = "hf:Helsinki-NLP/opus-mt-en-de"
TEXT = PAIRS[0].source


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, bytes]:
    """A repository like those of OPUS-MT, with files that must not be fetched."""
    tokens = ["</s>", "<unk>", *sorted({*SOURCE, *TARGET}), "<pad>"]
    vocabulary = json.dumps({token: i for i, token in enumerate(tokens)}).encode()
    pad = len(tokens) - 1
    config = ModelConfig(vocab_size=pad + 1, d_model=32, d_ff=48, n_heads=4, n_layers=1)
    config = config.replace(
        positions="sinusoidal-concatenated", pad_id=pad, bos_id=pad, eos_id=0, output_bias=True
    )
    torch.manual_seed(0)
    model = Transformer(config).eval()
    out = tmp_path_factory.mktemp("hub") / "out"
    tokenizer = MarianTokenizer({**SPM, "vocab.json": vocabulary})
    write_huggingface(
        model, out, tokenizer, languages={"source_language": "en", "target_language": "de"}
    )
    (out / "model.safetensors").unlink()
    torch.save(to_marian(model), out / "pytorch_model.bin")
    found = {file.name: file.read_bytes() for file in out.iterdir()}
    unneeded = {"README.md": b"# card", "tf_model.h5": b"x" * 9999, "rust_model.ot": b"x"}
    return {**found, **unneeded, "model.onnx": b"x", "metadata.json": b"{}"}


@dataclass
class Server:
    """What the server has, and what it was asked for."""

    files: dict[str, bytes]
    url: str = ""
    status: int = 200  # of the repository's description
    error: str = ""  # the hub's X-Error-Code
    drop: str = ""  # the connection breaks in the middle of this file
    requests: list[str] = field(default_factory=list)

    def fetched(self) -> set[str]:
        found = (re.fullmatch(r"GET .*/resolve/\w+/(\S+)( bytes=\S*)?", r) for r in self.requests)
        return {match[1] for match in found if match}


@pytest.fixture
def server(files, tmp_path, monkeypatch) -> Iterator[Server]:
    state = Server(dict(files))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, body: bool) -> None:
            part = self.headers.get("Range", "")
            state.requests.append(f"{self.command} {self.path} {part}".strip())
            repository = NAME.removeprefix("hf:")
            if self.path.startswith(f"/api/models/{repository}"):
                names = [{"rfilename": name} for name in state.files]
                about = {"id": repository, "sha": COMMIT, "siblings": names}
                about["cardData"] = {"license": "apache-2.0"}
                content = json.dumps(about).encode()
                return self.send(state.status, content, body, {"X-Error-Code": state.error})
            found = re.fullmatch(rf"/{repository}/resolve/{COMMIT}/(\S+)", self.path)
            if found is None or found[1] not in state.files:
                return self.send(404, b"", body, {"X-Error-Code": "EntryNotFound"})
            content = state.files[found[1]]
            start = int(part.removeprefix("bytes=").rstrip("-") or 0)
            headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
            if start:
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            half = max(len(content) // 2 - start, 0)
            cut = half if body and found[1] == state.drop else None
            return self.send(206 if start else 200, content[start:], body, headers, cut)

        def send(self, status, content, body, headers, cut=None) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if value:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if body:
                self.wfile.write(content if cut is None else content[:cut])
            if cut is not None:
                self.close_connection = True

    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        state.url = f"http://127.0.0.1:{listening.server_port}"
        monkeypatch.setenv("HF_ENDPOINT", state.url)
        yield state
        listening.shutdown()
        thread.join()


def run(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


def test_a_checkpoint_is_fetched_once_and_then_used_offline(server, tmp_path, monkeypatch) -> None:
    first = run("translate", TEXT, "--model", NAME)
    assert first.exit_code == 0, first.stderr
    assert f"fetching {NAME} (once)" in first.stderr
    needed = {"config.json", *SPM, "vocab.json", "pytorch_model.bin"}
    assert server.fetched() == needed | {"tokenizer_config.json", "generation_config.json"}
    path = tmp_path / "cache" / "transduce" / "hub" / "Helsinki-NLP" / "opus-mt-en-de@main"
    assert model_path(NAME) == path
    assert not list(path.parent.glob("*.download"))
    asked = list(server.requests)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    again = run("translate", TEXT, "--model", NAME)
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    assert "fetching" not in again.stderr
    assert server.requests == asked


def test_every_verb_takes_a_name_of_the_hub(server, tmp_path) -> None:
    for name, text in (("source", TEXT), ("target", PAIRS[0].target)):
        (tmp_path / name).write_text(text + "\n", "utf-8")
    pair = tmp_path / "source", tmp_path / "target"
    for words in (
        ["score", *pair, "--model", NAME],
        ["evaluate", *pair, "--model", NAME, "--against", NAME],
        ["explain", TEXT, "--model", NAME],
        ["export", "--to", "huggingface", tmp_path / "out", "--model", NAME],
    ):
        done = run(*words)
        assert done.exit_code == 0, done.stderr
    assert Translator.load(NAME).translate([TEXT]) == Translator.load(NAME).translate([TEXT])


def test_training_continues_from_a_model_of_the_hub_and_the_result_translates(
    server, tmp_path
) -> None:
    text = "".join(f"{pair.source}\t{pair.target}\n" for pair in PAIRS)
    (tmp_path / "own.tsv").write_text(text, "utf-8")
    steps = ["train.steps=2", "train.checkpoint_steps=2", "train.validate_steps=2"]
    settings = [word for step in steps for word in ("--set", step)]
    start = ["train", tmp_path / "RUN", "--from", NAME, "--train", tmp_path / "own.tsv"]
    done = run(*start, *settings)
    assert done.exit_code == 0, done.stderr
    adapted = ModelDirectory.open(tmp_path / "RUN" / "model")
    assert (
        adapted.tokenizer.vocabulary == ModelDirectory.open(model_path(NAME)).tokenizer.vocabulary
    )
    assert run("translate", TEXT, "--model", adapted.path).exit_code == 0


def test_info_says_what_it_is(server) -> None:
    done = run("info", NAME)
    assert done.exit_code == 0, done.stderr
    words = " ".join(done.stdout.split())
    assert "opus-mt-en-de@main: translation en → de, " in words
    assert f"imported from {NAME}, commit {COMMIT}, licence: apache-2.0" in words
    directory = ModelDirectory.open(model_path(NAME))
    assert COMMIT in (directory.path / "card.md").read_text("utf-8")


def test_a_revision_is_kept_apart_and_safetensors_are_preferred(server) -> None:
    pickled = io.BytesIO(server.files["pytorch_model.bin"])
    server.files["model.safetensors"] = save(torch.load(pickled, weights_only=True))
    server.files["pytorch_model.bin"] = b"damaged"
    done = run("info", f"{NAME}@refs/pr/7")
    assert done.exit_code == 0, done.stderr
    assert "opus-mt-en-de@refs--pr--7" in done.stdout
    assert any("/revision/refs%2Fpr%2F7" in request for request in server.requests)
    assert "pytorch_model.bin" not in server.fetched()


@pytest.mark.parametrize(
    ("status", "code", "revision", "sentence"),
    [
        (401, "RepoNotFound", "", f"the hub has no {NAME}, or it is private: check the name"),
        (404, "RepoNotFound", "", f"the hub has no {NAME}, or it is private: check the name"),
        (403, "GatedRepo", "", f"{NAME} is gated: accept its conditions on the hub, then log in"),
        (404, "RevisionNotFound", "@v9", f"{NAME} has no revision v9"),
        (503, "", "", f"{NAME} was not fetched: the hub answers 503; the same command continues"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(server, status, code, revision, sentence) -> None:
    server.status, server.error = status, code
    done = run("translate", TEXT, "--model", NAME + revision)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not server.fetched()


def test_a_missing_network_is_one_sentence(server, monkeypatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = run("translate", TEXT, "--model", NAME)
    assert done.exit_code == 2
    assert re.fullmatch(
        rf"transduce: {NAME} was not fetched: the hub cannot be reached \(.*\); "
        r"the same command continues with the files that are missing\n",
        done.stderr,
    )


def without(*names: str):
    return lambda server: [server.files.pop(name) for name in names]


def with_config(**values):
    def change(server: Server) -> None:
        server.files["config.json"] = json.dumps(values).encode()

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (with_config(model_type="bert"), "has a model of type 'bert': only marian models"),
        (without("config.json"), "is not a Marian model: it has no config.json"),
        (without("vocab.json"), "is incomplete: it has no vocab.json"),
        (without("pytorch_model.bin"), "it has no model.safetensors or pytorch_model.bin"),
    ],
)
def test_what_is_not_a_marian_model_is_one_sentence_and_its_weights_are_not_fetched(
    server, change, sentence
) -> None:
    change(server)
    done = run("info", NAME)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert server.fetched() <= {"config.json"}


def test_an_interrupted_download_is_one_sentence_and_continues(server) -> None:
    server.drop = "pytorch_model.bin"
    done = run("info", NAME)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"fetching {NAME} (once)\ntransduce: {NAME} was not fetched")
    assert done.stderr.endswith("; the same command continues with the files that are missing\n")
    assert done.stderr.count("\n") == 2
    assert [r for r in server.requests if "pytorch_model.bin bytes=" in r]  # it was tried again
    server.drop = ""
    server.requests.clear()
    assert run("info", NAME).exit_code == 0
    assert server.fetched() == {"pytorch_model.bin"}


def test_a_name_that_the_hub_cannot_have_is_an_error() -> None:
    for name in ("hf:", "hf:opus", "hf:a/b/c", "hf:a/../b", "hf:a/b@", "hf:a/..", "hf:a b/c"):
        with pytest.raises(ModelError, match=r"is not hf:ORG/NAME or hf:ORG/NAME@REVISION"):
            hub.parse(name)
    assert hub.parse("hf:a/b@v1.0") == hub.Checkpoint("a/b", "v1.0")
    assert str(hub.parse("hf:a/b")) == "hf:a/b"


def test_the_command_reads_hf_endpoint_and_needs_the_extra(server) -> None:
    program = "from transduce.cli import main; import sys; main(sys.argv[1:])"
    environment = {**os.environ, "PYTHONPATH": str(Path(transduce.__file__).parents[1])}
    results = []
    for absent in ("import sys; sys.modules['huggingface_hub'] = None; ", ""):
        command = [sys.executable, "-c", absent + program, "info", NAME]
        results.append(
            subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        )
    missing, found = results
    assert missing.returncode == 2
    assert "needs huggingface_hub: pip install 'transduce[huggingface]'" in missing.stderr
    assert found.returncode == 0, found.stderr
    assert "agent" not in " ".join(server.requests)  # it asks for nothing but the model
