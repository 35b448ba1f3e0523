"""From the start of a process to the first list of tools, by the official client, over both transports.

Nothing asks for a vector on the way, so the embedder is not loaded. Bytecode is there, as ``make`` leaves it.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memories.models import Scope
from memories.services import people
from tests.benchmarks import databases, product
from tests.benchmarks.corpus import LARGE, Tell
from tests.mcp.talking import Agent, over_standard_input

RUNS: Final = 3
BYTECODE: Final = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Seconds, medians. Those of the processor do not depend on what else the machine does."""

    http: float
    standard_input: float
    http_processor: float = 0
    standard_input_processor: float = 0


def measure(folder: Path, tell: Tell) -> ColdStart:
    """In a database of its own, made anew and dropped."""
    name = databases.name_of("start")
    databases.drop(name)
    with databases.opened(name), _bytecode(folder / "bytecode"):
        Scope.objects.create(owner=people.create_owner(), slug=LARGE, name=LARGE)
        secret = product.token_for(LARGE)
        tell("Starting, over HTTP and standard input.")
        http = [_counted(_over_http, name, secret) for _ in range(RUNS + 1)]
        standard_input = [_counted(_over_standard_input, name, secret) for _ in range(RUNS + 1)]
    databases.drop(name)
    both = [list(zip(*runs[1:], strict=True)) for runs in (http, standard_input)]  # the first compiles
    return ColdStart(*(statistics.median(way[0]) for way in both), *(statistics.median(way[1]) for way in both))


def _counted(start: Callable[[str, str], float], name: str, secret: str) -> tuple[float, float]:
    """Seconds, and those of the processor in the processes that were started and have ended."""
    before = os.times()
    taken = start(name, secret)
    after = os.times()
    return taken, after.children_user + after.children_system - before.children_user - before.children_system


def _over_http(database: str, secret: str) -> float:
    began = time.perf_counter()
    with product.running(database, ["web"], until_ready=False) as server:
        return float(Agent(f"http://{server.host}:{server.port}/mcp", secret).talk(_listed)) - began


def _over_standard_input(database: str, secret: str) -> float:
    began = time.perf_counter()
    environment = {"DATABASE_URL": product.address_of(database), "ZEROMEMORY_TOKEN": secret}
    return float(over_standard_input(_listed, **environment)) - began


async def _listed(client: Any) -> float:
    """When the list was there."""
    assert (await client.list_tools()).tools
    return time.perf_counter()


@contextmanager
def _bytecode(folder: Path) -> Iterator[None]:
    """While it lasts, processes that are started keep theirs in *folder*, whatever this one was told."""
    before = {name: os.environ.pop(name) for name in BYTECODE if name in os.environ}
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    try:
        yield
    finally:
        del os.environ["PYTHONPYCACHEPREFIX"]
        os.environ.update(before)
