"""Embedding by any server that speaks the OpenAI embeddings protocol."""

import json
import re
import time
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from zeromemory.embedding.contract import Embedder, EmbedderError, Vectors, normalised
from zeromemory.embedding.text import encodable
from zeromemory.embedding.windows import estimated_token_starts

if TYPE_CHECKING:
    import httpx

    from zeromemory.embedding.registry import Choice

CONNECT_SECONDS = 0.7
QUERY_SECONDS = 1.9  # connecting included: a recall waits no more than two seconds for its vector
DOCUMENT_SECONDS = 30.0
REST_SECONDS = 10.0  # after a query that was kept waiting in vain
BATCH = 32  # texts in one request
REASON_LENGTH = 200  # characters of the server's own words in our message

_USER_AND_PASSWORD = re.compile(r"(?<=//)[^/]*@")

_CHECK_KEY = "Check ZEROMEMORY_EMBEDDER_KEY."
_CHECK_NAMES = "Check the address and the model's name in ZEROMEMORY_EMBEDDER."


class OpenAIEmbedder(Embedder):
    """The first answer fixes the dimension; an answer of another dimension is an error from then on."""

    max_tokens = 512  # an estimate that common models take in whole

    def __init__(self, address: str, model: str, key: str = "") -> None:
        super().__init__()
        address = address.rstrip("/")
        self.name = f"openai:{_USER_AND_PASSWORD.sub('', address)}#{model}"
        self._url = f"{address}/embeddings"
        self._model = model
        self._key = key.strip()
        self._dimensions: int | None = None
        self._learning = Lock()
        self._rests_until = 0.0

    @property
    def version(self) -> str:
        """The protocol tells no version: a server that changes its model must change the model's name."""
        return "unversioned"

    @property
    def dimensions(self) -> int:
        """Asks the server when nothing has been embedded yet."""
        if self._dimensions is None:
            return len(self.encode_query("dimensions"))
        return self._dimensions

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._dimensions or 0), dtype=np.float32)
        batches = [texts[first : first + BATCH] for first in range(0, len(texts), BATCH)]
        return np.concatenate([self._ask(batch, DOCUMENT_SECONDS) for batch in batches])

    @property
    def resting(self) -> bool:
        return time.monotonic() < self._rests_until

    def _encode_query(self, text: str) -> Vectors:
        """One query waits for a server that does not answer; those that come in the next seconds do not."""
        if self.resting:
            raise EmbedderError(f"{self.name} did not answer a moment ago. It is asked again soon.", retryable=True)
        if self._rests_until:  # this query finds out whether it is back; the others need not wait for that
            self._rests_until = time.monotonic() + REST_SECONDS
        vector = self._ask([text], QUERY_SECONDS)[0]
        self._rests_until = 0.0
        return vector

    def _ask(self, texts: Sequence[str], seconds: float) -> Vectors:
        request = {"model": self._model, "input": [self._presentable(text) for text in texts]}
        vectors = normalised(_vectors_in(self._post(request, seconds), len(texts)), self.name)
        self._enforce(vectors.shape[1])
        return vectors

    def _presentable(self, text: str) -> str:
        safe = encodable(text)
        starts = estimated_token_starts(safe[: self.max_tokens * 4 + 1])
        fitting = safe[: starts[self.max_tokens]] if len(starts) > self.max_tokens else safe
        return fitting if fitting.strip() else "(empty)"  # servers refuse the empty string

    def _post(self, request: dict[str, Any], seconds: float) -> bytes:
        import httpx

        timeout = httpx.Timeout(max(seconds - CONNECT_SECONDS, 0.1), connect=CONNECT_SECONDS)
        deadline = time.monotonic() + seconds
        try:
            with self._client.stream("POST", self._url, json=request, timeout=timeout) as response:
                body = _read(response, deadline)
        except httpx.TimeoutException as error:
            self._rests_until = time.monotonic() + REST_SECONDS
            raise EmbedderError(
                f"{self.name} did not answer within {seconds:.0f} seconds. Check that its server is not overloaded.",
                retryable=True,
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EmbedderError(
                f"{self.name} cannot be reached ({error}). Check ZEROMEMORY_EMBEDDER and that the server runs.",
                retryable=isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)),
            ) from error
        if response.status_code != httpx.codes.OK:
            raise self._refusal(response.status_code, body)
        return body

    def _refusal(self, status: int, body: bytes) -> EmbedderError:
        said = encodable(body.decode("utf-8", "replace"))
        reason = (said.replace(self._key, "***") if self._key else said)[:REASON_LENGTH].strip()
        retryable = status in (408, 429) or status >= 500
        advice = _CHECK_KEY if status in (401, 403) else _CHECK_NAMES
        if retryable:
            advice = "The server is overloaded or failing; try again later."
        return EmbedderError(f"{self.name} answered {status}: {reason} {advice}", retryable=retryable)

    def _enforce(self, dimensions: int) -> None:
        with self._learning:
            self._dimensions = self._dimensions or dimensions
        if dimensions != self._dimensions:
            raise EmbedderError(
                f"{self.name} answered {dimensions} dimensions where it gave {self._dimensions} before. "
                "Restore the former model on the server, or name the new one in ZEROMEMORY_EMBEDDER and re-embed."
            )

    @cached_property
    def _client(self) -> "httpx.Client":
        import httpx

        if not (self._key.isascii() and self._key.isprintable()):
            raise EmbedderError("ZEROMEMORY_EMBEDDER_KEY has characters that a request cannot carry. Set it again.")
        if _USER_AND_PASSWORD.search(self._url):
            raise EmbedderError("ZEROMEMORY_EMBEDDER holds a password. Move it to ZEROMEMORY_EMBEDDER_KEY.")
        return httpx.Client(headers={"Authorization": f"Bearer {self._key}"} if self._key else {})


def from_settings(choice: "Choice") -> OpenAIEmbedder:
    address, _, model = choice.setting.removeprefix("openai:").partition("#")
    return OpenAIEmbedder(address, model, choice.key)


def _read(response: "httpx.Response", deadline: float) -> bytes:
    """The body. A timeout of httpx counts from byte to byte, so a trickling server needs a deadline as well."""
    import httpx

    chunks = []
    for chunk in response.iter_bytes():
        chunks.append(chunk)
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("the answer trickled", request=response.request)
    return b"".join(chunks)


def _vectors_in(body: bytes, expected: int) -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Shape (expected, dimensions), in the order of the texts."""
    try:
        entries = sorted(json.loads(body)["data"], key=lambda entry: entry["index"])
        vectors = np.asarray([entry["embedding"] for entry in entries], dtype=np.float64)
        indices = [entry["index"] for entry in entries]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _malformed("is not an embeddings answer") from error
    if indices != list(range(expected)):
        raise _malformed(f"does not hold one vector for each of the {expected} texts")
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise _malformed("holds something other than lists of numbers")
    return vectors


def _malformed(problem: str) -> EmbedderError:
    return EmbedderError(
        f"The embedding server's answer {problem}. "
        "Check that ZEROMEMORY_EMBEDDER is the base address of an OpenAI-compatible server, usually ending in /v1."
    )
