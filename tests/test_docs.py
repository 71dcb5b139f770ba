"""What the documents claim exists."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

from transduce.cli import VERBS

ROOT = Path(__file__).parents[1]
PAPER = (ROOT / "docs" / "paper.md").read_text("utf-8")
ROWS = re.findall(
    r"^\| (.+?) \| .+ \| `(transduce\.[\w.]+)` \| `(test_\w+)\.(test_\w+)` \|$", PAPER, re.M
)


def test_the_map_of_the_paper_has_a_symbol_and_a_test_in_every_row() -> None:
    assert len(ROWS) == sum(line.startswith("| ") for line in PAPER.split("\n")) - 2


@pytest.mark.parametrize(("section", "symbol", "file", "test"), ROWS)
def test_every_symbol_and_test_of_the_map_exists(section, symbol, file, test) -> None:
    parts = symbol.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        break
    for name in parts[cut:]:
        found = getattr(found, name)
    assert f"def {test}(" in (ROOT / "tests" / f"{file}.py").read_text("utf-8")


def test_every_command_in_the_readme_is_a_verb_with_these_options() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^(transduce .+)$", readme, re.M)
    assert commands
    for command in commands:
        words = shlex.split(command, comments=True)
        verb = words[1]
        assert verb in VERBS, command
        module = importlib.import_module(VERBS[verb])
        known = getattr(module, f"{verb}_command")
        if hasattr(known, "commands"):
            known = known.commands[words[2]]
        options = {name for p in known.params for name in p.opts}
        assert {word for word in words if word.startswith("--")} <= options, command


def test_every_part_of_the_package_is_on_the_readmes_map() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for path in sorted((ROOT / "transduce").iterdir()):
        if path.name.startswith(("_", ".")) or path.suffix not in ("", ".py"):
            continue
        if path.name in ("errors.py", "atomic.py", "log.py"):
            continue
        assert f"`transduce/{path.name}{'/' if path.is_dir() else ''}`" in readme, path.name
