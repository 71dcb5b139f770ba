"""What the progress bars say, and that it fits the terminal."""

import io
import re
from dataclasses import replace

import digits
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from transduce.cli import main
from transduce.log import plural
from transduce.train import progress as shown
from transduce.train.progress import AROUND, LiveDisplay, PlainDisplay, Report

REPORT = Report(45_000, 100_000, 3, 4.123, 1061.52, 7e-4, 12_345.6, 12_305.0)
DAYS = replace(REPORT, steps=300_000, seconds_left=90_000_000.0, perplexity=123_456.78)


@pytest.mark.parametrize("report", [REPORT, DAYS, replace(REPORT, step=9, steps=90)])
def test_step_and_time_left_are_in_a_line_for_80_columns(report) -> None:
    line = report.text(80 - AROUND)
    assert len(line) <= 80 - AROUND
    assert line.startswith(f"step {report.step:,}/{report.steps:,}  ")
    assert line.endswith(f"{shown.clock(report.seconds_left)} left")


def test_a_wide_line_has_everything_and_a_narrower_one_drops_the_least_important() -> None:
    assert REPORT.text() == (
        "step 45,000/100,000  loss 4.123  ppl 1,061.52  lr 7.00e-04  12,346 tokens/s  3:25:05 left"
    )
    assert REPORT.text(78) == (
        "step 45,000/100,000  loss 4.123  ppl 1,061.52  12,346 tokens/s  3:25:05 left"
    )


@given(st.integers(45_000, 100_000))
def test_the_time_left_counts_down_between_reports(step) -> None:
    later = REPORT.at(step)
    assert later.step == step
    assert later.seconds_left == pytest.approx(12_305 * (100_000 - step) / 55_000)


@pytest.fixture
def terminal(monkeypatch) -> io.StringIO:
    """What a terminal of 80 columns is sent."""
    stream = io.StringIO()

    def console(**_: object) -> Console:
        return Console(file=stream, force_terminal=True, width=80, color_system=None)

    monkeypatch.setattr("rich.console.Console", console)
    return stream


def text_of(stream: io.StringIO) -> list[str]:
    """The lines that were drawn, without control sequences."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", stream.getvalue()).replace("\r", "\n")
    return [line.rstrip() for line in plain.split("\n") if line.strip()]


def drawn(display: LiveDisplay, terminal: io.StringIO) -> str:
    """The bar as it is now."""
    terminal.truncate(0)
    terminal.seek(0)
    display._bar.refresh()
    return text_of(terminal)[-1]


def test_the_bar_says_what_is_going_on(terminal) -> None:
    display = LiveDisplay(6000)
    try:
        display.preparing("reading", 2000)
        assert "reading: 2,000 pairs" in drawn(display, terminal)
        assert "%" not in drawn(display, terminal)
        display.preparing("encoding train", 2000, 4000)
        line = drawn(display, terminal)
        assert "encoding train: 2,000 of 4,000 pairs" in line
        assert line.endswith("50 %")
        display.doing("building the network")
        assert "building the network" in drawn(display, terminal)
        display.advance(1)
        assert "step 1/6,000" in drawn(display, terminal)
        display.advance(60)
        line = drawn(display, terminal)
        assert re.search(r"step 60/6,000  \d+:\d\d left .* 1 %$", line)
        display.report(replace(REPORT, step=60, steps=6000))
        line = drawn(display, terminal)
        assert re.search(r"step 60/6,000  loss 4.123 .* left .* 1 %$", line)
        display.doing("step 60: validating on 1,000 pairs")
        assert "validating on 1,000 pairs" in drawn(display, terminal)
        display.advance(61)
        assert "step 61/6,000" in drawn(display, terminal)
    finally:
        display.close()


def test_the_bar_of_a_long_run_keeps_time_and_percentage_at_80_columns(terminal) -> None:
    display = LiveDisplay(300_000)
    try:
        display.report(DAYS)
        line = drawn(display, terminal)
    finally:
        display.close()
    assert len(line) <= 80
    assert "25000:00:00 left" in line
    assert line.endswith("15 %")


def test_plain_lines_have_counts(capsys, monkeypatch) -> None:
    display = PlainDisplay()
    monkeypatch.setattr(shown.time, "monotonic", lambda: float("inf"))
    display.preparing("encoding train", 2000, 4000)
    assert capsys.readouterr().err == "encoding train: 2,000 of 4,000 pairs\n"


def test_training_says_each_thing_that_it_does(terminal, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(
        "transduce.train.job.choose_display", lambda steps, first: LiveDisplay(steps)
    )
    told = []
    for name in ("preparing", "doing"):
        original = getattr(LiveDisplay, name)
        monkeypatch.setattr(
            LiveDisplay,
            name,
            lambda self, what, *rest, original=original: (
                told.append((what, *rest)),
                original(self, what, *rest),
            ),
        )
    train = digits.write(tmp_path / "train.tsv", digits.pairs(3000, seed=1))
    settings = digits.settings(
        *digits.SMALL, "train.steps=4", "train.validate_steps=2", "data.drop_duplicates=false"
    )
    done = CliRunner().invoke(
        main, ["train", str(tmp_path / "r"), "--train", str(train), *settings]
    )
    assert done.exit_code == 0, done.output
    stages = list(dict.fromkeys(what for what, *_ in told))
    assert stages == [
        "reading",
        "learning the vocabulary",
        "encoding valid",
        "encoding train",
        "building the network",
        "step 2: validating on 60 pairs",
        "step 4: validating on 60 pairs",
        "averaging and scoring the model",
    ]
    (encoded, *_) = [counts for what, *counts in told if what == "encoding train"]
    assert 0 < encoded[0] <= encoded[1]


def test_evaluation_counts_sentences(terminal, tmp_path) -> None:
    for name, line in (("s", "Hello."), ("t", "Hallo.")):
        (tmp_path / name).write_text(f"{line}\n" * 3, "utf-8")
    done = CliRunner().invoke(main, ["evaluate", str(tmp_path / "s"), str(tmp_path / "t")])
    assert done.exit_code == 0, done.output
    page = "\n".join(text_of(terminal))
    assert re.search(r"translating .* 3/3 ", page)
    assert re.search(r"scoring the references .* 3/3 ", page)


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "line", "0 lines"),
        (1, "line", "1 line"),
        (1234, "checkpoint", "1,234 checkpoints"),
        (2, "entry", "2 entries"),
    ],
)
def test_a_noun_is_plural_unless_there_is_one(number, noun, text) -> None:
    assert plural(number, noun) == text
