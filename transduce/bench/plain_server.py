"""A plain HTTP server for comparison: a thread and a call of CTranslate2 for each request."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import ctranslate2

from transduce.directory import ModelDirectory
from transduce.engines.ctranslate2_engine import Vocabularies
from transduce.engines.router import choose_compute
from transduce.machine import cores

BEAM = 4


def main(model: str, converted: str) -> None:
    """Serves POST /translate with JSON on a free port, which it prints."""
    directory = ModelDirectory.open(Path(model))
    tokenizer = directory.tokenizer
    names = Vocabularies.of(tokenizer, directory.config)
    ids = {token: i for i, token in enumerate(names.target)}
    device, compute = choose_compute("cpu")
    translator = ctranslate2.Translator(
        converted, device=device, compute_type=compute, inter_threads=cores(), intra_threads=1
    )

    def translate(text: str) -> str:
        tokens = [names.source[i] for i in tokenizer.encode(text)]
        (result,) = translator.translate_batch([tokens], beam_size=BEAM)
        return tokenizer.decode([ids[token] for token in result.hypotheses[0]])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._send({"status": "ok"})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            q = asked["q"]
            found = [translate(text) for text in q] if isinstance(q, list) else translate(q)
            self._send({"translatedText": found})

        def _send(self, value: Any) -> None:
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    class Plain(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 1024

    server = Plain(("127.0.0.1", 0), Handler)
    print(f"listening on http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
