"""Load, faults and bad input: the server answers, and keeps answering."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from serving import JSON, ROOT, Server, read_all, running, wait_for

from transduce import Translator
from transduce.engines import Request
from transduce.grammar import sentences
from transduce.model_names import bundled_models
from transduce.serve.worker import LARGEST_SHORTLIST

SENTENCE = "Where is the nearest station?"
GERMAN = "Wo ist der nächste Bahnhof?"
REQUEST = json.dumps({"q": SENTENCE, "source": "en", "target": "de"}).encode()
HEAD = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(REQUEST) + REQUEST
TIMES = [f"--set=serve.{name}_seconds=1" for name in ("header", "body", "idle")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running(tmp_path_factory.mktemp("serve"), *TIMES, "--model", "en-de") as server:
        yield server


def closes_within(connection: socket.socket, seconds: float) -> bytes:
    """What arrives until the server closes the connection, which it does in time."""
    connection.settimeout(seconds)
    return read_all(connection)


def first_answer(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data or not data.endswith(b"}"):
        data += connection.recv(65536)
    return data


@pytest.mark.parametrize(
    "data", [b"", b"POST /trans", HEAD, HEAD + b"X-Long: aaaa"], ids=["silent", "line", "half", "x"]
)
def test_connections_without_complete_headers_are_closed(data, server) -> None:
    with server.connect() as connection:
        connection.sendall(data)
        assert closes_within(connection, 8) == b""


def test_a_body_that_does_not_come_is_told_and_closed(server) -> None:
    with server.connect() as connection:
        connection.sendall(HEAD + b'Content-Length: 100\r\n\r\n{"q": ')
        answer = closes_within(connection, 8)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"error"' in answer


def test_the_same_holds_for_later_requests_of_a_connection(server) -> None:
    for later in (b"", b"GET /hea", HEAD + b"Content-Length: 9\r\n\r\n"):
        with server.connect() as connection:
            connection.sendall(WHOLE)
            assert b" 200 " in first_answer(connection)
            connection.sendall(later)
            assert b" 200 " not in closes_within(connection, 8)


def test_floods_of_headers_are_cut_off(server) -> None:
    for flood in (b"X-A: " + b"a" * 10_000_000, b"X-A: a\r\n" * 400_000):
        with server.connect() as connection:
            try:
                connection.sendall(HEAD + flood)
                answer = read_all(connection)
            except ConnectionError:
                answer = b""
        assert answer == b"" or b" 431 " in answer or b" 400 " in answer
    assert server.get("/health").status == 200


def test_a_body_that_is_too_large_is_not_read(server) -> None:
    answer = server.raw(HEAD + b"Content-Length: 99999999999\r\n\r\n" + b"a" * 1000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    chunks = b"40000\r\n" + b"a" * 0x40000 + b"\r\n"
    answer = server.raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + 9 * chunks)
    assert b" 413 " in answer


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\x00\xff",
        b"POST /translate HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ],
)
def test_what_is_not_http_gets_400_or_is_closed(data, server) -> None:
    answer = server.raw(data, timeout=8)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")


def test_requests_cut_off_in_the_middle_harm_nothing(server) -> None:
    for cut in range(5, len(WHOLE), 29):
        with server.connect() as connection:
            connection.sendall(WHOLE[:cut])
    for _ in range(20):  # complete, but nobody waits for the answer
        with server.connect() as connection:
            connection.sendall(WHOLE)
    assert server.translate(SENTENCE).json["translatedText"] == GERMAN


def test_others_are_served_beside_500_idle_and_slow_connections(server) -> None:
    idle = [server.connect() for _ in range(500)]
    try:
        for connection in idle[::2]:
            connection.sendall(b"POST /translate HTTP/1.1\r\nHost")
        assert server.translate(SENTENCE).json["translatedText"] == GERMAN
        assert all(closes_within(connection, 10) == b"" for connection in idle)
    finally:
        for connection in idle:
            connection.close()


def test_concurrent_requests_get_what_single_ones_get(server) -> None:
    texts = list(dict.fromkeys(pair.source for pair in sentences("test", 40, seed=7)))
    alone = Translator.load()
    alone.engine.fast.largest_shortlist = LARGEST_SHORTLIST
    expected = [alone.translate(text) for text in texts]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda text: server.translate(text).json["translatedText"], texts))
    assert found == expected
    assert server.translate(texts).json["translatedText"] == expected


def test_an_engine_that_is_killed_is_replaced_and_only_its_requests_fail(server) -> None:
    (engine,) = server.engines()
    texts = [f"{SENTENCE} {SENTENCE} {n} apples." for n in range(60)]
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(server.translate, text) for text in texts]
        time.sleep(0.3)
        os.kill(engine, signal.SIGKILL)
        statuses = [answer.result() for answer in answers]
    failed = [one for one in statuses if one.status != 200]
    assert all(one.status == 503 and "send it again" in one.json["error"] for one in failed)
    assert len(failed) < 40
    assert wait_for(lambda: server.translate(SENTENCE).status == 200)
    assert server.engines() != [engine]


def test_every_operation_of_the_description_survives_fuzzing(server) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
            *("--checks", "not_a_server_error", "--max-examples", "8", "--phases", "fuzzing"),
            *("--exclude-path", "/health", "--suppress-health-check", "all"),
            *("--generation-deterministic", "--no-color"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=server.log_file.parent,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_second_server_on_the_port_says_so_in_a_sentence(server) -> None:
    words = [sys.executable, "-m", "transduce", "serve", "--port", str(server.port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"transduce: cannot listen on 127.0.0.1 port {server.port} (Address already in use): "
        "choose another with --host or --port\n"
    )


def test_sigterm_under_load_loses_no_accepted_request(tmp_path) -> None:
    answered, refused, lost = [], [], []
    stop = threading.Event()

    def client(server) -> None:
        while not stop.is_set():
            try:
                answer = server.translate(f"{SENTENCE} {SENTENCE}")
            except (ConnectionRefusedError, BrokenPipeError):
                return  # closed before the request was sent: it was not accepted
            except OSError as error:
                lost.append(error)
                return
            (answered if answer.status == 200 else refused).append(answer.status)
            if answer.status != 200:
                return

    with running(tmp_path) as server:
        threads = [threading.Thread(target=client, args=[server]) for _ in range(8)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(answered) > 10)
        server.process.terminate()
        for thread in threads:
            thread.join(30)
        stop.set()
        assert server.process.wait(20) == 0
    assert lost == []
    assert set(refused) <= {503}
    logged = [line for line in server.log.splitlines() if line.startswith("POST /translate 200")]
    assert len(logged) == len(answered)


def test_a_second_signal_ends_at_once_and_leaves_no_process(tmp_path) -> None:
    with running(tmp_path) as server:
        engines = server.engines()
        texts = [f"{SENTENCE} {n}" for n in range(900)]
        body = json.dumps({"q": texts, "source": "en", "target": "de"}).encode()
        with server.connect() as connection:
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            time.sleep(0.3)
            server.process.terminate()
            wait_for(lambda: "shutting down: 1 requests" in server.log)
            assert server.get("/health").json == {"status": "draining"}
            assert server.translate(SENTENCE).status == 503
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(5) == 130
        wait_for(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in engines))


def test_a_damaged_model_is_named_and_the_others_are_served(tmp_path) -> None:
    damaged = shutil.copytree(bundled_models()["en-de"], tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"not weights")
    with running(tmp_path, "--model", str(damaged), "--model", "en-de") as server:
        assert server.translate(SENTENCE).json["translatedText"] == GERMAN
        (line,) = [line for line in server.log.splitlines() if line.startswith("not served: ")]
        assert str(damaged) in line
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    alone = [sys.executable, "-m", "transduce", "serve", "--port", "0", "--model", str(damaged)]
    done = subprocess.run(
        alone, capture_output=True, text=True, env=environment, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "transduce: no model can be served: " in done.stderr
    assert "Traceback" not in done.stderr


def test_keys_limits_and_origins_hold_while_the_disk_of_the_log_is_full(tmp_path) -> None:
    """The port is known beforehand: nothing can be read from the log."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["--log-file", "/dev/full", "--require-key", "--keys-file", str(tmp_path / "keys.json")]
    words += ["--rate-limit", "5/hour", "--cors", "https://example.org", "--metrics"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TRANSDUCE_SERVE_PORT": str(port)}
    command = [sys.executable, "-m", "transduce", "serve"]
    process = subprocess.Popen([*command, *words], env=environment)
    try:
        server = Server(process, port, tmp_path / "none")

        def ready() -> bool:
            try:
                return server.get("/health").status == 200
            except OSError:
                return False

        wait_for(ready, 60)
        keys = [*command, "keys"]
        where = ["--keys-file", str(tmp_path / "keys.json")]

        def run(*words: str) -> str:
            done = subprocess.run(
                [*keys, *words, *where], env=environment, capture_output=True, text=True, check=True
            )
            return done.stdout.strip()

        secret = run("add", "anna")
        assert secret not in (tmp_path / "keys.json").read_text("utf-8")
        assert (tmp_path / "keys.json").stat().st_mode & 0o077 == 0
        answer = server.translate("Hello.")
        assert (answer.status, answer.json["error"]) == (
            400,
            "Please give an api_key: this server requires one",
        )
        answer = server.translate("Hello.", api_key="wrong")
        assert (answer.status, answer.json["error"]) == (403, "Invalid API key")
        for _ in range(4):
            assert server.translate("Hello.", api_key=secret).status == 200
        bearer = {**JSON, "Authorization": f"Bearer {secret}"}
        assert server.send("POST", "/translate", REQUEST, bearer).status == 200
        answer = server.translate("Hello.", api_key=secret)
        assert (answer.status, answer.json["error"]) == (429, "Slowdown: 5 per 1 hour")
        assert 0 < int(answer.headers["retry-after"]) <= 3600
        assert server.get("/frontend/settings").json["keyRequired"] is True
        headers = server.get("/languages", Origin="https://example.org").headers
        assert headers["access-control-allow-origin"] == "https://example.org"
        assert "access-control-allow-credentials" not in headers
        other = server.get("/languages", Origin="https://other.example").headers
        assert "access-control-allow-origin" not in other
        metrics = server.get("/metrics").body.decode()
        assert 'transduce_requests_total{route="/translate",status="200"} 5.0' in metrics
        assert 'transduce_engine_ready{direction="en-de"} 1.0' in metrics
        assert secret not in metrics
        assert "127.0.0.1" not in metrics
        identity = run("list").split()[0]
        run("revoke", identity)
        assert server.translate("Hello.", api_key=secret).status == 403
    finally:
        process.terminate()
        assert process.wait(20) == 0


def test_padded_batches_are_exactly_independent_of_their_other_sentences() -> None:
    translator = Translator.load()
    engine = translator.engine.fast
    engine.pad_to, engine.largest_shortlist = 8, 0.4
    texts = [pair.source for pair in sentences("test", 48, seed=11)]
    requests = [Request(tuple(ids)) for ids in translator.tokenizer.encode_batch(texts)]
    alone = [engine.search([request])[0] for request in requests]
    for size in (7, 48):
        some = [requests[i : i + size] for i in range(0, len(requests), size)]
        together = [found for part in some for found in engine.search(part)]
        assert together == alone
