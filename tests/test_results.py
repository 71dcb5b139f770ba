"""Result records, and the README's table of them."""

import hashlib
import json
import shutil
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace

import digits
import pytest
from click.testing import CliRunner
from models import model_directory, pairs

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.errors import InputError
from transduce.evaluate.record import commit, training_data, training_of
from transduce.evaluate.results import (
    BEGIN,
    END,
    NONE,
    read_results,
    render_results,
    replace_results,
    update,
)
from transduce.model import count_parameters
from transduce.train.run import Run

ROOT = Path(__file__).parents[1]


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write(file: Path, lines) -> Path:
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


def invoke(*args) -> str:
    done = CliRunner().invoke(main, [str(arg) for arg in args])
    assert done.exit_code == 0, done.output
    return done.stdout


def refusal(*args) -> str:
    done = CliRunner().invoke(main, ["evaluate", *map(str, args)])
    assert done.exit_code == 2, done.output
    return done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> SimpleNamespace:
    """A test set, and a model directory that is in no run."""
    folder = tmp_path_factory.mktemp("place")
    some = pairs(4)
    return SimpleNamespace(
        folder=folder,
        source=write(folder / "test.en", [source for source, _ in some]),
        reference=write(folder / "test.de", [target for _, target in some]),
        model=model_directory(folder / "model"),
    )


@pytest.fixture(scope="module")
def record(place) -> dict:
    file = place.folder / "small.json"
    args = ["evaluate", place.source, place.reference, "--model", place.model, "--engine", "torch"]
    args += ["--beam", "2", "--alpha", "0.8", "--record", file, "--title", "A small one", "--json"]
    printed = json.loads(invoke(*args))
    found = json.loads(file.read_text("utf-8"))
    assert found["scores"].items() <= printed.items()
    assert printed.keys() - found["scores"].keys() == {"model", "engine", "compute", "device"}
    return found


# The record


def test_a_record_says_what_was_scored_and_by_what(place, record) -> None:
    assert (record["name"], record["title"]) == ("small", "A small one")
    assert record["search"] == {"beam": 2, "alpha": 0.8, "penalty": "gnmt"}
    assert [record[key] for key in ("engine", "compute", "device")] == ["torch", "float32", "cpu"]
    assert record["data"] == {
        "source": {"file": "test.en", "sha256": digest(place.source)},
        "references": [{"file": "test.de", "sha256": digest(place.reference)}],
    }
    model = ModelDirectory.open(place.model).network()
    assert record["model"]["parameters"] == count_parameters(model)
    assert record["model"]["sha256"] == digest(place.model / "model.safetensors")
    assert record["model"]["settings"]["d_model"] == model.config.d_model
    assert record["training"] is None
    assert record["machine"]["cores"] >= 1
    assert record["machine"].keys() >= {"cpu", "python", "torch", "ctranslate2"}
    assert record.keys() >= {"commit", "version", "date"}


def test_a_record_contains_no_path_and_no_host(place, record) -> None:
    text = json.dumps({**record, "commit": None})
    for secret in (str(place.folder), str(Path.home()), str(ROOT), socket.gethostname()):
        assert secret not in text


def test_the_compared_system_is_recorded_without_its_path(place, tmp_path) -> None:
    other = write(tmp_path / "other.de", ["a b c d"] * 4)
    args = [place.source, place.reference, "--translations", place.reference, "--against", other]
    file = tmp_path / "compared.json"
    invoke("evaluate", *args, "--record", file)
    found = json.loads(file.read_text("utf-8"))
    assert found["scores"]["against"]["name"] == "other.de"
    assert found["title"] == "compared"
    assert [found[key] for key in ("search", "engine", "model", "training")] == [None] * 4


def test_a_card_lists_the_newest_scores_once_and_the_model_stays_valid(place, tmp_path) -> None:
    model = tmp_path / "model"
    shutil.copytree(place.model, model)
    (model / "card.md").write_text("# A model\n\n## Limits\n\nMany.\n", "utf-8")
    args = ["evaluate", place.source, place.reference, "--model", model, "--engine", "torch"]
    for beam in "12":
        # the card was changed by hand, which its checksum tells
        sums = json.loads((model / "checksums.json").read_text("utf-8"))
        sums["card.md"] = digest(model / "card.md")
        (model / "checksums.json").write_text(json.dumps(sums), "utf-8")
        printed = json.loads(invoke(*args, "--beam", beam, "--card", "--title", "Ten", "--json"))
    card = (model / "card.md").read_text("utf-8")
    assert card.startswith("# A model\n\n## Limits\n\nMany.\n\n## Scores on Ten\n")
    assert card.count("## Scores") == 1
    assert "beam 2, α 0.6, engine torch" in card
    assert f"{printed['bleu']:.2f} (`{printed['bleu_signature']}`)" in card
    ModelDirectory.open(model)


def test_a_record_that_cannot_be_written_is_an_error_before_translating(place, tmp_path) -> None:
    files = place.source, place.reference
    text, nowhere = tmp_path / "result.txt", tmp_path / "no" / "result.json"
    same = write(tmp_path / "same.json", ["a"] * 4)
    for args, sentence in [
        (("--record", text), f"{text} cannot be a record: its name must end in .json"),
        (
            ("--record", nowhere),
            f"there is no directory {nowhere.parent} for result.json: create it first",
        ),
        (
            ("--record", same, "--translations", same),
            f"{same} is also an input: name another file with --record",
        ),
        (("--card",), "--card writes into a model directory: name it with --model"),
        (
            ("--title", "A title"),
            "--title is for --record or --card: give one of them",
        ),
    ]:
        assert refusal(*files, *args) == f"transduce: {sentence}\n"


