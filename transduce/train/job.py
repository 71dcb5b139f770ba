"""`transduce train`: everything between text files and a model directory."""

from contextlib import nullcontext, suppress

from transduce.config import Config, TrainConfig
from transduce.errors import ModelError
from transduce.machine import keep_memory
from transduce.model import count_parameters
from transduce.train import state
from transduce.train.inputs import Inputs, write_inputs, write_text
from transduce.train.loop import Trainer
from transduce.train.prepare import prepare, reopen
from transduce.train.processes import Processes, StopSignal, join
from transduce.train.progress import Display, choose_display, clock
from transduce.train.publish import described, publish
from transduce.train.run import (
    Run,
    check_same_settings,
    numbered,
    read_metrics,
    with_vocabulary,
    write_config,
)
from transduce.train.start import keep_start
from transduce.train.state import Position


def train_run(run: Run, config: Config, inputs: Inputs, stop: StopSignal) -> int | None:
    """Trains a run to its end, continuing from its last checkpoint; or returns the step at which a
    signal stopped it.
    """
    keep_memory()
    with join() as processes:
        display = choose_display(config.train.steps, processes.first)
        try:
            with run.locked() if processes.first else nullcontext():
                if processes.from_first(lambda: _prepare(run, config, inputs, display)) == READY:
                    return _train(run, config, processes, display, stop, inputs)
        finally:
            display.close()
    return None


READY, FINISHED = "ready", "finished"


def _prepare(run: Run, config: Config, inputs: Inputs, display: Display) -> str:
    """Prepares the data; a finished run is not changed."""
    check_same_settings(run, config)
    keep_start(run, inputs.start, inputs.task.name)
    finished = finished_at(run, config.train)
    if not finished:
        write_text(run, inputs, display.log)
        write_inputs(run, inputs)
    if not finished or run.data.exists():
        prepare(run, config.data, inputs, display.log, display.preparing)
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
    data = reopen(run)
    config = with_vocabulary(config, data.tokenizer)
    if processes.first:
        write_config(run.config, config)
    trainer = Trainer(run, config, data, processes, display)
    try:
        display.log(
            f"{count_parameters(trainer.learner.model):,} parameters, vocabulary "
            f"{data.tokenizer.vocab_size:,}, {len(data.train):,} training pairs"
        )
        if not trainer.train(stop):
            return trainer.position.step
        finish(trainer, inputs)
        return None
    finally:
        trainer.close()


def finish(trainer: Trainer, inputs: Inputs) -> None:
    """Writes RUN/model: the average of the last checkpoints, or the EMA if `train.ema` is set."""
    run, config, processes = trainer.run, trainer.config, trainer.processes
    display, network, position = trainer.display, trainer.learner.model, trainer.position
    display.doing("averaging and scoring the model")
    weights, name = trainer.learner.average, "moving average"
    if not weights:
        last, folder = config.train.average, run.checkpoints
        names = processes.from_first(
            lambda: " ".join(path.name for path in state.usable(folder, last, display.log))
        )
        paths = [folder / name for name in names.split()]
        weights, name = state.average(paths), described(paths)
    trainer.put(weights)
    scores = publish(
        run, config, inputs, trainer.data, network, name, position, processes, run.model
    )
    assert scores
    trainer.log_scores(name, scores)
    trainer.record(event="final", what=name, **scores.entry())
    display.log(f"{run.model}: ready, after {clock(position.seconds)} of training")
