"""A model trained on Multi30k, tested on real sentences."""

import gzip
import json
import os
import subprocess
import sys

import pytest
import sacrebleu
from batching import ARRANGEMENTS, arranged
from click.testing import CliRunner
from models import best

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.router import open_engine
from transduce.machine import cores
from transduce.search import PAPER, length_penalty
from transduce.train.run import read_metrics

pytestmark = pytest.mark.slow

# small enough to learn something in a minute
SETTINGS = ["data.vocab_size=4000", "model.d_model=64", "model.d_ff=128", "model.n_layers=2"]
SETTINGS += ["model.p_drop=0", "train.steps=700", "train.tokens_per_batch=2048"]
SETTINGS += ["train.warmup_steps=300", "train.lr_factor=0.5", "train.checkpoint_steps=100"]
SETTINGS += ["train.validate_steps=700", "train.average=3", "train.bleu_sentences=100"]


def lines(file):
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        return stream.read().split("\n")[:-1]


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    """A run on Multi30k, in a process that uses every core and checks no annotations."""
    folder, text = tmp_path_factory.mktemp("real") / "run", data / "multi30k"
    command = [sys.executable, "-m", "transduce", "train", str(folder), "--preset", "tiny"]
    for option, split in (("--train", "train"), ("--valid", "val")):
        command += [option, str(text / f"{split}.en.gz"), str(text / f"{split}.de.gz")]
    command += [word for setting in SETTINGS for word in ("--set", setting)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(cores())}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=1200)
    return folder


@pytest.fixture(scope="module")
def model(run):
    return ModelDirectory.open(run / "model")


@pytest.fixture(scope="module")
def sources(data, model):
    return model.tokenizer.encode_batch(lines(data / "multi30k" / "test_2016_flickr.en.gz"))


@pytest.fixture(scope="module")
def references(data):
    return [lines(data / "multi30k" / "test_2016_flickr.de.gz")]


@pytest.fixture(scope="module")
def fast(model):
    return open_engine(model, engine="ctranslate2")


@pytest.fixture(scope="module")
def torch_engine(model):
    return open_engine(model, engine="torch")


@pytest.fixture(scope="module")
def found(fast, sources):
    return best(fast, sources)


@pytest.fixture(scope="module")
def by_torch(torch_engine, sources):
    return best(torch_engine, sources)


def bleu(model, tokens, references):
    texts = [model.tokenizer.decode(ids) for ids in tokens]
    return sacrebleu.corpus_bleu(texts, references).score


def test_it_has_learned_something(model, found, references) -> None:
    assert bleu(model, found, references) > 5
    assert len(set(found)) > 900


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_int8_translates_1000_captions_the_same_in_every_batch(
    fast, sources, found, arrangement
) -> None:
    order, size = arranged(sources, arrangement)
    again = best(fast, [sources[i] for i in order], batch_size=size)
    assert again == [found[i] for i in order]


@pytest.mark.parametrize("arrangement", ["thirteen", "shuffled"])
def test_torch_translates_1000_captions_the_same_in_every_batch(
    torch_engine, sources, by_torch, arrangement
) -> None:
    order, size = arranged(sources, arrangement)
    again = best(torch_engine, [sources[i] for i in order], batch_size=size)
    assert again == [by_torch[i] for i in order]


def test_both_engines_write_the_same_text_in_float32(model, sources, by_torch) -> None:
    whole = open_engine(model, engine="ctranslate2", compute="float32")
    whole.fast.shortlist = None
    same = sum(a == b for a, b in zip(best(whole, sources), by_torch, strict=True))
    assert same >= 990


def test_int8_and_a_shortlist_cost_less_than_a_tenth_of_bleu(
    model, found, by_torch, references
) -> None:
    assert bleu(model, by_torch, references) - bleu(model, found, references) <= 0.1


def test_torch_finds_what_int8_writes_as_likely_as_its_own_within_a_hundredth(
    torch_engine, sources, found, by_torch
) -> None:
    means = []
    for outputs in (found, by_torch):
        scored = torch_engine.score(sources, outputs)
        scores = [sum(tokens) / length_penalty(len(tokens), PAPER) for tokens in scored]
        means.append(sum(scores) / len(scores))
    assert means[0] == pytest.approx(means[1], rel=0.01)


def test_the_log_evaluate_and_sacrebleu_agree(run, data, tmp_path) -> None:
    """The mean's BLEU in the training log, from evaluate, and from the sacrebleu command."""
    count = 100
    files = []
    for code in ("en", "de"):
        text = lines(data / "multi30k" / f"val.{code}.gz")[:count]
        files.append(tmp_path / f"val.{code}")
        files[-1].write_text("".join(f"{line}\n" for line in text), "utf-8")
    out = tmp_path / "out.de"
    args = [*map(str, files), "--model", str(run / "model"), "--engine", "torch"]
    result = CliRunner().invoke(main, ["evaluate", *args, "--output", str(out), "--json"])
    assert result.exit_code == 0, result.stderr
    evaluated = json.loads(result.stdout)["bleu"]
    (final,) = [e for e in read_metrics(run / "metrics.jsonl") if e.get("event") == "final"]
    assert evaluated == pytest.approx(final["bleu"], abs=1e-6)
    command = [sys.executable, "-m", "sacrebleu", str(files[1]), "-i", str(out), "-b", "-w", "6"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert evaluated == pytest.approx(float(done.stdout), abs=1e-6)
