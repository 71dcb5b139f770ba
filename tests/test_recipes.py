"""Recipes lead from raw text to BLEU in one command."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from transduce import grammar
from transduce.cli.average import average_command
from transduce.cli.evaluate import evaluate_command
from transduce.cli.parse import parse_command
from transduce.cli.train import train_command
from transduce.cli.translate import translate_command
from transduce.config import resolve
from transduce.corpus.pair import Pair
from transduce.directory import ModelDirectory
from transduce.evaluate.tokenised import language_of

RECIPES = Path(__file__).parents[1] / "recipes"
SCRIPTS = sorted(file for file in RECIPES.glob("*.sh") if file.stem != "shakespeare")
# the folder of each treebank
PARSERS = {"craft": "craft", "wsj": "wsj-sample", "wsj-recurrent": "wsj-sample"}
CAPTIONS = [script for script in SCRIPTS if script.stem.startswith("multi30k")]
BOTH = ["en-de", "de-en"]  # the directions of Tatoeba's recipes
TREES = ["( (S (NP (DT a) (NN dog)) (VP (VBZ runs)) (. .)))", "( (NP (NN home)))"] * 30
SMALL = ["model.d_model=32", "model.d_ff=32", "model.n_heads=2", "data.vocab_size=400"]
SMALL += ["model.n_encoder_layers=1", "model.n_decoder_layers=1", "train.tokens_per_batch=512"]
SMALL += ["train.steps=2", "train.bleu_sentences=2"]

# writes its arguments to a file; trains and translates as far as files are concerned
TELLS = """printf '%s\\n' "$@" --- >> told
for last; do :; done
case $1 in train) mkdir -p "$2/model" ;; translate) touch "$last" ;; esac"""


def corpora(folder: Path) -> Path:
    """Every corpus that a recipe reads, with a few generated sentences."""
    tatoeba = folder / "tatoeba-en-de"
    for seed, name in enumerate(("more", "pivot"), start=1):
        _pack_pairs(tatoeba / f"{name}.tsv.gz", grammar.sentences("train", 40, seed=seed))
    for file, split, count in (("train", "train", 120), ("valid", "valid", 8), ("test", "test", 4)):
        pairs = grammar.sentences(split, count, seed=0)
        _pack_pairs(tatoeba / f"{file}.tsv.gz", pairs)
        name = {"valid": "val", "test": "test_2016_flickr"}.get(file, file)
        for code in ("en", "de", "fr"):
            side = [pair.source if code == "en" else pair.target for pair in pairs]
            _pack(folder / "multi30k" / f"{name}.{code}.gz", side)
    alone = grammar.sentences("train", 9, seed=3)
    _pack(tatoeba / "mono.en.gz", [pair.source for pair in alone])
    _pack(tatoeba / "mono.de.gz", [pair.target for pair in alone])
    for name in PARSERS.values():
        for split, count in (("train", 60), ("dev", 4), ("test", 3)):
            _pack(folder / "treebank" / name / f"{split}.mrg.gz", TREES[:count])
    return folder


def _pack(file: Path, lines: list[str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def _pack_pairs(file: Path, pairs: list[Pair]) -> None:
    _pack(file, [f"{pair.source}\t{pair.target}" for pair in pairs])


def cook(
    script: Path, data: Path, folder: Path, does: str, *args: str
) -> "subprocess.CompletedProcess[str]":
    """Runs a recipe where `does` is what the command transduce does."""
    command = folder / "transduce"
    command.write_text(f"#!/bin/sh\n{does}\n", "utf-8")
    command.chmod(0o755)
    environment = {**os.environ, "TRANSDUCE_DATA": str(data), "TRANSDUCE": str(command)}
    return subprocess.run(
        [str(script), *args],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_there_is_a_recipe_for_each_corpus() -> None:
    assert {script.stem.partition("-")[0] for script in SCRIPTS} == {
        "craft",
        "multi30k",
        "tatoeba",
        "wsj",
    }
    assert [script.stem for script in SCRIPTS if script.stem.startswith("tatoeba")] == [
        f"tatoeba-{direction}" for direction in sorted(BOTH)
    ]


@pytest.mark.parametrize("file", sorted(RECIPES.glob("*.toml")), ids=lambda file: file.stem)
def test_the_settings_of_a_recipe_keep_the_checkpoints_they_average(file) -> None:
    train = resolve("tiny", file).train
    assert train.average <= train.keep
    assert train.steps % train.checkpoint_steps == 0  # the average is of even distances


@pytest.mark.parametrize("script", CAPTIONS, ids=lambda script: script.stem)
def test_the_commands_of_a_recipe_are_well_formed_and_read_files_that_are_there(
    script, tmp_path
) -> None:
    data = corpora(tmp_path)
    told = tmp_path / "told"
    says = f"""mkdir -p "$2"; printf '%s\\n' "$@" --- >> {told}"""
    done = cook(script, data, tmp_path, says, "--set", "train.seed=7")
    assert done.returncode == 0, done.stderr
    parts = (part.split("\n") for part in told.read_text("utf-8").split("---\n"))
    train, *evaluations, rest = parts
    assert rest == [""]
    name = script.stem
    target = name.split("-")[2]
    chosen = train_command.make_context("train", train[1:-1]).params
    assert chosen["run"] == Path("runs") / name
    assert chosen["overrides"][-1] == "train.seed=7"
    (train_files,) = chosen["train"]
    config = chosen["config"]
    files = [tmp_path / file for file in (*train_files, *chosen["valid"])]
    for file in files:
        text = gzip.decompress(file.read_bytes()).decode()
        assert (text == text.lower()) == name.endswith("-lowercase")
    assert config == RECIPES / "multi30k.toml"
    assert resolve(chosen["preset"], config).data.max_length == 256
    searches = {f"{name}-average.json": (5, 1.0, "average"), f"{name}.json": (4, 0.6, "gnmt")}
    for evaluate, (record, search) in zip(evaluations, searches.items(), strict=True):
        chosen = evaluate_command.make_context("evaluate", evaluate[1:-1]).params
        assert chosen["model"] == f"runs/{name}/model"
        assert chosen["record"] == Path("results") / record
        assert (chosen["beam"], chosen["alpha"], chosen["penalty"]) == search
        assert language_of(chosen["ref"]) == target
        assert chosen["src"].replace(".en", "") == chosen["ref"].replace(f".{target}", "")
        assert all((tmp_path / chosen[side]).is_file() for side in ("src", "ref"))


def assert_direction(direction: str, corpora: list[tuple[Path, ...]], folder: Path) -> None:
    """Every file exists and has this direction in its name."""
    for (file,) in corpora:
        name = str(file).partition(":")[0]
        if name.startswith("builtin"):
            assert name == ("builtin" if direction == "en-de" else "builtin-de-en")
        else:
            assert (folder / name).is_file()
            assert name.endswith(f".{direction}.tsv")


@pytest.mark.parametrize("direction", BOTH)
def test_the_recipe_of_a_direction_continues_from_the_first_english_german_model(
    direction, tmp_path
) -> None:
    data, told = corpora(tmp_path), tmp_path / "told"
    done = cook(RECIPES / f"tatoeba-{direction}.sh", data, tmp_path, TELLS, "--set", "train.seed=7")
    assert done.returncode == 0, done.stderr
    parts = [part.split("\n")[:-1] for part in told.read_text("utf-8").split("---\n")[:-1]]
    *_, average, evaluate = parts
    out, source = Path("runs/tatoeba"), direction[:2]
    all_runs = [
        train_command.make_context("train", part[1:]).params for part in parts if part[0] == "train"
    ]
    by_name = {chosen["run"].name: chosen for chosen in all_runs}
    count = 9 if direction == "en-de" else 7
    names = ["en-de-1", *(f"{direction}-{number}" for number in range(2, count + 1))]
    assert [name for name in by_name if name[:5] == direction or name == "en-de-1"] == names
    for name, chosen in by_name.items():
        base, number = name[:5], int(name[6:])
        start = "en-de-1" if number == 2 else f"{base}-{number - 1}"
        start = "en-de-6" if name == "en-de-8" else start  # two trainings, mixed at the end
        assert chosen["start"] == (str(out / start / "model") if number > 1 else None)
        assert "train.seed=7" in chosen["overrides"]
        assert_direction(base, [*chosen["train"], chosen["valid"]], tmp_path)
    runs = [by_name[name] for name in names]
    translations = [
        translate_command.make_context("translate", part[1:]).params
        for part in parts
        if part[0] == "translate"
    ]
    judges = [Path(chosen["reverse"]) for chosen in translations if chosen["reverse"]]
    assert judges == [out / f"de-en-{n}" / "model" for n in ([6, 7] if source == "en" else [6])]
    chosen = average_command.make_context("average", average[1:]).params
    assert chosen["run"] == out / names[-1]
    assert chosen["note"].is_file()
    assert chosen["last"] <= resolve("fine-tuning", runs[-1]["config"]).train.keep
    chosen = evaluate_command.make_context("evaluate", evaluate[1:]).params
    assert chosen["model"] == str(out / names[-1] / "model")
    assert chosen["record"] == Path("results") / f"tatoeba-{direction}.json"
    assert (chosen["beam"], chosen["alpha"]) == (4, 0.6)
    sides = [(tmp_path / chosen[side]).read_text("utf-8").splitlines() for side in ("src", "ref")]
    pairs = [(pair.source, pair.target) for pair in grammar.sentences("test", 4, seed=0)]
    assert list(zip(*(sides if source == "en" else reversed(sides)), strict=True)) == pairs


def test_a_teacher_is_trained_before_it_translates(tmp_path) -> None:
    data, told = corpora(tmp_path), tmp_path / "told"
    done = cook(RECIPES / "tatoeba-en-de.sh", data, tmp_path, TELLS)
    assert done.returncode == 0, done.stderr
    parts = [part.split("\n") for part in told.read_text("utf-8").split("---\n")[:-1]]
    done_before: list[str] = []
    for command, *words in parts:
        if command == "train":
            done_before.append(Path(words[0]).name)
        elif command == "translate":
            teacher = Path(words[words.index("--model") + 1])
            assert teacher.parent.name in done_before
    assert done_before.index("de-en-4") < done_before.index("en-de-4")
    assert done_before.index("en-de-4") < done_before.index("de-en-5")
    assert done_before[-5:] == ["de-en-7", *(f"en-de-{n}" for n in range(6, 10))]


def test_back_translations_are_of_sentences_that_the_model_was_sure_of(
    tmp_path, monkeypatch
) -> None:
    data, out = corpora(tmp_path), tmp_path / "runs" / "tatoeba"
    lines = [
        {"text": "sicher", "translation": "sure", "token_scores": [-0.1, -0.9], "flags": []},
        {"text": "gut", "translation": "good", "token_scores": [-0.2], "flags": ["repaired"]},
        {"text": "unsicher", "translation": "unsure", "token_scores": [-0.7], "flags": []},
        {"text": "oft", "translation": "of", "token_scores": [-0.1], "flags": ["repetition"]},
        {"text": "leer", "translation": "", "token_scores": [], "flags": []},
        {"text": "zwei", "translation": "two\tcells", "token_scores": [-0.1], "flags": []},
    ]
    (tmp_path / "found").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    monkeypatch.setenv("TEACHER", "de-en")
    monkeypatch.setenv("UNTIL", "4")
    says = TELLS.replace('touch "$last"', f'cp {tmp_path}/found "$last"')
    done = cook(RECIPES / "tatoeba-en-de.sh", data, tmp_path, says)
    assert done.returncode == 0, done.stderr
    added = out / "back-translations-1-143624.en-de.tsv"
    assert len(Path(f"{added}.text").read_text("utf-8").splitlines()) == 9
    assert added.read_text("utf-8") == "sure\tsicher\ngood\tgut\n"
    told = (tmp_path / "told").read_text("utf-8").split("---\n")[:-1]
    trained = [part for part in told if part.startswith("train\n")]
    assert [added.name in part for part in trained] == [False, False, False, True]
    assert "\n--model\nde-en\n" in next(part for part in told if part.startswith("translate\n"))
    assert not any(part.startswith("average\n") for part in told)  # it stops before


@pytest.mark.parametrize("name", PARSERS)
def test_the_commands_of_a_parsing_recipe_score_dev_and_test_as_the_paper_does(
    name, tmp_path
) -> None:
    told = tmp_path / "told"
    says = f"""mkdir -p "$2"; printf '%s\\n' "$@" --- >> {told}"""
    done = cook(RECIPES / f"{name}.sh", corpora(tmp_path), tmp_path, says)
    assert done.returncode == 0, done.stderr
    parts = [part.split("\n")[:-1] for part in told.read_text("utf-8").split("---\n")[:-1]]
    chosen = train_command.make_context("train", parts[0][1:]).params
    assert (chosen["task"], chosen["run"]) == ("parsing", Path("runs") / name)
    settings = resolve(chosen["preset"], chosen["config"])
    assert settings.data.linearisation == "top-down"
    assert (settings.model.kind == "recurrent") == name.endswith("recurrent")
    if (RECIPES / f"{name}.md").exists():
        chosen = average_command.make_context("average", parts[1][1:]).params
        assert (chosen["run"], chosen["dtype"]) == (Path("runs") / name, "int8")
        assert chosen["last"] <= settings.train.keep
    beams = {"dev": 21, "test": 21, "dev-beam-4": 4, "dev-beam-1": 1}
    for (record, beam), words in zip(beams.items(), parts[-4:], strict=True):
        chosen = parse_command.make_context("parse", words[1:]).params
        assert chosen["model"] == f"runs/{name}/model"
        assert (chosen["beam"], chosen["alpha"]) == (beam, 0.3)
        assert chosen["trees"].is_file()
        assert chosen["trees"].name.startswith(record.partition("-")[0])
        assert chosen["record"] == Path("results") / f"{name}-{record}.json"


def test_self_training_adds_the_half_of_the_trees_that_the_parser_is_surest_of(tmp_path) -> None:
    data, told = corpora(tmp_path), tmp_path / "told"
    for year in (2013, 2014):
        _pack(tmp_path / "newstest" / f"newstest{year}.en.gz", ["A dog runs."])
    teacher = tmp_path / "runs" / "wsj" / "model"
    teacher.mkdir(parents=True)
    (teacher / "config.json").write_text("{}", "utf-8")
    scores = {"A": (-9.0, 10), "B": (-3.0, 2), "": (0.0, 0), "C": (-1.0, 2), "D": (-8.0, 5)}
    lines = [
        json.dumps({"words": ["w"] * words, "tree": tree, "score": score})
        for tree, (score, words) in scores.items()
    ]
    (tmp_path / "parsed").write_text("\n".join(lines), "utf-8")
    says = f"""case "$*" in *--json*) cat > {tmp_path}/text; cat {tmp_path}/parsed; exit;; esac
