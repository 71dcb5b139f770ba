"""The task and the training and validation files of a run, recorded in `inputs.json`."""

import filecmp
import json
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from transduce import atomic, grammar
from transduce.corpus.reading import BOTH_SIDES, STDIN, File, keep_stdin
from transduce.corpus.text import Corpus, Text
from transduce.errors import InputError
from transduce.log import Log
from transduce.tasks import TRANSLATION, Task, task_of
from transduce.tokenizer import check_symbols
from transduce.train.run import Run

BUILTIN: dict[grammar.Split, int] = {"train": 60_000, "valid": 1000, "test": 1000}
# The built-in corpus by the names that --train takes.
GENERATED: dict[str, Callable[[Run], Path]] = {
    "builtin": lambda run: run.builtin("train"),
    "builtin-de-en": lambda run: run.reversed,
}
LARGEST_WEIGHT = 1000


def model_name(given: str) -> str:
    """A model that a user named, without private directories; a model is named by its run.

    >>> model_name("runs/en-de-5/model")
    'en-de-5'
    """
    if given.startswith("hf:"):
        return given
    path = Path(given)
    return path.parent.name if path.name == "model" else path.name


@dataclass(frozen=True)
class Inputs:
    """The task of a run and its files."""

    train: tuple[Corpus, ...]
    valid: Text | None = None
    builtin: bool = False
    task: Task = TRANSLATION
    stdin: bool = False  # one of the files is still to be copied from standard input
    start: Path | None = None  # the model to start from
    start_name: str = ""  # as it was given

    def fingerprint(self) -> str:
        """A digest of the contents of all files, with the weights and tags."""
        train = "+".join(corpus.fingerprint() for corpus in self.train)
        return f"{train}|{self.valid.fingerprint() if self.valid else 'held out'}"

    @property
    def started_from(self) -> str:
        return model_name(self.start_name)

    @property
    def tags(self) -> list[str]:
        """The tags of the corpora, as tokens of the vocabulary."""
        return sorted({corpus.symbol for corpus in self.train} - {""})


def given_inputs(
    run: Run, task: Task, train: Sequence[Sequence[Path]], valid: Sequence[Path] = ()
) -> Inputs:
    """The files named on the command line; standard input is replaced by its copy in the run.

    Each of the training corpora may have a weight and a tag after its last file.
    """
    corpora = [_options_of(words) for words in train]
    names = [*(file for corpus in corpora for file in corpus.text.files), *valid]
    dash = Path(STDIN)
    if names.count(dash) > 1:
        raise InputError(
            "standard input can be read only once: give - for --train or --valid, not for both"
        )
    known = {dash: run.stdin, **{Path(name): file(run) for name, file in GENERATED.items()}}
    known = {name: file for name, file in known.items() if name == dash or not name.exists()}

    def text_of(files: Sequence[File]) -> Text:
        if dash in files and len(files) > 1:
            raise InputError(BOTH_SIDES)
        return task.text_of([known.get(Path(file), file) for file in files])

    return Inputs(
        tuple(replace(corpus, text=text_of(corpus.text.files)) for corpus in corpora),
        text_of(valid) if valid else None,
        task=task,
        stdin=dash in names,
    )


def _options_of(words: Sequence[Path]) -> Corpus:
    """The files of a corpus and, after the last of them, its weight and tag.

    A word that is the name of a file is taken as such.
    """
    *files, last = map(str, words)
    name, options = last, list[str]()
    while ":" in name and not Path(name).exists():
        name, _, option = name.rpartition(":")
        options.append(option)
    weight, tag = 1.0, ""
    for option in options:
        if option.startswith("tag="):
            tag = _tag_of(option.removeprefix("tag="), last)
        else:
            weight = _weight_of(option, last)
    return Corpus(Text(tuple(map(Path, [*files, name]))), weight, tag)


