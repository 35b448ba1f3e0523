from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser
from numpy.typing import NDArray

from memories.windows import windows_of
from reflections import configuration
from reflections.changelog import read
from reflections.eligible import mean_direction
from reflections.evaluation import MAXIMA, MINIMA, Labelled, Pairs, above, clusters, compare, cut, edited_copies
from zeromemory.embedding import EmbedderError, get_embedder

QUANTILES = (5, 25, 50, 75, 95)
BATCH = 64


class Command(BaseCommand):
    help = (
        "Measure where 'similar but not duplicate' lies for the configured embedder. Reads GNU ChangeLog files, or "
        "lines of JSON: {id, content, created_at, entities, matters, twin}. Writes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument("--vectors", type=Path, help="an .npy file that keeps the vectors from one try to the next")

    def handle(self, *args: Any, paths: list[Path], vectors: Path | None, **options: Any) -> None:
        try:
            labelled = [episode for path in paths for episode in read(path)]
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"This cannot be read as labelled episodes: {error}") from error
        encoded = _kept(vectors, labelled)
        pairs = compare(labelled, encoded)
        self._say_pairs(len(labelled), pairs)
        self._say_minima(pairs)
        self._say_maxima(pairs, _copies(labelled, encoded))
        self._say_clusters(labelled, encoded)

    def _say_pairs(self, count: int, pairs: Pairs) -> None:
        self.stdout.write(f"{count} episodes. Cosines of the pairs that share an entity:\n")
        self.stdout.write("| pair | number | " + " | ".join(f"{quantile} %" for quantile in QUANTILES) + " |")
        self.stdout.write("|---|--:" + "|--:" * len(QUANTILES) + "|")
        for name, cosines in (("related", pairs.related), ("other", pairs.other), ("twins", pairs.twins)):
            figures = np.percentile(cosines, QUANTILES) if len(cosines) else [float("nan")] * len(QUANTILES)
            self.stdout.write(f"| {name} | {len(cosines)} | " + " | ".join(f"{value:.2f}" for value in figures) + " |")

    def _say_minima(self, pairs: Pairs) -> None:
        maximum = configuration.cluster_rule().cosine_max
        self.stdout.write(f"\n| from | precision | recall | F0.5 | (below {maximum:g})\n|--:|--:|--:|--:|")
        for minimum in MINIMA:
            found = cut(pairs, minimum, maximum)
            figures = (found.precision, found.recall, found.f_half)
            self.stdout.write(f"| {minimum:.2f} | " + " | ".join(f"{value:.3f}" for value in figures) + " |")

    def _say_maxima(self, pairs: Pairs, copies: NDArray[np.float64]) -> None:
        self.stdout.write("\n| below | twins kept out | edited copies kept out | related lost |\n|--:|--:|--:|--:|")
        for maximum in MAXIMA:
            shares = (above(pairs.twins, maximum), above(copies, maximum), above(pairs.related, maximum))
            self.stdout.write(f"| {maximum:.2f} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")

    def _say_clusters(self, labelled: list[Labelled], encoded: NDArray[np.float32]) -> None:
        self.stdout.write("\n| from | clusters | episodes | pure | purity | full |\n|--:|--:|--:|--:|--:|--:|")
        for minimum in MINIMA:
            found = clusters(labelled, encoded, replace(configuration.cluster_rule(), cosine_min=minimum))
            counts = f"{found.clusters} | {found.members} | {found.pure} | {found.purity:.2f} | {found.full}"
            self.stdout.write(f"| {minimum:.2f} | {counts} |")


def _kept(path: Path | None, labelled: list[Labelled]) -> NDArray[np.float32]:
    if path is not None and path.exists():
        kept: NDArray[np.float32] = np.load(path)
        if len(kept) != len(labelled):
            raise CommandError(f"{path} holds {len(kept)} vectors for {len(labelled)} episodes. Remove it.")
        return kept
    encoded = _encode([episode.content for episode in labelled])
    if path is not None:
        np.save(path, encoded)
    return encoded


def _copies(labelled: list[Labelled], encoded: NDArray[np.float32]) -> NDArray[np.float64]:
    """Cosines of episodes with lightly edited copies of themselves."""
    edited = edited_copies(labelled)
    if not edited:
        return np.empty(0)
    again = _encode([text for _, text in edited])
    return np.sum(encoded[[row for row, _ in edited]] * again, axis=1, dtype=np.float64)


def _encode(texts: list[str]) -> NDArray[np.float32]:
    """One vector a text, of its windows, as a run would compare it."""
    embedder = get_embedder()
    if embedder is None:
        raise CommandError("There is nothing to measure: no embedder is configured. Set ZEROMEMORY_EMBEDDER.")
    spans = [(row, text[span.start : span.stop]) for row, text in enumerate(texts) for span in windows_of(text)]
    try:
        batches = [
            embedder.encode_documents([text for _, text in spans[start : start + BATCH]])
            for start in range(0, len(spans), BATCH)
        ]
    except EmbedderError as error:
        raise CommandError(str(error)) from error
    of_row: dict[int, list[NDArray[np.float32]]] = {}
    for (row, _), vector in zip(spans, np.concatenate(batches), strict=True):
        of_row.setdefault(row, []).append(vector)
    return np.stack([mean_direction(of_row[row]) for row in range(len(texts))])
