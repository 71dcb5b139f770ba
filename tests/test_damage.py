"""Damaged files are repaired, skipped with a message, or reported as an error of one sentence.

Never a traceback, a hang or gigabytes, and never another result without a word.
"""

import faulthandler
import os
import random
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import digits
import pytest
from click.testing import CliRunner

from transduce.cli import main
from transduce.directory import sha256, write_checksums
from transduce.model_names import model_path

SECONDS = 120
MEMORY = 2 * 2**20  # KiB that this process may grow by while it reads what is damaged
SETTINGS = digits.settings(*digits.SMALL, "train.checkpoint_steps=2", "train.average=1")
LINES = ["1 2 3 4", "5 6 7", "8 9"]

Damage = Callable[[Path], object]


def flip(file: Path) -> None:
    """One bit in the middle."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


def replace_by_directory(file: Path) -> None:
    remove(file)
    file.mkdir()
    (file / "inside").write_text("x", "utf-8")


def remove(file: Path) -> None:
    shutil.rmtree(file) if file.is_dir() else file.unlink()


def loop(file: Path) -> None:
    remove(file)
    file.symlink_to(file.name)


EVENTS = ("train", "validation", "final", "rollback")
DAMAGE: dict[str, Damage] = {
    "missing": remove,
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "flipped bit": flip,
    "a directory": replace_by_directory,
    "random bytes": lambda file: file.write_bytes(random.Random(1).randbytes(4096)),
    "longer": lambda file: file.write_bytes(file.read_bytes() * 2),
    "a loop of links": loop,
    "deep JSON": lambda file: file.write_text("[" * 100_000, "utf-8"),
    "a JSON list": lambda file: file.write_text("[]\n", "utf-8"),
    "an empty object": lambda file: file.write_text("{}\n", "utf-8"),
    "null": lambda file: file.write_text("null\n", "utf-8"),
    "many digits": lambda file: file.write_text('{"step": ' + "9" * 5000 + "}\n", "utf-8"),
    "infinite": lambda file: file.write_text('{"step": 1e999, "nll": NaN}\n', "utf-8"),
    "negative": lambda file: file.write_text('{"step": -7, "event": "train"}\n', "utf-8"),
    "half entries": lambda file: file.write_text(
        "".join(f'{{"step": 3, "event": "{event}"}}\n' for event in EVENTS), "utf-8"
    ),
    "entries of wrong types": lambda file: file.write_text(
        "".join(
            f'{{"step": 3, "event": "{event}", "epoch": "x", "seconds": [], "tokens": null, '
            '"loss": "x", "nll": "x", "perplexity": {}, "bleu": "x", "exact_match": []}\n'
            for event in EVENTS
        ),
        "utf-8",
    ),
    "wrong types": lambda file: file.write_text('{"step": "x", "event": []}\n', "utf-8"),
}
BYTES = ["missing", "empty", "cut", "flipped bit", "a directory", "random bytes"]
JSON = ["deep JSON", "a JSON list", "an empty object", "many digits", "wrong types"]

RUN_FILES = {
    "config.toml": ["missing", "empty", "cut", "a directory", "random bytes", "deep JSON"],
    "inputs.json": [*BYTES, *JSON],
    "metrics.jsonl": [
        *BYTES,
        *JSON,
        "null",
        "infinite",
        "negative",
        "half entries",
        "entries of wrong types",
    ],
    "lock": ["missing", "random bytes", "a directory", "a loop of links"],
    "tokens.model": BYTES,
    "data/train/meta.json": ["missing", "flipped bit", *JSON],
    "data/train/source.ids": [*BYTES, "longer"],
    "data/train/target.offsets": [*BYTES, "longer"],
    "data/valid/target.ids": ["missing", "flipped bit"],
    "data/valid": ["missing"],
    "data": ["missing"],
    "checkpoints/step-00000004/state.json": [*BYTES, *JSON, "infinite"],
    "checkpoints/step-00000004/checksums.json": [*BYTES, "an empty object", "deep JSON"],
    "checkpoints/step-00000004/model.safetensors": BYTES,
    "checkpoints/step-00000004/optimiser.safetensors": BYTES,
    "checkpoints/step-00000004": ["missing"],
    "checkpoints": ["missing"],
}
MODEL_FILES = {
    "config.json": [*BYTES, *JSON],
    "model.safetensors": [*BYTES, "longer"],
    "tokens.model": BYTES,
    "checksums.json": [*BYTES, *JSON],
    "shortlist.safetensors": ["empty", "cut", "flipped bit", "a directory"],
    "card.md": ["missing", "flipped bit"],
}
FAST_FILES = {
    "model.bin": [*BYTES, "longer"],
    "config.json": ["missing", "empty", "random bytes", "deep JSON"],
    "transduce.json": [*BYTES, *JSON],
    "vmap.txt": ["missing", "empty", "flipped bit"],
    "shared_vocabulary.json": ["missing", "cut", "flipped bit"],
}


def table(files: dict[str, list[str]]) -> list[object]:
    return [
        pytest.param(file, kind, id=f"{file}: {kind}")
        for file, kinds in files.items()
        for kind in kinds
    ]


def call(*words: object, input: str | None = None):
    """The command in this process; a traceback or a hang fails the test."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        done = CliRunner().invoke(main, [str(word) for word in words], input=input)
    finally:
        faulthandler.cancel_dump_traceback_later()
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def check_explained(done, *, same: bool) -> None:
    """Either it worked, with the same result, or it ended with one sentence."""
    assert done.exit_code in (0, 2), done.stderr
    sentences = [line for line in done.stderr.splitlines() if line.startswith("transduce: ")]
    assert len(sentences) == (done.exit_code == 2), done.stderr
    assert same or done.exit_code == 2, f"another result, and no error: {done.stderr}"


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Iterator[Path]:
    """A cache of this module's own."""
    before, place = os.environ["XDG_CACHE_HOME"], tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(place)
    yield place
    os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return digits.write(tmp_path_factory.mktemp("corpus") / "pairs.tsv", digits.pairs(300, seed=1))


