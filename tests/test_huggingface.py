"""Logits, ids and translations equal Hugging Face's Marian, in both directions."""

import json
import sys
from pathlib import Path

import models
import pytest
import torch
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from notes import run_note
from torch.nn.functional import cross_entropy

from transduce import grammar
from transduce.cli import main
from transduce.config import ModelConfig
from transduce.directory import ModelDirectory, write_model
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import ModelError, UserError
from transduce.exchange import huggingface
from transduce.exchange.huggingface import read_huggingface, write_huggingface
from transduce.model import Transformer
from transduce.search import Search
from transduce.tokenizer import EOS, Tokenizer

transformers = pytest.importorskip("transformers")
# it recommends what it then makes no use of
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

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
    ours = ModelDirectory.open(Path(imported)).network()
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
def test_exporting_a_network_that_marian_does_not_support_is_an_error_and_writes_nothing(
    tmp_path, changes, sentence
) -> None:
    config = ModelConfig(vocab_size=23, d_model=16, d_ff=24, n_heads=4, n_layers=1, **changes)
    with pytest.raises(ModelError, match=sentence):
        write_huggingface(Transformer(config), tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_an_export_with_other_logits_is_an_error_and_writes_nothing(tmp_path, monkeypatch) -> None:
    config = ModelConfig(vocab_size=23, d_model=16, d_ff=24, n_heads=4, n_layers=1)
    monkeypatch.setattr("transduce.exchange.marian._reorder", lambda name, weight, order: weight)
    with pytest.raises(ModelError, match="the export differs from the model by"):
        write_huggingface(Transformer(config), tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"encoder_layers": 10**9}, "model.n_encoder_layers = 1000000000 must be less than"),
        ({"encoder_layers": 1000}, "the weights have no model.encoder.layers.3"),
        ({"vocab_size": 10**12}, "model.vocab_size = 1000000000000 must be less than"),
        ({"d_model": 99_968}, "the weights belong to another model or vocabulary"),
        ({"dropout": None}, "config.json is not a Marian configuration"),
        ({"dropout": "much"}, "config.json is not a Marian configuration"),
        ({"activation_function": []}, "config.json is not a Marian configuration"),
        ({"d_model": "wide"}, "model.d_model = 'wide' must be a whole number"),
    ],
)
def test_a_hostile_marian_description_is_one_sentence(tmp_path, changes, sentence) -> None:
    marian(tmp_path)
    file = tmp_path / "marian" / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **changes}), "utf-8")
    with pytest.raises(UserError) as caught:
        read_huggingface(tmp_path / "marian")
    assert sentence in str(caught.value)


@pytest.mark.parametrize("words", [7, [7], [["x"]], [[-1]], [[10**12]], [[1, 2]], {"a": 1}])
def test_forbidden_words_that_are_not_ids_are_ignored(tmp_path, words) -> None:
    marian(tmp_path)
    file = tmp_path / "marian" / "generation_config.json"
    file.unlink()
    plain = read_huggingface(tmp_path / "marian")
    file.write_text(json.dumps({"bad_words_ids": words}), "utf-8")
    found = read_huggingface(tmp_path / "marian")
    ids = torch.tensor([[3, 4, 5]])
    assert torch.equal(found(ids, ids), plain(ids, ids))


def test_a_model_of_another_type_is_an_error(tmp_path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}), "utf-8")
    with pytest.raises(ModelError, match="has a model of type 'bert'; only"):
        read_huggingface(tmp_path)


PAIRS = grammar.sentences("train", 300, seed=0)
SENTENCES = [text for pair in PAIRS for text in (pair.source, pair.target)]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory) -> Tokenizer:
    return Tokenizer.learn(SENTENCES, 600, tmp_path_factory.mktemp("tokens") / "tokens.model")


