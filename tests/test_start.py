"""Training that starts from a model: fine-tuning, its limits and its mistakes."""

import io
import json
import random
import shutil
from pathlib import Path

import digits
import models
import numpy as np
import pytest
import sentencepiece
from click.testing import CliRunner
from safetensors.numpy import load_file, save_file

from transduce.cli import main
from transduce.directory import ModelDirectory, write_model
from transduce.directory.files import write_checksums
from transduce.grammar import sentences
from transduce.shortlist import learn_shortlist
from transduce.train.run import Run, read_config, read_metrics

QUICK = ["train.steps=4", "train.checkpoint_steps=2", "train.validate_steps=4"]
QUIET = ["train.bleu_sentences=0"]


def lexicon(letters: str, seed: int) -> dict[str, str]:
    rng = random.Random(seed)
    words = ["".join(rng.choices(letters, k=4)) for _ in range(48)]
    return dict(zip(words[:24], words[24:], strict=True))


def text(words: dict[str, str], count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences whose words are translated one by one."""
    rng = random.Random(seed)
    lines = [rng.choices(list(words), k=rng.randint(3, 8)) for _ in range(count)]
    return [(" ".join(line), " ".join(words[word] for word in line)) for line in lines]


def invoke(*words: str, settings: list[str] = QUICK):
    return CliRunner().invoke(main, [*words, *digits.settings(*settings)])


def train(*words: str, settings: list[str] = QUICK):
    done = invoke("train", *words, settings=[*QUIET, *settings])
    assert done.exit_code == 0, done.output
    return done


def perplexity(model: Path, folder: Path, name: str) -> float:
    files = [str(folder / f"{name}.{side}") for side in ("source", "target")]
    options = ["--model", str(model), "--engine", "torch", "--beam", "1", "--json"]
    done = CliRunner().invoke(main, ["evaluate", *files, *options])
    assert done.exit_code == 0, done.output
    return float(json.loads(done.stdout)["perplexity"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two domains whose words share letters: training files, and test files by side."""
    place = tmp_path_factory.mktemp("domains")
    for name, seed, count in (("general", 1, 4000), ("special", 2, 2000)):
        words = lexicon("abcdefgh", seed)
        digits.write(place / f"{name}.tsv", text(words, count, seed))
        test = text(words, 60, seed + 10)
        for number, side in enumerate(("source", "target")):
            lines = "".join(f"{pair[number]}\n" for pair in test)
            (place / f"{name}.{side}").write_text(lines, "utf-8")
    return place


@pytest.fixture(scope="module")
def general(folder) -> Path:
    """A model of the general domain."""
    settings = [
        *digits.SMALL,
        "model.p_drop=0.0",
        "train.steps=450",
        "train.warmup_steps=120",
        "train.checkpoint_steps=25",
        "train.validate_steps=450",
        "train.log_steps=100",
    ]
    train(str(folder / "run"), "--train", str(folder / "general.tsv"), settings=settings)
    return folder / "run" / "model"


def test_fine_tuning_is_better_in_the_domain_and_general_text_keeps_what_was_learned(
    folder, general
) -> None:
    """How much worse it is elsewhere is reported; with general text mixed in, it is less."""
    settings = [
        "train.tokens_per_batch=512",
        "train.steps=250",
        "train.warmup_steps=50",
        "train.checkpoint_steps=25",
        "train.validate_steps=250",
    ]
    special, both = folder / "special", folder / "both"
    corpus = ["--train", str(folder / "special.tsv")]
    mixed = [*corpus, "--train", f"{folder / 'general.tsv'}:0.25"]
    train(str(special), "--from", str(general), *corpus, settings=settings)
    train(str(both), "--from", str(general), *mixed, settings=settings)
    found = {
        name: [perplexity(model, folder, domain) for domain in ("special", "general")]
        for name, model in (
            ("before", general),
            ("special", special / "model"),
            ("both", both / "model"),
        )
    }
    print(f"perplexity in the domain and elsewhere: {found}")
    assert found["before"][1] < 2
    assert found["special"][0] < found["before"][0] / 4
    assert found["both"][0] < found["before"][0] / 4
    assert found["both"][1] < found["special"][1] / 2


@pytest.fixture(scope="module")
def corpus(folder) -> list[str]:
    return ["--train", str(folder / "special.tsv")]


@pytest.fixture(scope="module")
def tuned(folder, general, corpus) -> Path:
    train(str(folder / "tuned"), "--from", str(general), *corpus)
    return folder / "tuned"


def test_training_begins_with_the_weights_and_the_vocabulary_of_the_model(
    general, tuned, corpus
) -> None:
    """With the learning rate of the first steps, hardly anything has changed."""
    before, after = (ModelDirectory.open(path) for path in (general, tuned / "model"))
    assert (general / "tokens.model").read_bytes() == (tuned / "tokens.model").read_bytes()
    assert before.config.replace(p_drop=0.1) == after.config.replace(p_drop=0.1)
    for name, weight in before.weights().items():
        change = np.abs(after.weights()[name] - weight).max()
        assert 0 < change < 0.01, name
    card = (tuned / "model" / "card.md").read_text("utf-8")
    name = general.parent.name if general.name == "model" else general.name
    assert f"- started from: {name}\n" in card
    assert str(general.parent) not in card
    assert read_config(Run(tuned)).train.lr_factor < 1


def test_a_run_keeps_the_model_that_it_started_from_and_resumes_exactly(
    folder, general, corpus, tuned, tmp_path
) -> None:
    copy = Path(shutil.copytree(general, tmp_path / "copy"))
    run = tmp_path / "run"
    train(str(run), "--from", str(copy), *corpus, settings=[*QUICK, "train.steps=2"])
    shutil.rmtree(copy)
    assert CliRunner().invoke(main, ["train", str(run)]).exit_code == 0
    done = train(str(run), "--from", str(general), *corpus)
    assert "continuing from step 2" in done.stderr
    ends = [(path / "model" / "model.safetensors").read_bytes() for path in (run, tuned)]
    assert ends[0] == ends[1]


def test_a_rollback_before_the_first_checkpoint_goes_back_to_the_model(
    general, corpus, tmp_path, monkeypatch
) -> None:
    """The first step fails once; the weights after it are those of a first step."""
    from transduce.train.loop import Learner

    update, calls = Learner.update, []

    def fail_once(self, rate):
        calls.append(rate)
        if len(calls) == 1:
            for parameter in self.parameters.values():
                parameter.data.fill_(float("nan"))
        else:
            update(self, rate)

    monkeypatch.setattr(Learner, "update", fail_once)
    done = train(str(tmp_path / "run"), "--from", str(general), *corpus)
    assert "back to step 0" in done.stderr
    before, after = (
        ModelDirectory.open(path).weights() for path in (general, tmp_path / "run" / "model")
    )
    assert all(np.abs(after[name] - before[name]).max() < 0.01 for name in before)


def test_shortlists_of_the_model_only_grow() -> None:
    rng = np.random.default_rng(0)
    general, special = (
        [models.side([rng.integers(4, 900, 12) for _ in range(200)]) for _ in range(2)]
        for _ in range(2)
    )
    base = learn_shortlist(*general, 1000, range(4))
    both = learn_shortlist(*special, 1000, range(4), base)
    assert np.array_equal(base.order, both.order)
    assert (both.cutoffs >= base.cutoffs).all()
    assert (both.cutoffs > base.cutoffs).any()


def spm(lines: list[str], size: int) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=size,
        model_type="unigram",
        pad_id=-1,
        bos_id=-1,
        eos_id=0,
        unk_id=1,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


def imported(directory: Path, separate: bool) -> Path:
    """A model as `import` writes it: Marian's vocabulary, whose padding is its last token."""
    pairs = sentences("train", 300, seed=1)
    files = {
        "source.spm": spm([pair.source for pair in pairs], 300),
        "target.spm": spm([pair.target for pair in pairs], 330),
    }
    pieces = {}
    for name, content in files.items():
        processor = sentencepiece.SentencePieceProcessor()
        processor.LoadFromSerializedProto(content)
        pieces[name] = [processor.IdToPiece(i) for i in range(2, processor.GetPieceSize())]
    if not separate:
        shared = sorted({piece for some in pieces.values() for piece in some})
        pieces = dict.fromkeys(pieces, shared)
    vocabularies = [
        {piece: i for i, piece in enumerate(["</s>", "<unk>", *some, "<pad>"])}
        for some in pieces.values()
    ]
    files["vocab.json"] = json.dumps(vocabularies[0]).encode()
    size = len(vocabularies[0])
    settings: dict[str, object] = {"pad_id": size - 1, "bos_id": size - 1, "eos_id": 0}
    if separate:
        files["target_vocab.json"] = json.dumps(vocabularies[1]).encode()
        settings |= {"target_vocab_size": len(vocabularies[1]), "share_embeddings": "target"}
    write_model(directory, models.untrained(size, **settings), files=files, max_length=100)
    return directory


@pytest.mark.parametrize("separate", [False, True])
def test_an_imported_model_is_trained_with_its_own_vocabularies(tmp_path, separate) -> None:
    start = imported(tmp_path / "marian", separate)
    pairs = [(pair.source, pair.target) for pair in sentences("train", 400, seed=2)]
    text = digits.write(tmp_path / "train.tsv", pairs)
    settings = [*QUICK, "train.steps=40", "train.validate_steps=40", "train.warmup_steps=20"]
    done = train(
        *(str(tmp_path / "run"), "--from", str(start), "--train", str(text)),
        settings=[*settings, "train.lr_factor=1", "train.bleu_sentences=1", "train.log_steps=1"],
    )
    model = ModelDirectory.open(tmp_path / "run" / "model")
    assert model.config == ModelDirectory.open(start).config
    for name in ("source.spm", "target.spm", "vocab.json"):
        assert (model.path / name).read_bytes() == (start / name).read_bytes()
    metrics = read_metrics(tmp_path / "run" / "metrics.jsonl")
    losses = [entry["loss"] for entry in metrics if entry["event"] == "train"]
    assert losses[-1] < 0.8 * losses[0]
    assert "BLEU" in done.stderr
    translated = CliRunner().invoke(
        main, ["translate", "The dog sleeps.", "--model", str(model.path), "--engine", "torch"]
    )
    assert translated.exit_code == 0, translated.output


def damaged(model: Path, place: Path) -> Path:
    copy = Path(shutil.copytree(model, place))
    weights = copy / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    return copy


def with_larger_vocabulary(model: Path, place: Path) -> Path:
    """Weights with one row more than the vocabulary, and checksums that agree."""
    copy = Path(shutil.copytree(model, place, ignore=shutil.ignore_patterns("ctranslate2")))
    weights = load_file(copy / "model.safetensors")
    name = next(name for name in weights if "embedding" in name)
    weights[name] = np.concatenate([weights[name], weights[name][:1]])
    save_file(weights, copy / "model.safetensors")
    config = json.loads((copy / "config.json").read_text("utf-8"))
    config["model"]["vocab_size"] += 1
    (copy / "config.json").write_text(json.dumps(config), "utf-8")
    (copy / "checksums.json").unlink()
    write_checksums(copy)
    return copy


def without_vocabulary(_model: Path, place: Path) -> Path:
    write_model(place, models.untrained(50))
    return place


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (damaged, "model.safetensors is damaged: its checksum is not the one in checksums.json"),
        (with_larger_vocabulary, "they belong to different models"),
        (without_vocabulary, "has no vocabulary: neither tokens.model nor"),
    ],
)
def test_a_model_that_cannot_be_started_from_is_one_sentence(
    general, corpus, tmp_path, spoil, sentence
) -> None:
    model = spoil(general, tmp_path / "model")
    for verb in (["train", str(tmp_path / "run")], ["check", "--no-timing"]):
        done = invoke(*verb, "--from", str(model), *corpus)
        assert done.exit_code == 2, done.output
        assert done.stderr.startswith("transduce: ")
        assert done.stderr.count("\n") == 1
        assert sentence in done.stderr


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("model.d_model=64", "model.d_model = 64, but {model} has 32: training that starts from a"),
        ("data.vocab_size=500", "data.vocab_size = 500, but {model} has "),
        ("model.n_head=4", "unknown setting model.n_head; did you mean model.n_heads?"),
    ],
)
def test_the_network_and_the_vocabulary_of_the_model_cannot_be_changed(
    general, corpus, tmp_path, setting, sentence
) -> None:
    done = invoke("train", str(tmp_path), "--from", str(general), *corpus, settings=[setting])
    assert done.exit_code == 2
    assert sentence.format(model=general) in done.stderr
    assert done.stderr.count("\n") == 1


