"""The benchmark of the server, with little to measure."""

import json
import sys

from click.testing import CliRunner

from transduce.bench.clients import Answer, arrivals
from transduce.bench.serve import closed_of, open_of
from transduce.cli import main

STAND_IN = """#!{python}
import argparse, json, os, pathlib, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
options = argparse.ArgumentParser()
for name in ("--host", "--port", "--load-only"):
    options.add_argument(name, required=True)
asked = options.parse_args()
packages = list(pathlib.Path(os.environ["ARGOS_PACKAGES_DIR"]).iterdir())
about = [json.loads((one / "metadata.json").read_text("utf-8")) for one in packages]
assert len(packages) > 1 and (packages[0] / "model" / "model.bin").is_file()
assert asked.load_only == ",".join((about[0]["from_code"], about[0]["to_code"]))

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        q = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["q"]
        body = json.dumps({{"translatedText": q}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

print(f"Running on http://{{asked.host}}:{{asked.port}}", flush=True)
ThreadingHTTPServer((asked.host, int(asked.port)), Handler).serve_forever()
"""


def bench(tmp_path, *more):
    lines = tmp_path / "lines"
    lines.write_text("".join(f"I have {n} apples.\n" for n in range(2, 12)), "utf-8")
    words = ["bench", "serve", "--seconds", "0.2", "--clients", "2", "--input", str(lines)]
    return CliRunner().invoke(main, [*words, "--json", *map(str, more)])


def test_the_server_and_its_peers_are_measured(tmp_path) -> None:
    picture, output = tmp_path / "latency.svg", tmp_path / "report.json"
    program = tmp_path / "libretranslate"
    program.write_text(STAND_IN.format(python=sys.executable), "utf-8")
    program.chmod(0o755)
    peers = ["--against", "plain,libretranslate", "--libretranslate", program]
    soak = ["--soak", "0.01"]
    done = bench(tmp_path, *peers, *soak, "--picture", picture, "--output", output)
    assert done.exit_code == 0, done.output
    report = json.loads(output.read_text("utf-8"))
    assert [one["system"] for one in report["closed"]] == ["transduce", "plain", "libretranslate"]
    assert all(one["sentences_per_second"] > 0 for one in report["closed"])
    assert {one["load"] for one in report["open"]} == {0.25, 0.5, 0.75, 1.0, 2.0, 4.0}
    assert all(one["lost"] == 0 for one in report["open"])
    assert all(before > 0 for before, _ in report["memory_mb"].values())
    (minute,) = report["soak"]
    assert minute["found"]["lost"] == 0
    assert minute["found"]["load"] == 0.5
    assert minute["memory_mb"] > 0
    assert picture.read_text("utf-8").count("libretranslate, p99") == 1


def test_a_peer_that_is_not_there_is_named(tmp_path) -> None:
    done = bench(tmp_path, "--against", "libretranslate", "--libretranslate", tmp_path / "none")
    assert done.exit_code == 2
    assert f"there is no command {tmp_path / 'none'}" in done.stderr
    done = bench(tmp_path, "--against", "marian")
    assert done.exit_code == 2
    assert "unknown peer 'marian'; known: plain, libretranslate" in done.stderr


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
