"""`transduce translate` on files and in a terminal: progress, Ctrl-C, continuing, paragraphs."""

import fcntl
import gzip
import json
import lzma
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest
from click.testing import CliRunner
from models import model_directory, pairs

from transduce.cli import main
from transduce.translate.lines import Pace, count_lines, join_paragraphs

SECONDS = 90  # a busy machine is slow
# the second chunk never ends, so that there is time to interrupt it
ENDLESS = """
import time
from transduce.cli import main
from transduce.translate.translator import Translator
results = Translator.results
def endless(*given):
    found = results(*given)
    Translator.results = lambda *given: time.sleep(600)
    return found
Translator.results = endless
main()
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = model_directory(tmp_path_factory.mktemp("files") / "model", eos=6.0)
    run("translate", "--model", directory, "a dog")  # converts it
    return directory


@pytest.fixture(scope="module")
def texts():
    return [source for source, _ in pairs(150)]


def run(*words, text=None):
    """The standard output of a successful command."""
    done = CliRunner().invoke(main, [str(word) for word in words], input=text)
    assert done.exit_code == 0, done.output
    return done.stdout


def complaint(*words):
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 2, done.output
    return done.stderr.strip().split("\n")[-1].removeprefix("transduce: ")


def write(file, lines):
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return file


class Terminal:
    """A process in a terminal of 80 columns."""

    def __init__(self, *words, program=("-m", "transduce"), stdout=None) -> None:
        self._screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        command = [sys.executable, *program, *map(str, words)]
        streams = {"stdin": terminal, "stderr": terminal, "stdout": stdout or terminal}
        env = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
        self.process = subprocess.Popen(
            command,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(
                signal.SIGINT, signal.SIG_DFL
            ),  # ignored by `pytest &`
            **streams,
        )
        os.close(terminal)
        self.shown = self.raw = ""

    def read_until(self, pattern: str | None = None) -> str:
        """What is shown, up to the pattern or the end of the process, without escape sequences."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not (pattern and re.search(pattern, self.shown)):
            if select.select([self._screen], [], [], 0.1)[0]:
                try:
                    some = os.read(self._screen, 2**16)
                except OSError:  # the process has ended
                    break
                self.raw += (text := some.decode("utf-8", "replace"))
                self.shown += re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", text)
            elif self.process.poll() is not None:
                break
        if pattern and not re.search(pattern, self.shown):
            self.process.kill()
            self.process.wait()
            raise AssertionError(self.shown)
        return self.shown

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def end(self) -> int:
        self.read_until()
        os.close(self._screen)
        return self.process.wait(SECONDS)


def test_a_terminal_shows_lines_done_total_rate_and_time_left(model, texts, tmp_path) -> None:
    source = write(tmp_path / "in", texts)
    words = ["translate", "--model", model, "--input", source, "--beam", "1"]
    with (tmp_path / "redirected").open("wb") as redirected:
        for more, stdout in ((["--output", tmp_path / "out"], None), ([], redirected), ([], None)):
            terminal = Terminal(*words, *more, stdout=stdout)
            assert terminal.end() == 0
            rows = re.findall(r"translating[^\r\n]*", terminal.shown)
            assert any(re.search(r"[\d.,]+ lines/s \d:\d\d:\d\d left", row) for row in rows)
            assert re.search(r"\d+/150 ", terminal.shown)
            assert max(len(row) for row in rows) <= 80
            assert re.search(r"150 lines in [\d.]+ s", terminal.shown)
    assert (tmp_path / "redirected").read_bytes() == (tmp_path / "out").read_bytes()


def test_an_interrupted_translation_stops_at_once_and_the_same_command_continues(
    model, texts, tmp_path
) -> None:
    source, target = write(tmp_path / "in", texts), tmp_path / "out"
    words = ["translate", "--model", model, "--input", source, "--output", target, "--beam", "1"]
    terminal = Terminal(*words, program=("-c", ENDLESS))
    terminal.read_until(r"[1-9]\d*/150 ")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130  # the search would not end
    done = target.with_name("out.partial").read_text("utf-8").count("\n")
    assert 0 < done < 150
    last = f"stopped; {done:,} finished lines are in {target}.partial: the same command continues"
    assert " ".join(terminal.shown.split()).endswith(last)
    for other, difference in (
        (["--beam", 4], "--beam 1, not 4"),
        (["--json"], "--json off, not on"),
        (["--input", write(tmp_path / "other", reversed(texts))], "another input"),
        (["--model", model_directory(tmp_path / "model", seed=3)], "another model"),
    ):
        assert complaint(*words, *other).startswith(f"out.partial was begun with {difference}")
    whole = run("translate", "--model", model, "--input", source, "--beam", 1)
    write(source, [*texts, "a dog"])  # the input may grow
    run(*words)
    assert target.read_text("utf-8").split("\n")[:150] == whole.split("\n")[:150]
    assert {file.name for file in tmp_path.iterdir()} >= {"in", "out"}
    assert not list(tmp_path.glob("*.partial*"))


def test_a_killed_translation_has_kept_what_was_finished(model, texts, tmp_path) -> None:
    source, target = write(tmp_path / "in", texts), tmp_path / "out"
    words = ["translate", "--model", model, "--input", source, "--output", target, "--beam", "1"]
    terminal = Terminal(*words, program=("-c", ENDLESS))
    terminal.read_until(r"[1-9]\d*/150 ")
    terminal.process.kill()
    terminal.end()
    assert json.loads((tmp_path / "out.partial.json").read_text("utf-8"))["inputs"] > 0
    run(*words)
    assert target.read_text("utf-8") == run(*words[:5], "--beam", 1)


