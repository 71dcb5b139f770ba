"""The README.md of an export has the code that translates with it."""

import json

import pytest
from click.testing import CliRunner
from models import untrained
from notes import code_of, run_note

from transduce.cli import main
from transduce.directory import write_model
from transduce.exchange.note import TEXT, ctranslate2_note, huggingface_note
from transduce.model_names import model_path
from transduce.tokenizer import MarianTokenizer, Tokenizer

# transformers recommends what it then makes no use of
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")


def export(toolkit, out, *more):
    words = ["export", "--to", toolkit, str(out), *map(str, more)]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output


def test_the_note_of_the_bundled_models_export_translates(tmp_path, capsys) -> None:
    export("ctranslate2", tmp_path / "out")  # without --model: the bundled model
    assert "en to de" in (tmp_path / "out/README.md").read_text("utf-8")
    assert run_note(tmp_path / "out", capsys) == "Wo ist der nächste Bahnhof?\n"


def test_the_note_of_a_network_without_a_vocabulary_generates_ids(tmp_path, capsys) -> None:
    pytest.importorskip("transformers")
    write_model(tmp_path / "model", untrained(300))
    export("huggingface", tmp_path / "out", "--model", tmp_path / "model")
    assert run_note(tmp_path / "out", capsys).startswith("tensor([[")


def test_a_note_begins_the_source_with_a_language_code_where_the_model_has_several() -> None:
    model = Tokenizer.load(model_path() / "tokens.model").model
    names = ["<pad>", "</s>", "<unk>", ">>fra<<", ">>spa<<"]
    vocabulary = json.dumps({name: i for i, name in enumerate(names)}).encode()
    files = {"source.spm": model, "target.spm": model, "vocab.json": vocabulary}
    tokenizer = MarianTokenizer(files)
    theirs = code_of(huggingface_note(tokenizer, 2, {}))
    assert f'(["{tokenizer.languages[0]} {TEXT}"]' in theirs
    fast = code_of(ctranslate2_note(tokenizer, {}))
    assert '("source.spm", "target.spm")' in fast
    assert f'[">>fra<<", *source.encode("{TEXT}"' in fast
