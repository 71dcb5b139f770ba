"""Where the operating system refuses to write, one sentence says where and what to do."""

import builtins
import io
import os
import re
import shutil
from pathlib import Path

import digits
import pytest
from click.testing import CliRunner

from transduce.cli import main

SETTINGS = digits.settings(
    *digits.SMALL, "train.steps=2", "train.checkpoint_steps=1", "train.validate_steps=2"
)


def invoke(*words: str):
    return CliRunner().invoke(main, words)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A run, and its model as Hugging Face's."""
    place = tmp_path_factory.mktemp("refusals")
    train = digits.write(place / "train.tsv", digits.pairs(120, seed=1))
    assert invoke("train", str(place / "run"), "--train", str(train), *SETTINGS).exit_code == 0
    model = str(place / "run" / "model")
    done = invoke("export", "--to", "huggingface", str(place / "checkpoint"), "--model", model)
    assert done.exit_code == 0, done.stderr
    return place


@pytest.fixture
def read_only(trained, tmp_path, monkeypatch) -> Path:
    """A folder with a run in which nothing can be made or written, even by root."""
    place = Path(shutil.copytree(trained, tmp_path / "read-only"))
    mkdir, opened, access = os.mkdir, builtins.open, os.access

    def inside(path: object) -> bool:
        return isinstance(path, str | Path) and Path(path).absolute().is_relative_to(place)

    def refuse(path: object) -> None:
        if inside(path):
            raise PermissionError(13, "Permission denied", str(path))

    def making(path, *args, **kwargs):
        refuse(path)
        return mkdir(path, *args, **kwargs)

    def opening(file, mode="r", *args, **kwargs):
        if set(mode) & set("wax+"):
            refuse(file)
        return opened(file, mode, *args, **kwargs)

    def accessing(path, mode, **kwargs):
        return access(path, mode, **kwargs) and not (mode & os.W_OK and inside(path))

    monkeypatch.setattr(os, "mkdir", making)
    monkeypatch.setattr(builtins, "open", opening)
    monkeypatch.setattr(io, "open", opening)
    monkeypatch.setattr(os, "access", accessing)
    monkeypatch.chdir(place)
    return place


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("train new", "new"),
        ("train new/deeper", "new/deeper"),
        ("train run", "run/lock"),
        ("average run", "run/model"),
        ("average run --output average", "average"),
        ("export --to huggingface out --model run/model", "out"),
        ("export --to ctranslate2 out --model run/model", "out"),
        ("import --from huggingface checkpoint out", "out"),
        ("info run --output curve.png", "curve.png"),
        ("paper figure1 --output figure.svg", "figure.svg"),
    ],
)
def test_where_one_may_not_write_is_said_in_one_sentence(command, where, read_only) -> None:
    done = invoke(*command.split())
    assert done.exit_code == 2, done.output
    (*_, last) = done.stderr.splitlines()
    assert "Permission denied" in last
    assert last.startswith("transduce: ")
    assert last.endswith("name another place, or change its permissions")
    assert re.search(rf"[ /]{where}: Permission", last)
    assert ".part" not in last
    assert "Traceback" not in done.output


def test_nothing_is_computed_for_a_model_that_could_not_be_written(read_only, monkeypatch) -> None:
    def validate(*_: object) -> None:
        raise AssertionError("it was scored")

    monkeypatch.setattr("transduce.train.publish.validate", validate)
    assert invoke("average", "run", "--output", "average").exit_code == 2


@pytest.mark.parametrize("command", ["train file", "average run --output file"])
def test_a_directory_to_make_that_is_a_file_is_said_to_be_one(command, trained, tmp_path) -> None:
    (tmp_path / "file").write_text("a file\n", "utf-8")
    words = [str(tmp_path / word) if word == "file" else word for word in command.split()]
    words = [str(trained / word) if word == "run" else word for word in words]
    done = invoke(*words)
    assert done.exit_code == 2
    assert f"{tmp_path / 'file'} is a file" in done.stderr
    assert (tmp_path / "file").read_text("utf-8") == "a file\n"
