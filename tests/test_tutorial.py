"""docs/tutorial.md, with its commands, and docs/library.py run on a small corpus."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from models import pairs
from test_docs import QUICKLY, succeed

DOCS = Path(__file__).parents[1] / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text("utf-8")
HELD_OUT = 20  # instead of 200 sentences
COMMANDS = [
    line.replace(" 200 ", f" {HELD_OUT} ").replace("+201", f"+{HELD_OUT + 1}")
    for block in re.findall(r"```sh\n(.+?)```", TUTORIAL, re.S)
    for line in block.splitlines()
]


def run_command(line: str, capsys) -> str:
    """Runs a line of the tutorial, with quick settings for training."""
    program, *words = shlex.split(line)
    if program == "transduce":
        return succeed(*words, *QUICKLY.get(words[0], []))
    if program == "python":
        return run_script(Path(words[0]).name, words[1:], capsys)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], check=True, capture_output=True, text=True
    )
    return done.stdout


def run_script(name: str, arguments: list[str], capsys) -> str:
    before = sys.argv
    sys.argv = [name, *arguments]
    try:
        capsys.readouterr()
        runpy.run_path(str(DOCS / name))
    finally:
        sys.argv = before
    return capsys.readouterr().out


def test_the_commands_of_the_tutorial_work_one_after_the_other(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    sources, targets = zip(*pairs(300, "train", seed=3), strict=True)
    Path("own.en").write_text("".join(f"{line}\n" for line in sources), "utf-8")
    Path("own.de").write_text("".join(f"{line}\n" for line in targets), "utf-8")
    printed = {line: run_command(line, capsys) for line in COMMANDS}
    verbs = {line.split()[1]: text for line, text in printed.items() if line.startswith("trans")}
    assert verbs.keys() >= {"check", "train", "info", "average", "export"}
    assert all(verbs[verb] for verb in ("evaluate", "translate", "explain"))
    held_out = Path("test.en").read_text("utf-8").splitlines()
    kept = Path("train.tsv").read_text("utf-8").splitlines()
    assert sorted([*held_out, *(line.split("\t")[0] for line in kept)]) == sorted(sources)
    assert len(held_out) == HELD_OUT
    assert Path("letter.de").read_text("utf-8").split("\n")[1] == ""
    for name in ("RUN/model/config.json", "small/config.json"):
        assert Path(name).is_file()
    for name in ("for-ctranslate2", "for-huggingface"):
        assert "```python" in Path(name, "README.md").read_text("utf-8")
    for block in re.findall(r"```python\n(.+?)```", TUTORIAL, re.S):
        exec(block, {})


def test_the_library_script_shows_what_the_bundled_model_computes(capsys) -> None:
    printed = run_script("library.py", [], capsys)
    assert "Wie geht es dir?" in printed
    *_, ours, theirs, network = printed.splitlines()
    by_network = float(re.search(r"log p = (\S+),", ours)[1])
    assert by_network == pytest.approx(float(theirs), abs=0.5)  # int8 against float32
    assert re.fullmatch(r"[\d,]+ parameters, 6 \+ 6 layers, d_model=512, .+", network)
