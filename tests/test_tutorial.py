"""The commands of two pages of docs/, and docs/library.py, run on a small corpus."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from models import pairs
from test_docs import QUICKLY, succeed

DOCS = Path(__file__).parents[1] / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text("utf-8")
HELD_OUT = 20  # instead of 200 sentences


def commands_of(page: str) -> list[str]:
    return [
        line for block in re.findall(r"```sh\n(.+?)```", page, re.S) for line in block.splitlines()
    ]


COMMANDS = [
    line.replace(" 200 ", f" {HELD_OUT} ").replace("+201", f"+{HELD_OUT + 1}")
    for line in commands_of(TUTORIAL)
]


def run_command(line: str, capsys) -> str:
    """Runs a line of the tutorial, with quick settings for training."""
    program, *words = shlex.split(line)
    if program == "transduce":
        words, file = (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, None)
        printed = succeed(*words, *QUICKLY.get(words[0], []))
        if file:
            Path(file).write_text(printed, "utf-8")
        return printed
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


@pytest.mark.skipif(not shutil.which("jq"), reason="the recipe filters with jq")
def test_the_commands_about_training_data_work_one_after_the_other(
    tmp_path, monkeypatch, capsys
) -> None:
    """Models of a few steps write nonsense, so that the filter has to let it pass."""
    monkeypatch.chdir(tmp_path)
    lines = pairs(150, "train", seed=3)
    Path("real.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in lines), "utf-8")
    Path("mono.de").write_text("".join(f"{b}\n" for _, b in pairs(12, "train", 4)), "utf-8")
    Path("mono.en").write_text("".join(f"{a}\n" for a, _ in pairs(12, "train", 4)), "utf-8")
    for line in commands_of((DOCS / "training-data.md").read_text("utf-8")):
        lenient = line.replace(".flags == [] and ", "").replace("> -2)", "> -99)")
        run_command(lenient.replace("select(.flags == []) | ", ""), capsys)
        if line.endswith("synthetic.jsonl") and line.startswith("jq"):
            synthetic = map(json.loads, Path("synthetic.jsonl").read_text("utf-8").splitlines())
            mono = Path("mono.de").read_text("utf-8").splitlines()
            assert [item["target"] for item in synthetic] == mono
            # a bad translation and a flagged one are left out
            items = [
                {"text": "a", "translation": "b", "flags": flags, "token_scores": [score, 0]}
                for flags, score in (([], -1), ([], -9), (["loop"], -1))
            ]
            text = "".join(json.dumps(item) + "\n" for item in items)
            done = subprocess.run(
                shlex.split(line)[:3], input=text, capture_output=True, text=True, check=True
            )
            assert done.stdout == '{"source":"b","target":"a"}\n'
    reranked = map(json.loads, Path("reranked.jsonl").read_text("utf-8").splitlines())
    english = Path("mono.en").read_text("utf-8").splitlines()
    assert [pair["source"] for pair in reranked] == english
    card = Path("en-de", "model", "card.md").read_text("utf-8")
    assert "synthetic.jsonl (weight 0.5, tag <bt>); 12 pairs read" in card


def test_the_library_script_shows_what_the_bundled_model_computes(capsys) -> None:
    printed = run_script("library.py", [], capsys)
    assert "Wie geht es dir?" in printed
    *_, ours, theirs, network = printed.splitlines()
    by_network = float(re.search(r"log p = (\S+),", ours)[1])
    assert by_network == pytest.approx(float(theirs), abs=0.5)  # int8 against float32
    assert re.fullmatch(r"[\d,]+ parameters, 6 \+ 6 layers, d_model=512, .+", network)
