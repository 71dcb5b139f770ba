"""Checkpoints of OPUS-MT as different versions of Hugging Face's transformers wrote them."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from marian_files import PAIRS, SOURCE, SPM, TARGET
from models import search as found_by
from safetensors.torch import save_file

from transduce import Translator
from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import ModelError
from transduce.exchange import huggingface
from transduce.exchange.huggingface import read_huggingface
from transduce.search import Search
from transduce.tokenizer import load_tokenizer

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")

TOKENS = ["</s>", "<unk>", *sorted({*SOURCE, *TARGET})]
PAD = len(TOKENS)
# config.json of 2020, with settings of search and of variants that no longer exist
CONFIG_2020 = {
    "_num_labels": 3,
    "activation_dropout": 0.0,
    "activation_function": "swish",
    "add_bias_logits": False,
    "add_final_layer_norm": False,
    "architectures": ["MarianMTModel"],
    "attention_dropout": 0.0,
    "bad_words_ids": [[PAD]],
    "bos_token_id": 0,
    "classif_dropout": 0.0,
    "d_model": 64,
    "decoder_attention_heads": 8,
    "decoder_ffn_dim": 128,
    "decoder_layerdrop": 0.0,
    "decoder_layers": 2,
    "decoder_start_token_id": PAD,
    "dropout": 0.1,
    "encoder_attention_heads": 8,
    "encoder_ffn_dim": 128,
    "encoder_layerdrop": 0.0,
    "encoder_layers": 2,
    "eos_token_id": 0,
    "extra_pos_embeddings": PAD + 1,
    "id2label": {"0": "LABEL_0"},
    "init_std": 0.02,
    "is_encoder_decoder": True,
    "max_length": 512,
    "max_position_embeddings": 512,
    "model_type": "marian",
    "normalize_before": False,
    "normalize_embedding": False,
    "num_beams": 6,
    "num_hidden_layers": 2,
    "pad_token_id": PAD,
    "scale_embedding": True,
    "static_position_embeddings": True,
    "vocab_size": PAD + 1,
}


def network(seed: int = 0, **changes):
    """A network that was trained a little, so that it stops."""
    names = {"d_model", "vocab_size", "scale_embedding", "activation_function", "pad_token_id"}
    names |= {"decoder_start_token_id", "eos_token_id", "max_position_embeddings"}
    names |= {f"{a}_{b}" for a in ("encoder", "decoder") for b in ("ffn_dim", "layers")}
    names |= {"encoder_attention_heads", "decoder_attention_heads"}
    settings = {**{name: CONFIG_2020[name] for name in names}, "forced_eos_token_id": 0, **changes}
    torch.manual_seed(seed)
    model = transformers.MarianMTModel(transformers.MarianConfig(**settings))
    ids = {token: i for i, token in enumerate(TOKENS)}
    sides = []
    for side in ("source", "target"):
        spm = huggingface.MarianTokenizer({**SPM, "vocab.json": vocabulary()})
        texts = [getattr(pair, side) for pair in PAIRS[:12]]
        rows = spm.encode_batch(texts) if side == "source" else spm.encode_targets(texts)
        rows = [torch.tensor([*row, ids["</s>"]]) for row in rows]
        sides.append(torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD))
    source, target = sides
    labels = target.masked_fill(target == PAD, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(40):
        optimizer.zero_grad()
        model(input_ids=source, attention_mask=source != PAD, labels=labels).loss.backward()
        optimizer.step()
    model.final_logits_bias.normal_(std=0.1)
    model.final_logits_bias[0, PAD] = 50  # wins every search that does not exclude it
    return model.eval()


def vocabulary(tokens: list[str] = TOKENS) -> bytes:
    return json.dumps({name: i for i, name in enumerate([*tokens, "<pad>"])}).encode()


def write(folder: Path, config: dict, tokenizer: dict | None = None) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    for name, content in {**SPM, "vocab.json": vocabulary()}.items():
        (folder / name).write_bytes(content)
    languages = tokenizer or {"target_lang": "de", "source_lang": "en"}
    (folder / "tokenizer_config.json").write_text(json.dumps(languages), "utf-8")
    return folder


def state(model, positions: bool = True) -> dict[str, torch.Tensor]:
    """Every tensor under each of its names, as older versions stored them."""
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    shared = tensors["model.shared.weight"]
    for stack in ("encoder", "decoder"):
        tensors[f"model.{stack}.embed_tokens.weight"] = shared
        if positions:
            table = getattr(model.model, stack).embed_positions.weight.detach()
            tensors[f"model.{stack}.embed_positions.weight"] = table
        else:
            tensors.pop(f"model.{stack}.embed_positions.weight", None)
    return {**tensors, "lm_head.weight": shared}


@pytest.fixture(scope="module")
def model():
    return network()


def of_2020(folder: Path, model) -> Path:
    """torch's format before 1.6, positions in the file, search settings in config.json."""
    write(folder, CONFIG_2020)
    file = folder / "pytorch_model.bin"
    torch.save(state(model), file, _use_new_zipfile_serialization=False)
    return folder


