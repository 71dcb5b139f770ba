"""Sentence pairs from files."""

import gzip
import io
import json
import lzma
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.corpus import reading
from transduce.corpus.pair import Pair
from transduce.corpus.reading import fingerprint, keep_stdin, read_lines, read_pairs
from transduce.errors import InputError

CONTROLS = [chr(code) for code in range(32)]
TEXT = st.text(st.characters(exclude_characters=CONTROLS, codec="utf-8"))
AWKWARD = "a\u2028b\x85c\u00a0d\ufeffe\u200bf\u2029 \x7f"


def pairs(*files, **options) -> list[Pair]:
    return list(read_pairs(*files, **options))


@given(lines=st.lists(TEXT.filter(lambda text: not text.startswith("\ufeff")), min_size=1))
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_a_line_is_read_as_it_was_written(tmp_path_factory, lines, pack) -> None:
    file = tmp_path_factory.mktemp("text") / "text"
    file.write_bytes(pack("".join(f"{line}\n" for line in lines).encode()))
    assert list(read_lines(file)) == lines


@given(
    texts=st.lists(
        st.tuples(TEXT.filter(lambda text: not text.startswith(("\ufeff", "{"))), TEXT), min_size=1
    )
)
def test_tsv_json_and_aligned_files_give_the_same_pairs(tmp_path_factory, texts) -> None:
    folder = tmp_path_factory.mktemp("same")
    for name, write in {
        "en": lambda s, t: s,
        "de": lambda s, t: t,
        "tsv": lambda s, t: f"{s}\t{t}",
        "jsonl": lambda s, t: json.dumps({"source": s, "target": t, "id": 3}),
        "out": lambda s, t: json.dumps({"text": s, "translation": t}, ensure_ascii=False),
    }.items():
        text = "".join(write(*pair) + "\n" for pair in texts)
        (folder / f"train.{name}").write_bytes(text.encode())
    expected = [Pair(*pair) for pair in texts]
    assert pairs([folder / "train.en"], [folder / "train.de"]) == expected
    for name in ("tsv", "jsonl", "out"):
        assert pairs([folder / f"train.{name}"]) == expected


def test_only_a_newline_ends_a_line(tmp_path) -> None:
    file = tmp_path / "train.tsv"
    file.write_text(f"{AWKWARD}\tx{AWKWARD}\n", encoding="utf-8", newline="")
    assert pairs([file]) == [Pair(AWKWARD, f"x{AWKWARD}")]


def test_crlf_a_byte_order_mark_and_a_missing_last_newline_are_not_part_of_the_text(
    tmp_path,
) -> None:
    file = tmp_path / "train.tsv"
    file.write_bytes(b"\xef\xbb\xbfa\tb\r\nc\td")
    assert pairs([file]) == [Pair("a", "b"), Pair("c", "d")]


def test_control_characters_become_spaces_and_are_counted(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"fine\na\x00b\rc\td\n\x1b\n")
    (tmp_path / "b").write_bytes(b"1\n2\n3\x00\n")
    logged: list[str] = []
    got = pairs([tmp_path / "a"], [tmp_path / "b"], log=logged.append)
    assert got == [Pair("fine", "1"), Pair("a b c d", "2"), Pair(" ", "3 ")]
    assert logged == [
        f"{tmp_path / 'a'}: control characters read as spaces: 4, the first on line 2",
        f"{tmp_path / 'b'}: control characters read as spaces: 1, the first on line 3",
    ]