def train(run: Path, corpus: Path, steps: int):
    return call("train", run, "--train", corpus, *SETTINGS, "--set", f"train.steps={steps}")


@pytest.fixture(scope="module")
def begun(tmp_path_factory, corpus) -> Path:
    """A run of four steps, with checkpoints after two and after four."""
    run = tmp_path_factory.mktemp("begun") / "run"
    assert train(run, corpus, 4).exit_code == 0
    return run


@pytest.fixture(scope="module")
def weights(tmp_path_factory, begun, corpus) -> str:
    """The checksum of the weights after six steps without damage."""
    run = tmp_path_factory.mktemp("whole") / "run"
    assert train(run, corpus, 6).exit_code == 0
    return sha256(run / "model" / "model.safetensors")


@pytest.mark.parametrize(("file", "kind"), table(RUN_FILES))
def test_a_damaged_run_ends_with_the_same_weights_or_with_a_sentence(
    file, kind, begun, corpus, weights, tmp_path
) -> None:
    run = shutil.copytree(begun, tmp_path / "run")
    DAMAGE[kind](run / file)
    check_explained(call("info", run), same=True)
    done = train(run, corpus, 6)
    same = done.exit_code == 0 and sha256(run / "model" / "model.safetensors") == weights
    check_explained(done, same=same)


@pytest.mark.parametrize(
    ("file", "kind"),
    table({f: kinds for f, kinds in RUN_FILES.items() if f.startswith(("check", "conf", "tok"))}),
)
def test_checkpoints_of_a_damaged_run_are_averaged_without_the_damaged_ones(
    file, kind, begun, tmp_path
) -> None:
    run = shutil.copytree(begun, tmp_path / "run")
    DAMAGE[kind](run / file)
    done = call("average", run, "--output", tmp_path / "mean")
    check_explained(done, same=True)
    if done.exit_code == 0 and "step-00000004/" in file:
        assert "4" not in done.stderr.rsplit("(steps", 1)[1].split(")")[0], done.stderr


@pytest.fixture(scope="module")
def model(begun, cache, tmp_path_factory) -> Path:
    """A model directory that both engines have translated with."""
    place = shutil.copytree(begun / "model", tmp_path_factory.mktemp("model") / "model")
    assert call("translate", *LINES, "--model", place).exit_code == 0
    return place


def translations(model: Path, engine: str, *more: str):
    return call("translate", *LINES, "--model", model, "--engine", engine, "--n-best", 3, *more)