@pytest.fixture(scope="module")
def model(tokens) -> Transformer:
    """A model that has memorised some sentences."""
    torch.manual_seed(0)
    config = ModelConfig(
        vocab_size=tokens.vocab_size, d_model=32, d_ff=48, n_heads=4, n_layers=1, p_drop=0.0
    )
    model = Transformer(config)
    rows = [torch.tensor([1, *ids, EOS]) for ids in tokens.encode_batch(SENTENCES[:24])]
    padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    source, target = padded[0::2, 1:], padded[1::2]
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(60):
        optimizer.zero_grad()
        logits = model(source, target[:, :-1]).flatten(0, 1)
        cross_entropy(logits, target[:, 1:].flatten(), ignore_index=0).backward()
        optimizer.step()
    return model.eval()


@pytest.fixture(scope="module")
def exported(model, tokens, tmp_path_factory) -> Path:
    directory: Path = tmp_path_factory.mktemp("exported") / "out"
    languages = {"source_language": "en", "target_language": "de"}
    write_huggingface(model, directory, tokens, languages=languages)
    return directory


@pytest.fixture(scope="module")
def tokenizer(exported):
    return transformers.MarianTokenizer.from_pretrained(exported)


@given(text=st.text() | st.sampled_from(SENTENCES))
@example("")
@example("  two  spaces  ")
@example("<s> </s> <unk> <pad> <0x41>")
@example("Собака 一只狗 الكلب कुत्ता 😀👩‍👩‍👧 ᚠᛇᚻ e\u0301 é ﬁ\u00a0\ufeff")
@example("\x00\n\r\n\t\x1b")
def test_an_exported_tokenizer_encodes_and_decodes_as_ours(tokens, tokenizer, text) -> None:
    if "▁" in text or "\x10" in text or text.startswith(">>"):
        return
    ids = [*tokens.encode(text), EOS]
    assert tokenizer(text).input_ids == ids
    assert tokenizer(text_target=text).input_ids == ids
    assert tokenizer.decode(ids, skip_special_tokens=True) == text.strip()


def test_an_exported_model_translates_text_as_ours(model, tokens, exported, tokenizer) -> None:
    peer = transformers.MarianMTModel.from_pretrained(exported).eval()
    search = Search(beam=1, penalty="none")
    texts = SENTENCES[:24]
    sources = tokens.encode_batch(texts)
    found = [best for best, *_ in models.search(TorchEngine(model), sources, search)]
    translations = [tokens.decode(hypothesis.tokens).strip() for hypothesis in found]
    inputs = tokenizer(texts, return_tensors="pt", padding=True)
    written = peer.generate(**inputs, num_beams=1, length_penalty=1.0, max_length=500)
    theirs = tokenizer.batch_decode(written, skip_special_tokens=True)
    for ours, text, hypothesis in zip(translations, theirs, found, strict=True):
        assert text == ours if hypothesis.ended else text.startswith(ours)
    assert len(set(translations)) > 5
    assert any(hypothesis.ended for hypothesis in found)


def test_the_note_of_an_export_translates_as_ours(model, tokens, exported, capsys) -> None:
    search = Search(penalty="average", extra_length=400)
    found = models.search(TorchEngine(model), tokens.encode_batch(SENTENCES[:24:2]), search)
    text, best = next((s, h) for s, (h, *_) in zip(SENTENCES[::2], found, strict=False) if h.ended)
    assert run_note(exported, capsys, text) == f"{tokens.decode(best.tokens)}\n"


def test_an_export_has_search_settings_and_languages(exported) -> None:
    generation = transformers.GenerationConfig.from_pretrained(exported)
    assert (generation.num_beams, generation.length_penalty, generation.max_length) == (4, 0.6, 512)
    assert (generation.decoder_start_token_id, generation.eos_token_id) == (1, 2)
    assert generation.bad_words_ids is None  # our models never learn to write padding
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    assert isinstance(tokenizer, transformers.MarianTokenizer)
    assert (tokenizer.source_lang, tokenizer.target_lang) == ("en", "de")
    assert tokenizer.model_max_length == 512
    special = tokenizer.pad_token, tokenizer.eos_token, tokenizer.unk_token
    assert special == ("<pad>", "</s>", "<unk>")
    assert tokenizer.convert_tokens_to_ids(list(special)) == [0, 2, 3]