printf '%s ' "$@" >> {told}; echo >> {told}"""
    done = cook(RECIPES / "wsj-self-training.sh", data, tmp_path, says)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "text").read_text("utf-8") == "A dog runs.\n" * 2
    added = tmp_path / "runs" / "wsj-self-training" / "confident.mrg"
    assert added.read_text("utf-8") == "C\nA\n"  # -0.5 and -0.9 per word
    train, *parse = told.read_text("utf-8").splitlines()
    assert "train.mrg.gz:5 --train runs/wsj-self-training/confident.mrg" in train
    assert train.rstrip().endswith("recipes/wsj.toml")
    assert len(parse) == 4


@pytest.mark.slow
def test_a_parsing_recipe_ends_in_records(tmp_path) -> None:
    does = f'exec {sys.executable} -m transduce "$@"'
    small = [word for item in SMALL for word in ("--set", item)]
    done = cook(RECIPES / "craft.sh", corpora(tmp_path), tmp_path, does, *small)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "results" / "craft-test.json").read_text("utf-8"))
    assert (tmp_path / "results" / "craft-dev-beam-1.json").is_file()
    assert record["scores"]["sentences"] == 3
    assert record["scores"]["errors"] == 0
    assert record["title"] == "CRAFT, test"
    assert record["training"]["steps"] == 2


@pytest.mark.slow
def test_a_recipe_ends_in_a_record_and_its_command_again_continues(tmp_path) -> None:
    data, does = corpora(tmp_path), f'exec {sys.executable} -m transduce "$@"'
    script = RECIPES / "multi30k-en-de.sh"
    small = [word for item in SMALL for word in ("--set", item)]
    first = cook(script, data, tmp_path, does, *small)
    assert first.returncode == 0, first.stderr
    file = tmp_path / "results" / "multi30k-en-de.json"
    record = json.loads(file.read_text("utf-8"))
    assert record["training"]["steps"] == 2
    assert record["scores"]["sentences"] == 4
    assert "-de-" in record["scores"]["bleu_paper_signature"]
    assert record["data"]["train"][0]["sha256"]
    more = cook(script, data, tmp_path, does, *small, "--set", "train.steps=4")
    assert more.returncode == 0, more.stderr
    assert "continuing from step 2" in more.stderr
    assert json.loads(file.read_text("utf-8"))["training"]["steps"] == 4


@pytest.mark.slow
def test_a_recipe_that_starts_from_the_other_direction_ends_in_a_model_of_its_own(
    tmp_path, monkeypatch
) -> None:
    does = f'exec {sys.executable} -m transduce "$@"'
    small = [word for item in SMALL for word in ("--set", item)]
    monkeypatch.setenv("TEACHER", "en-de")
    done = cook(RECIPES / "tatoeba-de-en.sh", corpora(tmp_path), tmp_path, does, *small)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "results" / "tatoeba-de-en.json").read_text("utf-8"))
    assert record["scores"]["sentences"] == 4
    model = ModelDirectory.open(tmp_path / "runs" / "tatoeba" / "de-en-7" / "model")
    assert model.languages == {"source_language": "de", "target_language": "en"}
    assert model.description.dtype == "int8"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_recipe_without_its_text_says_where_to_get_it(script, tmp_path) -> None:
    done = cook(script, tmp_path / "nowhere", tmp_path, "exit 1")
    assert done.returncode == 2
    places = {"multi30k": "multi30k/dataset", "craft": "UCDenver-ccp/CRAFT", "wsj": "nltk.org"}
    place = places.get(script.stem.partition("-")[0], "manythings.org/anki")
    assert place in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_the_language_model_is_trained_on_nine_tenths_and_then_writes(tmp_path) -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    file = tmp_path / "tinyshakespeare" / "input.txt.gz"
    file.parent.mkdir()
    file.write_bytes(gzip.compress(text.encode()))
    told = tmp_path / "told"
    done = cook(
        RECIPES / "shakespeare.sh",
        tmp_path,
        tmp_path,
        f'echo "$@" >> {told}',
        "--set",
        "train.steps=9",
    )
    assert done.returncode == 0, done.stderr
    train, generate = told.read_text("utf-8").splitlines()
    assert train.startswith("train runs/shakespeare/run --task lm --train ")
    assert train.endswith("--set train.steps=9")
    assert generate.startswith("generate ROMEO: --model runs/shakespeare/run")
    folder = tmp_path / "runs" / "shakespeare"
    parts = [(folder / name).read_text("utf-8") for name in ("train.txt", "valid.txt")]
    assert "".join(parts) == text
    assert len(parts[0]) == len(text) * 9 // 10


def test_the_recipe_of_the_language_model_without_its_text_says_where_to_get_it(tmp_path) -> None:
    done = cook(RECIPES / "shakespeare.sh", tmp_path / "nowhere", tmp_path, "exit 1")
    assert done.returncode == 2
    assert "tinyshakespeare" in done.stderr
