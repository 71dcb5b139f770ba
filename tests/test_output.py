"""The output file of a translation."""

import gzip
import lzma
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.errors import InputError
from transduce.translate.output import OutputFile


def written(file, lines, mode="continue", fail=False, settings=None) -> int:
    """Writes one line for each input; the number of inputs that were done before."""
    with OutputFile(file, mode, settings) as output:
        before = output.done
        inputs = iter(lines)
        output.skip(inputs)
        for line in inputs:
            output.write(line)
            output.finish([line])
        if fail:
            raise KeyboardInterrupt
    return before


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
    written(file, ["newer"], "restart")
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
    assert written(file, lines, "resume") == broken.count(b"\n")
    assert file.read_bytes() == whole
    assert names(file.parent) == {"out"}


def test_resuming_without_an_output_starts_and_prefers_a_partial_one(tmp_path) -> None:
    file = tmp_path / "out"
    assert written(file, ["1"], "resume") == 0
    (tmp_path / "out.partial").write_bytes(b"a\nb\nc")
    assert written(file, ["a", "b", "d"], "resume") == 2
    assert file.read_bytes() == b"a\nb\nd\n"


@pytest.mark.parametrize("name", ["out", "out.gz", "out.xz"])
def test_the_same_call_continues_until_the_output_is_complete(tmp_path, name) -> None:
    file, lines = tmp_path / name, [f"{n} ö" for n in range(6)]
    for number in range(3):
        with pytest.raises(KeyboardInterrupt):
            assert written(file, lines[: 2 * number + 1], fail=True) == max(2 * number - 1, 0)
        assert names(tmp_path) == {f"{name}.partial", f"{name}.partial.json"}
    assert written(file, lines) == 5
    assert names(tmp_path) == {name}
    opened = {"out": open, "out.gz": gzip.open, "out.xz": lzma.open}[name]
    with opened(file, "rt", encoding="utf-8") as stream:
        assert stream.read() == "".join(f"{line}\n" for line in lines)


def test_a_complete_compressed_output_is_resumed_for_an_input_that_has_grown(tmp_path) -> None:
    file = tmp_path / "out.gz"
    written(file, ["1", "2"])
    whole = file.read_bytes()
    with pytest.raises(InputError):
        written(file, ["1"], "resume")
    assert file.read_bytes() == whole
    assert names(tmp_path) == {"out.gz"}
    assert written(file, ["1", "2", "3"], "resume") == 2
    assert gzip.decompress(file.read_bytes()) == b"1\n2\n3\n"


def test_equal_outputs_are_equal_compressed_files(tmp_path) -> None:
    for name in ("a.gz", "b.gz"):
        written(tmp_path / name, ["1", "2"])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_an_input_may_have_several_lines_of_output(tmp_path) -> None:
    file = tmp_path / "out"
    with suppress(KeyboardInterrupt), OutputFile(file) as output:
        for line in ("1a", "1b"):
            output.write(line)
        output.finish(["1"])
        output.write("2a")  # its input is not finished
        raise KeyboardInterrupt
    with OutputFile(file) as output:
        assert output.done == 1
        output.skip(iter(["1", "2"]))
        output.write("2x")
    assert file.read_bytes() == b"1a\n1b\n2x\n"


def interrupted(file, lines=("1", "2"), settings=None) -> bytes:
    with pytest.raises(KeyboardInterrupt):
        written(file, lines, fail=True, settings=settings)
    return (file.parent / "out.partial").read_bytes()


ADVICE = "repeat the same command to continue it, or add --restart to begin anew"


def test_another_input_or_other_settings_are_an_error_and_change_nothing(tmp_path) -> None:
    file = tmp_path / "out"
    before = interrupted(file, settings={"model": "a", "--beam": "4"})
    for lines, settings, difference in (
        (
            ["1", "x", "3"],
            {"model": "a", "--beam": "4"},
            "another input, whose first 2 lines are not the same",
        ),
        (["1", "2", "3"], {"model": "b", "--beam": "4"}, "another model"),
        (["1", "2", "3"], {"model": "a", "--beam": "1"}, "--beam 4, not 1"),
    ):
        for mode in ("continue", "resume"):
            assert refusal(file, mode, lines, settings) == (
                f"out.partial was begun with {difference}: {ADVICE}"
            )
        assert (tmp_path / "out.partial").read_bytes() == before
    assert written(file, ["1", "2", "3"], settings={"model": "a", "--beam": "4"}) == 2
    interrupted(file)
    assert written(file, ["x"], "restart", settings={"model": "b"}) == 0
    assert file.read_bytes() == b"x\n"
    assert names(tmp_path) == {"out"}


