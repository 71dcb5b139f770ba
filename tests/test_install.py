"""A core installation: what works without extras, and errors that name the missing one."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import transduce
from transduce.cli import EXTRAS, VERBS

ROOT = Path(transduce.__file__).parents[1]
SENTENCE = "Where is the nearest station?"
OPTIONAL = [*EXTRAS, "psutil", "beartype", "hypothesis", "pytest"]

WITHOUT = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
COMMAND = WITHOUT + "from transduce.cli import main\nmain(sys.argv[1:])"


def python(code: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def core(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """A command where no optional dependency is installed."""
    return python(COMMAND, *words)


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("texts")
    source, target = place / "test.en", place / "test.de"
    source.write_text(f"{SENTENCE}\n", "utf-8")
    target.write_text("Wo ist der nächste Bahnhof?\n", "utf-8")
    return source, target


def test_the_bundled_model_translates_without_torch(tmp_path, texts) -> None:
    done = core("translate", SENTENCE, "--json", "--n-best", "2")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["translation"] == "Wo ist der nächste Bahnhof?"
    assert core("translate", "--input", texts[0], "--output", tmp_path / "out").returncode == 0
    assert (tmp_path / "out").read_text("utf-8") == texts[1].read_text("utf-8")


def test_translations_are_scored_without_torch(texts) -> None:
    done = core("score", *texts)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) < 0


def test_a_model_is_described_without_torch() -> None:
    done = core("info", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parameters"] > 0


def test_the_library_translates_without_torch() -> None:
    code = f"import transduce; print(transduce.Translator.load().translate([{SENTENCE!r}])[0])"
    done = python(WITHOUT + code)
    assert done.stdout == "Wo ist der nächste Bahnhof?\n", done.stderr


def test_every_verb_has_its_help_without_any_extra() -> None:
    code = COMMAND.replace("main(sys.argv[1:])", "") + (
        f"for verb in {list(VERBS)!r}:\n"
        "    try: main([verb, '--help'])\n"
        "    except SystemExit as end: assert end.code == 0, verb\n"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: ") == len(VERBS)


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("train run", "torch"),
        ("check", "torch"),
        ("average run", "torch"),
        ("explain hello", "torch"),
        ("translate hello --engine torch", "torch"),
        ("paper params", "torch"),
        ("paper figure1 --output f.svg", "torch"),
        ("export --to huggingface out --model model", "torch"),
        ("import --from huggingface model out", "torch"),
        ("evaluate test.en test.de", "sacrebleu"),
        ("bench model", "torch"),
    ],
)
def test_what_is_missing_is_named_with_the_command_that_installs_it(
    command, package, texts, monkeypatch
) -> None:
    monkeypatch.chdir(texts[0].parent)
    done = core(*command.split())
    assert done.returncode == 2, done.stderr
    install = re.escape(f"this needs {package}: pip install 'transduce[{EXTRAS[package]}]'")
    assert re.fullmatch(rf"transduce: \w+: {install}\n", done.stderr), done.stderr
    assert done.stdout == ""


def test_figures_without_matplotlib_name_their_extra(tmp_path) -> None:
    code = COMMAND.replace(repr(OPTIONAL), repr(["matplotlib"]))
    done = python(code, "paper", "figure1", "--output", tmp_path / "f.svg")
    assert done.returncode == 2
    assert "this needs matplotlib: pip install 'transduce[figures]'" in done.stderr


def test_every_optional_dependency_is_in_the_extra_that_is_named_for_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {
        extra: {re.split(r"[>=\[]", item)[0] for item in items}
        for extra, items in project["optional-dependencies"].items()
    }
    for package, extra in EXTRAS.items():
        assert package in names[extra]
    core_names = {re.split(r"[>=\[]", item)[0] for item in project["dependencies"]}
    assert not core_names & set(OPTIONAL)
    everything = project["optional-dependencies"]["all"][0]
    assert set(re.split(r"[\[\],]", everything)[1:-1]) == set(EXTRAS.values()) - {"ray"}


def test_importing_the_package_takes_a_fifth_of_a_second_at_most() -> None:
    clock = "time.process_time()"
    code = f"import time; start = {clock}; import transduce; print({clock} - start)"
    assert min(float(python(code).stdout) for _ in range(3)) < 0.2


def test_the_package_names_its_version_and_its_exports() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", transduce.__version__)
    assert set(transduce.__all__) <= set(dir(transduce))
    for name in transduce.__all__:
        assert getattr(transduce, name)
    with pytest.raises(AttributeError, match="no attribute 'Transducer'"):
        transduce.Transducer  # noqa: B018
