"""Settings: the paper by default, and one clear sentence for every mistake."""

import pytest
from click.testing import CliRunner

from transduce.cli import main
from transduce.config import PRESETS, Config, ModelConfig, resolve
from transduce.errors import ConfigError

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
    "n_heads=8": "cannot read the setting 'n_heads=8': write section.key=value",
    "model.n_heads": "cannot read the setting 'model.n_heads': write section.key=value",
}


@pytest.mark.parametrize(("item", "sentence"), BAD_SETTINGS.items(), ids=list(BAD_SETTINGS))
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
def test_the_library_refuses_with_the_same_sentences(settings, sentence) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelConfig(**settings)
    assert str(caught.value).startswith(sentence)


def test_an_unknown_preset_is_refused_with_the_nearest_name() -> None:
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


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_valid(name) -> None:
    assert resolve(name).model == ModelConfig.preset(name)


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        ModelConfig.base().n_heads = 3


def test_replace_checks_the_whole() -> None:
    with pytest.raises(ConfigError, match="not divisible"):
        ModelConfig.base().replace(n_heads=7)
