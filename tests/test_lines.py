"""One output line per input line."""

import io
import os
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.corpus import reading
from transduce.translate import lines as lines_module
from transduce.translate.lines import (
    ArrivingLines,
    chunks,
    clean,
    decode_lines,
    one_line,
)


def lines_of(content: bytes) -> tuple[list[str], list[str]]:
    logged: list[str] = []
    return list(decode_lines(io.BytesIO(content), logged.append)), logged


@given(content=st.binary() | st.lists(st.sampled_from([b"\n", b"\r", b"a", b"\xff"])).map(b"".join))
def test_any_bytes_have_as_many_lines_as_newlines(content) -> None:
    lines, _ = lines_of(content)
    unended = content != b"" and not content.endswith(b"\n")
    assert len(lines) == content.count(b"\n") + unended
    assert not any("\n" in line for line in lines)


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\t")))
def test_lines_are_read_like_those_of_a_corpus(tmp_path_factory, text) -> None:
    file = tmp_path_factory.mktemp("lines") / "text"
    file.write_bytes(text.encode())
    lines, logged = lines_of(text.encode())
    with reading.TextFile(file) as corpus:
        assert lines == list(corpus)
    with reading.TextFile(file) as corpus:
        assert lines == list(decode_lines(ArrivingLines(corpus), logged.append))
    assert logged == []


@given(
    content=st.lists(st.sampled_from([b"\n", b"a", b"bc"]), max_size=30).map(b"".join),
    block=st.integers(1, 5),
)
def test_lines_are_complete_for_any_sizes_of_blocks(tmp_path_factory, content, block) -> None:
    file = tmp_path_factory.mktemp("lines") / "text"
    file.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch, reading.TextFile(file) as text:
        patch.setattr(lines_module, "BLOCK", block)
        assert list(ArrivingLines(text)) == list(io.BytesIO(content))


def test_a_line_is_ready_when_its_end_has_arrived(monkeypatch) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as pipe, os.fdopen(writer, "wb", 0) as source:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
        source.write(b"one\ntwo\nthr")
        with reading.TextFile("-") as text:
            lines = ArrivingLines(text)
            arrived = chunks(lines, 100, lines.ready)
            assert next(arrived) == [b"one\n", b"two\n"]
            assert not lines.ready()
            source.write(b"ee\nfour")
            assert next(arrived) == [b"three\n"]
            source.close()
            assert list(arrived) == [[b"four"]]
            assert lines.ready()


@given(items=st.lists(st.integers()), size=st.integers(1, 5), answers=st.lists(st.booleans()))
def test_chunks_are_full_or_end_where_the_next_item_is_not_ready(items, size, answers) -> None:
    asked = iter([*answers, *[True] * len(items)])
    found = list(chunks(items, size, lambda: next(asked)))
    assert [item for chunk in found for item in chunk] == items
    assert all(1 <= len(chunk) <= size for chunk in found)
    assert [len(chunk) for chunk in chunks(items, size)][:-1] == [size] * ((len(items) - 1) // size)


def test_only_a_newline_ends_a_line() -> None:
    text = "a\u2028b\x85c\x0bd\x0ce\x1ef\rg"
    assert lines_of(f"{text}\r\n\n{text}".encode()) == ([text, "", text], [])


def test_a_byte_order_mark_is_dropped_only_at_the_start() -> None:
    assert lines_of("\ufeffa\n\ufeffb\n".encode())[0] == ["a", "\ufeffb"]


def test_bytes_that_are_not_utf8_are_replaced_and_logged_once() -> None:
    lines, logged = lines_of(b"fine\nsch\xf6n\n\xef\xbf\xbd\n\x80\xe4\xf6")
    assert lines == ["fine", "sch\ufffdn", "\ufffd", "\ufffd\ufffd\ufffd"]
    assert logged == [
        "lines that are not UTF-8: 2, the first is line 2; invalid bytes are replaced by "
        "U+FFFD: convert the input, for example with iconv -f latin1 -t utf-8"
    ]


def test_memory_does_not_grow_with_the_input(tmp_path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"dog \xff" * 200 * 2_000 + b"\n" + (b"dog " * 250 + b"\n") * 5_000)
    with reading.TextFile(file) as text:
        lines = decode_lines(ArrivingLines(text), lambda _: None)
        assert len(next(lines)) == 2_000_000
        tracemalloc.start()
        assert sum(1 for _ in lines) == 5_000
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 200_000


@given(text=st.text())
def test_clean_text_is_one_line_without_outer_spaces(text) -> None:
    cleaned = clean(text)
    assert cleaned == cleaned.strip() == clean(cleaned) == one_line(cleaned)
    assert cleaned.splitlines() == ([cleaned] if cleaned else [])


@given(text=st.text(st.characters(categories=["L", "N", "P", "S"], codec="utf-8"), min_size=1))
def test_visible_text_is_not_changed(text) -> None:
    assert clean(text) == text == clean(f"\x00\u2028 {text}\t\x85\x0c ")
    assert clean(f"{text}\x00{text}") == f"{text} {text}"


def test_invisible_text_is_blank() -> None:
    for text in ("", " \t", "\x00\x07", "\u200b", "\ufeff", "\u200d\u2060 \u00ad\u061c", "\u3164"):
        assert clean(text) == ""


def test_unpaired_surrogates_are_replaced_and_pairs_joined() -> None:
    assert clean("a\ud83db") == "a\ufffdb"
    assert clean("\ud83d\ude00") == "😀"


def test_no_character_can_break_an_output_line() -> None:
    every = "".join(map(chr, range(sys.maxunicode + 1)))
    safe = one_line(every)
    assert len(safe.splitlines()) == 1
    changed = {a for a, b in zip(every, safe, strict=True) if a != b}
    assert changed == {character for character in every if len(f"{character}x".splitlines()) > 1}
