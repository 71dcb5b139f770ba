"""The model card, card.md."""

from dataclasses import replace

from transduce.config import Config, DataConfig, TrainConfig
from transduce.log import plural
from transduce.store import noun_of
from transduce.tasks import TRANSLATION
from transduce.train.inputs import Inputs
from transduce.train.prepare import Prepared, described
from transduce.train.progress import clock
from transduce.train.state import Position
from transduce.train.validate import ValidationScores
from transduce.translate.flags import FLAGS

NAMES = {
    "transformer": "Transformer",
    "recurrent": "recurrent network",
    "convolutional": "convolutional network",
    "lm": "language model",
}


def training_lines(inputs: Inputs, data: Prepared | None) -> list[str]:
    """Each training corpus with its weight and tag, and what was read, dropped and added."""
    parts = data.train.parts if data else ()
    noun = noun_of(len(inputs.task.sides))
    counts = [described(replace(part, name=""), noun).replace(":", ";", 1) for part in parts]
    counts += [""] * (len(inputs.train) - len(counts))
    return [f"- training: {c}{count}" for c, count in zip(inputs.train, counts, strict=True)]


def dropout_lines(config: DataConfig) -> list[str]:
    copies = f"{config.bpe_dropout_copies} segmentations of the training data"
    return [f"- BPE-dropout {config.bpe_dropout:g}, {copies}"] if config.bpe_dropout else []


def objective_lines(config: TrainConfig) -> list[str]:
    """What was minimised, where it was not the loss of the paper alone."""
    lines = [f"- R-Drop, α {config.consistency:g}"] if config.consistency else []
    if config.risk:
        lines.append(f"- minimum risk training, {config.risk} candidates per sentence")
    return lines


def vocabulary(config: Config, inputs: Inputs) -> str:
    """What its tokens are, and which sides share them."""
    tokens = "characters and bytes" if config.data.vocabulary == "characters" else "BPE tokens"
    shared = len(inputs.task.sides) > 1 and not inputs.task.symbols
    return tokens + ", shared by both sides" * shared


def write_card(
    name: str,
    parameters: int,
    config: Config,
    inputs: Inputs,
    data: Prepared | None,
    position: Position,
    weights: str,
    scores: ValidationScores | None,
) -> str:
    """The card of a trained model; information that is no longer available is left out."""
    settings = config.train
    valid = inputs.valid or "held out from the training data"
    lines = [
        f"# {name}\n",
        f"A {NAMES[config.model.kind]} of {parameters:,} parameters, trained by transduce.\n",
        "## Data\n",
        *([f"- started from: {inputs.started_from}"] if inputs.start else []),
        *training_lines(inputs, data),
        f"- validation: {valid}" + (f"; {data.valid.tally}" if data else ""),
        *dropout_lines(config.data),
        f"- vocabulary: {config.model.vocab_size:,} {vocabulary(config, inputs)}\n",
        "## Training\n",
        f"- {plural(position.step, 'step')} of about "
        f"{settings.tokens_per_batch * settings.accumulate:,} tokens per side, "
        f"{position.tokens:,} target tokens, {plural(position.epoch, 'complete epoch')}",
        *objective_lines(settings),
        f"- {clock(position.seconds)} of training",
        f"- {position.operations:.2e} floating-point operations in matrix products",
        f"- weights: {weights}",
    ]
    if scores is not None:
        how = f"beam {scores.beam}, α 0.6" if scores.beam > 1 else "greedy"
        lines += [
            "\n## Scores on the validation data\n",
            f"- perplexity {scores.perplexity:.3f} per token, without label smoothing",
        ]
        for metric, value in scores.metrics.items():
            notes = [metric.method, f"{how}, the first {plural(scores.sentences, 'sentence')}"]
            lines.append(f"- {metric.text(value)} ({'; '.join(filter(None, notes))})")
    if inputs.task.name == TRANSLATION.name:
        lines += ["\n## Flags of its translations\n", *flag_list()]
    return "\n".join(lines) + "\n"


def flag_list() -> list[str]:
    """The flags of `transduce translate` as a Markdown list."""
    return [f"- `{flag}`: {meaning}" for flag, meaning in FLAGS.items()]
