"""The interface between a task and the trainer."""

from pathlib import Path

import digits
import pytest
from click.testing import CliRunner

from transduce.cli import main
from transduce.errors import InputError
from transduce.tasks import TASKS, TRANSLATION


@pytest.mark.parametrize("verb", ["train", "check"])
def test_an_unknown_task_is_one_sentence(tmp_path, verb) -> None:
    run = [str(tmp_path / "run")] if verb == "train" else []
    result = CliRunner().invoke(main, [verb, *run, "--task", "parsnip"])
    assert result.exit_code == 2
    assert result.stderr == f"transduce: unknown task parsnip; known: {', '.join(TASKS)}\n"


def test_one_file_has_both_sides_and_many_come_source_files_first() -> None:
    assert TRANSLATION.text_of([Path("a.tsv")]).targets == ()
    text = TRANSLATION.text_of([Path(name) for name in ("a.en", "b.en", "a.de", "b.de")])
    assert text.sources == (Path("a.en"), Path("b.en"))
    assert text.targets == (Path("a.de"), Path("b.de"))
    with pytest.raises(InputError, match="3 files: give one file with both sides"):
        TRANSLATION.text_of([Path("a"), Path("b"), Path("c")])


def test_examples_have_a_text_for_each_side(tmp_path) -> None:
    lines = digits.pairs(5, seed=1)
    text = TRANSLATION.text_of([digits.write(tmp_path / "train.tsv", lines)])
    examples = list(TRANSLATION.read(text))
    assert [tuple(example) for example in examples] == lines
    assert {len(example) for example in examples} == {len(TRANSLATION.sides)}