def test_restart_discards_what_was_begun(model, texts, tmp_path) -> None:
    source, target = write(tmp_path / "in", texts[:5]), tmp_path / "out"
    (tmp_path / "out.partial").write_text("other\n", "utf-8")
    words = ["translate", "--model", model, "--input", source, "--output", target]
    assert "add --resume to continue it or --restart to begin anew" in complaint(*words)
    run(*words, "--restart")
    assert target.read_text("utf-8") == run(*words[:5])
    assert complaint(*words, "--restart", "--resume") == (
        "--resume and --restart are both given: continue or begin anew"
    )
    assert complaint(*words[:5], "--restart") == ("--restart begins a file: name it with --output")


@pytest.mark.parametrize(("name", "opened"), [("out.gz", gzip.open), ("out.xz", lzma.open)])
def test_an_output_is_compressed_by_its_name(model, texts, tmp_path, name, opened) -> None:
    source = write(tmp_path / "in", texts[:5])
    words = ["translate", "--model", model, "--input", source]
    run(*words, "--output", tmp_path / name)
    with opened(tmp_path / name, "rt", encoding="utf-8") as stream:
        assert stream.read() == run(*words)


def test_a_terminal_without_input_is_told_what_to_type_and_how_to_end(model) -> None:
    terminal = Terminal("translate", "--model", model)
    terminal.read_until("type text to translate, a line at a time; Ctrl-D ends")
    terminal.type("a dog sleeps\n")
    terminal.read_until(r"sleeps\r\n\S+")
    terminal.type("\x04")
    assert terminal.end() == 0


def test_sentences_are_translated_separately_by_default_and_lines_whole_on_request(model) -> None:
    sentences = ["The dog sleeps.", "Is a cat here?", "The bird is small."]
    words = ["translate", "--model", model]
    alone = run(*words, text="\n".join(sentences)).split("\n")[:-1]
    joined = f"{' '.join(alone)}\n"
    line = " ".join(sentences)
    assert run(*words, line) == joined
    for on in (["--sentences"], ["--sentences", "on"], ["--sentences", "auto"]):
        assert run(*words, *on, line) == joined
    assert run(*words, "--sentences", "off", line) != joined


def test_the_lines_of_a_paragraph_are_joined_on_request(model, tmp_path) -> None:
    letter = ["Dear Anna,", "", "", "the dog", "  sleeps here", "  ", "Yours", "Bob"]
    source = write(tmp_path / "letter", letter)
    words = ["translate", "--model", model, "--input", source, "--paragraphs"]
    entries = [json.loads(line) for line in run(*words, "--json").splitlines()]
    assert [(entry["text"], entry["lines"]) for entry in entries] == [
        ("Dear Anna,", [1, 1]),
        ("", [2, 2]),
        ("", [3, 3]),
        ("the dog sleeps here", [4, 5]),
        ("  ", [6, 6]),
        ("Yours Bob", [7, 8]),
    ]
    lines = run(*words).split("\n")
    assert [bool(line) for line in lines] == [True, False, False, True, False, True, False]
    assert lines[3] == run("translate", "--model", model, "the dog sleeps here").strip()


def test_paragraphs_have_every_line_once() -> None:
    lines = ["", "a", "b", " ", "c", "", "", "d"]
    found = list(join_paragraphs(lines))
    numbers = [n for _, first, last in found for n in range(first, last + 1)]
    assert numbers == list(range(1, len(lines) + 1))
    assert list(join_paragraphs([])) == []


@pytest.mark.parametrize("content", [b"", b"a", b"a\n", b"a\nb", b"\n\n", b"a\r\nb\r\n"])
def test_lines_are_counted_as_they_are_read(tmp_path, content) -> None:
    for name, data in (("plain", content), ("gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(data)
        assert count_lines(tmp_path / name) == len(content.split(b"\n")) - (
            content.endswith(b"\n") or not content
        )


def test_a_chunk_grows_to_what_takes_the_time_and_shrinks_again(monkeypatch) -> None:
    now, speed = 0.0, 1000.0  # characters per second
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    pace = Pace(seconds=3.0)

    def seconds() -> float:
        nonlocal now
        start = now
        count = 0
        while pace.room():
            pace.add("x" * 99)
            count += 100
        now += count / speed
        pace.end()
        return now - start

    assert [seconds() for _ in range(4)][-1] == pytest.approx(3.0, rel=0.1)
    speed = 50_000.0
    assert [seconds() for _ in range(6)][-1] == pytest.approx(3.0, rel=0.1)
    speed = 500.0
    assert [seconds() for _ in range(8)][-1] == pytest.approx(3.0, rel=0.1)


def test_a_message_on_a_terminal_is_broken_between_words() -> None:
    terminal = Terminal("translate", "--model", "no where " * 20, "Hello.")
    assert terminal.end() == 2
    rows = terminal.shown.replace("\r", "").rstrip("\n").split("\n")
    assert len(rows) > 1
    assert all(len(row) <= 80 for row in rows)
    assert "no model directory" in " ".join(rows)
    assert all(row.endswith(("no", "where")) for row in rows)


def test_a_message_does_not_leave_the_bar_on_the_terminal(tmp_path) -> None:
    (tmp_path / "brief").write_text("Guten Morgen, wie geht es dir?\nWir haben keine Zeit.\n")
    terminal = Terminal("translate", "--input", str(tmp_path / "brief"))
    assert terminal.end() == 0
    before, _, _ = terminal.raw.partition("the text is German")
    assert "translating" not in before.rpartition("\x1b[2K")[2], "the line of the bar is cleared"