def test_a_newline_inside_json_becomes_a_space(tmp_path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('\n{"source": "a\\nb", "target": "c\\u0000d"}\n\n', encoding="utf-8")
    assert pairs([file]) == [Pair("a b", "c d")]


def test_several_files_are_read_one_after_the_other(tmp_path) -> None:
    for name, text in {"a.en": "1\n2\n", "a.de": "3\n4\n", "b.en": "5\n", "b.de": "6\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources, targets = ([tmp_path / f"{n}.{side}" for n in "ab"] for side in ("en", "de"))
    assert pairs(sources, targets) == [Pair("1", "3"), Pair("2", "4"), Pair("5", "6")]


def refusal(*files, **options) -> str:
    with pytest.raises(InputError) as caught:
        pairs(*files, **options)
    return str(caught.value)


@pytest.mark.parametrize("sides", [("de", "en"), ("en", "de")])
def test_unequal_line_counts_are_an_error(tmp_path, sides) -> None:
    (tmp_path / "train.de").write_text("x\n" * 28_999, encoding="utf-8")
    (tmp_path / "train.en").write_text("x\n" * 28_999 + "the last", encoding="utf-8")
    files = [[tmp_path / f"train.{side}"] for side in sides]
    assert refusal(*files) == (
        "train.de has 28,999 lines but train.en has 29,000: the files must be line-aligned"
    )


def test_unequal_files_of_one_name_are_reported_with_their_folders(tmp_path) -> None:
    files = [tmp_path / side / "train" for side in ("en", "de")]
    for file, text in zip(files, ("1\n2\n3\n", "1\n"), strict=True):
        file.parent.mkdir()
        file.write_text(text, encoding="utf-8")
    expected = f"{files[1]} has 1 line but {files[0]} has 3: the files must be line-aligned"
    assert refusal([files[0]], [files[1]]) == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            b"a\tb\nsch\xf6n\tx\n",
            ", line 2 is not UTF-8 (byte 0xF6 at 4): convert the file, for example with "
            "iconv -f latin1 -t utf-8",
        ),
        (
            "a\tb\n".encode("utf-16"),
            ", line 1 is not UTF-8 but UTF-16: convert the file with iconv -f utf-16 -t utf-8",
        ),
        (
            b"a\tb\nno tab\n",
            ", line 2 has 0 tabs, not one: write source TAB target, or give two line-aligned files",
        ),
        (
            b"a\tb\tc\n",
            ", line 1 has 2 tabs, not one: write source TAB target, or give two line-aligned files",
        ),
        (b'{"source": "a", "target": "b"}\n{"source": \n', ", line 2 is not JSON"),
        (b'{"a": ' + b"[" * 100_000 + b"\n", ", line 1 is not JSON"),
        (
            b'{"source": "a", "translation": "b"}\n',
            ', line 1 needs an object with texts "source" and "target", or "text", "translation"',
        ),
        (
            b'{"source": "a", "target": null}\n',
            ', line 1 needs an object with texts "source" and "target", or "text", "translation"',
        ),
        (
            b'{"source": "a", "target": "\\ud800"}\n',
            ", line 1 has an unpaired surrogate, which is not a character",
        ),
        (
            gzip.compress(b"a\tb\n" * 9)[:-9],
            " is damaged: its compressed data is truncated or corrupt: "
            "download or compress it again",
        ),
        (
            lzma.compress(b"a\tb\n" * 9)[:-30],
            " is damaged: its compressed data is truncated or corrupt: "
            "download or compress it again",
        ),
    ],
    ids=[
        "latin1",
        "utf-16",
        "no tab",
        "two tabs",
        "half an object",
        "deep nesting",
        "mixed keys",
        "null",
        "surrogate",
        "gzip cut short",
        "xz cut short",
    ],
)
def test_content_that_cannot_be_read_is_an_error_with_file_and_line(
    tmp_path, content, sentence
) -> None:
    file = tmp_path / "train"
    file.write_bytes(content)
    assert refusal([file]) == f"{file}{sentence}"


def test_an_endless_line_is_an_error_before_it_fills_the_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_LINE", 1000)
    file = tmp_path / "noise"
    file.write_bytes(b"a\tb\n" + b"x" * 1001)
    assert refusal([file]) == (
        f"{file}, line 2 is longer than 16 MiB: is this text with one sentence per line?"
    )


def test_files_that_cannot_be_a_corpus_are_an_error(tmp_path) -> None:
    missing, empty, one = tmp_path / "missing", tmp_path / "empty", tmp_path / "one"
    empty.touch()
    one.write_text("1\n", encoding="utf-8")
    assert refusal([missing]) == f"there is no file {missing}"
    assert refusal([one], [missing]) == f"there is no file {missing}"
    assert refusal([tmp_path]) == f"{tmp_path} is a directory: give a file"
    assert refusal([empty]) == f"there are no sentence pairs in {empty}"
    (tmp_path / "empty2").touch()
    assert refusal([empty], [tmp_path / "empty2"]) == (
        f"there are no sentence pairs in {empty} and {tmp_path / 'empty2'}"
    )
    assert refusal([one], [tmp_path / "." / "one"]) == (
        f"{one} is given for both sides: give one file per language"
    )
    assert refusal([one, one], [empty]) == (
        "2 source files but 1 target files: give as many of one as of the other"
    )
    assert refusal(["-"], [one]) == (
        "standard input holds both sides, as TSV or JSON lines: give - alone, "
        "or two line-aligned files"
    )


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
@pytest.mark.parametrize("content", [b"a\tb\n", b'{"text": "a", "translation": "b"}\n'])
def test_standard_input_gives_pairs_and_can_be_kept_as_a_file(
    tmp_path, monkeypatch, content, pack
) -> None:
    def give() -> None:
        stream = io.BufferedReader(io.BytesIO(pack(content)))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))

    give()
    assert pairs(["-"]) == [Pair("a", "b")]
    give()
    kept = keep_stdin(tmp_path / "kept")
    assert pairs([kept]) == pairs([kept]) == [Pair("a", "b")]


def test_a_fingerprint_is_of_the_contents_and_their_order(tmp_path) -> None:
    for name, text in {"a": "1", "b": "2", "c": "1"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    a, b, c = (tmp_path / name for name in "abc")
    assert fingerprint([a, b]) == fingerprint([c, b])
    assert len({fingerprint(files) for files in ([a], [b], [a, b], [b, a], [a, a])}) == 5
    with pytest.raises(InputError, match="there is no file"):
        fingerprint([tmp_path / "missing"])


def test_memory_does_not_grow_with_the_file(tmp_path) -> None:
    file = tmp_path / "train.tsv.gz"
    file.write_bytes(gzip.compress((b"dog " * 250 + b"\t" + b"Hund " * 250 + b"\n") * 2_000))
    tracemalloc.start()
    assert sum(1 for _ in read_pairs([file])) == 2_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 500_000


def test_all_of_multi30k_is_read(data) -> None:
    files = [data / "multi30k" / f"train.{language}.gz" for language in ("en", "de")]
    assert sum(1 for _ in read_pairs(files[:1], files[1:])) == 29_000
