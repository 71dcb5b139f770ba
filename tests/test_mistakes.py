"""Mistakes typed at the command line: each ends soon, with exit code 2 and one sentence."""

import faulthandler
import gzip
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import digits
import pytest
from click.testing import CliRunner
from mistakes import MISTAKES

import transduce
from transduce.cli import main
from transduce.model_names import model_path

SECONDS = 30  # a case takes far less; under load a machine may be slow
LONG = "x" * 300  # no file system takes a name of this length
WORD = "a" * 40_000


def cases() -> Iterator[object]:
    for group, table in MISTAKES.items():
        for line in table.strip().splitlines():
            command, _, needle = (part.strip() for part in line.partition(" | "))
            yield pytest.param(command, needle, id=f"{group}: {command}")


def words_of(command: str) -> list[str]:
    names = {
        "{long}": LONG,
        "{nul}": "a\0b",
        "{word}": WORD,
        "{words}": "a " * 20_000,
        "{deep}": "a." * 20_000 + "a=1",
        "{brackets}": "[" * 20_000,
    }
    words = []
    for word in shlex.split(command):
        for name, meaning in names.items():
            word = word.replace(name, meaning)
        words.append(word)
    return words


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of every wrong kind, a model and a run that has been trained for two steps."""
    place = tmp_path_factory.mktemp("mistakes")
    texts = {
        "src.txt": "Hello.\nGood morning.\nWhere is the station?\n",
        "tgt.txt": "Hallo.\nGuten Morgen.\nWo ist der Bahnhof?\n",
        "short.txt": "Hallo.\nGuten Morgen.\n",
        "empty.txt": "",
        "empty2.txt": "",
        "file": "a file\n",
        "tabs.tsv": "a\tb\tc\n",
        "bad.jsonl": "{oops\n",
        "deep.jsonl": '{"source": ' + "[" * 50_000 + "\n",
        "keys.jsonl": '{"a": 1}\n',
        "fake.gz": "\x1f",
        "broken.toml": "[model\n",
        "deep.toml": "[model]\nd_model = " + "[" * 50_000 + "\n",
        "deep-tables.toml": "[model" + ".a" * 20_000 + "]\n",
        "bare.toml": "d_model = 4\n",
        "section.toml": "[modle]\nd_model = 4\n",
        "number.toml": "[model]\nd_model = " + "9" * 10_000 + "\n",
        "full/notes.txt": "not a model\n",
        "begun/config.toml": "",
        "hf-broken/config.json": "{oops",
        "hf-broken/model.safetensors": "x",
        "hf-deep/config.json": "[" * 50_000,
        "hf-deep/model.safetensors": "x",
        "hf-other/config.json": '{"model_type": "bert"}',
        "hf-other/model.safetensors": "x",
        "hf-empty/config.json": "",
        "hf-huge/config.json": '{"model_type": "marian", "vocab_size": 1000000000000}',
        "hf-huge/model.safetensors": "x",
    }
    for name, text in texts.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, "utf-8")
    (place / "dir").mkdir()
    (place / "binary.bin").write_bytes(bytes(range(255, 127, -1)) * 40)
    (place / "latin1.txt").write_bytes("Grüße\nGrüße\nGrüße\n".encode("latin1"))
    (place / "utf16.txt").write_bytes("a\nb\nc\n".encode("utf-16"))
    (place / "fake.gz").write_bytes(b"\x1f\x8b not gzip")
    (place / "cut.txt.gz").write_bytes(gzip.compress(os.urandom(5000))[:-100])
    (place / "model").symlink_to(model_path())
    digits.write(place / "pairs.tsv", digits.pairs(120, seed=1))
    done = run("train", str(place / "run"), "--train", str(place / "pairs.tsv"), *SETTINGS)
    assert done.exit_code == 0, done.stderr
    return place


SETTINGS = digits.settings(
    *digits.SMALL, "train.steps=2", "train.checkpoint_steps=1", "train.validate_steps=2"
)


def run(*words: str):
    """The command in this process, but stopped like a hung one after `SECONDS`."""

    def hung(*_: object) -> None:
        raise AssertionError(f"still running after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(SECONDS)
    faulthandler.dump_traceback_later(2 * SECONDS, exit=True)  # where it cannot be interrupted
    try:
        return CliRunner().invoke(main, words)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check_explained(code: int, stderr: str, needle: str) -> None:
    """One sentence, and the one that was expected."""
    assert code == 2, stderr
    before = r"(?:(?!transduce: )[^\n]+\n){0,3}" if needle.startswith("+") else ""
    assert re.fullmatch(before + r"transduce: [^\n]+\n", stderr), stderr[-3000:]
    assert needle.removeprefix("+ ") in stderr
    assert len(stderr) < 1500, "too long to be read"


@pytest.mark.parametrize(("command", "needle"), list(cases()))
def test_a_mistake_gets_one_sentence(command, needle, workspace, monkeypatch) -> None:
    monkeypatch.chdir(workspace)
    before = sorted(workspace.iterdir())
    done = run(*words_of(command))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    check_explained(done.exit_code, done.stderr, needle)
    assert done.stdout == ""
    left = [path for path in sorted(workspace.iterdir()) if path not in before]
    assert all(path.name in ("new", "out") for path in left), left
    for path in left:
        shutil.rmtree(path)


def test_there_are_at_least_150_mistakes() -> None:
    assert len({case.values[0] for case in cases()}) >= 150


HUNGRY = {
    "train new --set model.d_model=99840 --set model.d_ff=9000000": "GiB of memory",
    "train new --preset tiny --set model.n_layers=1000 --set model.d_model=8192": "GiB of memory",
    "bench model --shape tiny --batch 4096 --length 4096": "not enough memory",
}


@pytest.mark.parametrize(("command", "needle"), HUNGRY.items())
def test_a_mistake_that_needs_too_much_memory_gets_one_sentence(command, needle, workspace) -> None:
    """With 4 GB of address space, where the largest of these would take hundreds."""
    done = subprocess.run(
        [sys.executable, "-m", "transduce", *words_of(command)],
        cwd=workspace,
        env={**os.environ, "PYTHONPATH": str(Path(transduce.__file__).parents[1])},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30)),
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        check=False,
    )
    assert done.returncode == 2, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("transduce: ")
    assert needle in last
