"""The model directory: a round trip, and clear errors for damaged ones."""

import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from models import model_directory, pairs
from safetensors.torch import load_file, save_file

from transduce.cli import main
from transduce.config import PRESETS, TABLE_3, ModelConfig
from transduce.directory import ModelDirectory, sha256, write_model
from transduce.errors import ModelError
from transduce.model import Transformer
from transduce.model_names import model_path
from transduce.shapes import parameter_count, parameter_shapes
from transduce.tokenizer import Tokenizer
from transduce.train import state
from transduce.train.processes import Processes

CONFIG = ModelConfig(vocab_size=23, d_model=16, d_ff=24, n_heads=4, n_layers=2, d_k=3)


def wide() -> Transformer:
    """A network whose weights are larger than the header of their file."""
    return Transformer(ModelConfig(vocab_size=900, d_model=64, d_ff=256, n_heads=4, n_layers=2))


@pytest.fixture
def saved(tmp_path) -> Path:
    write_model(tmp_path / "model", Transformer(CONFIG), card="# A card\n")
    return tmp_path / "model"


@pytest.mark.parametrize("share", ["all", "target", "none"])
def test_a_saved_model_loads_bit_for_bit(tmp_path, share) -> None:
    model = Transformer(CONFIG.replace(share_embeddings=share)).eval()
    write_model(tmp_path / "model", model)
    loaded = ModelDirectory.open(tmp_path / "model").network()
    assert loaded.config == model.config
    ids = torch.randint(3, 23, (2, 5))
    assert torch.equal(loaded(ids, ids), model(ids, ids))
    assert {f.name for f in (tmp_path / "model").iterdir()} == {
        "config.json",
        "model.safetensors",
        "card.md",
        "checksums.json",
    }


def test_saving_again_replaces_the_whole_directory(saved) -> None:
    other = Transformer(CONFIG.replace(n_heads=2))
    write_model(saved, other)
    assert ModelDirectory.open(saved).network().config.n_heads == 2
    assert [f.name for f in saved.parent.iterdir()] == ["model"]


def test_the_files_have_the_permissions_of_the_directory(saved) -> None:
    allowed = saved.stat().st_mode & 0o666
    assert {f.stat().st_mode & 0o777 for f in saved.iterdir()} == {allowed}


def test_a_failed_save_keeps_the_existing_model(saved) -> None:
    before = sha256(saved / "model.safetensors")
    with pytest.raises(IsADirectoryError):
        write_model(saved, Transformer(CONFIG), files={".": b""})
    assert sha256(saved / "model.safetensors") == before
    assert [f.name for f in saved.parent.iterdir()] == ["model"]


def resign(directory: Path) -> None:
    sums = {f.name: sha256(f) for f in directory.iterdir() if f.name != "checksums.json"}
    (directory / "checksums.json").write_text(json.dumps(sums), "utf-8")


def test_a_flipped_bit_is_detected(saved) -> None:
    weights = saved / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged: its checksum is not"):
        ModelDirectory.open(saved)


def test_truncated_weights_are_an_error_even_when_the_checksum_agrees(saved) -> None:
    weights = saved / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    resign(saved)
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read"):
        ModelDirectory.open(saved)


def edit_config(saved: Path, **model: object) -> None:
    file = saved / "config.json"
    description = json.loads(file.read_text("utf-8"))
    description["model"] |= model
    file.write_text(json.dumps(description), "utf-8")
    resign(saved)


def test_weights_of_another_vocabulary_are_an_error(saved) -> None:
    edit_config(saved, vocab_size=29)
    with pytest.raises(ModelError, match="another model or vocabulary"):
        ModelDirectory.open(saved)


def test_weights_of_another_depth_are_an_error(saved) -> None:
    edit_config(saved, n_layers=3)
    with pytest.raises(ModelError, match=r"lacks (en|de)coder\.2"):
        ModelDirectory.open(saved)
    edit_config(saved, n_layers=1)
    with pytest.raises(ModelError, match=r"has (en|de)coder\.1.*, which the model .* lacks"):
        ModelDirectory.open(saved)


def test_settings_that_do_not_describe_a_model_are_an_error(saved) -> None:
    edit_config(saved, n_heads=-1)
    with pytest.raises(ModelError, match=r"does not describe a model: model\.n_heads = -1 must be"):
        ModelDirectory.open(saved)


def test_a_newer_format_is_an_error(saved) -> None:
    (saved / "config.json").write_text('{"format_version": 99}', "utf-8")
    with pytest.raises(ModelError, match="has format version 99, but this transduce reads"):
        ModelDirectory.open(saved)


