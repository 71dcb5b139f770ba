"""Time to BLEU: what is compared, what is kept, and who is said to be first. No time is checked."""

import hashlib
import importlib.util
import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from transduce import grammar
from transduce.bench.bleu import Race, bench_bleu, score, set_up, steps_of
from transduce.bench.bleu_report import Point, points_of, reached
from transduce.bench.peers import OURS
from transduce.bench.trainers import batches_of, marian_directory
from transduce.cli.bench import bleu
from transduce.config import resolve
from transduce.directory import ModelDirectory
from transduce.errors import ConfigError
from transduce.exchange.huggingface import read_huggingface, write_huggingface
from transduce.figures.minutes import figure
from transduce.tasks import TRANSLATION
from transduce.train.prepare import Prepared
from transduce.train.run import Run

PEER = "huggingface"
SMALL = ["model.d_model=32", "model.d_ff=32", "model.n_heads=2", "model.n_layers=1"]
SMALL += ["data.vocab_size=400", "train.tokens_per_batch=512", "train.warmup_steps=5"]
SMALL += ["train.steps=5", "model.p_drop=0.0"]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="transformers is not installed"
)


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # of the systems' own processes


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("texts")
    files = {}
    for split, count in (("train", 150), ("valid", 10)):
        files[split] = folder / f"{split}.tsv"
        pairs = grammar.sentences(split, count, seed=0)
        lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
        files[split].write_text(lines, "utf-8")
    return files


def race_of(texts, *items: str, epochs: int | None = None, every: int = 2) -> Race:
    config = resolve("tiny", None, [*SMALL, *items])
    train, valid = (TRANSLATION.text_of((texts[split],)) for split in ("train", "valid"))
    return Race(config, train, valid, epochs, every)


def ready(run: Run, race: Race) -> Prepared:
    with run.locked():
        return set_up(run, race, write_huggingface, lambda _: None)


@pytest.mark.slow
def test_the_command_leaves_both_curves_and_does_nothing_twice(
    texts, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    output = tmp_path / "out"
    command = ["--train", texts["train"], "--valid", texts["valid"], "--every", "2", "--json"]
    command += [word for item in SMALL for word in ("--set", item)]
    command = [str(word) for word in [*command, "--output", output]]
    first = CliRunner().invoke(bleu, command, catch_exceptions=False)
    assert first.exit_code == 0, first.output
    report = json.loads(first.stdout)
    assert report == json.loads((output / "time-to-bleu.json").read_text("utf-8"))
    assert (output / "time-to-bleu.png").read_bytes().startswith(b"\x89PNG")
    assert list(report["systems"]) == [OURS, PEER]
    digest = hashlib.sha256(texts["train"].read_bytes()).hexdigest()
    assert report["files"]["train"] == [{"file": "train.tsv", "sha256": digest}]
    ours, theirs = report["systems"].values()
    for points in (ours, theirs):
        assert [point["step"] for point in points] == [2, 4, 5]
        seconds = [point["seconds"] for point in points]
        assert seconds == sorted(seconds)
        assert seconds[0] > 0
    # the same first weights, batches and rates: the same loss, but for how smoothing is spread
    for one, two in zip(ours, theirs, strict=True):
        assert one["loss"] == pytest.approx(two["loss"], abs=1e-2)
    assert ours[-1]["loss"] < ours[0]["loss"]

    record = output / f"{OURS}.jsonl"
    lines = record.read_text("utf-8").splitlines(keepends=True)
    record.write_text(lines[0] + lines[1][:9], "utf-8")  # as a kill leaves it
    again = CliRunner().invoke(bleu, command, catch_exceptions=False)
    assert "transduce was interrupted after step 2" in again.stderr
    assert "Hugging Face Marian was measured before" in again.stderr
    assert json.loads(again.stdout)["systems"][PEER] == theirs
    losses = [point.loss for point in points_of(record)]
    assert losses == pytest.approx([point["loss"] for point in ours], abs=1e-6)
    assert len(points_of(output / f"{OURS}.interrupted.jsonl")) == 1

    table = CliRunner().invoke(bleu, [word for word in command if word != "--json"]).stdout
    assert "Hugging Face Marian" in table
    assert "train.tsv; 5 steps, BLEU of valid.tsv, 10 pairs, every 2." in table


def test_both_forms_of_the_first_weights_have_the_same_scores(texts, tmp_path) -> None:
    torch.manual_seed(0)
    run = Run(tmp_path / "run")
    data = ready(run, race_of(texts))
    ours, theirs = ModelDirectory.open(run.model).network(), read_huggingface(marian_directory(run))
    assert score(theirs, data) == pytest.approx(score(ours, data), abs=1e-5)


def test_other_settings_are_not_mixed_into_what_was_measured(texts, tmp_path) -> None:
    run = Run(tmp_path / "run")
    ready(run, race_of(texts))
    for other, sentence in [
        (race_of(texts, "train.lr_factor=0.5"), "train.lr_factor = 1.0, not 0.5"),
        (race_of(texts, every=3), "train.validate_steps = 2, not 3"),
        (race_of(texts, epochs=9), "train.steps = 5, not "),
    ]:
        with pytest.raises(ConfigError, match=f"was begun with {sentence}"):
            ready(run, other)


def test_a_setting_that_the_peer_lacks_is_an_error(texts, tmp_path) -> None:
    for item, name in [("train.clip_norm=1.0", "clip_norm"), ("train.ema=0.9", "ema")]:
        race = race_of(texts, item)
        with pytest.raises(ConfigError, match=rf"train\.{name} is not part of this comparison"):
            bench_bleu(tmp_path, race, write_huggingface, read_huggingface, lambda _: None)


def points(*scores: tuple[float, float]) -> list[Point]:
    return [
        Point(n, 60.0 * minutes, 0.0, float(bleu), 1.0) for n, (minutes, bleu) in enumerate(scores)
    ]


def test_the_first_validation_with_the_peers_last_bleu_counts() -> None:
    theirs = points((2, 10), (4, 31), (6, 29), (8, 30))
    found = reached(points((1, 10), (2, 29.9), (3, 30), (4, 35)), theirs)
    assert (found.bleu, found.minutes, found.peer_minutes) == (30, 3, 4)
    assert found.share == 3 / 8
    never = reached(points((1, 10), (2, 29.9)), theirs)
    assert never.minutes is None
    assert never.share is None


def test_the_picture_marks_where_ours_has_the_peers_last_bleu() -> None:
    systems = {"ours": [(1.0, 20.0), (3.0, 32.0)], "peer": [(2.0, 10.0), (8.0, 30.0)]}
    axes = figure(systems, 3.0, "title").axes[0]
    marked = "BLEU 30.0 in 3.0 minutes,\n38 % of peer's time"
    assert [text.get_text() for text in axes.texts] == [marked]
    assert axes.texts[0].xy == (3.0, 30.0)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["ours, 32.0 after 3 minutes", "peer, 30.0 after 8 minutes"]
    assert figure(systems, None, "title").axes[0].texts[:] == []


def test_an_epoch_is_every_sentence_once(texts, tmp_path) -> None:
    race = race_of(texts)
    data = ready(Run(tmp_path / "run"), race)
    batches = batches_of(data.train, race.config.train)
    seen = [i for _ in range(steps_of(2, data, race.config.train)) for i in next(batches)]
    assert sorted(seen) == sorted([*range(len(data.train))] * 2)
