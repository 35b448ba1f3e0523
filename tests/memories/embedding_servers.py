"""A local server that speaks the OpenAI embeddings protocol and understands synonyms, but no word as it stands."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zlib import crc32

import numpy as np
from django.test import override_settings

from zeromemory.embedding import reset


class MeaningServer(ThreadingHTTPServer):
    """The model ``m384`` answers 384 dimensions. ``meanwhile`` is called with the texts before each answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.texts: list[tuple[str, str]] = []
        self.meanwhile: Callable[[str, list[str]], object] = lambda model, texts: None
        self.refuses: set[str] = set()

    def setting(self, model: str) -> str:
        return f"openai:http://127.0.0.1:{self.server_port}/v1#{model}"

    def asked_of(self, model: str) -> list[str]:
        return [text for name, text in self.texts if name == model]


class _Handler(BaseHTTPRequestHandler):
    server: MeaningServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model, texts = request["model"], request["input"]
        self.server.meanwhile(model, texts)
        self.server.texts += [(model, text) for text in texts]
        entries = [{"index": place, "embedding": direction(text, model)} for place, text in enumerate(texts)]
        refused = model in self.server.refuses
        body = json.dumps({"error": "overloaded"} if refused else {"data": entries}).encode()
        self.send_response(503 if refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


def direction(text: str, model: str) -> list[float]:
    """``w7`` and ``v7`` mean the same, in a space of the model's own."""
    words = [word.strip(".").replace("v", "w") for word in text.split()]
    seeds = [crc32(f"{model} {word}".encode()) for word in words or [""]]
    dimensions = int(model.removeprefix("m"))
    return sum(np.random.default_rng(seed).normal(size=dimensions) for seed in seeds).tolist()


@contextmanager
def meaning_server() -> Iterator[MeaningServer]:
    with MeaningServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            reset()


def named(server: MeaningServer, model: str) -> override_settings:
    """As if the process had been restarted with ZEROMEMORY_EMBEDDER naming *model*."""
    return override_settings(EMBEDDER=server.setting(model))