@pytest.mark.parametrize("name", ["config.json", "checksums.json", "model.safetensors", "card.md"])
def test_a_missing_file_is_named(saved, name) -> None:
    (saved / name).unlink()
    with pytest.raises(ModelError, match=f"no {name}"):
        ModelDirectory.open(saved)


def test_a_missing_directory_is_named_on_the_command_line(tmp_path) -> None:
    result = CliRunner().invoke(main, ["info", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert result.stderr == f"transduce: no model directory {tmp_path / 'none'}\n"


def test_info_describes_the_directory(saved) -> None:
    page = " ".join(CliRunner().invoke(main, ["info", str(saved)]).stdout.split())
    assert "translation, 9,632 parameters" in page
    assert "n_heads = 4" in page
    facts = json.loads(CliRunner().invoke(main, ["info", str(saved), "--json"]).stdout)
    assert facts["checksums"]["model.safetensors"] == sha256(saved / "model.safetensors")
    assert facts["parameters"] == sum(p.numel() for p in Transformer(CONFIG).parameters())


@pytest.mark.parametrize(
    ("dtype", "smaller", "off"), [("float16", 1.9, 1e-3), ("int8", 3.3, 1 / 63)]
)
def test_weights_may_have_a_smaller_dtype(tmp_path, dtype, smaller, off) -> None:
    model = wide()
    write_model(tmp_path / "whole", model)
    write_model(tmp_path / "less", model, dtype=dtype)
    size, less = ((tmp_path / n / "model.safetensors").stat().st_size for n in ("whole", "less"))
    assert size / less > smaller
    loaded = dict(ModelDirectory.open(tmp_path / "less").network().named_parameters())
    for name, weight in model.named_parameters():
        assert loaded[name].dtype == torch.float32
        assert (loaded[name] - weight).abs().max() <= off * weight.abs().max()


def test_quantizing_twice_equals_quantizing_once(tmp_path) -> None:
    write_model(tmp_path / "once", wide(), dtype="int8")
    once = ModelDirectory.open(tmp_path / "once").network()
    write_model(tmp_path / "twice", once, dtype="int8")
    twice = ModelDirectory.open(tmp_path / "twice").network()
    for a, b in zip(once.parameters(), twice.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=0)


def test_int8_weights_without_their_scale_are_an_error(tmp_path) -> None:
    write_model(tmp_path / "m", wide(), dtype="int8")
    file = tmp_path / "m" / "model.safetensors"
    weights = load_file(file)
    del weights[next(name for name in weights if name.endswith(".scale"))]
    save_file(weights, file)
    sums = json.loads((tmp_path / "m" / "checksums.json").read_text("utf-8"))
    sums["model.safetensors"] = sha256(file)
    (tmp_path / "m" / "checksums.json").write_text(json.dumps(sums), "utf-8")
    with pytest.raises(ModelError, match="without a scale"):
        ModelDirectory.open(tmp_path / "m")


SHAPES = [
    *({**PRESETS[name].get("model", {}), "vocab_size": 50} for name in TABLE_3),
    {"share_embeddings": "target", "target_vocab_size": 31, "output_bias": True},
    {"share_embeddings": "none", "target_vocab_size": 31, "positions": "learned", "norm": "pre"},
    {"attention": "additive", "attention_bias": False, "n_encoder_layers": 3, "d_k": 5, "d_v": 7},
]


@pytest.mark.parametrize("settings", SHAPES, ids=str)
def test_the_shapes_from_the_settings_are_those_of_the_network(settings) -> None:
    config = ModelConfig(**{"vocab_size": 50, **settings})
    with torch.device("meta"):
        network = Transformer(config)
    found = {name: tuple(parameter.shape) for name, parameter in network.named_parameters()}
    shapes = parameter_shapes(config)
    assert shapes == found
    assert parameter_count(shapes) == sum(p.numel() for p in network.parameters())


def deep(saved: Path) -> None:
    (saved / "config.json").write_text('{"model":' + "[" * 100_000, "utf-8")


def long(saved: Path) -> None:
    (saved / "config.json").write_text(" " * 2**25, "utf-8")


def described(**values: object) -> Callable[[Path], None]:
    def edit(saved: Path) -> None:
        file = saved / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **values}), "utf-8")

    return edit


