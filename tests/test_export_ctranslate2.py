"""`transduce export --to ctranslate2`: an export agrees with the model."""

import ctranslate2
import pytest
from click.testing import CliRunner
from models import model_directory, pairs, search

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines import convert
from transduce.engines.router import open_engine
from transduce.search import GREEDY
from transduce.tokenizer import load_tokenizer


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return model_directory(tmp_path_factory.mktemp("export") / "model")


def export(directory, out, *more):
    words = ["export", "--to", "ctranslate2", str(out), "--model", str(directory), *more]
    return CliRunner().invoke(main, words)


def test_ctranslate2s_own_api_translates_with_an_export(directory, tmp_path) -> None:
    sentences = tmp_path / "sentences"
    sentences.write_text("\n".join(source for source, _ in pairs(12)) + "\n", "utf-8")
    result = export(directory, tmp_path / "out", "--sentences", str(sentences))
    assert result.exit_code == 0, result.output
    assert "exported; log-probabilities differ by at most" in result.stderr
    tokens = load_tokenizer(tmp_path / "out")
    texts = [source for source, _ in pairs(12)]
    translator = ctranslate2.Translator(str(tmp_path / "out"), compute_type="float32")
    found = translator.translate_batch(
        [tokens.pieces(text) for text in texts], beam_size=1, min_decoding_length=0
    )
    engine = open_engine(ModelDirectory.open(directory), engine="torch")
    ours = search(engine, tokens.encode_batch(texts), GREEDY)
    for theirs, (best, *_) in zip(found, ours, strict=True):
        words = [tokens.target_vocabulary[i] for i in best.tokens]
        assert theirs.hypotheses[0][: len(words)] == words


def test_an_export_that_disagrees_leaves_nothing_behind(directory, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(convert, "ACTIVATIONS", {"relu": "GELU"})
    result = export(directory, tmp_path / "out")
    assert result.exit_code == 2
    assert "the export disagrees with the model: log-probabilities differ by" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_export_never_overwrites(directory, tmp_path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    result = export(directory, tmp_path)
    assert result.exit_code == 2
    assert "is not empty: name a new directory" in result.stderr


def test_use_vmap_gives_the_same_translations_as_without_it(directory, tmp_path) -> None:
    assert export(directory, tmp_path / "out").exit_code == 0
    assert not list((tmp_path / "out").glob("vmap*"))
    tokens = load_tokenizer(tmp_path / "out")
    sources = [tokens.pieces(source) for source, _ in pairs(12)]
    translator = ctranslate2.Translator(str(tmp_path / "out"))
    with_map, without = (
        [found.hypotheses[0] for found in translator.translate_batch(sources, use_vmap=used)]
        for used in (True, False)
    )
    assert with_map == without
    assert all(without)