def of_2022(folder: Path, model) -> Path:
    """torch's format since 1.6, search settings in generation_config.json."""
    config = {**CONFIG_2020, "decoder_vocab_size": PAD + 1, "transformers_version": "4.22.0"}
    config |= {"share_encoder_decoder_embeddings": True, "forced_eos_token_id": 0}
    generation = {"bad_words_ids": config.pop("bad_words_ids"), "num_beams": 6, "max_length": 512}
    settings = {"source_lang": "eng", "target_lang": "deu", "separate_vocabs": False}
    write(folder, config, {**settings, "tokenizer_class": "MarianTokenizer"})
    (folder / "generation_config.json").write_text(json.dumps(generation), "utf-8")
    torch.save(state(model), folder / "pytorch_model.bin")
    return folder


def without_copies(folder: Path, model) -> Path:
    """Tied matrices stored once, no positions, no bias: what later versions leave out."""
    write(folder, CONFIG_2020)
    tied = ("lm_head.weight", "model.encoder.embed_tokens.weight")
    tied += ("model.decoder.embed_tokens.weight",)
    tensors = {k: v for k, v in state(model, positions=False).items() if k not in tied}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def of_today(folder: Path, model) -> Path:
    """What the installed version writes."""
    write(folder, CONFIG_2020)
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    shutil.rmtree(folder)
    model.generation_config.bad_words_ids = [[PAD]]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


VERSIONS = [of_2020, of_2022, without_copies, of_today]


def imported(folder: Path, out: Path) -> ModelDirectory:
    done = CliRunner().invoke(main, ["import", "--from", "huggingface", str(folder), str(out)])
    assert done.exit_code == 0, done.output
    return ModelDirectory.open(out)


def check_same(directory: ModelDirectory, theirs, atol: float = 2e-5) -> None:
    """Logits, greedy search and beam search of both, on text."""
    ours, tokenizer = directory.network(), directory.tokenizer
    texts = [pair.source for pair in PAIRS[:8]]
    sources = tokenizer.encode_batch(texts)
    rows = [torch.tensor([*ids, 0]) for ids in sources]
    source = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    inputs = {"input_ids": source, "attention_mask": (source != PAD).long()}
    target = torch.randint(1, PAD, (len(rows), 7))
    target[:, 0] = PAD
    with torch.no_grad():
        wanted = theirs(**inputs, decoder_input_ids=target).logits
        found = ours(source, target)
    torch.testing.assert_close(found[..., :PAD], wanted[..., :PAD], rtol=0, atol=atol)
    for search in (
        Search(beam=1, penalty="none", extra_length=10),
        Search(beam=4, penalty="average", alpha=1.0, extra_length=10),
    ):
        results = found_by(TorchEngine(ours), sources, search)
        for ids, row, (best, *_) in zip(sources, rows, results, strict=True):
            wanted = theirs.generate(
                input_ids=row[None],
                num_beams=search.beam,
                length_penalty=1.0,
                early_stopping="never" if search.beam > 1 else False,
                max_length=search.limit(len(ids)) + 2,
                bad_words_ids=[[PAD]],
            )[0].tolist()[1:]
            if search.beam > 1 and 0 not in wanted[:-1]:
                continue  # Hugging Face treats a hypothesis cut at the limit as finished
            wanted = wanted[: wanted.index(0)] if 0 in wanted else wanted
            assert list(best.tokens) == wanted[: len(best.tokens) + 1][: search.limit(len(ids))]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gives_the_logits_and_translations_of_transformers(
    model, version, tmp_path
) -> None:
    directory = imported(version(tmp_path / "hf", model), tmp_path / "ours")
    check_same(directory, model)
    assert directory.description.source_language in ("en", "eng")
    texts = [pair.source for pair in PAIRS[:12]]
    translations = Translator.load(tmp_path / "ours", compute="float32").translate(texts)
    assert len(set(translations)) > 5


