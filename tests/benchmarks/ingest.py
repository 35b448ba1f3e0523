"""From a written text to one that is found by meaning, beside what the embedder takes for the same texts."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.core.management import call_command

from memories.models import Scope
from memories.services import people
from tests.benchmarks import databases, product
from tests.benchmarks.corpus import LARGE
from tests.benchmarks.product import Client, Server
from tests.benchmarks.texts import Writer
from zeromemory.embedding import Embedder

TEXTS: Final = 1500  # for each way in
WARM_UPS: Final = 32
CLIENTS: Final = 4
LOOK_SECONDS: Final = 0.05
LONGEST_SECONDS: Final = 600
PROGRAMS: Final = ("web", "worker", "beat")
WAITING: Final = "SELECT count(*) FROM memories WHERE embedded_at IS NULL"


class NotEmbeddedError(RuntimeError):
    """The worker did not finish."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """Texts a second. *accepted* counts until the last was answered, *rest* and *imported* until all are embedded."""

    embedder: float
    rest: float
    accepted: float
    imported: float


def measure(embedder: Embedder, seed: int, folder: Path) -> Ingest:
    """In an empty database, made anew; the embedder alone is measured before and after."""
    name = databases.name_of("ingest")
    databases.drop(name)
    writer = Writer(seed)
    first, second, warm = ([str(text) for text in writer.texts(count)] for count in (TEXTS, TEXTS, WARM_UPS))
    embedder.encode_documents(warm)
    alone = _seconds(lambda: embedder.encode_documents(first))
    with databases.opened(name) as connection:
        owner = people.create_owner()
        Scope.objects.create(owner=owner, slug=LARGE, name=LARGE)
        secret = product.token_for(LARGE)
        with product.running(name, PROGRAMS) as server:
            _write(server, secret, warm)
            wait(connection)
            accepted, rest = _written(server, secret, first, connection)
            imported = _imported(second, folder, connection)
    alone += _seconds(lambda: embedder.encode_documents(second))
    databases.drop(name)
    return Ingest(2 * TEXTS / alone, TEXTS / rest, TEXTS / accepted, TEXTS / imported)


def _written(server: Server, secret: str, texts: Sequence[str], connection: Any) -> tuple[float, float]:
    """Seconds until all were accepted, and until all were embedded."""
    began = time.perf_counter()
    _write(server, secret, texts)
    accepted = time.perf_counter() - began
    wait(connection)
    return accepted, time.perf_counter() - began


def _imported(texts: Sequence[str], folder: Path, connection: Any) -> float:
    file = folder / "ingest.jsonl"
    lines = [json.dumps({"content": text, "external_id": f"text-{at}"}) for at, text in enumerate(texts)]
    file.write_text("\n".join(lines), encoding="utf-8")
    began = time.perf_counter()
    call_command("import_memories", str(file), scope=LARGE, user=people.OWNER, stdout=sys.stderr)
    wait(connection)
    return time.perf_counter() - began


def _write(server: Server, secret: str, texts: Sequence[str]) -> None:
    with ThreadPoolExecutor(CLIENTS) as crowd:
        shares = [texts[number::CLIENTS] for number in range(CLIENTS)]
        list(crowd.map(lambda share: _write_share(server, secret, share), shares))


def _write_share(server: Server, secret: str, texts: Sequence[str]) -> None:
    client = Client(server, secret)
    for text in texts:
        client.post("/memories", {"content": text, "scope": LARGE})
    client.close()


def wait(connection: Any) -> None:
    """Until the worker has embedded everything. Raises NotEmbeddedError."""
    deadline = time.monotonic() + LONGEST_SECONDS
    with connection.cursor() as cursor:
        while cursor.execute(WAITING).fetchone()[0]:
            if time.monotonic() > deadline:
                raise NotEmbeddedError(f"Memories still wait for the worker after {LONGEST_SECONDS} seconds.")
            time.sleep(LOOK_SECONDS)


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
