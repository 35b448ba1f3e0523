from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser
from numpy.typing import NDArray

from memories.windows import windows_of
from reflections import change_notes, changelog, configuration, pieces, talks
from reflections.clustering import Rule
from reflections.eligible import mean_direction
from reflections.evaluation import MAXIMA, MINIMA, Labelled, Pairs, above, clusters, compare, cut, edited_copies, places
from zeromemory.embedding import EmbedderError, get_embedder

QUANTILES = (5, 25, 50, 75, 95)
BATCH = 64


FOLDER = "ZEROMEMORY_EVAL_DATA"
NOTHING = (
    f"No labelled episodes were found, so clusters were not measured. Put ChangeLog files into a folder clusters/NAME "
    f"of the folder that {FOLDER} names, or give their paths; docs/evaluation-clustering.md says where they come from."
)
LESS = (0.4, 0.3, 0.2, 0.1, 0.05, 0.0, -0.05, -0.1)


class Command(BaseCommand):
    help = (
        "Measure how well clusters keep together what belongs together, with the configured embedder. Reads ChangeLog "
        "files, those that name merge requests or GNU ones, conversations in the shape of retrieval sets, or lines of "
        "JSON: {id, content, created_at, entities, owner, piece} or {…, matters, twin}. Writes nothing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "paths",
            nargs="*",
            type=Path,
            metavar="PATH",
            help=f"files of one corpus; without any, each folder in clusters/ of the folder that {FOLDER} names is one",
        )
        parser.add_argument("--vectors", type=Path, help="an .npy file that keeps the vectors from one try to the next")

    def handle(self, *args: Any, paths: list[Path], vectors: Path | None, **options: Any) -> None:
        corpora = [paths] if paths else _of_the_folder()
        if not corpora:
            self.stdout.write(NOTHING)
        for files in corpora:
            self.stdout.write(f"## {files[0].parent.name or files[0].name}\n")
            self._measure(files, vectors)

    def _measure(self, files: list[Path], vectors: Path | None) -> None:
        try:
            labelled = _labelled(files)
        except (OSError, ValueError, KeyError) as error:
            raise CommandError(f"This cannot be read as labelled episodes: {error}") from error
        encoded = _kept(vectors, labelled)
        if any(episode.piece for episode in labelled):
            self._say_pieces(labelled, encoded)
            return
        pairs = compare(labelled, encoded)
        self._say_pairs(len(labelled), pairs)
        self._say_minima(pairs)
        self._say_maxima(pairs, _copies(labelled, encoded))
        self._say_clusters(labelled, encoded)

    def _say_pieces(self, labelled: list[Labelled], encoded: NDArray[np.float32]) -> None:
        rule = configuration.cluster_rule()
        owners, works = len(places(labelled)), len({episode.piece for episode in labelled})
        self.stdout.write(f"{len(labelled):,} episodes of {owners} owners, of {works:,} pieces of work.\n")
        self._say_rules(labelled, encoded, rule)
        self._say_curve(labelled, encoded, rule)

    def _say_rules(self, labelled: list[Labelled], encoded: NDArray[np.float32], rule: Rule) -> None:
        self.stdout.write("| rule | owners | precision | recall | clusters | episodes |\n|---|---|--:|--:|--:|--:|")
        halves = pieces.halves(labelled)
        every = pieces.whole(rule, len(labelled))
        for name, tried in (
            ("in force, every pair", every),
            ("without shared entities, every pair", replace(every, share_entity=False)),
            ("as much at all times, every pair", replace(every, work_cosine=1)),
            ("in force, as proposed", rule),
        ):
            found = [pieces.joined([labelled[row] for row in rows], encoded[rows], tried) for rows in halves]
            for owners, figures in (("first half", found[0]), ("second half", found[1]), ("all", found[0] + found[1])):
                self.stdout.write(f"| {name} | {owners} | {_figures(figures)} |")

    def _say_curve(self, labelled: list[Labelled], encoded: NDArray[np.float32], rule: Rule) -> None:
        self.stdout.write(
            "\nEvery pair of all owners, where so much less similarity is needed:\n\n| less | precision | recall | "
            "without shared entities: precision | recall |\n|--:|--:|--:|--:|--:|"
        )
        every = pieces.whole(rule, len(labelled))
        for less in LESS:
            eased = replace(every, cosine_min=every.cosine_min - less, work_cosine=every.work_cosine - less)
            both = [pieces.joined(labelled, encoded, replace(eased, share_entity=shared)) for shared in (True, False)]
            figures = [f"{pieces.precision(found).value:.3f} | {pieces.recall(found).value:.3f}" for found in both]
            self.stdout.write(f"| {less:.2f} | " + " | ".join(figures) + " |")

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


def _of_the_folder() -> list[list[Path]]:
    folder = Path(os.environ.get(FOLDER, "")) / "clusters"
    if not os.environ.get(FOLDER) or not folder.is_dir():
        return []
    corpora = [
        sorted(path for path in inner.iterdir() if path.is_file())
        for inner in sorted(folder.iterdir())
        if inner.is_dir()
    ]
    return [files for files in corpora if files]


def _labelled(files: list[Path]) -> list[Labelled]:
    texts = [change_notes.text_of(path) for path in files]
    if all(talks.is_talk(text) for text in texts):
        return [episode for text in texts for episode in talks.read(text)]
    naming = [text for text in texts if change_notes.names_requests(text)]
    if len(naming) == len(files) and not any(path.suffix == ".jsonl" for path in files):
        return change_notes.read(naming)
    return [episode for path in files for episode in changelog.read(path)]


def _figures(found: list[pieces.Joined]) -> str:
    clusters, episodes = sum(one.clusters for one in found), sum(one.episodes for one in found)
    return f"{pieces.precision(found)} | {pieces.recall(found)} | {clusters} | {episodes}"


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