def test_dropout_may_be_changed(general, corpus, tmp_path) -> None:
    train(str(tmp_path), "--from", str(general), *corpus, settings=[*QUICK, "model.p_drop=0.3"])
    assert ModelDirectory.open(tmp_path / "model").config.p_drop == 0.3


def test_continuing_from_another_model_or_without_it_is_an_error(
    general, corpus, tuned, tmp_path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(tuned, other)
    model = str(tuned / "model")
    cases = {
        "from another model": ["--from", model],
        "from a model, which is in ": ["--config", str(other / "config.toml")],
    }
    for how, words in cases.items():
        done = invoke("train", str(other), *words, *corpus, settings=[*QUIET, *QUICK])
        assert done.exit_code == 2
        assert f"{other} was started {how}" in done.stderr
    plain = tmp_path / "plain"
    train(str(plain), *corpus, settings=[*digits.SMALL, *QUICK])
    settings = str(plain / "config.toml")
    done = invoke(
        "train", str(plain), "--from", str(plain / "model"), "--config", settings, *corpus
    )
    assert done.exit_code == 2
    assert f"{plain} was started without --from" in done.stderr


def test_a_tag_must_be_in_the_vocabulary_of_the_model(general, folder, tmp_path) -> None:
    text = f"{folder / 'special.tsv'}:tag=bt"
    done = invoke("train", str(tmp_path), "--from", str(general), "--train", text)
    assert done.exit_code == 2
    assert done.stderr.endswith("the vocabulary has no tag <bt>: leave out the tag\n")


def test_check_takes_the_network_of_the_model(general, corpus, tuned) -> None:
    done = invoke("check", "--from", str(general), *corpus, "--no-timing", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["network"]["parameters"] == ModelDirectory.open(tuned / "model").parameters
    assert facts["settings"]["train.lr_factor"] < 1


def test_training_in_the_other_direction_turns_the_languages_and_has_a_shortlist_of_its_own(
    tmp_path,
) -> None:
    start = models.model_directory(tmp_path / "start")
    config = json.loads((start / "config.json").read_text("utf-8"))
    config |= {"source_language": "en", "target_language": "de"}
    (start / "config.json").write_text(json.dumps(config), "utf-8")
    (start / "checksums.json").unlink()
    write_checksums(start)
    pairs = [(pair.source, pair.target) for pair in sentences("train", 300, seed=1)]
    digits.write(tmp_path / "same.en-de.tsv", pairs)
    digits.write(tmp_path / "reverse.de-en.tsv", [(german, english) for english, german in pairs])
    digits.write(tmp_path / "old-new.tsv", pairs)
    found = {}
    for name in ("same.en-de", "reverse.de-en", "old-new"):
        corpus = ["--train", str(tmp_path / f"{name}.tsv")]
        train(str(tmp_path / name), "--from", str(start), *corpus)
        found[name] = ModelDirectory.open(tmp_path / name / "model")
    languages = {name: "-".join(model.languages.values()) for name, model in found.items()}
    assert languages == {"same.en-de": "en-de", "reverse.de-en": "de-en", "old-new": "en-de"}
    order = ModelDirectory.open(start).shortlist.order
    assert (found["same.en-de"].shortlist.order == order).all()
    assert (found["reverse.de-en"].shortlist.order != order).any()
