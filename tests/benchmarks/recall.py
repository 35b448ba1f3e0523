"""Recall over HTTP beside the floor: question by question in turn, so that a busy machine hits both alike."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from statistics import quantiles
from typing import Final

from tests.benchmarks.floor import Floor, K
from tests.benchmarks.product import Client, Server, ServerError
from tests.benchmarks.texts import Text, Writer

WARM_UPS: Final = 30
QUESTIONS: Final = 300
JUDGED: Final = 30  # questions whose true neighbours are looked up
CLIENTS: Final = 16
SECONDS: Final = 20.0


@dataclass
class Times:
    """Seconds of each call."""

    seconds: list[float] = field(default_factory=list)

    def add(self, began: float) -> None:
        self.seconds.append(time.perf_counter() - began)

    def percentile(self, number: int) -> float:
        """In milliseconds."""
        return quantiles(self.seconds, n=100, method="inclusive")[number - 1] * 1000


@dataclass
class Beside:
    """*server* is what the product says a recall took, without HTTP, token and JSON."""

    embedding: Times = field(default_factory=Times)
    nearest: Times = field(default_factory=Times)
    matching: Times = field(default_factory=Times)
    floor: Times = field(default_factory=Times)
    product: Times = field(default_factory=Times)
    server: Times = field(default_factory=Times)
    as_near: float = 0.0

    def ratio(self, number: int) -> float:
        return self.product.percentile(number) / self.floor.percentile(number)


@dataclass
class Load:
    clients: int
    seconds: float
    times: Times = field(default_factory=Times)
    errors: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        return len(self.times.seconds) / self.seconds


def beside(floor: Floor, client: Client, questions: Iterator[str]) -> Beside:
    for question in islice(questions, WARM_UPS):
        _both(Beside(), floor, client, question)
    measured = Beside()
    asked = list(islice(questions, QUESTIONS))
    for question in asked:
        _both(measured, floor, client, question)
    measured.as_near = floor.as_near_as_exact([floor.embed(question) for question in asked[:JUDGED]])
    return measured


def _both(measured: Beside, floor: Floor, client: Client, question: str) -> None:
    words = floor.words(question)
    began = time.perf_counter()
    vector = floor.embed(question)
    measured.embedding.add(began)
    at = time.perf_counter()
    floor.nearest(vector)
    measured.nearest.add(at)
    at = time.perf_counter()
    floor.matching(words)
    measured.matching.add(at)
    measured.floor.add(began)
    at = time.perf_counter()
    answer = client.post("/recall", {"query": question, "k": K})
    measured.product.add(at)
    measured.server.seconds.append(json.loads(answer)["took_ms"] / 1000)


def under_load(server: Server, secret: str, texts: list[Text], seed: int) -> Load:
    """CLIENTS clients at once for SECONDS, each with questions of its own."""
    load, end = Load(CLIENTS, SECONDS), time.monotonic() + SECONDS
    with ThreadPoolExecutor(CLIENTS) as crowd:
        for number in range(CLIENTS):
            crowd.submit(_ask_until, end, Client(server, secret), Writer(seed + number).questions(texts), load)
    return load


def _ask_until(end: float, client: Client, questions: Iterator[str], load: Load) -> None:
    while time.monotonic() < end:
        began = time.perf_counter()
        try:
            client.post("/recall", {"query": next(questions), "k": K})
            load.times.add(began)
        except (ServerError, OSError) as error:
            load.errors.append(str(error))
    client.close()
