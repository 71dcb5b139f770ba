"""Logits equal Hugging Face's MarianMTModel, in both directions."""

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from transduce.checkpoint import load_model
from transduce.cli import main
from transduce.config import ModelConfig
from transduce.errors import ModelError
from transduce.exchange.huggingface import read_huggingface, write_huggingface
from transduce.model import Transformer

transformers = pytest.importorskip("transformers")

MARIAN = {
    "vocab_size": 61,
    "d_model": 32,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "activation_function": "swish",
    "scale_embedding": True,
    "pad_token_id": 60,
    "decoder_start_token_id": 60,
    "eos_token_id": 0,
}
SHAPES = {
    "opus-mt": {},
    "separate vocabularies": {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 47},
    "separate embeddings": {"share_encoder_decoder_embeddings": False},
    "unscaled gelu": {"scale_embedding": False, "activation_function": "gelu"},
}


def marian(tmp_path: Path, **changes: object) -> "transformers.MarianMTModel":
    settings = {**MARIAN, **changes}
    if "decoder_vocab_size" in changes:
        settings |= {"pad_token_id": 46, "decoder_start_token_id": 46}
    model = transformers.MarianMTModel(transformers.MarianConfig(**settings)).eval()
    for parameter in model.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.2)
    model.final_logits_bias.normal_()
    model.save_pretrained(tmp_path / "marian")
    return model


def compare(ours: Transformer, theirs: "transformers.MarianMTModel", atol: float = 1e-5) -> None:
    config = ours.config
    source = torch.randint(1, config.vocab_size - 1, (4, 9))
    target = torch.randint(1, config.decoder_vocab_size - 1, (4, 7))
    source[source == config.pad_id] = 1
    target[:, 0] = config.bos_id
    source[1, 6:] = source[3, 2:] = config.pad_id
    with torch.no_grad():
        expected = theirs(
            input_ids=source,
            attention_mask=(source != config.pad_id).long(),
            decoder_input_ids=target,
        ).logits
        torch.testing.assert_close(ours(source, target), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("changes", SHAPES.values(), ids=list(SHAPES))
def test_an_imported_marian_model_gives_marians_logits_and_exports_back(tmp_path, changes) -> None:
    theirs = marian(tmp_path, **changes)
    run = CliRunner().invoke
    imported, exported = str(tmp_path / "ours"), str(tmp_path / "back")
    result = run(main, ["import", "--from", "huggingface", str(tmp_path / "marian"), imported])
    assert result.exit_code == 0, result.output
    ours = load_model(Path(imported)).model
    compare(ours, theirs)
    result = run(main, ["export", "--to", "huggingface", exported, "--model", imported])
    assert result.exit_code == 0, result.output
    loaded, info = transformers.MarianMTModel.from_pretrained(exported, output_loading_info=True)
    assert not info["missing_keys"]
    assert not info["unexpected_keys"]
    compare(ours, loaded.eval())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attention_bias": False},
        {"output_bias": True, "n_decoder_layers": 1},
        {"share_embeddings": "target", "target_vocab_size": 17},
        {"share_embeddings": "none"},
    ],
    ids=str,
)
def test_the_papers_interleaved_model_becomes_marians_by_reordering(tmp_path, changes) -> None:
    config = ModelConfig(vocab_size=23, d_model=16, d_ff=24, n_heads=4, n_layers=2)
    ours = Transformer(config.replace(**changes)).eval()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    write_huggingface(ours, tmp_path / "out")
    compare(ours, transformers.MarianMTModel.from_pretrained(tmp_path / "out").eval())
    assert (
        read_huggingface(tmp_path / "out").config.share_embeddings == ours.config.share_embeddings
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"norm": "pre"}, 'model.norm = "pre" cannot be expressed'),
        ({"d_k": 3}, "model.d_k = 3 cannot be expressed"),
        ({"positions": "learned"}, "model.positions = 'learned' cannot be expressed"),
        ({"attention": "additive"}, "model.attention = 'additive' cannot be expressed"),
        ({"neighbourhood": 3}, "model.neighbourhood = 3 cannot be expressed"),
    ],
)
def test_what_marian_cannot_say_is_refused_and_nothing_is_left(tmp_path, changes, sentence) -> None:
    config = ModelConfig(vocab_size=23, d_model=16, d_ff=24, n_heads=4, n_layers=1, **changes)
    with pytest.raises(ModelError, match=sentence):
        write_huggingface(Transformer(config), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_an_export_that_differs_is_refused_and_nothing_is_left(tmp_path, monkeypatch) -> None:
    config = ModelConfig(vocab_size=23, d_model=16, d_ff=24, n_heads=4, n_layers=1)
    monkeypatch.setattr(
        "transduce.exchange.huggingface._reorder", lambda name, weight, order: weight
    )
    with pytest.raises(ModelError, match="the export differs from the model by"):
        write_huggingface(Transformer(config), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_pickled_weights_are_refused(tmp_path) -> None:
    marian(tmp_path)
    (tmp_path / "marian" / "model.safetensors").rename(tmp_path / "marian" / "pytorch_model.bin")
    result = CliRunner().invoke(
        main, ["import", "--from", "huggingface", str(tmp_path / "marian"), str(tmp_path / "ours")]
    )
    assert result.exit_code == 2
    assert "pickled weights (pytorch_model.bin) are never loaded" in result.output
    assert not (tmp_path / "ours").exists()


def test_a_model_of_another_type_is_refused(tmp_path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}), "utf-8")
    with pytest.raises(ModelError, match="holds a model of type 'bert'; only"):
        read_huggingface(tmp_path)


def test_tokenizer_files_travel_along(tmp_path) -> None:
    marian(tmp_path)
    (tmp_path / "marian" / "source.spm").write_bytes(b"pieces")
    run, ours, back = CliRunner().invoke, str(tmp_path / "ours"), str(tmp_path / "back")
    run(main, ["import", "--from", "huggingface", str(tmp_path / "marian"), ours])
    run(main, ["export", "--to", "huggingface", back, "--model", ours])
    assert (tmp_path / "back" / "source.spm").read_bytes() == b"pieces"


def test_an_occupied_output_directory_is_refused(tmp_path) -> None:
    marian(tmp_path)
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "thesis.tex").write_text("years of work", "utf-8")
    result = CliRunner().invoke(
        main, ["import", "--from", "huggingface", str(tmp_path / "marian"), str(tmp_path / "ours")]
    )
    assert result.exit_code == 2
    assert "is not empty" in result.output
    assert (tmp_path / "ours" / "thesis.tex").exists()
