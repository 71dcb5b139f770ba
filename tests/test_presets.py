"""`transduce presets`, and the reference of the settings."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from transduce.cli import main
from transduce.config import PRESETS, Config, config_of, preset_for, resolve
from transduce.config.reference import markdown, reference
from transduce.config.sections import setting_names
from transduce.shapes import parameter_count, parameter_shapes

ROOT = Path(__file__).parents[1]


def succeed(*words: str) -> str:
    done = CliRunner().invoke(main, ["presets", *words])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_the_page_of_settings_is_what_the_code_says() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert page == markdown(), "run `make docs`"


def test_every_setting_has_a_meaning_a_default_and_values() -> None:
    settings = [setting for some in reference().values() for setting in some]
    assert [setting.name for setting in settings] == setting_names()
    for setting in settings:
        assert setting.meaning, setting.name
        assert setting.default
        assert setting.values
        assert re.fullmatch(r"(§\d(\.\d)*)?", setting.paper)


def test_the_defaults_of_the_reference_are_those_of_the_code() -> None:
    by_name = {s.name: s.default for some in reference().values() for s in some}
    for section, values in Config().model_dump(mode="json").items():
        for key, value in values.items():
            default = by_name[f"{section}.{key}"].replace(",", "")
            assert default == (str(value).lower() if isinstance(value, bool | None) else str(value))


def test_every_preset_and_the_size_of_its_network_is_listed() -> None:
    page = succeed()
    for name in PRESETS:
        assert re.search(rf"^  {name} ", page, re.MULTILINE), name
    for name in ("tiny", "small", "base", "big", "builtin"):
        millions = parameter_count(parameter_shapes(resolve(name).model)) / 1e6
        assert f"{millions:.1f} M" in page


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_printed_as_toml_that_gives_the_same_settings(name) -> None:
    assert config_of(tomllib.loads(succeed(name))) == resolve(name)
    assert config_of(json.loads(succeed(name, "--json"))) == resolve(name)


def test_every_setting_is_listed_in_the_terminal(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = succeed("--settings")
    for name in setting_names():
        assert f"  {name} " in page
    assert "(post, pre)" in page
    listed = json.loads(succeed("--settings", "--json"))
    assert [setting["name"] for setting in listed] == setting_names()


def test_a_larger_corpus_gets_a_larger_preset() -> None:
    sizes = [preset_for(pairs) for pairs in (50, 29_000, 100_000, 100_001, 2_000_000, 4_500_000)]
    assert sizes == ["tiny", "tiny", "tiny", "small", "small", "base"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("model.dropout", "did you mean model.p_drop?"),
        ("train.p_drop", "did you mean model.p_drop?"),
        ("train.batch_size", "`transduce presets --settings` has all"),
        ("model.depth", "`transduce presets --settings` has all"),
        ("model.vocabsize", "did you mean model.vocab_size?"),
        ("data.vocabsize", "did you mean data.vocab_size?"),
    ],
)
def test_only_a_name_that_is_near_is_suggested(name, hint) -> None:
    done = CliRunner().invoke(main, ["check", "--set", f"{name}=1"])
    assert done.exit_code == 2
    assert done.stderr == f"transduce: unknown setting {name}; {hint}\n"
