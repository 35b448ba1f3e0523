"""``python -m zeromemory.embedding`` measures the configured embedder on this machine."""

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

from zeromemory.embedding import Embedder, EmbedderError, get_embedder

SHORT = "The nightly export moved to Tuesday because the mail server restarts on Mondays, run {}."
LONG = SHORT + " It was slow before." * 60
ROUNDS = 5


def measure(embedder: Embedder) -> dict[str, str]:
    """Medians. Every query is new, so the cache answers none of them."""
    embedder.encode_query("the first call loads the model")
    queries = [_seconds(partial(embedder.encode_query, f"when does export {i} run?")) for i in range(50)]
    return {
        "embedder": f"{embedder.name}, version {embedder.version}, {embedder.dimensions} dimensions",
        "query": f"{median(queries) * 1000:.1f} ms",
        "short texts": f"{_texts_per_second(embedder, SHORT, 100):.0f} a second",
        "long texts": f"{_texts_per_second(embedder, LONG, 10):.0f} a second",
    }


def _texts_per_second(embedder: Embedder, text: str, count: int) -> float:
    texts = [text.format(i) for i in range(count)]
    return count / median(_seconds(lambda: embedder.encode_documents(texts)) for _ in range(ROUNDS))


def _seconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")
    try:
        embedder = get_embedder()
        if embedder is None:
            sys.exit("ZEROMEMORY_EMBEDDER is none: there is nothing to measure.")
        for label, figure in measure(embedder).items():
            print(f"{label:12} {figure}")
    except EmbedderError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
