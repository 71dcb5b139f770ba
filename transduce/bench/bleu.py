"""`transduce bench bleu`: in how many minutes of training which BLEU, beside another library."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from transduce.batches import plan_epoch
from transduce.bench import report
from transduce.bench.bleu_report import Point, Report, points_of, reached
from transduce.bench.peers import NAMES, OURS, PEERS, check_exists
from transduce.bench.process import worker
from transduce.bench.train import Export, write_first_weights
from transduce.bench.trainers import WORKER, loss_of
from transduce.config import Config, TrainConfig
from transduce.corpus.text import Corpus, Text
from transduce.directory import ModelDirectory
from transduce.engines import Request
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import ConfigError
from transduce.log import Log
from transduce.model import Network, Transformer
from transduce.search import GREEDY
from transduce.tasks.translation import corpus_bleu
from transduce.train.inputs import Inputs
from transduce.train.prepare import Prepared, prepare
from transduce.train.run import Run, differences, flat, read_config, with_vocabulary, write_config

PEER = "huggingface"  # whose weights can be read back
TOKENS = 4096  # of a batch in validation

# Settings that the peer's training loop does not have.
PLAIN = ("accumulate", "clip_norm", "ema", "compile", "patience")

Read = Callable[[Path], Transformer]


@dataclass(frozen=True)
class Race:
    """What both systems do."""

    config: Config
    train: Text
    valid: Text
    epochs: int | None  # None: train.steps
    every: int  # steps between two validations
    peer: str = PEER


def bench_bleu(folder: Path, race: Race, export: Export, read: Read, log: Log) -> Report:
    """Trains one system after the other; `export` writes and `read` reads Hugging Face's form.

    Every point is written at once, as a line of JSON to a file for each system. A system that was
    interrupted starts again; one that had finished does not.
    """
    check_exists([race.peer], {PEER: PEERS[PEER]})
    check_peers_support(race.config.train)
    load, run = report.load(), Run(folder / "run")
    files = {name: folder / f"{name}.jsonl" for name in (OURS, race.peer)}
    with run.locked():
        data = set_up(run, race, export, log)
        config = read_config(run).train
        for name, file in files.items():
            found = points_of(file)
            if found and found[-1].step == config.steps:
                log(f"{NAMES[name]} was measured before: {file}")
                continue
            if found:
                aside = file.replace(file.with_suffix(".interrupted.jsonl"))
                step = f"{found[-1].step:,}"
                log(f"{NAMES[name]} was interrupted after step {step} ({aside}): it begins again")
            train_system(run, name, data, file, read, log)
    systems = {name: points_of(file) for name, file in files.items()}
    return Report(
        machine=report.machine_line(),
        load=load,
        data=str(race.train),
        validation=f"{race.valid}, {len(data.valid):,} pairs",
        settings=differences(read_config(run)),
        steps=config.steps,
        every=config.validate_steps,
        peer=race.peer,
        reached=reached(*systems.values()),
        systems=systems,
    )


def set_up(run: Run, race: Race, export: Export, log: Log) -> Prepared:
    """Leaves in a run its settings, the encoded text and the first weights, in both forms."""
    inputs = Inputs((Corpus(race.train),), race.valid)
    data = prepare(run, race.config.data, inputs, log)
    steps = race.config.train.steps
    if race.epochs is not None:
        steps = steps_of(race.epochs, data, race.config.train)
    train = race.config.train.replace(steps=steps, validate_steps=race.every)
    config = with_vocabulary(race.config.replace(train=train), data.tokenizer)
    check_same_race(run, config)
    write_config(run.config, config)
    write_first_weights(run, export)
    return data


def steps_of(epochs: int, data: Prepared, train: TrainConfig) -> int:
    return sum(
        len(plan_epoch(data.train.lengths, train.tokens_per_batch, train.seed, epoch))
        for epoch in range(epochs)
    )


def check_peers_support(train: TrainConfig) -> None:
    """Raises ConfigError for a setting that the peer's training loop does not have."""
    plain = TrainConfig()
    for name in PLAIN:
        if getattr(train, name) != getattr(plain, name):
            raise ConfigError(f"train.{name} is not part of this comparison: leave it out")
    if train.precision == "bfloat16":
        raise ConfigError("both systems compute in float32: leave out train.precision")


def check_same_race(run: Run, config: Config) -> None:
    """Raises ConfigError if the run was started with other settings."""
    if not run.config.exists():
        return
    begun = flat(read_config(run))
    for name, value in flat(config).items():
        if begun[name] != value:
            raise ConfigError(
                f"{run.directory.parent} was begun with {name} = {begun[name]!r}, not {value!r}: "
                "take the same settings, --epochs and --every, or another --output"
            )


def train_system(run: Run, name: str, data: Prepared, file: Path, read: Read, log: Log) -> None:
    """Trains a system from its first step to its last, with a point at every validation."""
    config, seconds = read_config(run).train, 0.0
    validations = [*range(0, config.steps, config.validate_steps), config.steps]
    with (
        TemporaryDirectory() as place,
        file.open("w", encoding="utf-8", buffering=1) as record,
        worker(name, WORKER, str(run.directory)) as system,
    ):
        weights = Path(place) / "weights"
        for last, step in pairwise(validations):
            request = {"steps": step - last, "weights": str(weights)}
            seconds += system.ask(request)["seconds"]
            load = report.load()
            model = ModelDirectory.open(weights).network() if name == OURS else read(weights)
            point = Point(step, seconds, *score(model, data), load)
            record.write(json.dumps(asdict(point)) + "\n")
            log(
                f"{NAMES[name]}, step {step:,} of {config.steps:,}: BLEU {point.bleu:.2f} after "
                f"{point.minutes:.1f} minutes, loss {point.loss:.3f}"
            )


def score(model: Network, data: Prepared) -> tuple[float, float]:
    """−log p per token of the validation data, and the BLEU of its greedy translations."""
    every, (source, target) = range(len(data.valid)), data.valid.sides.values()
    requests = [Request(source[i].tolist(), GREEDY) for i in every]
    found = [best.tokens for best, *_ in TorchEngine(model).search(requests)]
    wanted = [data.tokenizer.decode(target[i]) for i in every]
    loss = loss_of(model, data.valid, TOKENS)
    return loss, corpus_bleu([data.tokenizer.decode(ids) for ids in found], wanted)
