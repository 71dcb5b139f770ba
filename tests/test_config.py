"""Settings: the paper by default, and one clear sentence for every mistake."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from transduce import shapes
from transduce.cli import main
from transduce.config import PRESETS, Config, ModelConfig, resolve
from transduce.errors import ConfigError
from transduce.model import build_network

BAD_SETTINGS = {
    "model.n_head=8": "unknown setting model.n_head; did you mean model.n_heads?",
    "modle.n_heads=8": "unknown setting modle.n_heads; did you mean model.n_heads?",
    "model.n_heads=eight": "model.n_heads = 'eight' must be a whole number",
    "model.n_heads=8.5": "model.n_heads = 8.5 must be a whole number",
    "model.n_heads=7": "model.d_model = 512 is not divisible by model.n_heads = 7: "
    "change one of them, or set model.d_k and model.d_v",
    "model.d_model=-512": "model.d_model = -512 must be greater than or equal to 1",
    "model.vocab_size=0": "model.vocab_size = 0 must be greater than or equal to 1",
    "model.p_drop=1.5": "model.p_drop = 1.5 must be less than 1",
    "model.p_drop=-0.1": "model.p_drop = -0.1 must be greater than or equal to 0",
    "model.p_drop=nan": "model.p_drop = nan must be less than 1",
    "model.p_drop=true": "model.p_drop = True must be a number",
    "model.norm=middle": "model.norm = 'middle' must be 'post' or 'pre'",
    "model.scale_embeddings=1": "model.scale_embeddings = 1 must be a boolean",
    "model.target_vocab_size=99": 'model.share_embeddings = "all" needs one vocabulary: leave out '
    'model.target_vocab_size, or set model.share_embeddings to "target" or "none"',
    "model.pad_id=37000": "model.pad_id = 37000 is outside the vocabulary of 37000",
    "model.n_layers=10000000": "model.n_layers = 10000000 must be less than or equal to 1000",
    "model.d_model=10000000": "model.d_model = 10000000 must be less than or equal to 100000",
    "model.vocab_size=10000000000": "model.vocab_size = 10000000000 must be less than or equal to "
    "10000000",
    "model.max_positions=1000000000000": "model.max_positions = 1000000000000 must be less than or "
    "equal to 10000000",
    "train.lr_factor=1e308": "train.lr_factor = 1e+308 must be less than or equal to 1000000",
    "train.clip_norm=inf": "train.clip_norm = inf must be less than or equal to 1000000",
    "model.norm_eps=nan": "model.norm_eps = nan must be less than or equal to 1000000",
    "train.seed=100000000000000000000": "train.seed = 100000000000000000000 must be less than or "
    "equal to 1000000000000",
    f"train.steps=1{'0' * 5000}": "train.steps = '100000000000...0000000000000' must be a whole "
    "number",
    f"train.steps={'[' * 5000}": "train.steps = '[[[[[[[[[[[[...[[[[[[[[[[[[[' must be a whole "
    "number",
    "n_heads=8": "cannot read the setting 'n_heads=8': write section.key=value",
    "model.n_heads": "cannot read the setting 'model.n_heads': write section.key=value",
}


@pytest.mark.parametrize(
    ("item", "sentence"), BAD_SETTINGS.items(), ids=[item[:40] for item in BAD_SETTINGS]
)
def test_a_bad_setting_gets_one_sentence_and_exit_code_2(item, sentence, tmp_path) -> None:
    output = tmp_path / "f.svg"
    args = ["paper", "figure1", "--output", str(output), "--set", item]
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 2
    assert result.stderr == f"transduce: {sentence}\n"
    assert not output.exists()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"d_model": 513, "n_heads": 1}, "model.d_model = 513 is odd: sinusoids come in pairs"),
        ({"n_head": 8}, "unknown setting model.n_head; did you mean model.n_heads?"),
        ({"d_ff": "wide"}, "model.d_ff = 'wide' must be a whole number"),
    ],
)
def test_the_library_raises_the_same_sentences(settings, sentence) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig(**settings)
    assert str(caught.value).startswith(sentence)


def test_an_unknown_preset_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"unknown preset bse; did you mean base\?"):
        resolve("bse")


def test_the_defaults_are_the_papers_base_model() -> None:
    config = Config()
    model = config.model
    assert (model.n_layers, model.d_model, model.d_ff, model.n_heads) == (6, 512, 2048, 8)
    assert (model.key_width, model.value_width) == (64, 64)
    assert (model.p_drop, model.p_drop_attention, model.p_drop_relu) == (0.1, 0.0, 0.0)
    assert (model.norm, model.positions, model.share_embeddings) == ("post", "sinusoidal", "all")
    assert (config.train.label_smoothing, config.train.steps) == (0.1, 100_000)
    assert config == resolve("base")


def test_a_file_overrides_the_preset_and_set_overrides_the_file(tmp_path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[model]\nn_heads = 2\nd_ff = 64\n", "utf-8")
    config = resolve("tiny", file, ["model.d_ff=32"])
    assert (config.model.d_model, config.model.n_heads, config.model.d_ff) == (128, 2, 32)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[model\n", "cannot be read"),
        ("[modle]\nn_heads = 2\n", "unknown section modle; did you mean model?"),
        ("[model]\nn_heads = " + "[" * 100_000, "is nested too deeply"),
        (f"[train]\nsteps = 1{'0' * 5000}\n", "cannot be read: Exceeds the limit"),
        (" " * 2**21, "is larger than 1,048,576 bytes"),
        ("model = 3\n", "model is not a section: write [model] above its settings"),
    ],
)
def test_a_bad_settings_file_gets_a_sentence(tmp_path, text, sentence) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        resolve("tiny", file)
    assert sentence in str(caught.value)


def test_a_missing_settings_file_gets_a_sentence(tmp_path) -> None:
    with pytest.raises(ConfigError, match="no settings file"):
        resolve("tiny", tmp_path / "none.toml")


@pytest.mark.parametrize("name", ["a\0b", "a" * 5000, "/dev/zero", "."])
def test_a_name_that_cannot_be_a_settings_file_gets_a_sentence(name) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read|is larger than"):
        resolve("tiny", Path(name))


def test_a_network_larger_than_the_memory_is_never_built(monkeypatch) -> None:
    config = ModelConfig.base(vocab_size=1000)
    count = shapes.parameter_count(shapes.parameter_shapes(config))
    monkeypatch.setattr(shapes, "memory", lambda: 4 * 40_000_000)
    with pytest.raises(ConfigError) as caught:
        build_network(config)
    assert str(caught.value) == (
        f"the network has {count:,} parameters, which need 0.2 GiB, but this machine has 0.1 GiB "
        "of memory: make model.d_model, model.d_ff, model.n_layers or the vocabulary smaller"
    )
    monkeypatch.setattr(shapes, "memory", lambda: 4 * 50_000_000)
    build_network(config)
    with pytest.raises(ConfigError, match=r"need 0\.7 GiB"):
        shapes.check_memory(config, copies=4)


def test_the_widest_deepest_network_is_an_error_before_it_is_built() -> None:
    config = ModelConfig(n_layers=1000, d_model=100_000, d_ff=10_000_000)
    with pytest.raises(ConfigError, match=r"the network has 4,.* parameters, which need"):
        build_network(config)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid(name) -> None:
    assert resolve(name).model == ModelConfig.preset(name)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        ModelConfig.base().n_heads = 3


def test_replace_validates_all_settings() -> None:
    with pytest.raises(ConfigError, match="not divisible"):
        ModelConfig.base().replace(n_heads=7)