@pytest.mark.slow
def test_a_record_of_a_run_says_how_it_was_trained_and_on_what(tmp_path) -> None:
    train = digits.write(tmp_path / "train.tsv", digits.pairs(300, seed=1))
    valid = digits.write(tmp_path / "valid.tsv", digits.pairs(20, seed=2))
    settings = digits.settings(*digits.SMALL, "train.steps=6", "train.checkpoint_steps=3")
    run = Run(tmp_path / "run")
    invoke("train", run.directory, "--train", train, "--valid", valid, *settings)
    source = write(tmp_path / "source", [source for source, _ in digits.pairs(4, seed=3)])
    file = tmp_path / "digits.json"
    invoke("evaluate", source, source, "--model", run.model, "--engine", "torch", "--record", file)
    found = json.loads(file.read_text("utf-8"))
    assert found["data"]["train"] == [{"file": "train.tsv", "sha256": digest(train)}]
    assert found["data"]["valid"] == [{"file": "valid.tsv", "sha256": digest(valid)}]
    training = found["training"]
    assert training["steps"] == 6
    assert training["seconds"] > 0
    assert training["operations"] > 0
    assert training["weights"].endswith("mean of 2 checkpoints (steps 3, 6)")
    assert training["settings"]["model"]["d_model"] == 32
    assert training["settings"]["train"]["warmup_steps"] == 40
    assert str(tmp_path) not in file.read_text("utf-8")
    assert "| 0 |" in render_results([found])  # minutes
    invoke(
        "train", tmp_path / "tuned", "--from", run.model, "--train", train, "--set", "train.steps=2"
    )
    tuned = training_of(Run(tmp_path / "tuned"), tmp_path / "tuned" / "model")
    assert tuned["started_from"] == "run"
    assert "| 0, from run |" in render_results([{**found, "training": tuned}])

    # a run that has gone on since: its model is still the one of its end
    with run.metrics.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps({"step": 7, "event": "train", "seconds": 1e6}) + "\n")
    assert training_of(run, run.model) == training
    # other text under the same name: not what it learned from
    digits.write(valid, digits.pairs(20, seed=4))
    unknown = [{"file": "train.tsv", "sha256": None}]
    assert training_data(run)["train"] == unknown
    train.unlink()
    assert training_data(run)["train"] == unknown


def git(folder: Path, *args: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(folder), *who, *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_commit_is_that_of_the_package_and_says_whether_it_was_changed(tmp_path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    code = write(package / "__init__.py", ["pass"])
    assert commit(package) is None  # of no repository
    git(tmp_path, "init", "--quiet")
    assert commit(package) is None  # inside another repository
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "a")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert commit(package) == head
    write(tmp_path / "result.json", [])
    assert commit(package) == head
    write(code, ["pass", "pass"])
    assert commit(package) == head + "+changes"
    write(code, ["pass"])
    write(package / "new.py", [])
    assert commit(package) == head + "+changes"


def test_without_git_there_is_no_commit(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert commit() is None


# The table


def test_the_readme_shows_exactly_what_is_recorded() -> None:
    """If not: `make results`."""
    readme = (ROOT / "README.md").read_text("utf-8")
    table = render_results(read_results(ROOT / "results"))
    assert replace_results(readme, table) == readme


def test_a_row_has_every_figure_of_its_record(record) -> None:
    trained = {**record, "title": "a|b", "training": {"seconds": 750.0}}
    heading, rule, row, other = render_results([trained, record]).split("\n")
    scores = record["scores"]
    assert rule.count("|") == heading.count("|") == 10
    assert row == (
        f"| a\\|b | {record['model']['parameters']:,} | {scores['bleu']:.2f} (beam 2, α 0.8) "
        f"| {scores['bleu_lowercase']:.2f} | {scores['bleu_tokenised_lowercase']:.2f} "
        f"| {scores['chrf']:.2f} | {scores['ter']:.2f} | 12 | {record['machine']['cores']} |"
    )
    assert other.startswith("| A small one | ")
    assert "| – | " in other  # the time of training is unknown


def test_only_the_text_between_the_markers_is_replaced_and_updating_is_idempotent(
    record, tmp_path
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    document = write(tmp_path / "README.md", ["before", f"{BEGIN} old {END} after"])
    update(folder, document)
    assert document.read_text("utf-8") == f"before\n{BEGIN}\n\n{NONE}\n\n{END} after\n"
    (folder / "small.json").write_text(json.dumps(record), "utf-8")
    (folder / "speed.json").write_text('{"machine": "of another kind"}', "utf-8")
    update(folder, document)
    text = document.read_text("utf-8")
    assert text.startswith(f"before\n{BEGIN}\n\n| result |")
    assert text.endswith(f" |\n\n{END} after\n")
    update(folder, document)
    assert document.read_text("utf-8") == text


def test_a_document_without_markers_and_a_damaged_record_are_errors(tmp_path) -> None:
    with pytest.raises(InputError, match="no place for results: write <!-- results --> and"):
        replace_results(f"{BEGIN} and no end", NONE)
    (tmp_path / "broken.json").write_text("{", "utf-8")
    with pytest.raises(InputError, match=r"broken\.json cannot be read"):
        read_results(tmp_path)


def test_the_readme_says_how_soon_the_peer_was_reached() -> None:
    result = json.loads((ROOT / "results" / "time-to-bleu.json").read_text("utf-8"))
    claim = f"in {100 * result['reached']['share']:.0f} % of its time (`transduce bench bleu`"
    assert claim in (ROOT / "README.md").read_text("utf-8")
