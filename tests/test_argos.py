"""`transduce export --to argos`: a package that Argos Translate and LibreTranslate install."""

import json
import os
import subprocess
import sys
import zipfile
from importlib.util import find_spec

import ctranslate2
import pytest
import sentencepiece
from click.testing import CliRunner
from models import model_directory

from transduce import Translator
from transduce.cli import main
from transduce.engines import convert

SENTENCES = [
    "Where is the nearest station?",
    "I would like a cup of coffee, please.",
    "If it rains tomorrow, we will stay at home.",
    "My sister has been learning German for three years.",
    "Tom is not here.",
    "The old house is next to the school.",
    "Can you help me?",
    "She reads a book every evening.",
    "We bought a new car.",
    "The children are playing in the garden.",
]


def export(out, *more):
    return CliRunner().invoke(main, ["export", "--to", "argos", str(out), *map(str, more)])


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    out = tmp_path_factory.mktemp("argos") / "en_de.argosmodel"
    done = export(out)
    assert done.exit_code == 0, done.output
    assert "exported; log-probabilities differ by at most" in done.stderr
    return out


def test_a_package_has_the_layout_of_argos_translate(package, tmp_path) -> None:
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path)
    (root,) = tmp_path.iterdir()
    assert root.name == "translate-en_de-1_0"
    metadata = json.loads((root / "metadata.json").read_text("utf-8"))
    wanted = {"from_code": "en", "from_name": "English", "to_code": "de", "to_name": "German"}
    assert wanted.items() <= metadata.items()
    assert "install_from_path" in (root / "README.md").read_text("utf-8")
    # what Argos Translate does with it
    tokens = sentencepiece.SentencePieceProcessor(model_file=str(root / "sentencepiece.model"))
    (found,) = ctranslate2.Translator(str(root / "model")).translate_batch(
        [tokens.encode("Where is the nearest station?", out_type=str)],
        beam_size=4,
        length_penalty=0.2,
        replace_unknowns=True,
    )
    assert tokens.decode_pieces(found.hypotheses[0]) == "Wo ist der nächste Bahnhof?"


# sentences are given one by one, as the model that finds their ends would be downloaded
ARGOS = """
import json, pathlib, sys
import argostranslate.package, argostranslate.sbd, argostranslate.translate
argostranslate.sbd.MiniSBDSentencizer.__init__ = lambda self, package: None
argostranslate.sbd.MiniSBDSentencizer.split_sentences = lambda self, text: [text]
argostranslate.package.install_from_path(pathlib.Path(sys.argv[1]))
translate = argostranslate.translate.translate
print(json.dumps([translate(text, "en", "de") for text in json.loads(sys.argv[2])]))
"""


@pytest.mark.skipif(
    not find_spec("argostranslate"), reason="argostranslate is not installed, it has other pins"
)
def test_argos_translate_itself_translates_as_we_do(package, tmp_path) -> None:
    homes = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    done = subprocess.run(
        [sys.executable, "-c", ARGOS, str(package), json.dumps(SENTENCES)],
        env={**os.environ, **dict.fromkeys(homes, str(tmp_path))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.strip().split("\n")[-1])
    expected = Translator.load().translate(SENTENCES)
    same = sum(a == b for a, b in zip(found, expected, strict=True))
    assert same >= 0.8 * len(expected), list(zip(found, expected, strict=True))


def test_a_package_that_disagrees_is_not_written(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(convert, "ACTIVATIONS", {"relu": "GELU"})
    done = export(tmp_path / "out.argosmodel")
    assert done.exit_code == 2
    assert "the export disagrees with the model" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_a_package_is_an_error(tmp_path) -> None:
    assert "ends in .argosmodel: name it" in export(tmp_path / "out").stderr
    (tmp_path / "old.argosmodel").touch()
    assert "old.argosmodel exists: name a new file" in export(tmp_path / "old.argosmodel").stderr
    model = model_directory(tmp_path / "model", shortlist=False)
    assert "does not state its languages, which a package of Argos Translate needs" in (
        export(tmp_path / "new.argosmodel", "--model", model).stderr
    )
