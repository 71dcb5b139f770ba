"""The task and the training and validation files of a run, recorded in `inputs.json`."""

import filecmp
import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from transduce import atomic, grammar
from transduce.corpus.reading import BOTH_SIDES, STDIN, keep_stdin
from transduce.corpus.text import Text
from transduce.errors import InputError
from transduce.log import Log
from transduce.tasks import TRANSLATION, Task, task_of
from transduce.train.run import Run

BUILTIN: dict[grammar.Split, int] = {"train": 60_000, "valid": 1000, "test": 1000}


@dataclass(frozen=True)
class Inputs:
    """The task of a run and its files."""

    train: Text
    valid: Text | None = None
    builtin: bool = False
    task: Task = TRANSLATION
    stdin: bool = False  # one of the files is still to be copied from standard input


def given_inputs(
    run: Run, task: Task, train: tuple[Path, ...], valid: tuple[Path, ...] = ()
) -> Inputs:
    """The files named on the command line; standard input is replaced by its copy in the run."""
    dash = Path(STDIN)
    if dash in train and dash in valid:
        raise InputError(
            "standard input can be read only once: give - for --train or --valid, not for both"
        )
    if any(dash in files and len(files) > 1 for files in (train, valid)):
        raise InputError(BOTH_SIDES)
    texts = [
        task.text_of([run.stdin if file == dash else file for file in files]) if files else None
        for files in (train, valid)
    ]
    assert texts[0]
    return Inputs(texts[0], texts[1], task=task, stdin=dash in train + valid)


def write_text(run: Run, inputs: Inputs, log: Log) -> None:
    """Writes the built-in corpus, or a copy of standard input, into the run."""
    if inputs.builtin:
        generate_builtin(run, log)
    if inputs.stdin and not (run.stdin.exists() and sys.stdin.isatty()):
        run.stdin.parent.mkdir(parents=True, exist_ok=True)
        with atomic.file(run.stdin) as aside:
            keep_stdin(aside)
            if run.stdin.exists() and not aside.stat().st_size:
                shutil.copyfile(run.stdin, aside)  # standard input is empty: keep the earlier copy
            elif run.stdin.exists() and run.begun and not filecmp.cmp(aside, run.stdin, False):
                raise InputError(
                    f"{run.directory} was started with other text than standard input has: "
                    "continue it with the same text, or train into another directory"
                )


def write_inputs(run: Run, inputs: Inputs) -> None:
    """Records the files, so that `transduce train RUN` can continue without naming them."""
    content: dict[str, object] = {
        name: text and {"sources": [*map(str, text.sources)], "targets": [*map(str, text.targets)]}
        for name, text in (("train", inputs.train), ("valid", inputs.valid))
    }
    content |= {"builtin": inputs.builtin, "task": inputs.task.name}
    with atomic.file(run.inputs) as aside:
        aside.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def read_inputs(run: Run) -> Inputs:
    """The files of an existing run; raises InputError if `inputs.json` is damaged."""
    try:
        content = json.loads(run.inputs.read_text("utf-8"))
        if content["builtin"]:
            return builtin_inputs(run)
        valid = _text(content["valid"]) if content["valid"] else None
        return Inputs(
            _text(content["train"]), valid, task=task_of(content.get("task", TRANSLATION.name))
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{run.inputs} is damaged: name the files again with --train and --valid"
        ) from None


def _text(content: Mapping[str, list[str]]) -> Text:
    sources, targets = (tuple(map(Path, content[key])) for key in ("sources", "targets"))
    return Text(sources, targets)


def builtin_inputs(run: Run) -> Inputs:
    """The built-in corpus, which is written into the run."""
    train, valid = (Text((run.builtin(split),)) for split in ("train", "valid"))
    return Inputs(train, valid, builtin=True)


def generate_builtin(run: Run, log: Log) -> None:
    """Writes the built-in corpus into the run as TSV files, unless they are there."""
    for split, count in BUILTIN.items():
        file = run.builtin(split)
        if file.exists():
            continue
        log(f"generating {count:,} sentence pairs: {file}")
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic.file(file) as aside, aside.open("w", encoding="utf-8") as stream:
            for pair in grammar.sentences(split, count, seed=0):
                stream.write(f"{pair.source}\t{pair.target}\n")
