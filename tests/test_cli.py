"""The command line: help, errors and exit codes."""

import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from transduce.cli import VERBS, main


def run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "transduce", *args]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("args", [[], *([verb] for verb in VERBS)], ids=str)
def test_help_does_not_import_torch(args) -> None:
    """`--help` is instant because it imports nothing that computes."""
    code = (
        "import sys; from transduce.cli import main\n"
        f"try: main({[*args, '--help']!r})\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "heavy = {'torch', 'numpy', 'pydantic', 'matplotlib', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage: " in done.stdout


def test_only_verbs_that_exist_are_listed() -> None:
    listed = CliRunner().invoke(main, ["--help"]).stdout.split("Commands:")[1]
    assert re.findall(r"^  (\w+)", listed, re.MULTILINE) == list(VERBS)


def test_a_user_mistake_is_one_line_on_stderr_and_exit_code_2() -> None:
    for args in (["trian"], ["explain"], ["explain", "a", "--layer", "0"], ["paper", "table9"]):
        done = run(*args)
        assert done.returncode == 2
        assert done.stdout == ""
        assert re.fullmatch(r"transduce: [^\n]+\n", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            FileNotFoundError(2, "No such file or directory", "a/b"),
            "a/b: No such file or directory",
        ),
        (OSError(28, "No space left on device"), "No space left on device: free some space"),
        (MemoryError(), "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "not enough memory"),
        (RecursionError(), "nested too deeply"),
        (OverflowError("int too large to convert to float"), "a number is too large"),
        (UnicodeEncodeError("utf-8", "a\ud800", 1, 2, "surrogates"), r"'\ud800' is an unpaired"),
        (ModuleNotFoundError(name="torch.nn"), "this needs torch: pip install 'transduce[train]'"),
    ],
)
def test_an_error_of_the_system_is_a_sentence_that_names_the_verb(
    error, sentence, monkeypatch
) -> None:
    import transduce.paper.parameters

    monkeypatch.setattr(transduce.paper.parameters, "count_table_3", lambda: raise_(error))
    done = CliRunner().invoke(main, ["paper", "params"])
    assert done.exit_code == 2
    assert done.stderr.startswith("transduce: paper: ")
    assert sentence in done.stderr


@pytest.mark.parametrize(
    "error",
    [
        KeyError("a"),
        TypeError(),
        AssertionError(),
        RuntimeError("x"),
        ModuleNotFoundError(name="y"),
    ],
    ids=repr,
)
def test_a_bug_keeps_its_traceback(error, monkeypatch) -> None:
    import transduce.paper.parameters

    monkeypatch.setattr(transduce.paper.parameters, "count_table_3", lambda: raise_(error))
    assert CliRunner().invoke(main, ["paper", "params"]).exception is error


def raise_(error: Exception) -> None:
    raise error


def test_a_full_disk_behind_standard_output_is_a_sentence() -> None:
    command = f"{sys.executable} -m transduce paper params > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch("transduce: paper: No space left on device: [^\n]+\n", done.stderr)


def test_a_name_that_is_not_text_is_named_in_the_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "transduce", "translate", "--input", b"\xff.txt"],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert b"udcff.txt" in done.stderr
    assert b"Traceback" not in done.stderr


def test_the_version_is_the_packages() -> None:
    assert re.fullmatch(r"transduce \d+\.\d+\.\d+\n", run("--version").stdout)


def test_a_closed_output_pipe_is_not_an_error() -> None:
    script = f"{sys.executable} -m transduce explain 'a b c' --seed 0 | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_python_without_a_terminal_encoding_still_prints_the_papers_symbols() -> None:
    command = [sys.executable, "-m", "transduce", "explain", "a b", "--seed", "0"]
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "QKᵀ/√d_k" in done.stdout.decode("utf-8")
