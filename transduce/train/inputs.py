"""What a run learns from: the task and its files, remembered in the run."""

import json
from dataclasses import dataclass

from transduce import atomic, grammar
from transduce.corpus.text import Text
from transduce.errors import InputError
from transduce.log import Log
from transduce.tasks import TRANSLATION, Task, task_of
from transduce.train.run import Run

BUILTIN: dict[grammar.Split, int] = {"train": 60_000, "valid": 1000, "test": 1000}


@dataclass(frozen=True)
class Inputs:
    """What a run learns from."""

    train: Text
    valid: Text | None = None
    builtin: bool = False
    task: Task = TRANSLATION


def write_inputs(run: Run, inputs: Inputs) -> None:
    """Remembers the files, so that `transduce train RUN` alone continues."""
    content: dict[str, object] = {
        name: text and {"sources": [*map(str, text.sources)], "targets": [*map(str, text.targets)]}
        for name, text in (("train", inputs.train), ("valid", inputs.valid))
    }
    content |= {"builtin": inputs.builtin, "task": inputs.task.name}
    with atomic.file(run.inputs) as aside:
        aside.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def read_inputs(run: Run) -> Inputs:
    """The files of a run that has begun; InputError if they are not known any more."""
    try:
        content = json.loads(run.inputs.read_text("utf-8"))
        if content["builtin"]:
            return builtin_inputs(run)
        train, valid = (
            text and Text(tuple(text["sources"]), tuple(text["targets"]))
            for text in (content["train"], content["valid"])
        )
        return Inputs(train, valid, task=task_of(content.get("task", TRANSLATION.name)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{run.inputs} cannot be read: {error}; name the files again") from None


def builtin_inputs(run: Run) -> Inputs:
    """The built-in corpus, as files of the run."""
    train, valid = (Text((run.builtin(split),)) for split in ("train", "valid"))
    return Inputs(train, valid, builtin=True)


def generate_builtin(run: Run, log: Log) -> None:
    """Writes the built-in corpus into the run, for the run and for whoever wants to read it."""
    for split, count in BUILTIN.items():
        file = run.builtin(split)
        if file.exists():
            continue
        log(f"generating {count:,} sentence pairs: {file}")
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic.file(file) as aside, aside.open("w", encoding="utf-8") as stream:
            for pair in grammar.sentences(split, count, seed=0):
                stream.write(f"{pair.source}\t{pair.target}\n")
