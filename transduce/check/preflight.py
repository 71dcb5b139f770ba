"""Everything that training would do but train: the same settings, files, filters and batches."""

from dataclasses import dataclass

from transduce.batches import target_tokens
from transduce.check.overlap import HeldOut, Overlap
from transduce.check.sizes import Epoch, NetworkSize, epoch_of, plan_of, sizes_of
from transduce.check.text import Places, Survey, survey
from transduce.check.timing import Timing, is_busy, time_steps
from transduce.check.vocabulary import Vocabulary, vocabulary_of
from transduce.config import Config
from transduce.corpus.filters import Digests, Rules
from transduce.corpus.pair import Pair
from transduce.corpus.text import Text
from transduce.log import silent
from transduce.machine import keep_memory, matmul_peak
from transduce.shapes import parameter_count, parameter_shapes
from transduce.store import build_store
from transduce.tasks import TRANSLATION
from transduce.train.inputs import Inputs, write_text
from transduce.train.prepare import Prepared, Progress, prepare
from transduce.train.processes import join
from transduce.train.run import Run, with_vocabulary

NO_RULES = Rules(max_ratio=None, drop_identical=False, drop_duplicates=False)
QUICK = 1e14  # operations of a training; any machine does them within hours
ANY_LENGTH = 10**6  # tokens: test data is only translated, so nothing is dropped for its length


@dataclass(frozen=True)
class Operations:
    """Floating-point operations of the whole training."""

    counted: float  # six for each parameter and target token, as the model's card says
    by_time: float | None  # Table 2's method: the predicted time × what the machine can do
    least_hours: float | None = None  # at the machine's best rate, where no step was timed


@dataclass(frozen=True)
class Preflight:
    """What `transduce check` measures."""

    settings: Config
    corpora: dict[str, Survey]  # training, or each of it; validation unless held out; test if given
    overlaps: dict[str, Overlap]
    vocabulary: Vocabulary
    batching: Epoch
    network: NetworkSize | None  # None if it is not measured
    timing: Timing | None
    operations: Operations


def check(
    run: Run, config: Config, inputs: Inputs, test: Text | None, timed: bool, progress: Progress
) -> Preflight:
    """Prepares the data as training does, into an empty run, and measures all of it."""
    busy = is_busy()  # before this is what keeps it busy
    keep_memory()
    notes: list[str] = []
    write_text(run, inputs, silent)
    if inputs.builtin:
        test = test or Text((run.builtin("test"),))
    data = prepare(run, config.data, inputs, notes.append, progress)
    config = with_vocabulary(config, data.tokenizer)
    train = data.segmentations[0]
    plan = plan_of(train, config.train)
    batching, network = sizes_of(config, plan, train)
    timing = None
    if timed:  # before anything else takes memory that training would not
        progress("timing some steps, for about 15 s", 0)
        with join() as processes:
            timing = time_steps(config, train, plan, processes, busy)
    corpora, overlaps = _check_text(run, inputs, test, data, progress)
    vocabulary = vocabulary_of(config.data, data, notes)
    operations = Operations(
        counted=batching.operations * config.train.steps,
        by_time=3600 * timing.hours * timing.machine_flops if timing else None,
    )
    return Preflight(config, corpora, overlaps, vocabulary, batching, network, timing, operations)


def review(
    run: Run, config: Config, inputs: Inputs, data: Prepared, progress: Progress
) -> Preflight:
    """The same of a run whose data is prepared and which is about to be trained; not timed.

    Of a run that any machine trains in a while, memory and time are not estimated, which would
    take longer than the rest.
    """
    config = with_vocabulary(config, data.tokenizer)
    train = data.segmentations[0]
    plan = plan_of(train, config.train)
    parameters = parameter_count(parameter_shapes(config.model))
    tokens = sum(target_tokens(train, batch) for batch in plan.batches)
    batching, network = epoch_of(plan, train, config.train, 6.0 * parameters * tokens), None
    operations = Operations(batching.operations * config.train.steps, None)
    if operations.counted > QUICK:
        batching, network = sizes_of(config, plan, train)
        counted = batching.operations * config.train.steps
        operations = Operations(counted, None, counted / matmul_peak(repeat=2) / 3600)
    corpora, overlaps = _check_text(run, inputs, None, data, progress)
    vocabulary = vocabulary_of(config.data, data, [])
    return Preflight(config, corpora, overlaps, vocabulary, batching, network, None, operations)


def _check_text(
    run: Run, inputs: Inputs, test: Text | None, data: Prepared, progress: Progress
) -> tuple[dict[str, Survey], dict[str, Overlap]]:
    """Each corpus by itself, and the others beside the training data."""
    training, tokenizer = Places(*(corpus.text for corpus in inputs.train)), data.tokenizer
    others = {"validation": inputs.valid, "test": test}
    searches = {name: HeldOut(text, training) for name, text in others.items() if text}

    total = sum(part.tally.read for part in data.train.parts)

    def look(number: int, pair: Pair) -> None:
        if number % 1000 == 0:
            progress("looking through the training data", number, total)
        for search in searches.values():
            search.look(number, pair)

    held_out = frozenset() if inputs.valid else _held_out(data)
    seen, several = Digests(), len(inputs.train) > 1
    corpora = {
        f"training {number + 1}" if several else "training": survey(
            corpus.text,
            training,
            tokenizer,
            data.train.part(number),
            held_out,
            look,
            seen,
            number,
        )
        for number, corpus in enumerate(inputs.train)
    }
    if inputs.valid:
        places = searches["validation"].places
        corpora["validation"] = survey(inputs.valid, places, tokenizer, data.valid)
    if test:
        pairs = TRANSLATION.read(test)
        store = build_store(pairs, tokenizer, run.data / "test", ANY_LENGTH, rules=NO_RULES)
        corpora["test"] = survey(test, searches["test"].places, tokenizer, store)
    return corpora, {name: search.overlap() for name, search in searches.items()}


def _held_out(data: Prepared) -> frozenset[str]:
    """The source sentences that training sets aside for validation."""
    source = data.valid.sides["source"]
    return frozenset(data.tokenizer.decode_source(source[i]) for i in range(len(data.valid)))
