"""A real HTTP server on the loopback interface that speaks the OpenAI embeddings protocol, or fails to."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zlib import crc32

import numpy as np
import pytest
from django.test import override_settings

from zeromemory.embedding import EmbedderError, get_embedder, openai, reset
from zeromemory.embedding.__main__ import measure
from zeromemory.embedding.openai import BATCH, OpenAIEmbedder

type Answer = tuple[int, bytes]
type Misbehaviour = Callable[[dict], Answer]


class EmbeddingServer(ThreadingHTTPServer):
    """Answers well until ``misbehave`` is set: a function from the good answer to status and body."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.dimensions = 8
        self.misbehave: Misbehaviour | None = None
        self.pause_between_bytes = 0.0
        self.requests: list[dict] = []
        self.authorizations: list[str | None] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def good_answer(self, request: dict) -> dict:
        entries = [
            {"object": "embedding", "index": index, "embedding": a_direction_for(text, self.dimensions)}
            for index, text in enumerate(request["input"])
        ]
        return {"object": "list", "model": request["model"], "data": entries}


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(request)
        self.server.authorizations.append(self.headers["Authorization"])
        if self.path != "/v1/embeddings":
            return self._send((404, b"no such path"))
        good = self.server.good_answer(request)
        return self._send(self.server.misbehave(good) if self.server.misbehave else (200, json.dumps(good).encode()))

    def _send(self, answer: Answer) -> None:
        status, body = answer
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self._write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up waiting, as some tests want

    def _write(self, body: bytes) -> None:
        pause = self.server.pause_between_bytes
        for piece in [body[i : i + 1] for i in range(len(body))] if pause else [body]:
            self.wfile.write(piece)
            time.sleep(pause)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def a_direction_for(text: str, dimensions: int) -> list[float]:
    """The same for the same text; of no particular length."""
    return (np.random.default_rng(crc32(text.encode())).normal(size=dimensions) * 7).tolist()


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def embedder(server) -> OpenAIEmbedder:
    return OpenAIEmbedder(server.address, "small")


def status(code: int, body: bytes = b'{"error": "because"}') -> Misbehaviour:
    return lambda _good: (code, body)


def body(content: bytes) -> Misbehaviour:
    return status(200, content)


def changed(change: Callable[[list], object]) -> Misbehaviour:
    """The good answer after ``change`` worked on its list of entries."""

    def misbehave(good: dict) -> Answer:
        change(good["data"])
        return 200, json.dumps(good).encode()

    return misbehave


def with_vector(vector: object) -> Misbehaviour:
    return changed(lambda entries: entries[0].update(embedding=vector))


def slow(seconds: float) -> Misbehaviour:
    def misbehave(good: dict) -> Answer:
        time.sleep(seconds)
        return 200, json.dumps(good).encode()

    return misbehave


def test_documents_come_back_in_order_as_unit_vectors(embedder):
    texts = [f"text {number}" for number in range(BATCH * 2 + 3)]
    vectors = embedder.encode_documents(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 8), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    for text, vector in zip(texts, vectors, strict=True):
        assert vector @ np.array(a_direction_for(text, 8)) == pytest.approx(np.linalg.norm(a_direction_for(text, 8)))


def test_many_documents_go_out_in_bounded_requests(embedder, server):
    embedder.encode_documents(["text"] * (BATCH + 1))
    assert [len(request["input"]) for request in server.requests] == [BATCH, 1]


def test_an_answer_out_of_order_is_put_in_order(embedder, server):
    expected = embedder.encode_documents(["a", "b", "c"])
    server.misbehave = changed(list.reverse)
    assert np.array_equal(embedder.encode_documents(["a", "b", "c"]), expected)


def test_the_request_names_the_model_and_carries_the_key(server):
    OpenAIEmbedder(server.address + "/", "small", "secret-key\n").encode_query("hello")
    assert server.requests == [{"model": "small", "input": ["hello"]}]
    assert server.authorizations == ["Bearer secret-key"]


def test_without_a_key_no_authorization_is_sent(embedder, server):
    embedder.encode_query("hello")
    assert server.authorizations == [None]


def test_a_repeated_query_asks_the_server_once(embedder, server):
    assert np.array_equal(embedder.encode_query("hello"), embedder.encode_query("hello"))
    assert len(server.requests) == 1


def test_no_documents_ask_the_server_nothing(embedder, server):
    assert len(embedder.encode_documents([])) == 0
    assert server.requests == []


def test_the_dimension_is_learned_from_the_server(embedder, server):
    server.dimensions = 24
    assert embedder.dimensions == 24
    assert embedder.encode_documents([]).shape == (0, 24)


