"""Preparing the data of a run: once, and again if text or settings change."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import digits
import pytest
from click.testing import CliRunner

from transduce.cli import main

QUICK = ["train.steps=4", "train.checkpoint_steps=2", "train.validate_steps=4"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("text")
    train = digits.write(folder / "train.tsv", digits.pairs(600, seed=1))
    valid = digits.write(folder / "valid.tsv", digits.pairs(40, seed=2))
    return ["--train", str(train), "--valid", str(valid)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, corpus) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    train(run, corpus)
    return run


@pytest.fixture
def trained(finished, tmp_path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def words(run: Path, corpus: list[str], *settings: str) -> list[str]:
    return ["train", str(run), *corpus, *digits.settings(*digits.SMALL, *QUICK, *settings)]


def invoke(run: Path, corpus: list[str], *settings: str, **how):
    return CliRunner().invoke(main, words(run, corpus, *settings), **how)


def train(run: Path, corpus: list[str], *settings: str):
    result = invoke(run, corpus, *settings)
    assert result.exit_code == 0, result.output
    return result


def stop_after_vocabulary(run: Path, corpus: list[str], *settings: str) -> None:
    """Leaves a run as SIGKILL does between learning the vocabulary and encoding."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transduce.train.prepare.build_corpora", killed)
        assert invoke(run, corpus, *settings).exit_code == 130
    assert (run / "tokens.model").exists()


@pytest.mark.parametrize("change", ["text", "data.vocab_size=280", "data.max_ratio=1.1"])
def test_a_vocabulary_of_other_text_or_settings_is_learned_again(tmp_path, corpus, change) -> None:
    other, settings = list(corpus), ["data.vocab_size=300"]
    if change == "text":
        lines = [(f"{a} x{a[0]}", f"y{b[0]} {b}") for a, b in digits.pairs(600, seed=1)]
        other[1] = str(digits.write(tmp_path / "corrected.tsv", lines))
    else:
        settings = [change]
    stop_after_vocabulary(tmp_path / "run", corpus, "data.vocab_size=300")
    result = train(tmp_path / "run", other, *settings)
    train(tmp_path / "fresh", other, *settings)
    assert "was learned from other text or with other settings: learning it again" in result.stderr
    for name in ("tokens.model", "data/train/source.ids", "model/model.safetensors"):
        again, fresh = (tmp_path / run / name for run in ("run", "fresh"))
        assert again.read_bytes() == fresh.read_bytes(), name


