"""``python -m zeromemory.embedding`` measures the configured embedder on this machine."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from time import perf_counter, process_time
from typing import NamedTuple

from zeromemory.embedding import Embedder, EmbedderError, get_embedder

SHORT = "The nightly export moved to Tuesday because the mail server restarts on Mondays, run {}."
LONG = SHORT + " It was slow before." * 60
ROUNDS = 5


class Cost(NamedTuple):
    """Medians in seconds: by the clock, and of this process's CPU, which other processes disturb less."""

    clock: float
    cpu: float

    def each(self, count: int) -> str:
        return f"{self.clock / count * 1000:.1f} ms, of CPU {self.cpu / count * 1000:.1f} ms"


def measure(embedder: Embedder) -> dict[str, str]:
    """Every query is new, so the cache answers none of them."""
    embedder.encode_query("the first call loads the model")
    queries = cost([partial(embedder.encode_query, f"when does export {i} run?") for i in range(50)])
    short = cost([partial(embedder.encode_documents, [SHORT.format(i) for i in range(100)])] * ROUNDS)
    long = cost([partial(embedder.encode_documents, [LONG.format(i) for i in range(10)])] * ROUNDS)
    return {
        "embedder": f"{embedder.name}, version {embedder.version}, {embedder.dimensions} dimensions",
        "a query": queries.each(1),
        "a short text": f"{short.each(100)}; {100 / short.clock:.0f} a second",
        "a long text": f"{long.each(10)}; {10 / long.clock:.0f} a second",
    }


def cost(calls: Sequence[Callable[[], object]]) -> Cost:
    begins = [(perf_counter(), process_time())]
    for call in calls:
        call()
        begins.append((perf_counter(), process_time()))
    spent = [(later[0] - earlier[0], later[1] - earlier[1]) for earlier, later in pairwise(begins)]
    return Cost(median(clock for clock, _ in spent), median(cpu for _, cpu in spent))


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")
    try:
        embedder = get_embedder()
        if embedder is None:
            sys.exit("ZEROMEMORY_EMBEDDER is none: there is nothing to measure.")
        for label, figure in measure(embedder).items():
            print(f"{label:13} {figure}")
    except EmbedderError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
