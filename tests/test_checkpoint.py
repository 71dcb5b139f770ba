"""The model directory: a round trip, and plain words for whatever is wrong with one."""

import json
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from transduce import atomic
from transduce.checkpoint import load_model, save_model
from transduce.cli import main
from transduce.config import ModelConfig
from transduce.directory import sha256
from transduce.errors import ModelError
from transduce.model import Transformer

CONFIG = ModelConfig(vocab_size=23, d_model=16, d_ff=24, n_heads=4, n_layers=2, d_k=3)


def wide() -> Transformer:
    """One whose weights take more room than their names."""
    return Transformer(ModelConfig(vocab_size=900, d_model=64, d_ff=256, n_heads=4, n_layers=2))


@pytest.fixture
def saved(tmp_path) -> Path:
    save_model(tmp_path / "model", Transformer(CONFIG), card="# A card\n")
    return tmp_path / "model"


@pytest.mark.parametrize("share", ["all", "target", "none"])
def test_a_saved_model_loads_bit_for_bit(tmp_path, share) -> None:
    model = Transformer(CONFIG.replace(share_embeddings=share)).eval()
    save_model(tmp_path / "model", model)
    loaded = load_model(tmp_path / "model").model
    assert loaded.config == model.config
    ids = torch.randint(3, 23, (2, 5))
    assert torch.equal(loaded(ids, ids), model(ids, ids))
    assert {f.name for f in (tmp_path / "model").iterdir()} == {
        "config.json",
        "model.safetensors",
        "card.md",
        "checksums.json",
    }


def test_saving_again_replaces_the_whole(saved) -> None:
    other = Transformer(CONFIG.replace(n_heads=2))
    save_model(saved, other)
    assert load_model(saved).model.config.n_heads == 2
    assert [f.name for f in saved.parent.iterdir()] == ["model"]


def test_whoever_may_read_the_directory_may_read_its_files(saved) -> None:
    allowed = saved.stat().st_mode & 0o666
    assert {f.stat().st_mode & 0o777 for f in saved.iterdir()} == {allowed}


def test_a_failed_save_leaves_what_was_there(saved) -> None:
    before = sha256(saved / "model.safetensors")
    with pytest.raises(IsADirectoryError):
        save_model(saved, Transformer(CONFIG), files={".": b""})
    assert sha256(saved / "model.safetensors") == before
    assert [f.name for f in saved.parent.iterdir()] == ["model"]


def resign(directory: Path) -> None:
    sums = {f.name: sha256(f) for f in directory.iterdir() if f.name != "checksums.json"}
    (directory / "checksums.json").write_text(json.dumps(sums), "utf-8")


def test_a_flipped_bit_is_found(saved) -> None:
    weights = saved / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged: its checksum is not"):
        load_model(saved)


def test_truncated_weights_are_refused_even_when_the_checksum_agrees(saved) -> None:
    weights = saved / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    resign(saved)
    with pytest.raises(ModelError, match=r"model\.safetensors cannot be read"):
        load_model(saved)


def edit_config(saved: Path, **model: object) -> None:
    file = saved / "config.json"
    description = json.loads(file.read_text("utf-8"))
    description["model"] |= model
    file.write_text(json.dumps(description), "utf-8")
    resign(saved)


def test_weights_of_another_vocabulary_are_refused(saved) -> None:
    edit_config(saved, vocab_size=29)
    with pytest.raises(ModelError, match="another model or vocabulary"):
        load_model(saved)


def test_weights_of_another_depth_are_refused(saved) -> None:
    edit_config(saved, n_layers=3)
    with pytest.raises(ModelError, match=r"lacks (en|de)coder\.2"):
        load_model(saved)
    edit_config(saved, n_layers=1)
    with pytest.raises(ModelError, match=r"has (en|de)coder\.1.*, which the model .* lacks"):
        load_model(saved)


def test_settings_that_make_no_model_are_refused(saved) -> None:
    edit_config(saved, n_heads=-1)
    with pytest.raises(ModelError, match=r"does not describe a model: model\.n_heads = -1 must be"):
        load_model(saved)


def test_a_newer_format_is_refused(saved) -> None:
    (saved / "config.json").write_text('{"format_version": 99}', "utf-8")
    with pytest.raises(ModelError, match="has format version 99, but this transduce reads"):
        load_model(saved)


@pytest.mark.parametrize("name", ["config.json", "checksums.json", "model.safetensors", "card.md"])
def test_a_missing_file_is_named(saved, name) -> None:
    (saved / name).unlink()
    with pytest.raises(ModelError, match=f"no {name}"):
        load_model(saved)


def test_a_missing_directory_is_named_on_the_command_line(tmp_path) -> None:
    result = CliRunner().invoke(main, ["info", str(tmp_path / "none")])
    assert result.exit_code == 2
    assert result.stderr == f"transduce: no model directory {tmp_path / 'none'}\n"


def test_info_says_what_the_directory_holds(saved) -> None:
    page = CliRunner().invoke(main, ["info", str(saved)]).stdout
    assert "translation, " in page
    assert "n_heads = 4" in page
    facts = json.loads(CliRunner().invoke(main, ["info", str(saved), "--json"]).stdout)
    assert facts["checksums"]["model.safetensors"] == sha256(saved / "model.safetensors")
    assert facts["parameters"] == sum(p.numel() for p in Transformer(CONFIG).parameters())


def test_a_file_written_aside_appears_whole_or_not_at_all(tmp_path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("old", "utf-8")

    def fail_halfway() -> None:
        with atomic.file(target) as aside:
            aside.write_text("ne", "utf-8")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail_halfway()
    assert target.read_text("utf-8") == "old"
    with atomic.file(target) as aside:
        aside.write_text("new", "utf-8")
    assert target.read_text("utf-8") == "new"
    assert [f.name for f in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("stored", "smaller", "off"), [("float16", 1.9, 1e-3), ("int8", 3.3, 1 / 127)]
)
def test_weights_may_be_stored_in_fewer_bytes(tmp_path, stored, smaller, off) -> None:
    model = wide()
    save_model(tmp_path / "whole", model)
    save_model(tmp_path / "less", model, stored=stored)
    size, less = ((tmp_path / n / "model.safetensors").stat().st_size for n in ("whole", "less"))
    assert size / less > smaller
    loaded = dict(load_model(tmp_path / "less").model.named_parameters())
    for name, weight in model.named_parameters():
        assert loaded[name].dtype == torch.float32
        assert (loaded[name] - weight).abs().max() <= off * weight.abs().max()


def test_what_was_rounded_once_is_not_rounded_again(tmp_path) -> None:
    save_model(tmp_path / "once", wide(), stored="int8")
    once = load_model(tmp_path / "once").model
    save_model(tmp_path / "twice", once, stored="int8")
    twice = load_model(tmp_path / "twice").model
    for a, b in zip(once.parameters(), twice.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=0)


def test_bytes_without_their_scale_are_refused(tmp_path) -> None:
    save_model(tmp_path / "m", wide(), stored="int8")
    file = tmp_path / "m" / "model.safetensors"
    weights = load_file(file)
    del weights[next(name for name in weights if name.endswith(".scale"))]
    save_file(weights, file)
    sums = json.loads((tmp_path / "m" / "checksums.json").read_text("utf-8"))
    sums["model.safetensors"] = sha256(file)
    (tmp_path / "m" / "checksums.json").write_text(json.dumps(sums), "utf-8")
    with pytest.raises(ModelError, match="without a scale"):
        load_model(tmp_path / "m")
