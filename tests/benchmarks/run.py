"""One run: every measurement in turn, then the table."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psycopg

from tests.benchmarks import (
    code,
    cold_start,
    corpus,
    hygiene,
    ingest,
    product,
    recall,
    reinforcement,
    report,
    retention,
    tokens,
)
from tests.benchmarks.corpus import LARGE, Corpus, Tell
from tests.benchmarks.floor import Floor
from tests.benchmarks.recall import Beside, Load
from tests.benchmarks.texts import Writer
from zeromemory.embedding import Embedder, get_embedder

SEEDS_A_SIZE: Final = 1000


class NoEmbedderError(RuntimeError):
    """The floor includes the embedding of the question."""


def run(
    *,
    rows: Sequence[int],
    parts: Sequence[str],
    folder: Path,
    tell: Tell,
    sizes: Sequence[int] = hygiene.SIZES,
    signals: tuple[int, int] = reinforcement.SIZE,
    tree: tuple[int, int] = code.SIZE,
    scope: tuple[int, int] = retention.SIZE,
) -> None:
    embedder = get_embedder()
    if embedder is None:
        raise NoEmbedderError("ZEROMEMORY_EMBEDDER is none: there is no floor to measure against. Unset it.")
    seed = int(time.time()) * SEEDS_A_SIZE  # new questions in each run: no cache has seen them
    stored = rows if "recall" in parts else ()
    for size in stored:
        with corpus.opened(size, embedder, folder / "vectors", tell):
            tell(f"{size:,} memories are stored.")
    began = report.here()
    started = cold_start.measure(folder, tell) if "start" in parts else None
    recalls = {size: _recall(size, embedder, folder, seed, tell) for size in stored}
    ingested = _ingest(embedder, folder, seed, tell) if "ingest" in parts else None
    cycles = [hygiene.measure(size, embedder, folder / "vectors", tell) for size in sizes] if "hygiene" in parts else []
    rolled = reinforcement.measure(*signals, tell) if "reinforcement" in parts else None
    forgetting = retention.measure(*scope, tell) if "retention" in parts else None
    behind = code.measure(*tree, folder, tell) if "code" in parts else None
    counted = tokens.measure(tell) if "tokens" in parts else []
    print(f"\nBegan {began}; load at the end {report.here().load:.1f}.\n")
    if set(parts) != {"tokens"}:  # which are no times, and have a table of their own
        print(report.markdown(recalls, ingested, cycles, rolled, behind, started, forgetting))
    if counted:
        print(f"\n{tokens.table(counted)}")
    if rolled:
        print(f"\nThe plan of the roll-up:\n\n```\n{rolled.plan}\n```")


def _recall(size: int, embedder: Embedder, folder: Path, seed: int, tell: Tell) -> tuple[Beside, Load]:
    with corpus.opened(size, embedder, folder / "vectors", tell) as stored:
        secret = product.token_for(LARGE)
        with product.running(stored.database, ["web"]) as server, _raw(stored) as connection:
            client = product.Client(server, secret)
            tell(f"{size:,} memories: floor and product, question by question.")
            beside = recall.beside(Floor(connection, embedder), client, Writer(seed + size).questions(stored.texts))
            tell(f"{size:,} memories: {recall.CLIENTS} clients.")
            load = recall.under_load(server, secret, list(stored.texts), seed + size + 1)
            for error in load.errors[:3]:
                tell(error)
            return beside, load


def _ingest(embedder: Embedder, folder: Path, seed: int, tell: Tell) -> ingest.Ingest:
    tell("Ingest.")
    return ingest.measure(embedder, seed, folder)


def _raw(stored: Corpus) -> psycopg.Connection:
    return psycopg.connect(product.address_of(stored.database), autocommit=True)
