"""OPUS-MT's vocabularies: ids, texts and translations are those of Hugging Face."""

import io
import json
from pathlib import Path

import pytest
import sentencepiece
import torch
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from transduce import grammar
from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines import Request
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import InputError, ModelError
from transduce.search import Search
from transduce.tokenizer import MarianTokenizer, Tokenizer, TokenizerLike, load_tokenizer

# transformers recommends what it then makes no use of
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

PAIRS = list(grammar.sentences("train", 300, seed=0))
TEXTS = [
    *(pair.source for pair in PAIRS[:40]),
    "Zwei Männer, 3½ „Kinder“ — ﬁn!",
    "一只狗 Собака  two  spaces ",
    " \n\t",
    "",
    "dog",
    ">>fra<<",
    ">>deu<< dog",
    ">>deu<<dog >>fra<<",
]
CODES = (">>deu<<", ">>fra<<")


def learn(lines: list[str], vocab_size: int) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return model.getvalue()


SPM = {
    "source.spm": learn([pair.source for pair in PAIRS], 200),
    "target.spm": learn([pair.target for pair in PAIRS], 200),
}


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.IdToPiece(i) for i in range(3, processor.GetPieceSize())]


def numbered(pieces: list[str], codes: tuple[str, ...] = ()) -> bytes:
    """As in OPUS-MT: the special symbols have other ids than in SentencePiece, padding is last."""
    names = ["</s>", "<unk>", *codes, *pieces, "<pad>"]
    return json.dumps({name: i for i, name in enumerate(names)}).encode()


SOURCE, TARGET = pieces_of(SPM["source.spm"]), pieces_of(SPM["target.spm"])
SIZE = min(len(SOURCE), len(TARGET)) - 9  # so that both lack some pieces
KINDS = {
    "one vocabulary": {"vocab.json": numbered(sorted({*SOURCE[9:], *TARGET}))},
    "languages": {"vocab.json": numbered(sorted({*SOURCE, *TARGET}), CODES)},
    "two vocabularies": {
        "vocab.json": numbered(SOURCE[:SIZE]),
        "target_vocab.json": numbered(TARGET[-SIZE:]),
    },
}


