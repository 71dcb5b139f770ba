"""`transduce train`: everything between text files and a model directory."""

import re
from pathlib import Path

from transduce.config import Config
from transduce.corpus.reading import File
from transduce.directory import write_model
from transduce.machine import keep_memory
from transduce.model import count_parameters
from transduce.search import PAPER
from transduce.shortlist import FILE as SHORTLIST
from transduce.shortlist import learn_shortlist
from transduce.tokenizer import SPECIALS
from transduce.train import state
from transduce.train.card import write_card
from transduce.train.inputs import Inputs, generate_builtin, write_inputs
from transduce.train.loop import Finished, Trainer
from transduce.train.prepare import Prepared, prepare, reopen
from transduce.train.processes import Processes, StopSignal, join
from transduce.train.progress import Display, clock, display
from transduce.train.run import Run, check_same_settings, write_config

TWO_LANGUAGES = re.compile(r"(?:^|[-_.])([a-z]{2,3})-([a-z]{2,3})(?:$|[-_.])")


def train_run(run: Run, config: Config, inputs: Inputs, stop: StopSignal) -> Finished:
    """Trains, or continues, a run to its end or to a signal."""
    keep_memory()
    with join() as processes:
        show = display(config.train.steps, processes.first)
        try:
            if not processes.first:
                processes.wait()  # until the first has prepared the data
                return _train(run, config, processes, show, stop, inputs)
            with run.locked():
                check_same_settings(run, config)
                write_inputs(run, inputs)
                if inputs.builtin:
                    generate_builtin(run, show.log)
                prepare(run, config.data, inputs, show.log, show.preparing)
                processes.wait()
                return _train(run, config, processes, show, stop, inputs)
        finally:
            show.close()


def _train(
    run: Run,
    config: Config,
    processes: Processes,
    show: Display,
    stop: StopSignal,
    inputs: Inputs,
) -> Finished:
    data = reopen(run)
    config = config.replace(model=config.model.replace(vocab_size=data.tokenizer.vocab_size))
    if processes.first:
        write_config(run.config, config)
    trainer = Trainer(run, config, data, processes, show)
    try:
        model = trainer.learner.model
        show.log(
            f"{count_parameters(model):,} parameters, vocabulary {data.tokenizer.vocab_size:,}, "
            f"{len(data.train):,} training pairs"
        )
        finished = trainer.train(stop)
        if not finished.interrupted:
            finish(trainer, inputs)
        return finished
    finally:
        trainer.close()


def finish(trainer: Trainer, inputs: Inputs) -> None:
    """§6.1: averages the last checkpoints, scores the mean and leaves it as a model directory."""
    run, config, processes = trainer.run, trainer.config, trainer.processes
    processes.wait()  # until the last checkpoint is written
    if trainer.learner.average:
        weights, what = dict(trainer.learner.average), "moving average"
    else:
        paths = state.scheduled(run.checkpoints)[-config.train.average :]
        weights, what = state.average(paths), f"average of {len(paths)} checkpoints"
    trainer.put(weights)
    scores = trainer.score(PAPER)
    trainer.log_scores(what, scores)
    trainer.record(event="final", what=what, **scores.entry())
    if processes.first:
        write_model(
            run.model,
            trainer.learner.model,
            card=write_card(
                run.directory.resolve().name,
                count_parameters(trainer.learner.model),
                config,
                inputs,
                trainer.data,
                trainer.position,
                what,
                scores,
            ),
            files=files_of(run, trainer.data),
            max_length=config.data.max_length,
            weights=what,
            **languages_of(inputs),
        )
        trainer.display.log(
            f"{run.model}: ready, after {clock(trainer.position.seconds)} of training"
        )


def files_of(run: Run, data: Prepared | None) -> dict[str, bytes]:
    """What a model directory has besides the network: its vocabulary and its shortlist."""
    files = {"tokens.model": run.tokens.read_bytes()}
    if data is None:
        return files
    size, (source, target) = data.tokenizer.vocab_size, data.train.sides.values()
    pairs = ((source[i], target[i]) for i in range(len(data.train)))
    shortlist = learn_shortlist(pairs, size, range(len(SPECIALS)))
    return {**files, SHORTLIST: shortlist.to_bytes()}


def languages_of(inputs: Inputs) -> dict[str, str]:
    """The two languages, where names tell them.

    These are names such as train.en.gz and train.de.gz, or, of a file that has both sides, its
    own or its folder's: corpus-en-de.
    """
    codes: tuple[str, ...] = ()
    if inputs.builtin:
        codes = ("en", "de")
    elif inputs.train.targets:
        codes = tuple(_suffix(files[0]) for files in (inputs.train.sources, inputs.train.targets))
    else:
        file = Path(str(inputs.train.sources[0]))
        named = (TWO_LANGUAGES.search(name) for name in (file.name, file.resolve().parent.name))
        codes = next((match.groups() for match in named if match), ())
    if not codes or not all(codes):
        return {}
    return {"source_language": codes[0], "target_language": codes[1]}


def _suffix(file: File) -> str:
    """The language code at the end of a file's name: train.en, train.en.txt.gz."""
    parts = [part for part in str(file).split(".")[1:] if part not in ("gz", "xz", "txt")]
    return parts[-1] if parts and 2 <= len(parts[-1]) <= 3 else ""