def test_a_server_that_changes_its_dimension_is_refused(embedder, server):
    embedder.encode_query("before")
    server.dimensions = 12
    with pytest.raises(EmbedderError, match=r"answered 12 dimensions where it gave 8 before.*re-embed") as caught:
        embedder.encode_query("after")
    assert not caught.value.retryable
    assert embedder.dimensions == 8


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503])
def test_an_overloaded_or_failing_server_is_worth_another_try(embedder, server, code):
    server.misbehave = status(code)
    with pytest.raises(EmbedderError, match=f"answered {code}: .*because.*try again later") as caught:
        embedder.encode_documents(["text"])
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (400, "Check the address and the model's name in ZEROMEMORY_EMBEDDER"),
        (401, "Check ZEROMEMORY_EMBEDDER_KEY"),
        (403, "Check ZEROMEMORY_EMBEDDER_KEY"),
        (404, "Check the address and the model's name in ZEROMEMORY_EMBEDDER"),
        (302, "Check the address and the model's name in ZEROMEMORY_EMBEDDER"),
    ],
)
def test_a_refusal_says_which_setting_to_check(embedder, server, code, advice):
    server.misbehave = status(code)
    with pytest.raises(EmbedderError, match=advice) as caught:
        embedder.encode_query("text")
    assert not caught.value.retryable


def test_the_key_does_not_appear_in_a_message(server):
    server.misbehave = status(401, b"bad key \x1b[31m" + b"x" * 180 + b"secret-key" + b"x" * 10_000)
    with pytest.raises(EmbedderError) as caught:
        OpenAIEmbedder(server.address, "small", "secret-key").encode_query("text")
    assert "secret" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_query_does_not_wait_for_a_slow_server(embedder, server, monkeypatch):
    monkeypatch.setattr(openai, "QUERY_SECONDS", 0.2)
    server.misbehave = slow(5)
    begin = time.perf_counter()
    with pytest.raises(EmbedderError, match="did not answer within") as caught:
        embedder.encode_query("text")
    assert time.perf_counter() - begin < 4
    assert caught.value.retryable


def test_a_query_does_not_wait_for_a_trickling_server(embedder, server, monkeypatch):
    monkeypatch.setattr(openai, "QUERY_SECONDS", 0.2)
    server.pause_between_bytes = 0.05
    with pytest.raises(EmbedderError, match="did not answer within") as caught:
        embedder.encode_query("text")
    assert caught.value.retryable


def test_after_one_query_has_waited_in_vain_the_next_ones_do_not_wait(embedder, server, monkeypatch):
    monkeypatch.setattr(openai, "QUERY_SECONDS", 0.9)
    server.misbehave = slow(5)
    with pytest.raises(EmbedderError, match="did not answer within"):
        embedder.encode_query("first")
    begin = time.perf_counter()
    for text in ("second", "third"):
        with pytest.raises(EmbedderError, match="did not answer a moment ago") as caught:
            embedder.encode_query(text)
        assert caught.value.retryable
    assert time.perf_counter() - begin < 0.2
    assert embedder.resting
    assert len(server.requests) == 1


def test_a_server_that_answers_again_is_asked_again_after_the_rest(embedder, server, monkeypatch):
    monkeypatch.setattr(openai, "QUERY_SECONDS", 0.9)
    monkeypatch.setattr(openai, "REST_SECONDS", 0.3)
    server.misbehave = slow(5)
    with pytest.raises(EmbedderError):
        embedder.encode_query("first")
    server.misbehave = None
    time.sleep(0.4)
    assert embedder.encode_query("second").shape == (8,)
    assert not embedder.resting
    assert embedder.encode_query("third").shape == (8,)


def test_while_one_query_finds_out_whether_the_server_is_back_the_others_do_not_wait(embedder, server, monkeypatch):
    monkeypatch.setattr(openai, "QUERY_SECONDS", 1.5)
    embedder._rests_until = 1.0  # it failed long ago
    server.misbehave = slow(5)

    def probe():
        with pytest.raises(EmbedderError, match="did not answer within"):
            embedder.encode_query("probe")

    probing = threading.Thread(target=probe)
    probing.start()
    while not server.requests:
        time.sleep(0.01)
    with pytest.raises(EmbedderError, match="a moment ago"):
        embedder.encode_query("another")
    probing.join()


def test_documents_are_given_more_time_than_a_query(embedder, server, monkeypatch):
    monkeypatch.setattr(openai, "QUERY_SECONDS", 0.1)
    server.misbehave = slow(0.5)
    assert embedder.encode_documents(["text"]).shape == (1, 8)


def test_a_server_that_is_not_there_is_worth_another_try():
    with pytest.raises(EmbedderError, match=r"cannot be reached .* that the server runs") as caught:
        OpenAIEmbedder("http://127.0.0.1:9/v1", "small").encode_query("text")
    assert caught.value.retryable


def test_a_server_back_from_failure_is_used_again(embedder, server):
    server.misbehave = status(500)
    with pytest.raises(EmbedderError):
        embedder.encode_query("text")
    server.misbehave = None
    assert embedder.encode_query("text").shape == (8,)


