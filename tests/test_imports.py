"""Data flows one way: this file is the map of the package."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "transduce"

# A stage imports only earlier stages.
STAGES = [
    "errors",
    "log",
    "atomic",
    "machine",
    "table",
    "charts",
    "config",
    "positions",
    "shapes",
    "corpus",
    "grammar",
    "tokenizer",
    "store",
    "blocks",
    "batches",
    "loss",
    "model",
    "schedule",
    "muon",
    "shortlist",
    "directory",
    "search",
    "engines",
    "exchange",
    "model_names",
    "translate",
    "attend",
    "parsing",
    "explain",
    "generate",
    "tasks",
    "train",
]
# An application imports stages, never another application.
APPLICATIONS = ["check", "history", "evaluate", "figures", "paper", "bench", "serve"]
# The command line imports everything, inside the verb that needs it.
TOP = ["cli", "__main__", "__init__"]


def part_of(file: Path) -> str:
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def imports_of(file: Path) -> list[str]:
    """The parts of transduce that a file imports, at any depth of its code."""
    found = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [name.split(".")[1] for name in names if name.startswith("transduce.")]
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


def test_every_part_is_on_the_map() -> None:
    assert {part_of(file) for file in FILES} == {*STAGES, *APPLICATIONS, *TOP}


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_a_part_imports_only_what_comes_before_it(file) -> None:
    part = part_of(file)
    if part in TOP:
        return
    earlier = STAGES[: STAGES.index(part)] if part in STAGES else STAGES
    assert set(imports_of(file)) <= {part, *earlier}


def test_the_command_line_imports_what_computes_only_inside_a_verb() -> None:
    for file in FILES:
        if part_of(file) in ("cli", "__init__"):
            tree = ast.parse(file.read_text("utf-8"))
            top = ast.Module([n for n in tree.body if not isinstance(n, ast.If)], [])
            names = [n.module for n in top.body if isinstance(n, ast.ImportFrom)]
            names += [a.name for n in top.body if isinstance(n, ast.Import) for a in n.names]
            ours = {name for name in names if name and name.startswith("transduce")}
            light = ("transduce.cli", "transduce.errors", "transduce.log")
            assert all(name.startswith(light) for name in ours), file


def test_nothing_unpickles_or_executes_downloaded_code() -> None:
    for file in FILES:
        text = file.read_text("utf-8")
        for word in ("pickle", "torch.load", "eval(", "exec(", "shell=True", "trust_remote_code"):
            uses = [line for line in text.split("\n") if word in line and ".eval()" not in line]
            harmless = (
                "weights_only=True",
                "allow_pickle=False",
                "import UnpicklingError",
                "create_subprocess_exec(",
            )
            assert not [u for u in uses if not any(x in u for x in harmless)], f"{file}: {uses}"
