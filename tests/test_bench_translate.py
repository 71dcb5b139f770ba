"""What `transduce bench translate` compares and counts. Nothing here is timed."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from models import best, model_directory, pairs

from transduce.bench.text import find_sentences
from transduce.bench.translate import Report, Speed, prepare
from transduce.bench.translators import HUGGINGFACE, OURS, PEERS, TORCH, Job, translator_of
from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.router import open_engine
from transduce.errors import InputError
from transduce.exchange.huggingface import write_huggingface
from transduce.search import Search

TRANSFORMERS = importlib.util.find_spec("transformers") is not None
INSTALLED = [peer for peer in PEERS if peer != HUGGINGFACE or TRANSFORMERS]
SYSTEMS = [OURS, TORCH, *(name for peer in INSTALLED for name in PEERS[peer])]
# it recommends what it then makes no use of
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return model_directory(tmp_path_factory.mktemp("bench") / "model", eos=6.0, n_layers=1)


@pytest.fixture(scope="module")
def job(model, tmp_path_factory) -> Job:
    """The model in every system's form."""
    job = Job(model, tmp_path_factory.mktemp("forms") / "model", beam=2, batch_size=2)
    prepare(job, INSTALLED, write_huggingface, lambda _: None)
    return job


def write(file: Path, lines: list[str]) -> Path:
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def bench(*words: object) -> Result:
    return CliRunner().invoke(main, ["bench", "translate", *map(str, words)])


