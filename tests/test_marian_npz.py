"""Marian's own models: the same probabilities as CTranslate2's reading of them, and errors."""

import json
from pathlib import Path

import ctranslate2
import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from marian_files import PAIRS, SETTINGS, SPM, learn, settings_array, write_marian

from transduce import Translator
from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import ModelError
from transduce.exchange.marian_npz import read_marian
from transduce.exchange.marian_vocabulary import _yaml_ids
from transduce.positions import sinusoids

PRE_NORM = {
    "transformer-preprocess": "n",
    "transformer-postprocess": "da",
    "transformer-postprocess-top": "n",
}
KINDS = {
    "opus-mt": ({}, {}),
    "relu": ({"transformer-ffn-activation": "relu"}, {}),
    "pre-norm": (PRE_NORM, {}),
    "two vocabularies": ({}, {"separate": True}),
    "an output matrix": ({}, {"separate": True, "output": True}),
    "no bias": ({}, {"bias": False}),
}


def run(*words: object):
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


def weights_file(folder: Path) -> Path:
    (file,) = folder.glob("*.npz")
    return file


def change_weights(folder: Path, **changes) -> None:
    with np.load(weights_file(folder)) as archive:
        found = {**archive, **changes}
    kept = {name: array for name, array in found.items() if array is not None}
    np.savez(weights_file(folder), **kept)


def peer(folder: Path, out: Path, monkeypatch) -> ctranslate2.Translator:
    """CTranslate2's own conversion, with Marian's wavelengths and ε instead of Hugging Face's."""
    converters = ctranslate2.converters.marian
    monkeypatch.setattr(
        converters,
        "_make_sinusoidal_position_encodings",
        lambda dim: sinusoids(0, 512, dim, "sinusoidal-tensor2tensor"),
    )
    vocabularies = yaml.safe_load((folder / "decoder.yml").read_text("utf-8"))["vocabs"]
    converter = converters.MarianConverter(
        str(weights_file(folder)), [str(folder / name) for name in vocabularies]
    )
    converter.convert(str(out))
    config = out / "config.json"
    settings = {**json.loads(config.read_text("utf-8")), "layer_norm_epsilon": 1e-6}
    config.write_text(json.dumps(settings), "utf-8")
    return ctranslate2.Translator(str(out), device="cpu", intra_threads=1)


@pytest.mark.parametrize("kind", KINDS)
def test_an_imported_model_has_the_probabilities_that_ctranslate2_reads(
    tmp_path, monkeypatch, kind
) -> None:
    changes, layout = KINDS[kind]
    folder = write_marian(tmp_path / "opus", changes, **layout)
    done = run("import", "--from", "marian", folder, tmp_path / "ours")
    assert done.exit_code == 0, done.stderr
    directory = ModelDirectory.open(tmp_path / "ours")
    tokenizer = directory.tokenizer
    sources = tokenizer.encode_batch([pair.source for pair in PAIRS[:20]])
    targets = tokenizer.encode_targets([pair.target for pair in PAIRS[:20]])
    names = tokenizer.vocabulary, tokenizer.target_vocabulary
    theirs = peer(folder, tmp_path / "peer", monkeypatch).score_batch(
        [[names[0][i] for i in ids] for ids in sources],
        [[names[1][i] for i in ids] for ids in targets],
    )
    ours = TorchEngine(directory.network()).score(sources, targets)
    for a, b in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b.log_probs, abs=2e-3)


def marians_log_probs(weights: dict, source: list[int], target: list[int]) -> list[float]:
    """Marian's network for `SETTINGS` in numpy, from its description: float64, no batches."""

    def normalised(x, name):
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
        return scaled * weights[f"{name}_ln_scale"] + weights[f"{name}_ln_bias"]

    def affine(x, name, suffix):
        return x @ weights[f"{name}_W{suffix}"] + weights[f"{name}_b{suffix}"]

    def attention(x, memory, name, mask=True):
        heads = []
        parts = affine(x, name, "q"), affine(memory, name, "k"), affine(memory, name, "v")
        for q, k, v in zip(*(np.split(part, 4, axis=1) for part in parts), strict=True):
            e = np.exp(np.where(mask, q @ k.T / np.sqrt(q.shape[1]), -np.inf))
            heads.append(e / e.sum(-1, keepdims=True) @ v)
        return normalised(affine(np.concatenate(heads, 1), name, "o") + x, f"{name}_Wo")

    def feed_forward(x, name):
        inner = affine(x, name, "1")
        return normalised(affine(inner / (1 + np.exp(-inner)), name, "2") + x, f"{name}_ffn")

    def embedded(x):
        steps = x.shape[1] // 2
        angle = np.arange(len(x))[:, None] / 10_000 ** (np.arange(steps) / (steps - 1))
        return x * np.sqrt(x.shape[1]) + np.concatenate([np.sin(angle), np.cos(angle)], 1)

    x = embedded(weights["Wemb"][[*source, 0]])
    for layer in ("encoder_l1", "encoder_l2"):
        x = feed_forward(attention(x, x, f"{layer}_self"), f"{layer}_ffn")
    y = embedded(np.concatenate([np.zeros((1, x.shape[1])), weights["Wemb"][target]]))
    y = attention(y, y, "decoder_l1_self", np.tri(len(y), dtype=bool))
    y = feed_forward(attention(y, x, "decoder_l1_context"), "decoder_l1_ffn")
    logits = y @ weights["Wemb"].T + weights["decoder_ff_logit_out_b"]
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    return [float(log_probs[i, token]) for i, token in enumerate([*target, 0])]


