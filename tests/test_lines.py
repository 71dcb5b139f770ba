"""One output line per input line."""

import io
import os
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.corpus import reading
from transduce.errors import InputError
from transduce.translate import lines as lines_module
from transduce.translate.lines import (
    ArrivingLines,
    OutputFile,
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


def written(file, lines, resume=False, fail=False) -> int:
    with OutputFile(file, resume) as output:
        for line in lines:
            output.write(line)
        if fail:
            raise KeyboardInterrupt
    return output.done


def names(folder) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_an_output_has_its_name_only_when_it_is_complete(tmp_path) -> None:
    file = tmp_path / "out.de"
    with OutputFile(file) as output:
        output.write("eins")
        assert names(tmp_path) == {"out.de.partial"}
        assert (tmp_path / "out.de.partial").read_bytes() == b"eins\n"
        output.write("zwei ö")
    assert names(tmp_path) == {"out.de"}
    assert file.read_bytes() == "eins\nzwei ö\n".encode()


def test_no_lines_make_an_empty_file(tmp_path) -> None:
    assert written(tmp_path / "out", []) == 0
    assert names(tmp_path) == {"out"}
    assert (tmp_path / "out").read_bytes() == b""


def test_a_failure_leaves_the_partial_output_and_the_old_one(tmp_path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"old\n")
    with pytest.raises(KeyboardInterrupt):
        written(file, ["new"], fail=True)
    assert file.read_bytes() == b"old\n"
    assert (tmp_path / "out.partial").read_bytes() == b"new\n"
    written(file, ["newer"])
    assert file.read_bytes() == b"newer\n"
    assert names(tmp_path) == {"out"}
    with pytest.raises(KeyboardInterrupt):
        written(file, [], fail=True)
    assert names(tmp_path) == {"out"}


@given(
    lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"))),
    data=st.data(),
    suffix=st.sampled_from(["", ".partial"]),
)
def test_an_output_truncated_at_any_byte_resumes_to_the_same_file(
    tmp_path_factory, lines, data, suffix
) -> None:
    file = tmp_path_factory.mktemp("resume") / "out"
    whole = "".join(f"{line}\n" for line in lines).encode()
    broken = whole[: data.draw(st.integers(0, len(whole)))]
    (file.parent / f"out{suffix}").write_bytes(broken)
    with OutputFile(file, resume=True) as output:
        assert output.done == broken.count(b"\n")
        inputs = iter(lines)
        output.skip(inputs)
        for line in inputs:
            output.write(line)
    assert file.read_bytes() == whole
    assert names(file.parent) == {"out"}


def test_resuming_without_an_output_starts_and_prefers_a_partial_one(tmp_path) -> None:
    file = tmp_path / "out"
    assert written(file, ["1"], resume=True) == 0
    (tmp_path / "out.partial").write_bytes(b"a\nb\nc")
    assert written(file, ["d"], resume=True) == 2
    assert file.read_bytes() == b"a\nb\nd\n"


def test_a_resumed_failure_can_be_resumed_again(tmp_path) -> None:
    file = tmp_path / "out"
    for number in range(3):
        with pytest.raises(KeyboardInterrupt):
            written(file, [str(number)], resume=True, fail=True)
    assert written(file, ["3"], resume=True) == 3
    assert file.read_bytes() == b"0\n1\n2\n3\n"


def test_resuming_with_another_input_is_an_error_and_changes_nothing(tmp_path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"1\n2\n3\nhalf")
    with pytest.raises(InputError) as caught, OutputFile(file, resume=True) as output:
        output.skip(iter(["a", "b"]))
    assert str(caught.value) == (
        f"{file} has 3 lines already but the input only 2: "
        "resume with the same input, or name another output"
    )
    assert file.read_bytes() == b"1\n2\n3\nhalf"
    assert names(tmp_path) == {"out"}


def test_an_output_that_another_process_writes_is_an_error_and_not_changed(tmp_path) -> None:
    file = tmp_path / "out"
    for resume in (False, True):
        with OutputFile(file) as output:
            output.write("1")
            assert refusal(file, resume) == (
                f"{file} is being written by another process: "
                "wait until it ends, or name another output"
            )
            output.write("2")
        assert file.read_bytes() == b"1\n2\n"
        assert names(tmp_path) == {"out"}


def test_two_processes_cannot_resume_one_finished_output(tmp_path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"1\n2\n")
    with OutputFile(file, resume=True) as output:
        assert "another process" in refusal(file, resume=True)
        assert "another process" in refusal(file)
        assert output.done == 2
    assert file.read_bytes() == b"1\n2\n"


def refusal(file, resume=False) -> str:
    with pytest.raises(InputError) as caught:
        written(file, ["x"], resume)
    return str(caught.value)


def test_an_output_that_cannot_be_written_is_an_error(tmp_path) -> None:
    assert refusal(tmp_path) == f"{tmp_path} is a directory: give a file"
    missing = tmp_path / "missing" / "out"
    assert refusal(missing) == f"there is no directory {missing.parent}: create it first"
    assert refusal(tmp_path / ("x" * 250)).endswith("cannot be written: File name too long")
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    assert refusal(null, resume=True) == f"{null} is not an ordinary file: it cannot be resumed"


def test_a_full_disk_is_a_sentence() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    assert refusal(full) == "/dev/full cannot be written: No space left on device"


def test_a_device_is_written_to_and_stays_one(tmp_path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    written(pipe, ["1", "2"])
    assert os.read(reader, 100) == b"1\n2\n"
    os.close(reader)
    assert pipe.is_fifo()
    assert names(tmp_path) == {"pipe"}


def test_an_output_that_is_a_symbolic_link_stays_one(tmp_path) -> None:
    (tmp_path / "real").write_bytes(b"old\n")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    written(link, ["new"])
    assert link.is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new\n"