def test_an_export_imported_again_encodes_and_translates_the_same(
    model, tokens, exported, tmp_path
) -> None:
    again = str(tmp_path / "again")
    result = CliRunner().invoke(main, ["import", "--from", "huggingface", str(exported), again])
    assert result.exit_code == 0, result.output
    loaded = ModelDirectory.open(tmp_path / "again")
    assert loaded.description.source_language == "en"
    imported = huggingface.read_tokenizer(exported, loaded.config)
    assert imported.encode_batch(SENTENCES) == tokens.encode_batch(SENTENCES)
    sources = tokens.encode_batch(SENTENCES[:5])
    found, wanted = (models.best(TorchEngine(m), sources) for m in (loaded.network(), model))
    assert found == wanted


def swapped(tokens: Tokenizer) -> dict[str, bytes]:
    files = huggingface_files(tokens)
    numbers = json.loads(files["vocab.json"])
    numbers["▁"], numbers["e"] = numbers["e"], numbers["▁"]
    return {**files, "vocab.json": json.dumps(numbers).encode()}


huggingface_files = huggingface._tokenizer_files
huggingface_generation = huggingface._generation


@pytest.mark.parametrize(
    ("name", "wrong", "sentence"),
    [
        ("_tokenizer_files", swapped, "does not tokenize 'A dog runs on the beach.' as the model"),
        (
            "_generation",
            lambda model: {**huggingface_generation(model), "decoder_start_token_id": 0},
            "does not translate 'A dog runs on the beach.' as the model",
        ),
    ],
)
def test_an_export_with_other_text_is_an_error_and_writes_nothing(
    model, tokens, tmp_path, monkeypatch, name, wrong, sentence
) -> None:
    monkeypatch.setattr(huggingface, name, wrong)
    with pytest.raises(ModelError, match=f"^the export {sentence} does, so nothing was written"):
        write_huggingface(model, tmp_path / "out", tokens)
    assert not list(tmp_path.iterdir())


def test_without_transformers_an_export_is_compared_by_transduce_alone(
    model, tokens, tmp_path, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    logged: list[str] = []
    write_huggingface(model, tmp_path / "out", tokens, log=logged.append)
    assert "when transduce loads it; to compare with transformers: pip" in logged[0]
    monkeypatch.setattr(huggingface, "_tokenizer_files", swapped)
    with pytest.raises(ModelError, match=r"does not tokenize 'A dog runs on the beach\.'"):
        write_huggingface(model, tmp_path / "other", tokens)
    assert not (tmp_path / "other").exists()


def test_the_users_own_sentences_are_compared(model, tokens, tmp_path) -> None:
    files = {"tokens.model": tokens.model}
    write_model(tmp_path / "ours", model, files=files)
    texts = ["Ein Hund bellt.", "a▁b", "", ">>fra<< Ein Hund", "犬"]
    (tmp_path / "texts").write_text("\n".join(texts) + "\n", "utf-8")
    arguments = ["export", "--to", "huggingface", str(tmp_path / "out")]
    arguments += ["--model", str(tmp_path / "ours"), "--sentences", str(tmp_path / "texts")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "and 3 sentences have the same ids and translations" in result.output


def test_a_vocabulary_larger_than_the_networks_is_not_exported(tokens, tmp_path) -> None:
    small = Transformer(ModelConfig(vocab_size=99, d_model=16, d_ff=24, n_heads=4, n_layers=1))
    with pytest.raises(ModelError, match="has 600 tokens, but the network has 99"):
        write_huggingface(small, tmp_path / "out", tokens)
    assert not list(tmp_path.iterdir())


def test_an_output_directory_that_is_not_empty_is_an_error(tmp_path) -> None:
    marian(tmp_path)
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "thesis.tex").write_text("years of work", "utf-8")
    result = CliRunner().invoke(
        main, ["import", "--from", "huggingface", str(tmp_path / "marian"), str(tmp_path / "ours")]
    )
    assert result.exit_code == 2
    assert "is not empty" in result.output
    assert (tmp_path / "ours" / "thesis.tex").exists()