def test_an_imported_model_computes_marians_equations(tmp_path) -> None:
    folder = write_marian(tmp_path / "opus")
    model, tokenizer = read_marian(folder)
    with np.load(weights_file(folder)) as archive:
        weights = {name: array.astype(np.float64) for name, array in archive.items()}
    for pair in PAIRS[:5]:
        source, (target,) = tokenizer.encode(pair.source), tokenizer.encode_targets([pair.target])
        (ours,) = TorchEngine(model).score([source], [target])
        assert ours == pytest.approx(marians_log_probs(weights, source, target), abs=1e-4)


def test_an_imported_model_translates_and_says_where_it_is_from(tmp_path) -> None:
    folder = write_marian(tmp_path / "opus-2020-02-26")
    assert run("import", "--from", "marian", folder, tmp_path / "ours").exit_code == 0
    texts = [pair.source for pair in PAIRS[:5]]
    fast, exact = (
        Translator.load(tmp_path / "ours", engine=engine, compute="float32")
        for engine in ("ctranslate2", "torch")
    )
    assert fast.translate(texts) == exact.translate(texts)
    assert "<pad>" not in "".join(fast.translate(texts))
    page = run("info", tmp_path / "ours").stdout
    assert "translation en → de" in page
    assert "imported from `opus-2020-02-26`" in page


def test_files_are_found_without_a_decoder_yml(tmp_path) -> None:
    folder = write_marian(tmp_path / "opus", separate=True)
    (folder / "decoder.yml").unlink()
    _, tokenizer = read_marian(folder)
    assert tokenizer.vocabulary != tokenizer.target_vocabulary


def test_a_sentencepiece_model_may_be_the_vocabulary(tmp_path) -> None:
    folder = write_marian(tmp_path / "opus")
    texts = [text for pair in PAIRS for text in (pair.source, pair.target)]
    spm = learn(texts, 250, bos_id=-1, eos_id=0, unk_id=1)
    (folder / "vocab.spm").write_bytes(spm)
    text = (folder / "decoder.yml").read_text("utf-8").replace("opus.vocab.yml", "vocab.spm")
    (folder / "decoder.yml").write_text(text, "utf-8")
    _, tokenizer = read_marian(folder)
    assert tokenizer.decode(tokenizer.encode(texts[1])) == texts[1]
    assert tokenizer.vocabulary[:2] == ("</s>", "<unk>")


def test_a_vocabulary_may_be_a_list_of_tokens(tmp_path) -> None:
    folder = write_marian(tmp_path / "opus")
    _, expected = read_marian(folder)
    lines = [token for token in expected.vocabulary if token != "<pad>"]
    (folder / "opus.vocab").write_text("\n".join(lines) + "\n", "utf-8")
    text = (folder / "decoder.yml").read_text("utf-8").replace("opus.vocab.yml", "opus.vocab")
    (folder / "decoder.yml").write_text(text, "utf-8")
    _, tokenizer = read_marian(folder)
    assert tokenizer.vocabulary == expected.vocabulary


TOKENS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(tokens=st.lists(TOKENS, unique=True, max_size=30), wide=st.booleans())
def test_any_tokens_written_as_yaml_are_read_back(tokens, wide) -> None:
    ids = {token: i for i, token in enumerate(tokens)}
    lines = [f"{json.dumps(t, ensure_ascii=not wide)}: {i}" for t, i in ids.items()]
    assert _yaml_ids(lines, Path("v.yml")) == ids


def test_plain_and_quoted_tokens_of_yaml_are_read() -> None:
    lines = ["</s>: 0", "no: 1", "'it''s': 2", '"\\x85": 3', '"\\"": 4', "a:b: 5", "1.5: 6"]
    lines += ["? long", ": 7", '"\\U0001F600": 8', "':': 9", "", "# end", "\u2028x: 10"]
    found = _yaml_ids(lines, Path("v.yml"))
    tokens = ["</s>", "no", "it's", "\x85", '"', "a:b", "1.5", "long", "😀", ":", "\u2028x"]
    assert list(found) == tokens
    assert list(found.values()) == list(range(11))


