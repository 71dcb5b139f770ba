"""Language models: from text to blocks, training, writing and scoring."""

import json
import math

import models
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from transduce.batches import Batching, collate, plan_validation
from transduce.blocks import Blocks
from transduce.cli import main
from transduce.config import ModelConfig, TrainConfig
from transduce.corpus.text import Text
from transduce.directory import write_model
from transduce.errors import InputError, ModelError
from transduce.generate import TextGenerator
from transduce.model import build_network
from transduce.search import Sampling
from transduce.store import build_store
from transduce.tasks.language_model import LINES, STREAM, pieces
from transduce.tokenizer import Tokenizer

LIKELIEST = Sampling(temperature=0.0)
TEXT = "".join(f"{a} and {b} saw {c}.\n" for a in "abcde" for b in "fghij" for c in "klmno")
TINY = [
    "model.d_model=32",
    "model.d_ff=64",
    "model.n_layers=2",
    "model.max_positions=16",
    "train.steps=100",
    "train.warmup_steps=10",
    "train.lr=0.02",
    "train.log_steps=20",
    "train.validate_steps=50",
    "train.checkpoint_steps=50",
]


def run(*words: str):
    return CliRunner().invoke(main, [*map(str, words)])


def settings(*items: str) -> list[str]:
    return [word for item in items for word in ("--set", item)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A stream of the alphabet, over and over: a model that has learned it."""
    folder = tmp_path_factory.mktemp("lm")
    alphabet = "abcdefghijklmnopqrstuvwxyz\n"
    (folder / "train.txt").write_text(alphabet * 200, "utf-8")
    (folder / "valid.txt").write_text(alphabet * 10, "utf-8")
    files = ["--train", folder / "train.txt", "--valid", folder / "valid.txt"]
    result = run("train", folder / "run", "--task", "lm", *files, *settings(*TINY))
    assert result.exit_code == 0, result.output
    return folder / "run"


@pytest.fixture(scope="module", params=["lm", "lm-lines"])
def untrained(request, tmp_path_factory):
    """A model directory with random weights that write varied text."""
    return models.language_model(tmp_path_factory.mktemp(request.param), request.param)


def test_its_examples_are_not_called_pairs(trained) -> None:
    pages = (trained / "model" / "card.md").read_text("utf-8"), run("info", trained).stdout
    for page in pages:
        assert " examples read, " in page
        assert "pairs" not in page
        assert "both sides" not in page


def test_it_learns_a_text_and_continues_it(trained) -> None:
    generator = TextGenerator.load(trained)
    found = generator.generate("abcdefghijklmnop", tokens=60, sampling=LIKELIEST)
    assert found == ("abcdefghijklmnopqrstuvwxyz\n" * 4)[: 16 + 60]


def test_validation_is_the_loss_of_blocks_that_do_not_overlap(trained) -> None:
    entries = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    final = entries[-1]
    network = TextGenerator.load(trained, engine="torch").network
    ids = torch.tensor(
        Tokenizer.load(trained / "tokens.model").encode((trained.parent / "valid.txt").read_text())
    )
    total = 0.0
    starts = range(0, len(ids) - 16, 16)
    for start in starts:
        block = ids[None, start : start + 17]
        with torch.inference_mode():
            log_probs = network(block[:, :0], block[:, :-1]).log_softmax(-1)
        total -= float(log_probs.gather(2, block[:, 1:, None]).sum())
    assert final["nll"] == pytest.approx(total / 16 / len(starts), rel=1e-4)


def test_a_run_is_described_and_continued(trained) -> None:
    assert "100" in run("info", trained).output
    again = run("train", trained)
    assert again.exit_code == 0
    assert "is finished" in again.output
    assert "tasks" not in run("info", trained / "model").output
    assert run("average", trained).exit_code == 0


def test_both_engines_write_the_same_likeliest_text(untrained) -> None:
    found = [
        TextGenerator.load(untrained, engine=engine).generate("a an", 40, LIKELIEST)
        for engine in ("torch", "ctranslate2")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_seed_writes_the_same_text_however_many_are_written(untrained, engine) -> None:
    words = ["generate", "a an", "--model", untrained, "--engine", engine, "--tokens", 30, "--json"]
    several = [json.loads(line) for line in run(*words, "--n", 3).stdout.splitlines()]
    alone = json.loads(run(*words, "--seed", 2).stdout)
    assert alone == several[1]
    assert len({entry["text"] for entry in several}) == 3


def test_a_text_longer_than_the_positions_goes_on(untrained) -> None:
    generator = TextGenerator.load(untrained, engine="torch")
    ids = list(generator.ids([5, 6], 50, Sampling(), seed=1))
    assert len(ids) == 50 or generator.lines


def test_sampling_is_from_the_likeliest_only(untrained) -> None:
    generator = TextGenerator.load(untrained, engine="torch")
    one = generator.generate("a", 20, Sampling(temperature=5.0, top_k=1), seed=4)
    assert one == generator.generate("a", 20, LIKELIEST)
    assert one == generator.generate("a", 20, Sampling(temperature=1.0, top_p=1e-9), seed=5)


def test_scores_are_those_of_the_network(untrained) -> None:
    generator = TextGenerator.load(untrained)
    text = "a and f"
    (found,) = generator.score([text])
    ids = generator.tokenizer.encode(text)
    lines = generator.lines
    row = [1, *ids, 2] if lines else generator.tokenizer.encode(f"\n{text}\n")
    window = torch.tensor([row])
    with torch.inference_mode():
        log_probs = generator.network(window[:, :0], window[:, :-1]).log_softmax(-1)
    wanted = log_probs.gather(2, window[:, 1:, None])[0, :, 0].tolist()
    assert found == pytest.approx(wanted, abs=1e-5)


def test_every_token_of_a_long_text_is_scored_once(untrained) -> None:
    generator = TextGenerator.load(untrained)
    lines = TEXT.splitlines()[:7]
    scored = generator.score(lines)
    assert [len(row) for row in scored] == [len(line) + 1 for line in lines]
    assert all(value < 0 for row in scored for value in row)


def test_score_prints_the_perplexity_of_a_text(untrained, tmp_path) -> None:
    file = tmp_path / "text"
    file.write_text(TEXT[:60], "utf-8")
    result = run("score", file, "--model", untrained)
    assert result.exit_code == 0
    values = [line.split("\t") for line in result.stdout.splitlines()]
    assert len(values) == len(TEXT[:60].splitlines())
    assert float(values[0][2]) == pytest.approx(math.exp(-float(values[0][1])), rel=1e-3)


@pytest.fixture
def blocks(tmp_path) -> Blocks:
    tokenizer = Tokenizer.learn(
        [TEXT], 400, tmp_path / "tokens", characters=True, leading_space=False
    )
    examples = ((piece,) for piece in pieces(f"{line}\n" for line in TEXT.splitlines()))
    store = build_store(examples, tokenizer, tmp_path / "store", 4096, sides=("text",))
    assert tokenizer.decode(store.sides["text"].ids) == TEXT
    return Blocks(store, 10)


def test_an_epoch_of_blocks_is_the_text_from_an_offset(blocks) -> None:
    batching = Batching(blocks, TrainConfig(tokens_per_batch=50))
    orders = []
    for epoch in range(2):
        plan = batching.epoch(epoch)
        rows = [collate(blocks, batch) for batch in plan]
        assert all(batch.target_out.shape[0] <= 5 for batch in rows)
        starts = np.sort(np.concatenate(plan))
        assert (np.diff(starts) == 10).all()
        orders.append(starts[0])
        for batch in rows:
            assert torch.equal(batch.target_in[:, 1:], batch.target_out[:, :-1])
    assert len(set(orders)) == 2


def test_validation_has_every_token_once(blocks) -> None:
    plan = plan_validation(blocks, 100)
    starts = np.sort(np.concatenate(plan))
    assert starts.tolist() == list(range(0, len(blocks.ids) - 10, 10))
    assert len(blocks) == len(starts)


def test_a_text_shorter_than_a_block_is_an_error(blocks) -> None:
    with pytest.raises(InputError, match=r"too few for blocks of model\.max_positions = 9,999"):
        Blocks(blocks, 9999)


def test_pieces_are_the_text() -> None:
    lines = ["x" * 2500 + "\n", "\n", "\n", "short\n"] * 3
    found = list(pieces(lines))
    assert "".join(found) == "".join(lines)
    assert max(map(len, found)) <= 1000


def test_lines_are_filtered_and_a_stream_is_not() -> None:
    assert LINES.filtered
    assert not STREAM.filtered


def test_characters_are_encoded_losslessly_one_by_one(tmp_path) -> None:
    tokenizer = Tokenizer.learn(
        [TEXT], 400, tmp_path / "tokens", characters=True, leading_space=False
    )
    for text in (TEXT[:50], " x  y\n\n", "ü€"):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer.encode(TEXT)) == len(TEXT)


def test_two_sides_of_a_translation_are_not_a_text() -> None:
    with pytest.raises(InputError, match="look like the two sides of a translation"):
        STREAM.text_of(["data/train.en.gz", "data/train.de.gz"])
    assert STREAM.text_of(["one.txt", "two.txt"]) == Text(("one.txt", "two.txt"))


def test_mistakes_are_one_sentence(untrained, tmp_path) -> None:
    text = tmp_path / "t.txt"
    text.write_text(TEXT, "utf-8")
    for words, sentence in {
        (
            "translate",
            "x",
            "--model",
            untrained,
        ): "not for translation: use it with transduce generate",
        ("generate", "x", "--model", "en-de"): "one for translation: use transduce translate",
        ("generate", "x", "--model", "parse-en"): "one for parsing: use transduce parse",
        ("score", text): "one file is scored by a language model: name it with --model",
        ("train", tmp_path / "r", "--task", "lm", "--train", text, "--preset", "tiny"): (
            '--task lm needs model.kind = "lm", not "transformer": use --preset tiny-lm'
        ),
        ("train", tmp_path / "r", "--train", text, text, "--preset", "tiny-lm"): (
            'model.kind = "lm" has no encoder, which --task translation needs'
        ),
    }.items():
        result = run(*words)
        assert result.exit_code == 2, result.output
        assert sentence in result.stderr.replace("\n", " ")


def test_an_engine_that_cannot_run_it_says_so(tmp_path, untrained) -> None:
    network = build_network(ModelConfig(
        kind="lm", vocab_size=TextGenerator.load(untrained).config.vocab_size, d_model=8, d_ff=8,
        n_heads=2, n_layers=1, attention="additive",
    ))  # fmt: skip
    files = {"tokens.model": (untrained / "tokens.model").read_bytes()}
    write_model(tmp_path / "model", network, task="lm", files=files)
    logged: list[str] = []
    assert TextGenerator.load(tmp_path / "model", log=logged.append).name == "torch"
    assert "CTranslate2 cannot run this model, using torch: model.attention" in logged[-1]
    with pytest.raises(ModelError, match="CTranslate2 cannot run"):
        TextGenerator.load(tmp_path / "model", engine="ctranslate2")


def test_steps_are_the_tokens_of_generate_with_their_probabilities(untrained) -> None:
    generator = TextGenerator.load(untrained, engine="torch")
    sampling = Sampling(temperature=0.8, top_k=9)
    steps = list(generator.steps("a an", 40, sampling, seed=7))
    text = generator.generate("a an", 40, sampling, seed=7)
    assert text == "a an" + generator.tokenizer.decode([step.chosen.id for step in steps])
    assert text.startswith("a an" + "".join(step.text for step in steps))
    first = steps[0]
    ids = generator.tokenizer.encode("a an")
    row = [1, *ids] if generator.lines else [*generator.tokenizer.encode("\n"), *ids]
    with torch.inference_mode():
        window = torch.tensor([row])
        wanted = generator.network(window[:, :0], window)[0, -1].softmax(-1)
    assert first.chosen.probability == pytest.approx(float(wanted[first.chosen.id]), abs=1e-5)
    others = wanted.argsort(descending=True).tolist()
    others.remove(first.chosen.id)
    assert [one.id for one in first.runners_up] == others[:5]


def test_a_prefix_of_what_the_seed_writes_changes_nothing(untrained) -> None:
    generator = TextGenerator.load(untrained, engine="torch")
    free = list(generator.steps("a", 30, seed=3))
    ids = [step.chosen.id for step in free]
    again = list(generator.steps("a", 30, seed=3, prefix=ids[:15]))
    assert [step.chosen.id for step in again] == ids
    assert [step.forced for step in again] == [number < 15 for number in range(len(ids))]
    other = free[1].runners_up[2].id
    forced = list(generator.steps("a", 30, seed=3, prefix=[ids[0], other]))
    assert forced[0].chosen == free[0].chosen
    assert forced[1].chosen == free[1].runners_up[2]
    with pytest.raises(InputError, match="the vocabulary has"):
        next(generator.steps("a", 30, prefix=[10**6]))
