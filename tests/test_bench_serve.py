"""The benchmark of the server, with little to measure."""

import json

from click.testing import CliRunner

from transduce.bench.clients import Answer, arrivals
from transduce.bench.serve import closed_of, open_of
from transduce.cli import main


def test_the_server_and_the_plain_one_are_measured(tmp_path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("".join(f"I have {n} apples.\n" for n in range(2, 12)), "utf-8")
    words = [
        "bench",
        "serve",
        "--seconds",
        "0.2",
        "--clients",
        "2",
        "--input",
        str(lines),
        "--json",
    ]
    picture, output = tmp_path / "latency.svg", tmp_path / "report.json"
    done = CliRunner().invoke(main, [*words, "--picture", str(picture), "--output", str(output)])
    assert done.exit_code == 0, done.output
    report = json.loads(output.read_text("utf-8"))
    assert [one["system"] for one in report["closed"]] == ["transduce", "plain"]
    assert all(one["sentences_per_second"] > 0 for one in report["closed"])
    assert {one["load"] for one in report["open"]} == {0.25, 0.5, 0.75, 1.0, 2.0, 4.0}
    assert all(one["lost"] == 0 for one in report["open"])
    assert all(before > 0 for before, _ in report["memory_mb"].values())
    assert picture.read_text("utf-8").startswith("<?xml")


def test_answers_are_counted_by_what_they_are() -> None:
    answers = [Answer(0.1, 200), Answer(0.3, 200), Answer(0.01, 429), Answer(0.02, 503)]
    closed = closed_of("x", 1, answers, 2.0)
    assert (closed.sentences_per_second, closed.p50_ms) == (1.0, 200.0)
    opened = open_of("x", 1.0, 10.0, [*answers, Answer(30.0, 0)])
    assert (opened.answered, opened.refused, opened.lost) == (2, 2, 1)
    assert opened.slowest_refusal_ms == 20.0


def test_requests_arrive_at_the_rate_that_is_asked_for() -> None:
    moments = list(arrivals(100.0, 50.0, seed=3))
    assert 4500 < len(moments) < 5500
    assert moments == sorted(moments)