@pytest.mark.parametrize(
    "misbehave",
    [
        body(b"<html>welcome to the proxy</html>"),
        body(b""),
        body(b"\xff\xfe"),
        body(b"[" * 100_000),
        body(b"[]"),
        body(b'{"data": null}'),
        body(b'{"data": [7]}'),
        body(b'{"data": [{"index": 0}]}'),
        body(b'{"data": []}'),
        changed(list.clear),
        changed(lambda entries: entries.append(entries[0])),
        changed(lambda entries: entries[0].update(index=1)),
        changed(lambda entries: entries[0].pop("index")),
        with_vector("text"),
        with_vector(None),
        with_vector([]),
        with_vector([[1.0], [2.0]]),
        with_vector([1.0, "x"]),
        with_vector({"a": 1}),
        with_vector(3.0),
    ],
)
def test_an_answer_that_is_no_list_of_vectors_is_refused(embedder, server, misbehave):
    server.misbehave = misbehave
    with pytest.raises(EmbedderError, match=r"embedding server's answer .* OpenAI-compatible server") as caught:
        embedder.encode_documents(["text"])
    assert not caught.value.retryable


@pytest.mark.parametrize("vector", [[1.0, float("nan")], [float("inf"), 1.0], [0.0, 0.0], [1.0, None]])
def test_a_vector_without_a_direction_is_refused(embedder, server, vector):
    server.misbehave = with_vector(vector)
    with pytest.raises(EmbedderError, match="zero or not finite"):
        embedder.encode_documents(["text"])


def test_vectors_of_unequal_length_in_one_answer_are_refused(embedder, server):
    server.misbehave = with_vector([1.0, 2.0])
    with pytest.raises(EmbedderError, match="not an embeddings answer"):
        embedder.encode_documents(["one", "two"])


def test_a_missing_vector_among_several_is_refused(embedder, server):
    server.misbehave = changed(list.pop)
    with pytest.raises(EmbedderError, match="one vector for each of the 2 texts"):
        embedder.encode_documents(["one", "two"])


@pytest.mark.parametrize("text", ["\ud800", "a\x00b", "\x1b[0m"], ids=ascii)
def test_awkward_text_reaches_the_server_as_plain_text(embedder, server, text):
    embedder.encode_query(f"a {text} b")
    [sent] = server.requests[0]["input"]
    assert sent.isprintable()
    assert sent[0] + sent[-1] == "ab"


@pytest.mark.parametrize("text", ["", " \n", "\x00"], ids=ascii)
def test_a_blank_text_is_sent_as_something_servers_accept(embedder, server, text):
    embedder.encode_documents([text])
    assert server.requests[0]["input"] == ["(empty)"]


def test_text_beyond_the_token_limit_is_not_sent(embedder, server):
    embedder.encode_documents(["a" * 1_000_000, "漢" * 1_000_000, "short"])
    assert [len(text) for text in server.requests[0]["input"]] == [2048, 512, 5]


def test_the_settings_choose_the_server_and_the_key(server):
    reset()
    with override_settings(EMBEDDER=f"openai:{server.address}#small", EMBEDDER_KEY="from-settings"):
        embedder = get_embedder()
        assert (embedder.name, embedder.version) == (f"openai:{server.address}#small", "unversioned")
        embedder.encode_query("hello")
    assert server.authorizations == ["Bearer from-settings"]
    reset()


def test_a_password_in_the_address_is_neither_used_nor_shown():
    embedder = OpenAIEmbedder("http://user:letmein@127.0.0.1:9/v1", "small")
    assert embedder.name == "openai:http://127.0.0.1:9/v1#small"
    with pytest.raises(EmbedderError, match="Move it to ZEROMEMORY_EMBEDDER_KEY") as caught:
        embedder.encode_query("text")
    assert "letmein" not in str(caught.value)


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines"])
def test_a_key_that_no_request_can_carry_is_refused(key):
    with pytest.raises(EmbedderError, match="ZEROMEMORY_EMBEDDER_KEY has characters"):
        OpenAIEmbedder("http://127.0.0.1:9/v1", "small", key).encode_query("text")


@pytest.mark.parametrize("address", ["http://[::1", "http://127.0.0.1:port/v1", "ftp://127.0.0.1/v1"])
def test_an_address_that_cannot_be_called_is_refused(address):
    with pytest.raises(EmbedderError, match="ZEROMEMORY_EMBEDDER") as caught:
        OpenAIEmbedder(address, "small").encode_query("text")
    assert not caught.value.retryable


def test_the_measuring_command_reports_a_query_and_texts(embedder, server):
    report = measure(embedder)
    assert report["embedder"] == f"openai:{server.address}#small, version unversioned, 8 dimensions"
    assert all("ms, of CPU" in report[line] for line in ("a query", "a short text", "a long text"))
    queries = [request["input"][0] for request in server.requests[1:51]]
    assert len(set(queries)) == 50
