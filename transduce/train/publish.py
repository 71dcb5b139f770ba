"""§6.1: the averaged checkpoints of a run are scored and written as a model directory."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

import torch

from transduce.config import Config
from transduce.corpus.reading import File
from transduce.directory import DType, write_model
from transduce.directory.network import load_weights, weights_of
from transduce.directory.weights import pack, unpack
from transduce.log import plural
from transduce.model import Network, count_parameters
from transduce.search import PAPER
from transduce.shortlist import FILE as SHORTLIST
from transduce.shortlist import learn_shortlist
from transduce.tasks import PARSING, TRANSLATION
from transduce.tokenizer import SPECIALS, TOKENIZER_FILES
from transduce.train.card import write_card
from transduce.train.inputs import Inputs
from transduce.train.prepare import Prepared
from transduce.train.processes import Processes
from transduce.train.run import Run
from transduce.train.start import languages_from, start_of
from transduce.train.state import Position, step_of
from transduce.train.validate import ValidationScores, validate
from transduce.translate.splitting import sentences

SAMPLED = 2000  # training sentences
TWO_LANGUAGES = re.compile(r"(?:^|[-_.])([a-z]{2,3})-([a-z]{2,3})(?:$|[-_.])")


def publish(
    run: Run,
    config: Config,
    inputs: Inputs,
    data: Prepared | None,
    network: Network,
    weights: str,
    position: Position,
    processes: Processes,
    directory: Path,
    scores: ValidationScores | None = None,
    dtype: DType = "float32",
    note: str = "",
) -> ValidationScores | None:
    """Writes a model directory, with the scores of the network on the validation data.

    `scores` are computed here, of the weights as they are stored, unless they are given or there is
    no data. `weights` describes how the weights were made, for the card; `note` is appended to it.
    """
    if data and scores is None:
        with _stored(network, dtype):
            scores = validate(network, data, config.train.bleu_sentences, processes, PAPER)
    if processes.first:
        name, parameters = run.directory.resolve().name, count_parameters(network)
        how = weights if dtype == "float32" else f"{weights}, stored as {dtype}"
        languages = languages_from(run, languages_of(inputs))
        card = write_card(name, parameters, config, inputs, data, position, how, scores)
        write_model(
            directory,
            network,
            card=card + note,
            files=files_of(run, data, languages),
            task=inputs.task.name,
            max_length=config.data.max_length,
            weights=weights,
            dtype=dtype,
            sentences_per_line=sentences_per_line(data) if data else None,
            low_score=scores.low_score if scores else None,
            linearisation=config.data.linearisation if inputs.task.name == PARSING.name else None,
            **languages,
        )
    return scores


@contextmanager
def _stored(network: Network, dtype: DType) -> Iterator[None]:
    """Temporarily rounds the weights to those that are stored."""
    exact = {name: weight.clone() for name, weight in weights_of(network).items()}
    rounded = unpack(pack({name: weight.cpu().numpy() for name, weight in exact.items()}, dtype))
    load_weights(network, {name: torch.from_numpy(w) for name, w in rounded.items()}, Path())
    try:
        yield
    finally:
        load_weights(network, exact, Path())


def described(checkpoints: list[Path]) -> str:
    """A description of the average of these checkpoints, for the card."""
    steps = ", ".join(f"{step_of(path):,}" for path in checkpoints)
    return f"mean of {plural(len(checkpoints), 'checkpoint')} (steps {steps})"


def files_of(run: Run, data: Prepared | None, languages: dict[str, str]) -> dict[str, bytes]:
    """The files of a model directory besides the weights: vocabulary and shortlist.

    The shortlist extends that of the model the run started from, if the languages are the same.
    """
    files = {
        name: (run.directory / name).read_bytes()
        for name in TOKENIZER_FILES
        if (run.directory / name).is_file()
    }
    start = start_of(run)
    base = start.shortlist if start else None
    if data is None or (start and base is None) or len(data.train.sides) < 2:
        return files
    if start and languages != start.languages:
        base = None
    size, (source, target) = data.tokenizer.vocab_size, data.train.sides.values()
    if data.task.symbols:
        return files  # few symbols need no shortlist
    shortlist = learn_shortlist(source, target, size, range(len(SPECIALS)), base)
    return {**files, SHORTLIST: shortlist.to_bytes()}


def sentences_per_line(data: Prepared) -> float:
    """The mean number of sentences of a source, from a sample of the training data."""
    source = next(iter(data.train.sides.values()))
    step = -(-len(source.lengths) // SAMPLED)
    texts = (data.tokenizer.decode_source(source[i]) for i in range(0, len(source.lengths), step))
    return round(fmean(len(sentences(text)) for text in texts), 3)


def languages_of(inputs: Inputs) -> dict[str, str]:
    """The two language codes, if file names contain them.

    They are taken from names like train.en.gz and train.de.gz or, for a file with both sides,
    from the name of the file or its directory, like corpus-en-de.
    """
    codes, text = tuple[str, ...](), inputs.train[0].text
    if len(inputs.task.sides) < 2:
        return {}
    if inputs.builtin:
        codes = ("en", "de")
    elif inputs.task.name != TRANSLATION.name:
        return {}
    elif text.targets:
        codes = tuple(_suffix(files[0]) for files in (text.sources, text.targets))
    else:
        file = Path(str(text.sources[0]))
        named = (TWO_LANGUAGES.search(name) for name in (file.name, file.resolve().parent.name))
        codes = next((match.groups() for match in named if match), ())
    if not codes or not all(codes):
        return {}
    return {"source_language": codes[0], "target_language": codes[1]}


def _suffix(file: File) -> str:
    """The language code at the end of a file name such as train.en or train.en.txt.gz."""
    parts = [part for part in str(file).split(".")[1:] if part not in ("gz", "xz", "txt")]
    return parts[-1] if parts and 2 <= len(parts[-1]) <= 3 else ""