SETTING_ERRORS = {
    "type": "s2s",
    "right-left": True,
    "transformer-decoder-autoreg": "rnn",
    "transformer-ffn-activation": "gelu",
    "transformer-tied-layers": [1, 1],
    "transformer-train-position-embeddings": True,
    "transformer-postprocess-emb": "nd",
}


@pytest.mark.parametrize("name", SETTING_ERRORS)
def test_an_unsupported_setting_is_named(tmp_path, name) -> None:
    folder = write_marian(tmp_path / "opus", {name: SETTING_ERRORS[name]})
    with pytest.raises(ModelError) as caught:
        read_marian(folder)
    file = weights_file(folder)
    assert str(caught.value) == f"{file}: {name} = {SETTING_ERRORS[name]!r} is not supported"


def test_an_unsupported_order_of_normalisation_is_named(tmp_path) -> None:
    folder = write_marian(tmp_path / "opus", {"transformer-postprocess": "da"})
    with pytest.raises(ModelError, match=r"transformer-postprocess = 'da', .* is not supported"):
        read_marian(folder)


def vocabulary(folder: Path, text: str) -> None:
    (folder / "opus.vocab.yml").write_text(text, "utf-8")


def only_bpe(folder: Path) -> None:
    (folder / "source.spm").rename(folder / "source.bpe")


SHALLOW = {name: value for name, value in SETTINGS.items() if name != "enc-depth"}
DAMAGE = {
    "has no opus.spm32k": lambda f: weights_file(f).unlink(),
    "npz cannot be read": lambda f: weights_file(f).write_bytes(b"junk"),
    "cannot be read: Object arrays": lambda f: change_weights(f, x=np.array([{}], dtype=object)),
    "has no special:model.yml": lambda f: change_weights(f, **{"special:model.yml": None}),
    "is not a YAML mapping": lambda f: change_weights(
        f, **{"special:model.yml": np.frombuffer(b"x\0", dtype=np.int8)}
    ),
    "has no encoder_Wemb": lambda f: change_weights(f, Wemb=None),
    "has no encoder_l2_self_Wq": lambda f: change_weights(f, encoder_l2_self_Wq=None),
    "has no decoder_l1_context_bo": lambda f: change_weights(f, decoder_l1_context_bo=None),
    "is int8, not float32 or float16": lambda f: change_weights(f, Wemb=np.zeros((9, 9), np.int8)),
    "the embeddings have 1 dimensions": lambda f: change_weights(f, Wemb=np.zeros(9, np.float32)),
    "encoder.1.feed_forward.outer.weight is": lambda f: change_weights(
        f, encoder_l2_ffn_W2=np.zeros((3, 3), np.float32)
    ),
    "all the input array dimensions": lambda f: change_weights(
        f, encoder_l1_self_Wq=np.zeros((3, 3), np.float32)
    ),
    "has no 'enc-depth'": lambda f: change_weights(
        f, **{"special:model.yml": settings_array(SHALLOW)}
    ),
    "has several models": lambda f: (f / "decoder.yml").write_text("models: [a.npz, b.npz]"),
    "is not an .npz file": lambda f: (
        (f / "a.bin").write_bytes(b"x"),
        (f / "decoder.yml").write_text("models: [a.bin]"),
    ),
    "decoder.yml cannot be read": lambda f: (f / "decoder.yml").write_text("a: [", "utf-8"),
    "there is no vocabulary": lambda f: (f / "opus.vocab.yml").unlink(),
    "source.bpe of subword-nmt": only_bpe,
    "line 2: this is not a token and its id": lambda f: vocabulary(f, "</s>: 0\nhello\n"),
    "it has no </s>": lambda f: vocabulary(f, "<unk>: 0\n"),
    "ids up to 99,999, but the model has": lambda f: vocabulary(f, "</s>: 99999\n"),
    "cannot be read: 'utf-8'": lambda f: (f / "opus.vocab.yml").write_bytes(b"\xff: 0\n"),
}


@pytest.mark.parametrize("sentence", DAMAGE)
def test_a_damaged_model_is_one_sentence_and_writes_nothing(tmp_path, sentence) -> None:
    folder = write_marian(tmp_path / "opus")
    DAMAGE[sentence](folder)
    done = run("import", "--from", "marian", folder, tmp_path / "ours")
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "ours").exists()


def test_the_files_of_sentencepiece_are_kept(tmp_path) -> None:
    folder = write_marian(tmp_path / "opus")
    _, tokenizer = read_marian(folder)
    assert {name: tokenizer.files[name] for name in SPM} == SPM
