"""`transduce translate --shard` and `--merge`: parts of a file, translated on their own."""

import gzip
import lzma
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from models import model_directory, pairs

from transduce.cli import main
from transduce.corpus.reading import TextFile
from transduce.errors import InputError
from transduce.translate.shards import Part, Shard

SCORE = re.compile(rb"-?\d+\.\d+(?:e-?\d+)?")


def lines_of(file, shard) -> list[bytes]:
    with TextFile(file) as text:
        return list(Part.of(shard, file).lines(text))


PARTS = [b"\n", b"\r\n", b"a", b"long line of text", "\u2028 \u0085".encode(), b"\xff", b"\r"]
CONTENTS = st.lists(st.sampled_from(PARTS)).map(b"".join)


@given(CONTENTS, st.integers(1, 12))
def test_the_shards_of_a_file_are_its_lines_in_order(tmp_path_factory, content, count) -> None:
    file = tmp_path_factory.getbasetemp() / "shards.txt"
    expected = content.split(b"\n")
    lines = [line + b"\n" for line in expected[:-1]] + [line for line in expected[-1:] if line]
    for written in (content, gzip.compress(content), lzma.compress(content)):
        file.write_bytes(written)
        shards = [lines_of(file, Shard(i + 1, count)) for i in range(count)]
        assert [line for some in shards for line in some] == lines
        assert [Part.of(Shard(1, 1), file).count()] == [len(lines)]


def test_shards_of_lines_of_similar_length_have_similar_sizes(tmp_path) -> None:
    file = tmp_path / "in"
    file.write_bytes(b"a line of text\n" * 1000)
    sizes = [len(lines_of(file, Shard(i, 7))) for i in range(1, 8)]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4", "1/4/2"])
def test_a_shard_that_does_not_exist_is_an_error(text) -> None:
    with pytest.raises(InputError, match=r"must be I/N with I from 1 to N, such as 1/8"):
        Shard.parse(text)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = model_directory(tmp_path_factory.mktemp("shards") / "model", eos=6.0)
    run("translate", "--model", directory, "a dog")  # converts it
    return directory


def run(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done


def complaint(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 2, done.output
    return done.stderr.strip().split("\n")[-1].removeprefix("transduce: ")


@pytest.fixture
def source(tmp_path):
    texts = [text for text, _ in pairs(25)]
    texts[3:3] = ["", "\ufeffa\u2028dog", "  "]
    file = tmp_path / "in.en"
    file.write_text("\ufeff" + "".join(f"{text}\n" for text in texts), "utf-8")
    return file


@pytest.mark.parametrize(
    ("count", "name", "more"),
    [(1, "out", ()), (4, "out.de", ("--json",)), (3, "out.gz", ()), (9, "out.xz", ())],
)
def test_merged_shards_are_the_translation_of_the_whole(
    model, source, tmp_path, count, name, more
) -> None:
    words = ["translate", "--model", model, "--input", source, "--beam", 1, *more]
    whole = run(*words).stdout.encode()
    output = tmp_path / name
    numbers = list(range(1, count + 1))
    random.shuffle(numbers)
    for i in numbers:
        run(*words, "--output", output, "--shard", f"{i}/{count}")
    assert not output.exists()
    assert "; the files of the shards can be removed" in run("translate", "--merge", output).stderr
    opened = {".gz": gzip.open, ".xz": lzma.open}.get(output.suffix, Path.open)
    with opened(output, "rb") as stream:
        assert_same(stream.read(), whole)


def assert_same(output: bytes, expected: bytes) -> None:
    """Equal but for the last digits of scores, as other sentences were in the batch."""
    found, wanted = ([SCORE.split(text), SCORE.findall(text)] for text in (output, expected))
    assert found[0] == wanted[0]
    assert list(map(float, found[1])) == pytest.approx(list(map(float, wanted[1])), abs=1e-4)


def test_a_compressed_input_and_an_empty_one_have_shards_too(model, source, tmp_path) -> None:
    for content in (source.read_bytes(), b""):
        file, output = tmp_path / "in.gz", tmp_path / "out"
        file.write_bytes(gzip.compress(content))
        for i in (1, 2, 3):
            words = ["translate", "--model", model, "--beam", 1, "--input", file]
            run(*words, "--output", output, "--shard", f"{i}/3")
        run("translate", "--merge", output)
        assert output.read_text("utf-8") == run(*words).stdout


def test_a_complete_shard_is_not_translated_again(model, source, tmp_path) -> None:
    words = ["translate", "--model", model, "--input", source, "--output", tmp_path / "out"]
    words += ["--shard", "1/9"]
    run(*words)
    before = (tmp_path / "out.1-of-9").stat().st_mtime_ns
    assert "out.1-of-9 is complete already" in run(*words).stderr
    assert (tmp_path / "out.1-of-9").stat().st_mtime_ns == before
    assert "is complete already" not in run(*words, "--restart").stderr


def test_shards_are_merged_only_if_all_are_there_and_alike(model, source, tmp_path) -> None:
    output = tmp_path / "out"
    merge = ["translate", "--merge", output]
    assert complaint(*merge) == f"there are no shards of {output}: make them with --shard I/N"
    words = ["translate", "--model", model, "--input", source, "--output", output, "--beam", 1]
    run(*words, "--shard", "2/3")
    assert complaint(*merge) == (
        f"{output}: shards 1, 3 of 3 are missing or not complete: run --shard for them, "
        "then merge again"
    )
    run(*words, "--shard", "1/3")
    run(*words, "--shard", "3/3", "--alpha", 1)
    assert complaint(*merge) == (
        f"{output}.3-of-3 was made with --alpha 1.0, but out.1-of-3 with 0.6: "
        "make one of them again, with --restart"
    )
    run(*words, "--shard", "3/3")
    with (tmp_path / "out.2-of-3").open("ab") as file:
        file.write(b"more\n")
    assert "shard 2 of 3 is missing or not complete: run --shard for it" in complaint(*merge)
    run(*words, "--shard", "2/3", "--restart")
    run(*merge)
    with source.open("a", encoding="utf-8") as file:
        file.write("another line\n")
    run(*words, "--shard", "2/3")
    assert "was made with --shard 3 of" in complaint(*merge)
    run(*words, "--shard", "1/4")
    assert "was divided into 3 and 4 shards" in complaint(*merge)


def test_options_that_do_not_fit_a_shard_are_errors(source, tmp_path) -> None:
    words = ["translate", "--input", source, "--output", tmp_path / "out", "--shard", "1/2"]
    assert complaint(*words, "--paragraphs") == (
        "--shard divides a file between lines: it cannot be used with --paragraphs"
    )
    assert complaint(*words, "--n-best", 2).endswith("with --n-best without --json")
    divided = "--shard divides a file: name it with --input, and its --output"
    assert complaint("translate", "--shard", "1/2", "text") == divided
    assert complaint(*words[:3], "--shard", "1/2") == divided