@pytest.fixture(scope="module", params=list(KINDS))
def folder(request, tmp_path_factory) -> Path:
    """The files that MarianTokenizer.save_pretrained writes."""
    folder: Path = tmp_path_factory.mktemp("opus")
    for name, content in {**SPM, **KINDS[request.param]}.items():
        (folder / name).write_bytes(content)
    settings = {
        "source_lang": "en",
        "target_lang": "de",
        "separate_vocabs": request.param == "two vocabularies",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    return folder


@pytest.fixture(scope="module")
def tokens(folder) -> MarianTokenizer:
    return MarianTokenizer.load(folder)


@pytest.fixture(scope="module")
def tokenizer(folder):
    transformers = pytest.importorskip("transformers")
    return transformers.MarianTokenizer.from_pretrained(folder)


def ordinary(tokens: MarianTokenizer) -> list[str]:
    """Hugging Face takes a language code from every text, also for a model that knows none."""
    return [text for text in TEXTS if tokens.languages or not text.startswith(">>")]


def test_sources_and_targets_have_hugging_faces_ids(tokens, tokenizer) -> None:
    texts = ordinary(tokens)
    sources = [[*ids, 0] for ids in tokens.encode_batch(texts)]
    assert sources == [tokenizer(text).input_ids for text in texts]
    assert sources == [[*tokens.encode(text), 0] for text in texts]
    texts = [pair.target for pair in PAIRS[:40]]
    targets = [[*ids, 0] for ids in tokens.encode_targets(texts)]
    assert targets == [tokenizer(text_target=text).input_ids for text in texts]
    assert tokens.vocab_size == len(tokenizer)


@given(data=st.data())
def test_any_ids_have_hugging_faces_text(tokens, tokenizer, data) -> None:
    ids = data.draw(st.lists(st.integers(0, tokens.target_vocab_size - 1)))
    assert tokens.decode(ids) == tokenizer.decode(ids, skip_special_tokens=True)


def test_decoding_encoded_targets_gives_them_back(tokens) -> None:
    known = [pair.target for pair in PAIRS[:40]]
    for text, ids in zip(known, tokens.encode_targets(known), strict=True):
        unknown = 1 in ids  # pieces that the vocabulary lacks are lost
        assert unknown or tokens.decode(ids) == text


def test_the_vocabulary_names_every_id(tokens) -> None:
    text = PAIRS[0].source
    found = [tokens.vocabulary[i] for i in tokens.encode(text)]
    assert all(a in (b, "<unk>") for a, b in zip(found, tokens.pieces(text), strict=True))
    assert tokens.target_vocabulary[-1] == "<pad>"


def test_special_symbols_in_a_text_are_text(tokens) -> None:
    ids = tokens.encode("</s> <pad>")
    assert 0 not in ids
    assert tokens.vocab_size - 1 not in ids


def test_a_language_code_is_one_token_and_a_wrong_one_is_an_error() -> None:
    tokens = MarianTokenizer({**SPM, **KINDS["languages"]})
    assert tokens.languages == CODES
    assert tokens.pieces(">>fra<< dog")[0] == ">>fra<<"
    assert tokens.encode(">>fra<< dog")[1:] == tokens.encode("dog")
    with pytest.raises(InputError) as caught:
        tokens.encode(">>fre<< dog")
    assert str(caught.value) == (
        "the model has no target language >>fre<<, but 2 others; did you mean >>fra<<?"
    )
    quoting = MarianTokenizer({**SPM, **KINDS["one vocabulary"]}).pieces(">>fra<< dog")
    assert len(quoting) > len(tokens.pieces("dog")) + 1


def test_both_tokenizers_have_one_interface_and_are_chosen_by_the_files(folder, tmp_path) -> None:
    ours = Tokenizer.learn([pair.source for pair in PAIRS], 400, tmp_path / "tokens.model")
    found = load_tokenizer(tmp_path), load_tokenizer(folder)
    assert isinstance(found[0], Tokenizer)
    assert isinstance(found[1], MarianTokenizer)
    assert all(isinstance(tokens, TokenizerLike) for tokens in found)
    assert ours.encode_targets(["a dog"]) == [ours.encode("a dog")]
    assert [ours.target_vocabulary[i] for i in ours.encode("a dog")] == ours.pieces("a dog")
    assert ours.target_vocab_size == len(ours.vocabulary)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ({"source.spm": None}, " has no source.spm: its vocabulary is incomplete"),
        ({"vocab.json": None}, " has no vocab.json: its vocabulary is incomplete"),
        (
            dict.fromkeys(["source.spm", "target.spm", "vocab.json"]),
            " has no vocabulary: neither tokens.model nor source.spm, target.spm and vocab.json",
        ),
        (
            {"target.spm": b"junk"},
            "/target.spm is damaged, or not a SentencePiece model: restore the original",
        ),
        (
            {"vocab.json": b'{"a": 0'},
            "/vocab.json is damaged: it is not a JSON object of tokens and their ids",
        ),
        (
            {"vocab.json": b'["a"]'},
            "/vocab.json is damaged: it is not a JSON object of tokens and their ids",
        ),
        (
            {"vocab.json": b'{"a": 0, "b": 2000000000}'},
            "/vocab.json is damaged: its ids go far beyond the number of its tokens",
        ),
        ({"vocab.json": b'{"<pad>": 0, "</s>": 1}'}, "/vocab.json is damaged: it has no <unk>"),
        (
            {"target_vocab.json": b"{}"},
            "/target_vocab.json is damaged: it has no <pad>",
        ),
    ],
    ids=str,
)
def test_damaged_and_missing_files_are_an_error(tmp_path, damage, sentence) -> None:
    for name, content in {**SPM, **KINDS["one vocabulary"], **damage}.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError) as caught:
        load_tokenizer(tmp_path)
    assert str(caught.value) == f"{tmp_path}{sentence}"


@pytest.mark.parametrize("wrong", [300_000, -1])
def test_ids_outside_the_vocabulary_are_an_error(tokens, wrong) -> None:
    with pytest.raises(InputError, match=f"^token id {wrong} is outside the vocabulary of "):
        tokens.decode([5, wrong])


def test_an_unpaired_surrogate_is_an_error(tokens) -> None:
    with pytest.raises(InputError, match=r"^the text has an unpaired surrogate"):
        tokens.encode("a\ud800")


