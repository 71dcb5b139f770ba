"""MODEL: directories and bundled models by name or target language."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from transduce import Translator, model_names
from transduce.cli import main
from transduce.errors import ModelError
from transduce.model_names import bundled_models, is_model, model_path
from transduce.translate.language import plain_language

SENTENCE = "Where is the nearest station?"
GERMAN = "Wo ist der nächste Bahnhof?"


def run(*words: str, text: str = ""):
    return CliRunner().invoke(main, words, input=text, catch_exceptions=False)


@pytest.fixture
def two(tmp_path, monkeypatch) -> Path:
    """An installation with two models; "de-en" has the weights of "en-de"."""
    for name in ("en-de", "de-en"):
        shutil.copytree(bundled_models()["en-de"], tmp_path / "bundled" / name)
    monkeypatch.setattr(model_names, "BUNDLED", tmp_path / "bundled")
    return tmp_path / "bundled"


@pytest.fixture
def one(tmp_path, monkeypatch) -> None:
    (tmp_path / "bundled").mkdir()
    (tmp_path / "bundled" / "en-de").symlink_to(bundled_models()["en-de"])
    monkeypatch.setattr(model_names, "BUNDLED", tmp_path / "bundled")


def test_german_is_the_default_target_and_models_have_names(two) -> None:
    assert model_path() == model_path("en-de") == model_path(to="de") == two / "en-de"
    assert model_path("de-en") == model_path(to="en") == model_path(to="EN") == two / "de-en"
    assert Translator.load("de-en").translate([SENTENCE]) == [GERMAN]
    assert list(bundled_models()) == ["en-de", "de-en"]


def test_a_directory_precedes_a_bundled_model_of_the_same_name(two, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_model("de-en")
    (tmp_path / "de-en").mkdir()
    assert model_path("de-en") == Path("de-en")
    assert model_path("./x/en-de") == Path("./x/en-de")
    (tmp_path / "en-de").write_text("translations", "utf-8")
    assert not is_model("en-de")


def test_every_verb_takes_a_bundled_model_by_name(tmp_path) -> None:
    for name, text in (("source", SENTENCE), ("target", GERMAN)):
        (tmp_path / name).write_text(text + "\n", "utf-8")
    files = str(tmp_path / "source"), str(tmp_path / "target")
    for words in (
        ["translate", SENTENCE],
        ["score", *files],
        ["evaluate", *files, "--against", "en-de"],
        ["explain", SENTENCE],
        ["info"],
        ["export", "--to", "ctranslate2", str(tmp_path / "out")],
    ):
        done = run(*words, *(["en-de"] if words == ["info"] else ["--model", "en-de"]))
        assert done.exit_code == 0, done.stderr


def test_a_missing_target_language_is_one_sentence_that_lists_what_there_is(one) -> None:
    done = run("translate", GERMAN, "--to", "en")
    assert done.exit_code == 2
    assert done.stderr == (
        "transduce: there is no bundled model that translates into 'en'; bundled: en-de; "
        "give another model with --model\n"
    )
    with pytest.raises(ModelError, match="no model directory fr-en, and no bundled model; bundled"):
        model_path("fr-en")


def test_a_target_language_and_a_model_exclude_each_other() -> None:
    done = run("translate", SENTENCE, "--to", "de", "--model", "en-de")
    assert done.exit_code == 2
    assert "--to de chooses a bundled model: leave out --to or --model" in done.stderr


def test_an_installation_without_models_is_one_sentence(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(model_names, "BUNDLED", tmp_path)
    with pytest.raises(ModelError, match="this installation has no bundled model: give one"):
        model_path()


def test_german_text_is_pointed_out_once_with_the_option_that_translates_it(two) -> None:
    lines = f"{GERMAN}\n\n{GERMAN}\n"
    done = run("translate", text=lines)
    sentence = "the text is German, but the model translates English: add --to en\n"
    assert done.stderr.count(sentence) == done.stderr.count("German") == 1
    assert len(done.stdout.split("\n")) == 4
    for words in (["--to", "de"], ["--to", "en"], ["--model", "en-de"]):
        assert "German" not in run("translate", *words, text=lines).stderr
    assert "German" not in run("translate", text=f"{SENTENCE}\n{SENTENCE}\n{GERMAN}\n").stderr


def test_german_text_without_a_model_for_it_lists_what_there_is(one) -> None:
    done = run("translate", GERMAN)
    assert done.exit_code == 0
    assert done.stderr == (
        "the text is German, but the model translates English; bundled: en-de; "
        "give another model with --model\nlanguage: 1; low-score: 1\n"
    )


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "de"),
        ("Ich habe keine Zeit.", "de"),
        ("Guten Morgen!", "de"),
        (SENTENCE, "en"),
        ("Die Hard is a film.", "en"),
        ("Tom war in Berlin.", None),
        ("Der Spiegel", None),
        ("ok", None),
        ("", None),
        ("一只狗", None),
    ],
)
def test_only_plain_german_and_english_are_recognised(text, language) -> None:
    assert plain_language(text) == language
