"""Options that several verbs share."""

import errno
import math
import os
import sys
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transduce.log import folded

if TYPE_CHECKING:
    from transduce.config import Config
    from transduce.train.inputs import Inputs
    from transduce.train.run import Run
    from transduce.translate.translator import Translator

Command = Callable[..., Any]

LARGEST_BEAM = 200
LARGEST_BATCH = 4096  # sentences
LARGEST_ALPHA = 10.0
JOINED = "\0"  # between the files of one option, which no argument contains


class Number(click.FloatRange):
    """A float in a range; NaN is an error."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


class NewFile(click.Path):
    """A file to write: not a directory, and in a directory that exists."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        file = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not file.parent.is_dir():
            self.fail(f"there is no directory {file.parent}", param, ctx)
        require_writable(file)
        return file


def require_writable(path: Path) -> None:
    """Raises PermissionError, before anything is computed, if `path` cannot be made or replaced."""
    there = next((folder for folder in path.absolute().parents if folder.exists()), Path("/"))
    if not os.access(there, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


PATH = click.Path(path_type=Path)
MODEL = "A directory of a model or a run, a bundled model's name, or hf:ORG/NAME[@REVISION]"
model_option = click.option("--model", metavar="MODEL", help=f"{MODEL} [default: en-de].")


def one_or_several(
    _context: click.Context, _option: click.Parameter, names: tuple[str, ...]
) -> str | tuple[str, ...] | None:
    return names if len(names) > 1 else next(iter(names), None)


models_option = click.option(
    "--model",
    metavar="MODEL",
    multiple=True,
    callback=one_or_several,
    help=f"{MODEL}; several are an ensemble [default: en-de].",
)
reverse_option = click.option(
    "--reverse",
    metavar="MODEL",
    help="A model that translates back, such as de-en: translations are chosen among those of the "
    "beam by both models, which is better and slower.",
)
at_least_one = click.IntRange(min=1)
beam_width = click.IntRange(1, LARGEST_BEAM)
batch_size = click.IntRange(1, LARGEST_BATCH)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def log(message: str) -> None:
    """Prints a message for people, on stderr."""
    click.echo(folded(message, sys.stderr), err=True)


def open_translator(
    model: Path | str | tuple[str, ...] | None,
    engine: str,
    device: str,
    compute: str,
    reverse: str | None = None,
) -> "Translator":
    """The translator of a command; as the process is its own, torch may keep freed memory."""
    from transduce.errors import InputError
    from transduce.machine import keep_memory
    from transduce.translate.translator import Translator

    if isinstance(model, tuple):
        if engine == "ctranslate2" or compute not in ("auto", "float32"):
            raise InputError("an ensemble is decoded by torch in float32: leave out the engine")
        translator = Translator.ensemble(model, device=device, reverse=reverse, log=log)
    else:
        runs = {"engine": engine, "device": device, "compute": compute}
        translator = Translator.load(model, **runs, reverse=reverse, log=log)
    if translator.engine.name == "torch":
        keep_memory()
    return translator


def settings(
    preset: str | None = "base", text: str = "Start from this preset."
) -> Callable[[Command], Command]:
    """--preset, --config and --set."""
    options = [
        click.option("--preset", default=preset, show_default=preset is not None, help=text),
        click.option(
            "--config", type=PATH, help="A TOML file with settings that override the preset."
        ),
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="SECTION.KEY=VALUE",
            help="Override one setting; `transduce presets --settings` lists all.",
        ),
    ]
    return lambda command: add(command, options)


def training_settings(command: Command) -> Command:
    """The same for training, where the default preset depends on the data and the run."""
    text = (
        "tiny, small, base, big, a row of Table 3 or builtin, as `transduce presets` lists them "
        "[default: by the number of sentence pairs]."
    )
    return settings(None, text)(command)


def text_files(
    name: str, text: str, required: bool = False, several: bool = False, metavar: str = "SRC TGT"
) -> Callable[[Command], Command]:
    """An option that takes the files of a corpus; its command is `ManyFiles`.

    If it may be given several times, for several corpora, its value has a tuple of files of each.
    """

    def grouped(_context: click.Context, _option: click.Parameter, words: Sequence[str]) -> Any:
        groups = [tuple(map(Path, word.split(JOINED))) for word in words]
        return tuple(groups) if several else tuple(chain.from_iterable(groups))

    return click.option(
        name, multiple=True, required=required, metavar=metavar, help=text, callback=grouped
    )


def corpus(command: Command) -> Command:
    """--train, --valid, --task and --from."""
    text = (
        "Two line-aligned files, or one TSV or JSONL file; gzip and xz are detected; - is stdin, "
        "builtin the built-in corpus. May be given several times; WEIGHT is how often the corpus "
        "is seen per epoch, NAME a token put before its sources."
    )
    options: list[Callable[[Command], Command]] = [
        text_files("--train", text, several=True, metavar="SRC TGT[:WEIGHT][:tag=NAME]"),
        text_files("--valid", "Validation data, likewise."),
        click.option(
            "--task",
            help="translation, or parsing, whose files are treebanks [default: translation].",
        ),
        click.option(
            "--from",
            "start",
            metavar="MODEL",
            help="Start from the weights and the vocabulary of a model, for fine-tuning.",
        ),
    ]
    return add(command, options)