def opus(folder: Path, steps: int = 0, **changes: object):
    """A tiny OPUS-MT checkpoint, which would write only padding if that were not excluded.

    In `steps` steps it memorises some sentences.
    """
    transformers = pytest.importorskip("transformers")
    sizes = MarianTokenizer.load(folder)
    settings = {
        "vocab_size": sizes.vocab_size,
        "decoder_vocab_size": sizes.target_vocab_size,
        "share_encoder_decoder_embeddings": not (folder / "target_vocab.json").exists(),
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "activation_function": "swish",
        "scale_embedding": True,
        "pad_token_id": sizes.vocab_size - 1,
        "decoder_start_token_id": sizes.vocab_size - 1,
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
        **changes,
    }
    model = transformers.MarianMTModel(transformers.MarianConfig(**settings)).eval()
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    batch = tokenizer(
        [pair.source for pair in PAIRS[:12]],
        text_target=[pair.target for pair in PAIRS[:12]],
        return_tensors="pt",
        padding=True,
    )
    batch["labels"][batch["labels"] == sizes.vocab_size - 1] = -100
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(**batch).loss.backward()
        optimizer.step()
    model.final_logits_bias[0, -1] = 50
    model.generation_config.bad_words_ids = [[sizes.vocab_size - 1]]
    model.save_pretrained(folder)
    return model


def run(*args: object) -> str:
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    return result.output


def test_an_imported_checkpoint_translates_text_as_hugging_face_does(
    folder, tokenizer, tmp_path
) -> None:
    theirs = opus(folder, steps=60)
    printed = run("import", "--from", "huggingface", folder, tmp_path / "ours")
    loaded, tokens = ModelDirectory.open(tmp_path / "ours"), load_tokenizer(tmp_path / "ours")
    assert isinstance(tokens, MarianTokenizer)
    for page in (printed, run("info", tmp_path / "ours")):
        assert (">>deu<< >>fra<<" in page) == bool(tokens.languages)
    assert loaded.description.source_language == "en"
    assert loaded.description.target_language == "de"
    search = Search(beam=1, penalty="none", extra_length=10)
    texts = ordinary(tokens)
    sources = tokens.encode_batch(texts)
    ended = {}
    requests = [Request(source, search) for source in sources]
    results = TorchEngine(loaded.network()).search(requests)
    for text, source, found in zip(texts, sources, results, strict=True):
        wanted = theirs.generate(
            **tokenizer(text, return_tensors="pt"),
            num_beams=1,
            max_length=search.limit(len(source)) + 2,
        )
        translation = tokens.decode(found[0].tokens)
        assert translation == tokenizer.decode(wanted[0], skip_special_tokens=True)
        ended[translation] = found[0].ended
    assert len(ended) > 5
    assert any(ended.values())


def test_an_imported_checkpoint_exports_back_with_its_vocabularies(folder, tmp_path) -> None:
    opus(folder, steps=60)
    run("import", "--from", "huggingface", folder, tmp_path / "ours")
    printed = run("export", "--to", "huggingface", tmp_path / "back", "--model", tmp_path / "ours")
    assert "7 sentences have the same ids and translations" in printed
    for name in (*SPM, "vocab.json", "target_vocab.json"):
        if (folder / name).exists():
            assert (tmp_path / "back" / name).read_bytes() == (folder / name).read_bytes()
    generation = json.loads((tmp_path / "back" / "generation_config.json").read_text("utf-8"))
    padding = MarianTokenizer.load(folder).vocab_size - 1
    assert generation["bad_words_ids"] == [[padding]]
    settings = json.loads((tmp_path / "back" / "tokenizer_config.json").read_text("utf-8"))
    assert (settings["source_lang"], settings["target_lang"]) == ("en", "de")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"vocab_size": 99, "pad_token_id": 98}, "tokens, but the network has 99: they belong"),
        ({"eos_token_id": 1}, "</s> has id 0 in the vocabulary, but 1 in config.json: they belong"),
        ({"pad_token_id": 2}, "in the vocabulary, but 2 in config.json: they belong"),
    ],
    ids=str,
)
def test_a_vocabulary_of_another_model_is_an_error(tmp_path, changes, sentence) -> None:
    (tmp_path / "opus").mkdir()
    for name, content in {**SPM, **KINDS["one vocabulary"]}.items():
        (tmp_path / "opus" / name).write_bytes(content)
    if "vocab_size" in changes:
        changes = {**changes, "decoder_vocab_size": 99, "decoder_start_token_id": 98}
    opus(tmp_path / "opus", **changes)
    result = CliRunner().invoke(
        main, ["import", "--from", "huggingface", str(tmp_path / "opus"), str(tmp_path / "ours")]
    )
    assert result.exit_code == 2
    assert sentence in result.output
    assert not (tmp_path / "ours").exists()
