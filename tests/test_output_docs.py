"""Every field and flag of the output of `translate` is documented."""

import ast
import json
import re
from pathlib import Path

from click.testing import CliRunner
from models import model_directory

from transduce.cli import main
from transduce.model_names import bundled_models
from transduce.train.card import flag_list
from transduce.translate.flags import FLAGS

ROOT = Path(__file__).parents[1]
DOCS = (ROOT / "docs" / "output.md").read_text("utf-8")
README = (ROOT / "README.md").read_text("utf-8")
# the functions that make flags, and where they are
MAKERS = {
    "translate/guards.py": ["flags_of"],
    "translate/translator.py": ["_repair", "_warn"],
    "translate/restore/second.py": ["replace"],
    "translate/restore/quotations.py": ["keep_quotations"],
    "translate/join.py": ["join_units"],
    "translate/records.py": ["with_flag"],
    "cli/score.py": ["score_command"],
}


def words_in(file: str, functions: list[str]) -> set[str]:
    """The short strings in some functions of a file."""
    tree = ast.parse((ROOT / "transduce" / file).read_text("utf-8"))
    bodies = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in functions
    ]
    assert len(bodies) == len(functions)
    constants = [n for body in bodies for n in ast.walk(body) if isinstance(n, ast.Constant)]
    return {n.value for n in constants if isinstance(n.value, str)}


def test_every_flag_that_the_code_makes_is_known_and_every_known_one_is_made() -> None:
    made = {word for file, functions in MAKERS.items() for word in words_in(file, functions)}
    assert set(FLAGS) <= made
    for file in (ROOT / "transduce").rglob("*.py"):
        for flag in re.findall(
            r'flags\.append\("(.+?)"\)|\[\"flags\"\] = \["(.+?)"', file.read_text("utf-8")
        ):
            assert set(filter(None, flag)) <= set(FLAGS), file


def test_every_flag_is_explained_in_the_same_words_everywhere() -> None:
    cards = [(path / "card.md").read_text("utf-8") for path in bundled_models().values()]
    for flag, meaning in FLAGS.items():
        assert f"| `{flag}` | {meaning} |" in DOCS
        assert f"- `{flag}`: {meaning}" in flag_list()
        assert f"`{flag}`" in README
        for card in cards:
            assert f"- `{flag}`: {meaning}" in card


def test_every_json_field_is_explained(tmp_path) -> None:
    model = model_directory(tmp_path / "model")
    file = tmp_path / "in"
    file.write_text("A dog sleeps.\n", "utf-8")
    words = ["translate", "--model", str(model), "--input", str(file), "--json", "--paragraphs"]
    done = CliRunner().invoke(main, [*words, "--n-best", "2", "--alignments"])
    entry = json.loads(done.stdout)
    documented = re.findall(r"^\| `(\w+)` \|", DOCS.partition("## Flags")[0], re.M)
    assert set(documented) == set(entry)
    assert len(entry["token_scores"]) - len(entry["tokens"]) in (0, 1)


def test_the_documented_options_exist() -> None:
    from transduce.cli.translate import translate_command

    known = {name for option in translate_command.params for name in option.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", DOCS)) <= known