def add(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


class ManyFiles(click.Command):
    """Lets `--train`, `--valid` and `--test` take all arguments up to the next option."""

    GREEDY = ("--train", "--valid", "--test")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words: list[list[str]] = [[]]
        for word in args:
            if word in self.GREEDY or (word.startswith("-") and word != "-"):
                words.append([])
            words[-1].append(word)
        joined = [
            [group[0], JOINED.join(group[1:])] if group[0] in self.GREEDY and group[1:] else group
            for group in filter(None, words)
        ]
        return super().parse_args(ctx, list(chain.from_iterable(joined)))


def resolve_training(
    run: "Run",
    train: tuple[tuple[Path, ...], ...],
    valid: tuple[Path, ...],
    task: str | None,
    start: str | None,
    preset: str | None,
    config: Path | None,
    overrides: tuple[str, ...],
) -> tuple["Config", "Inputs", str]:
    """The settings and the files of a run: as given, or as it was started with.

    Also a sentence about the preset if it was chosen by the size of the data, otherwise empty.
    """
    from dataclasses import replace

    from transduce.config import read_toml, resolve
    from transduce.errors import InputError
    from transduce.model_names import model_path
    from transduce.shapes import check_memory
    from transduce.tasks import TRANSLATION, check_kind, task_of
    from transduce.train.inputs import builtin_inputs, given_inputs, read_inputs
    from transduce.train.run import read_config
    from transduce.train.start import open_start, settings_from

    named = task_of(task or TRANSLATION.name)
    if valid and not train:
        raise InputError("--valid without --train: the built-in corpus has validation data")
    if start is not None and not train:
        raise InputError("--from without --train: give the text to continue training with")
    if train:
        inputs = given_inputs(run, named, train, valid)
        if start is not None:
            inputs = replace(inputs, start=model_path(start, log=log), start_name=start)
    elif run.inputs.exists():
        inputs = read_inputs(run)
    elif named.name != TRANSLATION.name:
        raise InputError(
            f"--task {named.name} without --train: the built-in corpus is parallel text"
        )
    else:
        inputs = builtin_inputs(run)
    if run.config.exists() and not (preset is not None or config or overrides):
        return read_config(run), inputs, ""
    chosen, note = preset, ""
    if inputs.start:
        open_start(inputs.start).require_task(inputs.task.name)
        settings = settings_from(inputs.start, preset, config, overrides)
    elif preset is None and run.begun and run.config.exists():
        settings = resolve(read_toml(run.config), config, overrides)
    else:
        if chosen is None:
            chosen, note = choose_preset(run, inputs)
        settings = resolve(chosen, config, overrides)
    check_kind(inputs.task, settings)
    check_memory(settings.model)
    return settings, inputs, note


def choose_preset(run: "Run", inputs: "Inputs") -> tuple[str, str]:
    """The preset for the size of the data, and a sentence that says so."""
    from transduce.config import LARGEST_CORPUS, preset_for
    from transduce.log import plural
    from transduce.tasks import TRANSLATION
    from transduce.train.inputs import count_examples

    if inputs.builtin:
        return "builtin", ""
    if inputs.task.name != TRANSLATION.name:
        return inputs.task.preset, ""
    most = max(LARGEST_CORPUS.values())
    pairs = count_examples(run, inputs, most + 1)
    if pairs is None:
        return "small", "no --preset given: small, as the size of standard input is not known"
    name = preset_for(pairs)
    size = f"more than {most:,} pairs" if pairs > most else plural(pairs, "pair")
    return name, f"no --preset given: {name}, which suits {size} (`transduce presets`)"


ENGINE_AND_DEVICE = [
    click.option(
        "--engine",
        type=click.Choice(["auto", "torch", "ctranslate2"]),
        default="auto",
        show_default=True,
        help="auto uses CTranslate2 if it supports the model.",
    ),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="auto uses a GPU if there is one.",
    ),
]


def engine_and_device(command: Command) -> Command:
    """--engine and --device."""
    return add(command, ENGINE_AND_DEVICE)


def decoding(command: Command) -> Command:
    """--model, --engine, --device, --compute and --batch-size."""
    options = [
        models_option,
        *ENGINE_AND_DEVICE,
        click.option(
            "--compute",
            type=click.Choice(["auto", "int8", "float16", "float32"]),
            default="auto",
            show_default=True,
            help="The dtype of matrix products; auto is int8 on a CPU, float16 on a GPU.",
        ),
        click.option(
            "--batch-size",
            type=batch_size,
            default=64,
            show_default=True,
            help="Sentences per batch.",
        ),
    ]
    return add(command, options)


def sampling(command: Command) -> Command:
    """--temperature, --top-k, --top-p and --seed."""
    options = [
        click.option(
            "--temperature",
            type=Number(0, 100),
            default=1.0,
            show_default=True,
            help="Divides the logits: above 1 is more varied, 0 is the likeliest token.",
        ),
        click.option("--top-k", type=at_least_one, help="Sample from the K likeliest tokens only."),
        click.option(
            "--top-p",
            type=Number(0, 1, min_open=True),
            default=1.0,
            show_default=True,
            help="Sample from the likeliest tokens that together have this probability.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of sampling."
        ),
    ]
    return add(command, options)


def length_penalty_options(command: Command) -> Command:
    """--alpha and --penalty."""
    options = [
        click.option(
            "--alpha",
            type=Number(0, LARGEST_ALPHA),
            default=0.6,
            show_default=True,
            help="Exponent α of the length penalty.",
        ),
        click.option(
            "--penalty",
            type=click.Choice(["gnmt", "average", "none"]),
            default="gnmt",
            show_default=True,
            help="Length penalty: gnmt is ((5 + n)/6)^α, average is n^α.",
        ),
    ]
    return add(command, options)


def searching(command: Command) -> Command:
    """--beam, --alpha and --penalty."""
    beam = click.option(
        "--beam", type=beam_width, default=4, show_default=True, help="1 is greedy search."
    )
    return beam(length_penalty_options(command))