@pytest.fixture(scope="module")
def expected(model) -> dict[str, str]:
    return {engine: translations(model, engine).stdout for engine in ("torch", "ctranslate2")}


@pytest.mark.parametrize(("file", "kind"), table(MODEL_FILES))
def test_opening_a_damaged_model_is_an_error_everywhere(
    file, kind, model, corpus, tmp_path
) -> None:
    place = shutil.copytree(model, tmp_path / "model")
    DAMAGE[kind](place / file)
    lines = tmp_path / "lines.txt"
    lines.write_text("1 2\n", "utf-8")
    other = tmp_path / "other.txt"
    other.write_text("2 1\n", "utf-8")
    for words in (
        ["translate", "1 2", "--model", place],
        ["translate", "1 2", "--model", place, "--engine", "torch"],
        ["score", lines, other, "--model", place],
        ["info", place],
        ["explain", "1 2", "--model", place],
        ["export", "--to", "ctranslate2", tmp_path / "out", "--model", place],
    ):
        check_explained(call(*words), same=False)


@pytest.mark.parametrize(("file", "kind"), table(FAST_FILES))
def test_a_damaged_conversion_of_a_model_is_repeated(file, kind, model, expected, tmp_path) -> None:
    place = shutil.copytree(model, tmp_path / "model")
    damaged = place / "ctranslate2" / file
    assert damaged.exists(), "the fast engine is kept elsewhere"
    DAMAGE[kind](damaged)
    done = translations(place, "auto")
    check_explained(done, same=done.stdout == expected["ctranslate2"])


@pytest.mark.parametrize("kind", ["empty", "a directory", "random bytes", *JSON, "infinite"])
def test_a_damaged_cache_is_made_again(kind, model, cache) -> None:
    """A conversion to float32 is kept in the cache."""
    expected = translations(model, "ctranslate2", "--compute", "float32").stdout
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert files
    for file in files:
        DAMAGE[kind](file)
    done = translations(model, "ctranslate2", "--compute", "float32")
    assert done.exit_code == 0
    assert done.stdout == expected


HOSTILE = [
    ("max_length", None),
    ("max_length", 10**12),
    ("max_length", "many"),
    ("task", 7),
    ("format_version", 99),
    ("dtype", "float8"),
    ("model", None),
    ("model", {"vocab_size": 10**12}),
    ("model", {"n_layers": 10**9}),
    ("model", {"d_model": 10**7}),
    ("model", {"n_heads": -1}),
    ("model", {"pad_id": 10**9}),
    ("model", {"n_layers": 900, "d_model": 8192}),
]


@pytest.mark.parametrize(("key", "value"), HOSTILE)
def test_a_description_that_does_not_fit_the_weights_is_an_error_before_they_are_read(
    key, value, model, tmp_path
) -> None:
    """The checksums fit the hostile description."""
    import json

    place = shutil.copytree(model, tmp_path / "model")
    shutil.rmtree(place / "ctranslate2", ignore_errors=True)
    description = json.loads((place / "config.json").read_text("utf-8"))
    changed = {**description["model"], **value} if isinstance(value, dict) else value
    (place / "config.json").write_text(json.dumps({**description, key: changed}), "utf-8")
    (place / "checksums.json").unlink()
    write_checksums(place)
    for words in (["translate", "1 2", "--model", place], ["info", place]):
        check_explained(call(*words), same=False)


def test_the_tokenizer_of_another_model_is_an_error(model, tmp_path) -> None:
    place = shutil.copytree(model, tmp_path / "model")
    shutil.rmtree(place / "ctranslate2", ignore_errors=True)
    other = model_path() / "tokens.model"
    shutil.copy(other, place / "tokens.model")
    (place / "checksums.json").unlink()
    write_checksums(place)
    for engine in ("auto", "torch"):
        done = call("translate", "1 2", "--model", place, "--engine", engine)
        check_explained(done, same=False)
        assert "different models" in done.stderr


def test_there_are_at_least_40_kinds_of_damage_and_none_takes_gigabytes() -> None:
    """The last test of this file: the peak memory is that of all tests before it."""
    kinds = sum(map(len, [*RUN_FILES.values(), *MODEL_FILES.values(), *FAST_FILES.values()]))
    assert kinds >= 40
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MEMORY
