"""``make bench``: recall beside its floor, the product under load, ingest beside the embedder, the hygiene cycle,
the roll-up of reports of use, the cycle of a decaying scope, the code behind memories, the start to the first list of
tools, and the tokens that a recall spares a prompt.

``make bench-peers``: other memory stores beside the product, on a retrieval set.
Everything lies in a folder ``bench`` of the data folder, and in databases of its own.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from zeromemory import embedded
from zeromemory.lib.folders import data_folder

DEFAULT_ROWS = "10000,100000"
PARTS = ("recall", "ingest", "hygiene", "reinforcement", "retention", "code", "start", "tokens")


def main(arguments: Sequence[str]) -> None:
    asked = _arguments(arguments)
    folder = data_folder() / "bench"
    os.environ["ZEROMEMORY_DATA"] = str(folder)  # a broker and logs of its own, even where an instance runs
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zeromemory.settings")
    with _database(folder) as url:
        os.environ["DATABASE_URL"] = url
        import django

        django.setup()
        _run(asked, folder)


def _run(asked: argparse.Namespace, folder: Path) -> None:
    from tests.benchmarks import run
    from tests.benchmarks.peers import run as peers

    if "peers" in asked.part:
        peers.run(name=asked.set, most=asked.limit, folder=folder / "peers", tell=_tell)
        return
    run.run(rows=asked.rows, parts=asked.part or PARTS, folder=folder, tell=_tell)


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, "peers"], help="all but the peers unless named")
    parser.add_argument("--set", default="locomo", help="peers: the retrieval set (default: %(default)s)")
    parser.add_argument("--limit", type=int, help="peers: so many questions only")
    asked = parser.parse_args(arguments)
    asked.rows = [int(part) for part in os.environ.get("ZEROMEMORY_BENCH_ROWS", DEFAULT_ROWS).split(",")]
    return asked


def _database(folder: Path) -> AbstractContextManager[str]:
    given = os.environ.get("DATABASE_URL")
    return nullcontext(given) if given else embedded.running(folder / "postgres", say=_tell)


def _tell(sentence: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {sentence}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