def test_the_vocabulary_of_the_same_text_is_not_learned_twice(
    tmp_path, corpus, monkeypatch
) -> None:
    stop_after_vocabulary(tmp_path / "run", corpus)

    def learn(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("transduce.tokenizer.Tokenizer.learn", learn)
    train(tmp_path / "run", corpus)


def test_continuing_a_run_with_other_text_is_an_error(trained, corpus, tmp_path) -> None:
    other = digits.write(tmp_path / "other.tsv", digits.pairs(200, seed=9))
    before = (trained / "tokens.model").read_bytes()
    result = invoke(trained, ["--train", str(other), *corpus[2:]])
    assert result.exit_code == 2
    assert result.stderr == (
        f"transduce: {trained} was started with other text: continue it with the same files and "
        "settings, or train into another directory\n"
    )
    assert (trained / "tokens.model").read_bytes() == before


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def test_damaged_data_is_reported_and_encoded_again(trained, corpus) -> None:
    ids = trained / "data" / "train" / "target.ids"
    before = ids.read_bytes()
    flip(ids)
    result = train(trained, corpus, "train.steps=6")
    assert "target.ids does not match its checksum in meta.json: encoding it again" in result.stderr
    assert ids.read_bytes() == before
    assert "continuing from step 4" in result.stderr


def test_a_damaged_vocabulary_is_learned_again_before_training_and_an_error_after(
    tmp_path, trained, corpus
) -> None:
    stop_after_vocabulary(tmp_path / "new", corpus)
    before = (tmp_path / "new" / "tokens.model").read_bytes()
    (tmp_path / "new" / "tokens.model").write_bytes(before[:-9])
    assert "learning it again" in train(tmp_path / "new", corpus).stderr
    assert (tmp_path / "new" / "tokens.model").read_bytes() == before
    (trained / "tokens.model").write_bytes(before[:-9])
    result = invoke(trained, corpus, "train.steps=6")
    assert result.exit_code == 2
    assert result.stderr.endswith(": restore it, or train into another directory\n")


def test_a_run_of_the_previous_version_continues(trained, corpus) -> None:
    """It had no prepared.json, and stores without checksums."""
    (trained / "prepared.json").unlink()
    for name in ("train", "valid"):
        file = trained / "data" / name / "meta.json"
        meta = json.loads(file.read_text("utf-8"))
        tokens = meta.pop("tokens")
        del meta["checksums"]
        meta |= {"version": 1, "pairs": meta.pop("examples"), "tokens": meta.pop("vocabulary")}
        meta |= {f"{side}_tokens": count for side, count in tokens.items()}
        file.write_text(json.dumps(meta), "utf-8")
    result = train(trained, corpus, "train.steps=6")
    assert "continuing from step 4" in result.stderr
    assert "again" not in result.stderr


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff", b'{"settings": {"x": 1}}'])
def test_a_damaged_record_of_the_origin_does_not_stop_a_run(trained, corpus, content) -> None:
    (trained / "prepared.json").write_bytes(content)
    assert "continuing from step 4" in train(trained, corpus, "train.steps=6").stderr


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> list[str]:
    """Text whose vocabulary takes seconds to learn, and whose encoding takes a second."""
    rng, file = random.Random(1), tmp_path_factory.mktemp("large") / "train.tsv"
    letters = "abcdefghijklmnop"

    def sentence() -> str:
        return " ".join("".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(12))

    digits.write(file, [(sentence(), sentence()) for _ in range(20_000)])
    settings = [*digits.SMALL, "data.vocab_size=4000", "train.steps=1"]
    return ["--train", str(file), *digits.settings(*settings)]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("moment", ["learning", "encoding"])
def test_a_signal_stops_preparation_at_once_and_the_same_command_continues(
    tmp_path, large, number, code, moment
) -> None:
    run = tmp_path / "run"
    command = [sys.executable, "-m", "transduce", "train", str(run), *large]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    awaited = run / ("lock" if moment == "learning" else "tokens.model")
    while not awaited.exists():
        time.sleep(0.02)
        assert process.poll() is None
    time.sleep(1.5 if moment == "learning" else 0.2)
    process.send_signal(number)
    assert process.stderr
    while "stopped" not in (line := process.stderr.readline()):
        assert line
    assert line == "stopped; the same command continues\n"
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == code
    names = {path.name for path in run.rglob("*")}
    assert not [name for name in names if name.endswith(".part")]
    assert ("tokens.model" in names) == (moment == "encoding")
    assert not (run / "data" / "train").exists()
    if moment == "encoding" and number == signal.SIGTERM:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


READS_SLOWLY = """
import sys, time
from transduce.cli import main
from transduce.tokenizer import bpe

def slowly(lines):
    print("reading", file=sys.stderr, flush=True)
    while lines:
        later = time.monotonic() + 0.001
        while time.monotonic() < later:
            pass
        yield lines.pop()

bpe._emptied = slowly
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_the_vocabulary_reads_the_text_ends_the_process_in_order(
    tmp_path, corpus, number, code
) -> None:
    """The thread of SentencePiece calls Python, which must not have ended before it."""
    command = [sys.executable, "-c", READS_SLOWLY, *words(tmp_path / "run", corpus)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    while "reading" not in (line := process.stderr.readline()):
        assert line
    process.send_signal(number)
    assert process.communicate(timeout=60)[1] == "stopped; the same command continues\n"
    assert process.returncode == code


def lines_of(corpus: list[str], format: str) -> str:
    pairs = [line.split("\t") for line in Path(corpus[1]).read_text("utf-8").splitlines()]
    if format == "tsv":
        return "".join(f"{a}\t{b}\n" for a, b in pairs)
    return "".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in pairs)


@pytest.mark.parametrize("format", ["tsv", "jsonl"])
def test_standard_input_is_kept_in_the_run_and_not_needed_to_resume(
    tmp_path, corpus, finished, format
) -> None:
    run, dash = tmp_path / "run", ["--train", "-", *corpus[2:]]
    result = invoke(run, dash, input=lines_of(corpus, format))
    assert result.exit_code == 0, result.output
    weights = [(r / "model" / "model.safetensors").read_bytes() for r in (run, finished)]
    assert weights[0] == weights[1]
    for again in (words(run, dash, "train.steps=6"), ["train", str(run)]):
        resumed = CliRunner().invoke(main, again, input="")
        assert resumed.exit_code == 0, resumed.output
    other = invoke(run, dash, "train.steps=8", input="1 2\t2 1\n")
    assert other.exit_code == 2
    assert "was started with other text" in other.stderr
    resumed = invoke(run, dash, "train.steps=8", input="")
    assert "continuing from step 6" in resumed.stderr, resumed.output


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (["--train", "-", "--valid", "-"], "standard input can be read only once: give - for"),
        (["--train", "-", "a.de"], "standard input holds both sides, as TSV or JSON lines: give"),
        (["--train", "-"], "there are no sentence pairs in "),
    ],
)
@pytest.mark.parametrize("verb", ["train", "check"])
def test_standard_input_that_cannot_be_used_is_one_sentence(
    tmp_path, files, sentence, verb
) -> None:
    run = [str(tmp_path / "run")] if verb == "train" else []
    result = CliRunner().invoke(main, [verb, *run, *files], input="")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"transduce: {sentence}")


def test_check_reads_standard_input_too(corpus) -> None:
    command = ["check", "--train", "-", *corpus[2:], *digits.settings(*digits.SMALL)]
    result = CliRunner().invoke(
        main, [*command, "--no-timing", "--json"], input=lines_of(corpus, "tsv")
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["corpora"]["training"]["read"] == 600


@pytest.mark.parametrize("moment", ["vocabulary", "data"])
def test_a_full_disk_while_preparing_is_one_sentence_and_the_same_command_continues(
    tmp_path, corpus, monkeypatch, moment
) -> None:
    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    name = {
        "vocabulary": "transduce.tokenizer.Tokenizer.save",
        "data": "transduce.store._File.write",
    }
    monkeypatch.setattr(name[moment], no_room)
    result = invoke(tmp_path / "run", corpus)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        f"transduce: the data of {tmp_path / 'run'} cannot be written: No space left on device: "
        "free some space, and the same command continues"
    )
    monkeypatch.undo()
    train(tmp_path / "run", corpus)
    assert not list((tmp_path / "run").rglob(".*"))


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"builtin": 0, "train": 5}'])
def test_a_run_with_damaged_inputs_asks_for_the_files_and_continues_with_them(
    trained, corpus, content
) -> None:
    (trained / "inputs.json").write_bytes(content)
    result = CliRunner().invoke(main, ["train", str(trained)])
    assert result.exit_code == 2
    assert result.stderr == (
        f"transduce: {trained / 'inputs.json'} is damaged: name the files again with --train and "
        "--valid\n"
    )
    assert "continuing from step 4" in train(trained, corpus, "train.steps=6").stderr