def test_the_command_runs_every_system_and_its_figures_belong_together(model, tmp_path) -> None:
    sources, references = zip(*pairs(7), strict=True)
    files = ["--input", write(tmp_path / "text.en", [*sources[:5], sources[0], sources[6]])]
    files += ["--ref", write(tmp_path / "text.de", list(references)), "--lines", 6]
    files += ["--output", tmp_path / "bench.json"]
    numbers = ["--rounds", 1, "--latency", 2, "--batch-size", 4, "--beam", 2]
    done = bench("--model", model, "--against", ",".join(INSTALLED), *files, *numbers, "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report == json.loads((tmp_path / "bench.json").read_text("utf-8"))
    assert list(report) == [
        "machine",
        "load",
        "data",
        "lines",
        "distinct",
        "beam",
        "batch_size",
        "alone",
        "bleu_signature",
        "results",
    ]
    assert (report["lines"], report["distinct"], report["alone"]) == (6, 5, 2)
    assert "nrefs:1|case:mixed" in report["bleu_signature"]
    assert [row["system"] for row in report["results"]] == SYSTEMS
    rounds = {row["system"]: row["rounds"] for row in report["results"]}
    for row in report["results"]:
        assert list(row) == [
            "model",
            "system",
            "lines_per_second",
            "tokens_per_second",
            "ratio",
            "torch_ratio",
            "p50_ms",
            "p99_ms",
            "peak_memory_mb",
            "bleu",
            "runs",
            "rounds",
        ]
        assert row["rounds"] == [row["lines_per_second"]]
        assert row["ratio"] == pytest.approx(rounds[OURS][0] / row["lines_per_second"])
        assert row["torch_ratio"] == pytest.approx(rounds[TORCH][0] / row["lines_per_second"])
        assert 0 < row["p50_ms"] <= row["p99_ms"]
        assert row["peak_memory_mb"] > 10
        assert row["tokens_per_second"] > 0
        assert 0 <= row["bleu"] <= 100
    runs = {row["system"]: row["runs"] for row in report["results"]}
    assert "ctranslate2" in runs[OURS]
    assert "a shortlist" in runs[OURS]
    assert runs[TORCH].startswith("torch ")
    assert "float32" in runs["ctranslate2-float32"]
    assert "int8" in runs["ctranslate2-int8"]
    table = Report(**{**report, "results": [Speed(**row) for row in report["results"]]}).render()
    assert all(f"\n{name}: {how}\n" in table for name, how in runs.items())
    assert "text.en, text.de: 6 lines, beam 2, batches of up to 4, rounds: 1" in table
    assert "Of the lines 5 are distinct" in table


def beginning(text: str) -> str:
    return text.replace(" ⁇ ", "").strip()[:40]  # unknown symbols are left out by Hugging Face


def test_peers_search_with_the_model_that_they_were_given(model, job) -> None:
    """What greedy search writes first is the same everywhere, in float32 and of all words."""
    texts = [source for source, _ in pairs(9)]
    directory = ModelDirectory.open(model)
    tokenizer, settings = directory.tokenizer, Search(1, penalty="none")
    greedy = best(open_engine(directory, engine="torch"), tokenizer.encode_batch(texts), settings)
    expected = [beginning(tokenizer.decode(tokens)) for tokens in greedy]
    assert len(set(expected)) > 3
    for name in SYSTEMS:
        if name in (HUGGINGFACE, "ctranslate2-float32"):
            found = translator_of(name, replace(job, beam=1)).translate(texts)
            assert list(map(beginning, found)) == expected, name


def test_blank_lines_and_lines_that_are_too_long_cost_no_system_a_line(job) -> None:
    texts = ["", "the dog " * 40, "the cat"]
    for name in SYSTEMS:
        assert len(translator_of(name, job).translate(texts)) == 3


def test_ctranslate2s_memory_is_not_that_of_torch() -> None:
    """What computes without torch must not be charged for it."""
    code = (
        "import sys, transduce.bench.translators, transduce.engines.ctranslate2_engine; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("settings", "peer", "sentence"),
    [
        (
            {"norm": "pre"},
            "huggingface",
            'huggingface: model.norm = "pre" cannot be expressed as a Hugging Face Marian model; '
            "leave huggingface out of --against",
        ),
        (
            {"d_k": 5},
            "ctranslate2",
            "ctranslate2: model.d_k = 5 cannot be expressed as a CTranslate2 model; "
            "leave ctranslate2 out of --against",
        ),
    ],
)
def test_a_model_that_a_peer_cannot_run_is_an_error_with_advice(
    tmp_path, settings, peer, sentence
) -> None:
    directory = model_directory(tmp_path / "model", shortlist=False, **settings)
    done = bench("--model", directory, "--against", peer, "--lines", 2)
    assert done.exit_code == 2
    assert done.stderr.endswith(f"transduce: {directory} cannot be given to {sentence}\n")


def test_an_unknown_peer_is_an_error_that_lists_the_known_ones(model) -> None:
    done = bench("--model", model, "--against", "huggingface,fairseq")
    assert done.exit_code == 2
    assert done.stderr == "transduce: unknown peer 'fairseq'; known: huggingface, ctranslate2\n"


def test_without_transformers_the_other_peer_is_named(monkeypatch, model) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = bench("--model", model)
    assert done.exit_code == 2
    assert done.stderr.endswith("or leave it out with --against ctranslate2\n")


def test_without_input_the_built_in_test_split_is_translated(monkeypatch, tmp_path):
    monkeypatch.setenv("TRANSDUCE_DATA", str(tmp_path))
    text = find_sentences(None, None, 5)
    assert text.what == "the built-in corpus, English → German, test"
    assert list(zip(text.sources, text.references, strict=True)) == pairs(5, seed=0)


def test_multi30k_is_found_where_it_is(data, monkeypatch) -> None:
    monkeypatch.setenv("TRANSDUCE_DATA", str(data))
    text = find_sentences(None, None, 3)
    assert text.what == "Multi30k, English → German, test_2016_flickr"
    assert len(text.sources) == len(text.references) == 3


def test_references_without_input_and_an_empty_input_are_errors(tmp_path) -> None:
    empty = write(tmp_path / "empty.en", [])
    with pytest.raises(InputError, match="refers to nothing: give --input as well"):
        find_sentences(None, empty, 5)
    with pytest.raises(InputError, match=r"empty\.en is empty: it needs one sentence a line"):
        find_sentences(empty, None, 5)