HOSTILE = {
    "10^12 words": (lambda at: edit_config(at, vocab_size=10**12), "model.vocab_size = 1000000"),
    "10^7 words": (lambda at: edit_config(at, vocab_size=10**7), "another model or vocabulary"),
    "10^9 layers": (lambda at: edit_config(at, n_layers=10**9), "model.n_layers = 1000000000 must"),
    "1000 layers": (lambda at: edit_config(at, n_layers=1000), r"lacks (en|de)coder\."),
    "10^5 heads": (lambda at: edit_config(at, n_heads=10**5, d_k=9, d_v=9), "another model or"),
    "10^5 wide": (lambda at: edit_config(at, d_model=10**5), "another model or vocabulary"),
    "null layers": (lambda at: edit_config(at, n_layers=None), "model.n_layers = None must be"),
    "another network": (lambda at: edit_config(at, kind="rnn"), "model.kind = 'rnn' must be"),
    "unknown setting": (lambda at: edit_config(at, depth=1), "unknown setting model.depth"),
    "null length": (described(max_length=None), "max_length = None must be a whole number"),
    "endless length": (described(max_length=10**12), "max_length = 1000000000000 must be less"),
    "length in words": (described(max_length="long"), "max_length = 'long' must be a whole"),
    "a list": (described(model=[]), "does not describe a model: it has no model settings"),
    "no model": (described(model=None), "does not describe a model: it has no model settings"),
    "another dtype": (described(dtype="int4"), "dtype = 'int4' must be 'float32', 'float16' or"),
    "half a character": (described(task="\ud800"), "task = .* must be a string"),
    "another version": (described(format_version="1"), "has format version 1, but"),
    "nested": (deep, "config.json cannot be read: it is nested too deeply"),
    "too large": (long, "config.json cannot be read: it is larger than"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_description_is_a_sentence_and_allocates_nothing(saved, name) -> None:
    edit, sentence = HOSTILE[name]
    edit(saved)
    resign(saved)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=sentence):
            ModelDirectory.open(saved)
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "card.md", "tokens.model"])
def test_checksums_that_leave_out_a_file_are_an_error(tmp_path, name) -> None:
    place = model_directory(tmp_path / "model")
    file = place / "checksums.json"
    sums = json.loads(file.read_text("utf-8"))
    del sums[name]
    file.write_text(json.dumps(sums), "utf-8")
    with pytest.raises(ModelError, match=rf"checksums\.json is damaged: it does not list {name}"):
        ModelDirectory.open(place)


@pytest.mark.parametrize(
    "listed", [{"../model/card.md": "0"}, {"a\0b": "0"}, {"x" * 5000: "0"}, {"card.md": None}]
)
def test_checksums_that_are_not_checksums_of_files_are_an_error(saved, listed) -> None:
    resign(saved)
    file = saved / "checksums.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **listed}), "utf-8")
    with pytest.raises(ModelError, match=r"is incomplete|cannot be read|is damaged"):
        ModelDirectory.open(saved)


@pytest.mark.parametrize("engine", ["auto", "torch", "ctranslate2"])
def test_a_tokenizer_of_another_model_is_one_sentence_with_every_engine(tmp_path, engine) -> None:
    place = model_directory(tmp_path / "model")
    texts = (text for pair in pairs(400, "train") for text in pair)
    Tokenizer.learn(texts, 500, place / "tokens.model")
    resign(place)
    args = ["translate", "--model", str(place), "--engine", engine, "A dog runs."]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 2
    assert result.stderr == (
        f"transduce: {place}: the tokenizer has 500 tokens, but the network has 600: they belong "
        "to different models\n"
    )


def test_a_model_without_a_tokenizer_opens_but_cannot_translate_text(saved) -> None:
    directory = ModelDirectory.open(saved)
    assert directory.network().config == CONFIG
    with pytest.raises(ModelError, match=r"has no vocabulary: neither tokens\.model nor"):
        directory.tokenizer  # noqa: B018


def test_a_description_of_the_first_release_is_read(tmp_path) -> None:
    write_model(tmp_path / "m", wide(), dtype="int8", max_length=77, source_language="en")
    file = tmp_path / "m" / "config.json"
    values = json.loads(file.read_text("utf-8"))
    values["stored"] = values.pop("dtype")
    del values["model"]["kind"]
    file.write_text(json.dumps(values), "utf-8")
    resign(tmp_path / "m")
    description = ModelDirectory.open(tmp_path / "m").description
    assert (description.dtype, description.max_length) == ("int8", 77)
    assert (description.source_language, description.target_language) == ("en", None)


