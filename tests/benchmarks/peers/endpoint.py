"""Our embedder behind the interface that peers know, so that nobody is measured with another model."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from zeromemory.embedding import Embedder


@contextmanager
def serving(embedder: Embedder) -> Iterator[str]:
    """The base address of an OpenAI-compatible endpoint on the loopback interface."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(embedder))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _handler(embedder: Embedder) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(_answer(embedder, asked["input"])).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *parts: Any) -> None:
            """Says nothing: a line for each text would bury the table."""

    return Handler


def _answer(embedder: Embedder, given: str | list[str]) -> dict[str, Any]:
    texts = [given] if isinstance(given, str) else given
    made = [
        {"object": "embedding", "index": at, "embedding": vector.tolist()}
        for at, vector in enumerate(embedder.encode_documents(texts))
    ]
    return {"object": "list", "data": made, "model": "local", "usage": {"prompt_tokens": 0, "total_tokens": 0}}
