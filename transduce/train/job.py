"""`transduce train`: everything between text files and a model directory."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

from transduce.config import Config, TrainConfig
from transduce.directory import verify_checksums
from transduce.errors import ModelError
from transduce.log import plural
from transduce.machine import keep_memory
from transduce.model import count_parameters
from transduce.search import PAPER
from transduce.train import state
from transduce.train.inputs import Inputs, write_inputs, write_text
from transduce.train.loop import Trainer
from transduce.train.prepare import Prepared, Progress, in_blocks, prepare, reopen
from transduce.train.processes import Processes, StopSignal, join
from transduce.train.progress import Display, choose_display, clock
from transduce.train.publish import described, publish
from transduce.train.run import (
    CHECKPOINT_FILES,
    Run,
    check_same_settings,
    numbered,
    read_metrics,
    with_vocabulary,
    write_config,
)
from transduce.train.start import keep_start
from transduce.train.state import Position
from transduce.train.validate import ValidationScores

# What to tell the user of a new run before it begins, once its data is prepared.
Review = Callable[[Run, Config, Inputs, Prepared, Progress], list[str]]


def train_run(
    run: Run,
    config: Config,
    inputs: Inputs,
    stop: StopSignal,
    review: Review = lambda *_: [],
) -> int | None:
    """Trains a run to its end, continuing from its last checkpoint; or returns the step at which a
    signal stopped it.
    """
    keep_memory()
    with join() as processes:
        display = choose_display(config.train.steps, processes.first)
        try:
            with run.locked() if processes.first else nullcontext():
                if (
                    processes.from_first(lambda: _prepare(run, config, inputs, display, review))
                    == READY
                ):
                    return _train(run, config, processes, display, stop, inputs)
        finally:
            display.close()
    return None


READY, FINISHED = "ready", "finished"


def _prepare(run: Run, config: Config, inputs: Inputs, display: Display, review: Review) -> str:
    """Prepares the data; a finished run is not changed."""
    check_same_settings(run, config)
    keep_start(run, inputs.start, inputs.task.name)
    finished = finished_at(run, config.train)
    if not finished:
        write_text(run, inputs, display.log)
        write_inputs(run, inputs)
    if not finished or run.data.exists():
        data = prepare(run, config.data, inputs, display.log, display.preparing)
        if not run.begun:
            for message in review(run, config, inputs, data, display.preparing):
                display.log(message)
    if not finished:
        return READY
    more = "train.steps" if finished.step >= config.train.steps else "train.patience"
    display.log(
        f"{run.directory} is finished, at step {finished.step:,}, and its model is {run.model}: "
        f"raise {more} to train it further"
    )
    return FINISHED


def finished_at(run: Run, settings: TrainConfig) -> Position | None:
    """The last position of a finished run; None if steps are left."""
    final = [entry["step"] for entry in read_metrics(run.metrics) if entry.get("event") == "final"]
    if not final or not run.model.is_dir():
        return None
    position = Position(step=final[-1])
    for path in numbered(run.checkpoints):
        with suppress(ModelError):
            position = state.read_state(path)[0]
    return position if position.step <= final[-1] and position.is_last(settings) else None


def _train(
    run: Run,
    config: Config,
    processes: Processes,
    display: Display,
    stop: StopSignal,
    inputs: Inputs,
) -> int | None:
    display.doing("building the network")
    data = in_blocks(reopen(run), config.model.max_positions)
    config = with_vocabulary(config, data.tokenizer)
    if processes.first:
        write_config(run.config, config)
    trainer = Trainer(run, config, data, processes, display)
    try:
        examples = plural(len(data.train), f"training {data.train.noun}")
        display.log(
            f"{count_parameters(trainer.learner.model):,} parameters, vocabulary "
            f"{data.tokenizer.vocab_size:,}, {examples}"
        )
        if not trainer.train(stop):
            return trainer.position.step
        finish(trainer, inputs)
        return None
    finally:
        trainer.close()


def finish(trainer: Trainer, inputs: Inputs) -> None:
    """Writes RUN/model: the average of the last checkpoints, or the EMA if `train.ema` is set.

    If the last or the best checkpoint has better scores than these, it is written instead.
    """
    run, config, processes = trainer.run, trainer.config, trainer.processes
    display, position, ema = trainer.display, trainer.position, bool(trainer.learner.average)
    display.doing("averaging and scoring the model")
    last, folder = 1 if ema else config.train.average, run.checkpoints
    names = processes.from_first(
        lambda: " ".join(path.name for path in state.usable(folder, last, display.log))
    )
    paths = [folder / name for name in names.split()]
    name = "moving average" if ema else described(paths)
    weights = dict(trainer.learner.average) if ema else state.average(paths)
    trainer.put(weights)
    scores, what = trainer.score(PAPER), name
    trainer.log_scores(name, scores)
    for path in _others(trainer, paths):
        if better := _better(trainer, path, ema, scores):
            weights, scores = state.weights_at(path, ema), better
            what = f"checkpoint of step {state.step_of(path):,}, better than the {name}"
            trainer.log_scores(f"step {state.step_of(path):,}", scores)
    if what != name:
        display.log(f"the model is the {what} on the validation data")
    trainer.put(weights)
    network = trainer.learner.model
    publish(
        run, config, inputs, trainer.data, network, what, position, processes, run.model, scores
    )
    trainer.record(event="final", what=what, **scores.entry())
    display.log(f"{run.model}: ready, after {clock(position.seconds)} of training")


def _others(trainer: Trainer, averaged: list[Path]) -> list[Path]:
    """The checkpoints that the average is compared with: the last one and the best of all."""
    folder, last = trainer.run.checkpoints, [path.name for path in averaged[-1:]]

    def best() -> str:
        path = state.best(trainer.run)
        with suppress(*state.UNUSABLE):
            if path is not None:
                verify_checksums(path, CHECKPOINT_FILES)
                return path.name
        return ""

    names = dict.fromkeys([*last, *trainer.processes.from_first(best).split()])
    return [folder / name for name in names if [folder / name] != averaged]


def _better(
    trainer: Trainer, path: Path, ema: bool, scores: ValidationScores
) -> ValidationScores | None:
    """The scores of a checkpoint if they are better than these."""
    trainer.put(state.weights_at(path, ema))
    if trainer.score(decode=False).nll >= scores.nll:
        return None
    found = trainer.score(PAPER)
    answer = trainer.processes.from_first(lambda: str(found.beats(scores)))
    return found if answer == str(True) else None