def test_a_shorter_input_is_an_error(tmp_path) -> None:
    file = tmp_path / "out"
    interrupted(file)
    for fewer in (["1"], []):
        assert refusal(file, lines=fewer) == (
            f"{file} has the output of 2 inputs already but the input has only {len(fewer)}: "
            "repeat the command with the same input, or add --restart"
        )
    assert names(tmp_path) == {"out.partial", "out.partial.json"}


def test_a_partial_output_without_a_record_is_continued_only_on_request(tmp_path) -> None:
    file = tmp_path / "out"
    (tmp_path / "out.partial").write_bytes(b"1\n")
    for record in (None, "", "[]", '{"size": 3}'):
        if record is not None:
            (tmp_path / "out.partial.json").write_text(record, "utf-8")
        assert refusal(file) == (
            "out.partial has no record of what it was begun with: "
            "add --resume to continue it or --restart to begin anew"
        )
    assert written(file, ["1", "2"], "resume") == 1
    assert file.read_bytes() == b"1\n2\n"


def test_the_last_lines_of_an_output_without_a_record_are_compared(tmp_path) -> None:
    file = tmp_path / "out"
    file.write_text("".join(f"{n}\n" for n in range(20)), "utf-8")
    with OutputFile(file, "resume") as output:
        kept = output.skip(iter([f"input {n}" for n in range(25)]))
        assert kept == [f"input {n}" for n in range(12, 20)]
        output.compare([str(n) for n in range(12, 20)])

    def compare() -> None:
        with OutputFile(file, "resume") as output:
            output.skip(iter(range(20)))
            output.compare(["x"] * 8)

    with pytest.raises(InputError) as caught:
        compare()
    assert str(caught.value) == (
        f"the last lines of {file} are not what this command makes of the same lines of the "
        "input: repeat the command that made them, or add --restart"
    )
    assert file.read_text("utf-8").count("\n") == 20
    assert names(tmp_path) == {"out"}


def test_an_output_that_another_process_writes_is_an_error_and_not_changed(tmp_path) -> None:
    file = tmp_path / "out"
    for mode in ("continue", "resume", "restart"):
        with OutputFile(file) as output:
            output.write("1")
            assert refusal(file, mode) == (
                f"{file} is being written by another process: "
                "wait until it ends, or name another output"
            )
            output.write("2")
        assert file.read_bytes() == b"1\n2\n"
        assert names(tmp_path) == {"out"}


def test_two_processes_cannot_resume_one_finished_output(tmp_path) -> None:
    file = tmp_path / "out"
    file.write_bytes(b"1\n2\n")
    with OutputFile(file, "resume") as output:
        assert "another process" in refusal(file, "resume")
        assert "another process" in refusal(file)
        assert output.done == 2
    assert file.read_bytes() == b"1\n2\n"


def refusal(file, mode="continue", lines=("x",), settings=None) -> str:
    with pytest.raises(InputError) as caught:
        written(file, lines, mode, settings=settings)
    return str(caught.value)


def test_an_output_that_cannot_be_written_is_an_error(tmp_path) -> None:
    assert refusal(tmp_path) == f"{tmp_path} is a directory: give a file"
    missing = tmp_path / "missing" / "out"
    assert refusal(missing) == f"there is no directory {missing.parent}: create it first"
    assert refusal(tmp_path / ("x" * 250)).endswith("cannot be written: File name too long")
    null = tmp_path / "null"
    null.symlink_to(os.devnull)
    assert refusal(null, "resume") == f"{null} is not an ordinary file: it cannot be resumed"


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