@pytest.mark.parametrize(
    "changes",
    [
        {"activation_function": "relu", "encoder_layers": 3, "decoder_layers": 1},
        {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": PAD + 1},
        {"scale_embedding": False},
    ],
    ids=str,
)
def test_variants_of_the_network_are_imported(changes, tmp_path) -> None:
    model = network(seed=1, **changes)
    folder = write(tmp_path / "hf", {**CONFIG_2020, **changes})
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    check_same(imported(folder, tmp_path / "ours"), model)


def test_half_precision_stays_half_precision_and_loses_nothing(tmp_path) -> None:
    model = network(seed=2)
    for name, tensor in (*model.named_parameters(), ("bias", model.final_logits_bias)):
        if "positions" not in name:
            tensor.data = tensor.data.half().float()
    folder = write(tmp_path / "hf", {**CONFIG_2020, "torch_dtype": "float16"})
    tensors = {name: tensor.half() for name, tensor in state(model).items()}
    torch.save(tensors, folder / "pytorch_model.bin")
    directory = imported(folder, tmp_path / "ours")
    assert directory.description.dtype == "float16"
    check_same(directory, model)


def test_a_model_of_the_size_of_opus_mts_layers_is_imported(tmp_path) -> None:
    wide = {"d_model": 512, "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048}
    settings = {**CONFIG_2020, **wide}
    torch.manual_seed(0)
    model = transformers.MarianMTModel(transformers.MarianConfig(**settings)).eval()
    folder = write(tmp_path / "hf", settings)
    torch.save(state(model), folder / "pytorch_model.bin")
    source = torch.randint(1, PAD, (2, 9))
    with torch.no_grad():
        wanted = model(input_ids=source, decoder_input_ids=source).logits
        found = read_huggingface(folder)(source, source)
    torch.testing.assert_close(found[..., :PAD], wanted[..., :PAD], rtol=0, atol=2e-5)


def test_a_vocabulary_with_gaps_is_read_and_their_ids_have_no_text(model, tmp_path) -> None:
    folder = of_2020(tmp_path / "hf", model)
    ids = json.loads((folder / "vocab.json").read_text("utf-8"))
    lost = [TOKENS[40], TOKENS[90]]
    kept = {token: i for token, i in ids.items() if token not in lost}
    (folder / "vocab.json").write_text(json.dumps(kept), "utf-8")
    directory = imported(folder, tmp_path / "ours")
    tokenizer = load_tokenizer(tmp_path / "ours")
    assert tokenizer.decode([40, 90]) == ""
    assert tokenizer.vocab_size == PAD + 1
    assert directory.config.vocab_size == PAD + 1
    Translator.load(tmp_path / "ours").translate([PAIRS[0].source])


def test_a_network_with_more_rows_than_tokens_translates_with_both_engines(tmp_path) -> None:
    rows = PAD + 8
    model = network(seed=3, vocab_size=rows)
    model.final_logits_bias[0, PAD + 1 :] = 50
    folder = write(tmp_path / "hf", {**CONFIG_2020, "vocab_size": rows})
    torch.save(state(model), folder / "pytorch_model.bin")
    imported(folder, tmp_path / "ours")
    sources = [pair.source for pair in PAIRS[:6]]
    targets = [pair.target for pair in PAIRS[:6]]
    slow, fast = (
        Translator.load(tmp_path / "ours", engine=engine, compute="float32")
        for engine in ("torch", "ctranslate2")
    )
    assert all(slow.translate(sources) + fast.translate(sources))
    scored = zip(slow.score(sources, targets), fast.score(sources, targets), strict=True)
    assert all(a == pytest.approx(b, abs=1e-3) for a, b in scored)


def test_settings_that_config_json_leaves_out_are_marians_defaults(model, tmp_path) -> None:
    folder = write(tmp_path / "hf", {})
    model.config.save_pretrained(folder)
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    less = {name: value for name, value in settings.items() if name != "eos_token_id"}
    less["bad_words_ids"] = [[PAD]]
    (folder / "config.json").write_text(json.dumps(less), "utf-8")
    torch.save(state(model), folder / "pytorch_model.bin")
    check_same(imported(folder, tmp_path / "ours"), model)


class Harmful:
    def __reduce__(self):
        return (print, ("code was run",))


def broken(content: object):
    return lambda folder: torch.save(content, folder / "pytorch_model.bin")


def changed_config(**changes):
    def change(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **changes}), "utf-8")

    return change


def other_positions(folder: Path) -> None:
    tensors = torch.load(folder / "pytorch_model.bin", weights_only=True)
    tensors["model.decoder.embed_positions.weight"][3] += 0.1
    torch.save(tensors, folder / "pytorch_model.bin")


def pointer(folder: Path) -> None:
    """What `git clone` leaves without Git LFS."""
    text = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    (folder / "pytorch_model.bin").write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (broken({"x": Harmful()}), "pytorch_model.bin is damaged, or has more than weights in it"),
        (broken([1, 2]), "pytorch_model.bin cannot be read: it is not a mapping of names to"),
        (broken({"a": torch.zeros(2)}), "the weights have no model.encoder.embed_tokens.weight"),
        (pointer, "pytorch_model.bin is damaged, or has more than weights in it"),
        (lambda f: (f / "pytorch_model.bin").write_bytes(b""), "pytorch_model.bin cannot be read"),
        (lambda f: (f / "pytorch_model.bin").unlink(), "has neither model.safetensors nor pytorch"),
        (other_positions, "the position embeddings of the decoder are not the sinusoids"),
        (changed_config(normalize_before=True), "normalize_before = true is not supported"),
        (changed_config(static_position_embeddings=False), "= false is not supported"),
        (changed_config(decoder_ffn_dim=7), "encoder_ffn_dim and decoder_ffn_dim differ"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence_and_runs_no_code(
    model, damage, sentence, tmp_path, capfd
) -> None:
    folder = of_2020(tmp_path / "hf", model)
    damage(folder)
    arguments = ["import", "--from", "huggingface", str(folder), str(tmp_path / "ours")]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "ours").exists()
    assert "code was run" not in capfd.readouterr().out


def test_an_unsafe_version_of_torch_is_an_error(model, tmp_path, monkeypatch) -> None:
    folder = of_2020(tmp_path / "hf", model)
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(ModelError, match=r"needs torch 2\.6 or later, but this is 2\.5\.1\+cpu"):
        read_huggingface(folder)
