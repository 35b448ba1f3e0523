"""Side by side: each system stores the same documents and answers the same questions, one after the other."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import quantiles

from insights.quality import datasets
from insights.quality.datasets import Dataset
from insights.quality.metrics import METRICS, values_of
from tests.benchmarks import databases, product, report
from tests.benchmarks.peers import endpoint, ours
from tests.benchmarks.peers.environments import PEERS, Peer, PeerError, ask
from tests.benchmarks.peers.task import Answers, task_of
from zeromemory.embedding import Embedder, get_embedder

type Tell = Callable[[str], None]


def run(*, name: str, most: int | None, folder: Path, tell: Tell) -> None:
    """Prints one table. A peer that does not install or run is named below it with the reason."""
    embedder, began = get_embedder(), report.here()
    assert embedder is not None, "ZEROMEMORY_EMBEDDER is none: unset it"
    dataset = datasets.load(name).limited(most)
    folder.mkdir(parents=True, exist_ok=True)
    tell(f"{ours.NAME}: {len(dataset.documents):,} documents, {len(dataset.queries):,} questions of {dataset.name}.")
    systems, failures = [ours.answers(dataset, folder)], []
    for peer in PEERS:
        tell(peer.shown)
        try:
            systems.append(_asked(peer, dataset, embedder, folder))
        except PeerError as error:
            failures.append(f"{peer.shown} did not run: {error}")
    print(f"\nBegan {began}; load at the end {report.here().load:.1f}.\n")
    print("\n".join([*_table(dataset, systems), "", *failures]))


def _asked(peer: Peer, dataset: Dataset, embedder: Embedder, folder: Path) -> Answers:
    name = databases.name_of(f"peer_{peer.name}")
    databases.drop(name)
    with databases.opened(name), endpoint.serving(embedder) as address:
        more = {"database": product.address_of(name), "endpoint": address, "dimensions": embedder.dimensions}
        answers = ask(peer, task_of(dataset, **more), folder)
    databases.drop(name)
    return answers


def _table(dataset: Dataset, systems: Sequence[Answers]) -> list[str]:
    shown = ("R@5", "R@8", "R@10", "nDCG@10")
    rows = [["system", *shown, "question p50 / p95, ms", "stored a second"], ["---", *["---:"] * (len(shown) + 2)]]
    for system in systems:
        means = values_of([answer.found for answer in system.answers], [query.gold for query in dataset.queries]).mean(
            0
        )
        figures = dict(zip(METRICS, means, strict=True))
        cuts = quantiles([answer.seconds * 1000 for answer in system.answers], n=100, method="inclusive")
        took, stored = f"{cuts[49]:.1f} / {cuts[94]:.1f}", f"{len(dataset.documents) / system.stored:.0f}"
        rows.append([system.system, *(f"{figures[metric]:.3f}" for metric in shown), took, stored])
    return [f"| {' | '.join(row)} |" for row in rows]