def test_weights_tokenizer_and_shortlist_are_read_without_torch() -> None:
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from transduce.directory import ModelDirectory\n"
        f"directory = ModelDirectory.open({str(model_path())!r})\n"
        "sizes = sum(weight.size for weight in directory.weights().values())\n"
        "assert sizes == directory.parameters > 0\n"
        "assert directory.tokenizer.vocab_size == directory.config.vocab_size\n"
        "assert directory.shortlist is not None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_the_arrays_are_the_weights_of_the_network(tmp_path, dtype) -> None:
    write_model(tmp_path / "m", wide(), dtype=dtype)
    directory = ModelDirectory.open(tmp_path / "m")
    arrays, network = directory.weights(), directory.network()
    assert {name: array.dtype.name for name, array in arrays.items()} == dict.fromkeys(
        arrays, "float32"
    )
    for name, parameter in network.named_parameters():
        assert (arrays[name] == parameter.detach().numpy()).all()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_never_written(saved, wrong) -> None:
    before = sha256(saved / "checksums.json")
    model = Transformer(CONFIG)
    with torch.no_grad():
        model.decoder[1].feed_forward.inner.weight[0, 0] = wrong
    with pytest.raises(
        ModelError, match=r"decoder\.1\.feed_forward\.inner\.weight has infinite or NaN weights"
    ):
        write_model(saved, model)
    assert sha256(saved / "checksums.json") == before


def test_weights_of_an_unknown_dtype_are_an_error(saved) -> None:
    file = saved / "model.safetensors"
    save_file({name: weight.double() for name, weight in load_file(file).items()}, file)
    resign(saved)
    with pytest.raises(ModelError, match="is F64, not F32, F16 or I8"):
        ModelDirectory.open(saved)


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "state.json"])
def test_a_checkpoint_whose_checksums_leave_out_a_file_is_an_error(tmp_path, name) -> None:
    learner = state.Learner(Transformer(CONFIG))
    for parameter in learner.parameters.values():
        parameter.grad = torch.ones_like(parameter)
    learner.update(0.1)
    path = state.save(tmp_path, learner, state.Position(step=1), scheduled=True)
    assert state.load(path, learner).step == 1
    sums = json.loads((path / "checksums.json").read_text("utf-8"))
    del sums[name]
    (path / "checksums.json").write_text(json.dumps(sums), "utf-8")
    with pytest.raises(ModelError, match=f"does not list {name}"):
        state.load(path, learner)
    log: list[str] = []
    alone = Processes(0, 1, torch.device("cpu"))
    assert state.load_newest(tmp_path, learner, log.append, alone) is None
    assert len(log) == 1


def test_a_model_whose_replacement_was_interrupted_opens(saved) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    saved.rename(saved.with_name(f".{saved.name}.{process.pid}.old"))
    assert ModelDirectory.open(saved).config == CONFIG


def test_a_run_directory_stands_for_its_model(tmp_path) -> None:
    model = model_directory(tmp_path / "run/model")
    (tmp_path / "run/config.toml").write_text("", "utf-8")
    assert ModelDirectory.open(tmp_path / "run").path == model
    source, target = zip(*pairs(3), strict=True)
    (tmp_path / "a").write_text("\n".join(source) + "\n", "utf-8")
    (tmp_path / "b").write_text("\n".join(target) + "\n", "utf-8")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    for words in (
        ["translate", source[0]],
        ["score", *files],
        ["explain", source[0]],
        ["evaluate", *files, "--card"],
        ["export", "--to", "ctranslate2", str(tmp_path / "out")],
    ):
        of_run, of_model = (
            CliRunner().invoke(main, [*words, "--model", str(directory)])
            for directory in (tmp_path / "run", model)
        )
        assert of_run.exit_code == 0, of_run.output
        if words[0] in ("translate", "score", "explain"):
            assert of_run.stdout == of_model.stdout
    assert "## Scores on b" in (model / "card.md").read_text("utf-8")
    assert {file.name for file in (tmp_path / "run").iterdir()} >= {"model", "config.toml"}


def test_a_run_without_a_model_yet_says_how_to_make_one(tmp_path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.toml").write_text("", "utf-8")
    run = tmp_path / "run"
    with pytest.raises(ModelError) as caught:
        ModelDirectory.open(run)
    assert str(caught.value) == (
        f"{run} is a run that has no model yet: finish its training with transduce train {run}, "
        f"or average its checkpoints with transduce average {run}"
    )


def test_a_hugging_face_checkpoint_names_the_command_that_imports_it(saved) -> None:
    config = saved / "config.json"
    config.write_text('{"model_type": "marian"}', "utf-8")
    with pytest.raises(ModelError) as caught:
        ModelDirectory.open(saved)
    assert str(caught.value) == (
        f"{saved} is a Hugging Face checkpoint: import it first, with "
        f"transduce import --from huggingface {saved} OUT"
    )
    config.write_text('{"model_type": "bert"}', "utf-8")
    with pytest.raises(ModelError, match=r"of type 'bert': only marian models \(OPUS-MT\) can be"):
        ModelDirectory.open(saved)