def _weight_of(text: str, word: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) <= LARGEST_WEIGHT:
            return float(text)
    raise InputError(
        f"--train {word}: {text!r} is neither a weight above 0 and up to {LARGEST_WEIGHT} nor "
        "tag=NAME, and there is no file of that name"
    )


def _tag_of(text: str, word: str) -> str:
    tag = text.removeprefix("<").removesuffix(">")
    if not re.fullmatch(r"[\w-]+", tag):
        raise InputError(
            f"--train {word}: a tag consists of letters, digits, - and _, for example tag=bt"
        )
    check_symbols([f"<{tag}>"])
    return tag


def write_text(run: Run, inputs: Inputs, log: Log) -> None:
    """Writes the built-in corpus, or a copy of standard input, into the run."""
    if inputs.builtin:
        generate_builtin(run, log)
    named = {file for corpus in inputs.train for file in corpus.text.files}
    if run.builtin("train") in named:
        _generate(run.builtin("train"), "train", log)
    if run.reversed in named:
        _generate(run.reversed, "train", log, reverse=True)
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
    content = {
        "train": [
            {**_names(corpus.text), "weight": corpus.weight, "tag": corpus.tag}
            for corpus in inputs.train
        ],
        "valid": inputs.valid and _names(inputs.valid),
        "builtin": inputs.builtin,
        "task": inputs.task.name,
        **({"from": inputs.start_name} if inputs.start else {}),
    }
    with atomic.file(run.inputs) as aside:
        aside.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def read_inputs(run: Run) -> Inputs:
    """The files of an existing run; raises InputError if `inputs.json` is damaged."""
    try:
        content = json.loads(run.inputs.read_text("utf-8"))
        if content["builtin"]:
            return builtin_inputs(run)
        valid = _text(content["valid"]) if content["valid"] else None
        train = content["train"]  # earlier runs have one corpus, and no list
        return Inputs(
            tuple(map(_corpus, [train] if isinstance(train, dict) else train)),
            valid,
            task=task_of(content.get("task", TRANSLATION.name)),
            start=run.start if "from" in content else None,
            start_name=str(content.get("from", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{run.inputs} is damaged: name the files again with --train and --valid"
        ) from None


def _names(text: Text) -> dict[str, list[str]]:
    return {"sources": [*map(str, text.sources)], "targets": [*map(str, text.targets)]}


def _corpus(content: Mapping[str, Any]) -> Corpus:
    return Corpus(_text(content), float(content.get("weight", 1)), str(content.get("tag", "")))


def _text(content: Mapping[str, list[str]]) -> Text:
    sources, targets = (tuple(map(Path, content[key])) for key in ("sources", "targets"))
    return Text(sources, targets)


def builtin_inputs(run: Run) -> Inputs:
    """The built-in corpus, which is written into the run."""
    train, valid = (Text((run.builtin(split),)) for split in ("train", "valid"))
    return Inputs((Corpus(train),), valid, builtin=True)


def generate_builtin(run: Run, log: Log) -> None:
    """Writes the built-in corpus into the run as TSV files, unless they are there."""
    for split in BUILTIN:
        _generate(run.builtin(split), split, log)


def _generate(file: Path, split: grammar.Split, log: Log, reverse: bool = False) -> None:
    if file.exists():
        return
    log(f"generating {BUILTIN[split]:,} sentence pairs: {file}")
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic.file(file) as aside, aside.open("w", encoding="utf-8") as stream:
        for pair in grammar.sentences(split, BUILTIN[split], seed=0):
            stream.write("\t".join(reversed(pair) if reverse else pair) + "\n")


def count_examples(run: Run, inputs: Inputs, most: int) -> int | None:
    """The number of training examples, counted up to `most`; None if they are on standard input."""
    generated, total = {file(run) for file in GENERATED.values()}, 0
    for corpus in inputs.train:
        if run.stdin in corpus.text.files:
            return None
        if generated & set(corpus.text.files):
            total += BUILTIN["train"]
        else:
            total += sum(1 for _ in islice(inputs.task.read(corpus.text), most - total))
    return total
