"""The command line as a user meets it."""

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
def test_help_never_waits_for_torch(args) -> None:
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


def test_the_version_is_the_packages() -> None:
    assert re.fullmatch(r"transduce \d+\.\d+\.\d+\n", run("--version").stdout)


def test_output_that_nobody_reads_to_the_end_is_no_error() -> None:
    script = f"{sys.executable} -m transduce explain 'a b c' --seed 0 | head -n 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_python_without_a_terminal_encoding_still_prints_the_papers_symbols() -> None:
    command = [sys.executable, "-m", "transduce", "explain", "a b", "--seed", "0"]
    env = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    assert "QKᵀ/√d_k" in done.stdout.decode("utf-8")
