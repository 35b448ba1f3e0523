"""All figures of a run as one markdown table."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from tests.benchmarks.code import Code
from tests.benchmarks.cold_start import ColdStart
from tests.benchmarks.hygiene import Cycle
from tests.benchmarks.ingest import Ingest
from tests.benchmarks.recall import Beside, Load, Times
from tests.benchmarks.reinforcement import Rollup
from tests.benchmarks.retention import Forgetting

LARGEST_TO_AIM_AT = 20_000
type Row = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Machine:
    """Where and when a run was made; *load* is the one-minute load average."""

    at: datetime
    cores: int
    load: float
    system: str

    def __str__(self) -> str:
        return f"{self.at:%-d %B %Y, %H:%M} UTC, {self.cores} cores, load {self.load:.1f}, {self.system}"


def here() -> Machine:
    system = f"{platform.system()}, Python {platform.python_version()}"
    return Machine(datetime.now(UTC), os.cpu_count() or 1, os.getloadavg()[0], system)


def markdown(
    recalls: Mapping[int, tuple[Beside, Load]],
    ingest: Ingest | None,
    cycles: Sequence[Cycle] = (),
    rolled: Rollup | None = None,
    code: Code | None = None,
    started: ColdStart | None = None,
    forgetting: Forgetting | None = None,
) -> str:
    rows: list[Row] = [("measured", "memories", "figure", "aim"), ("---", "---:", "---:", "---")]
    for size, (beside, load) in recalls.items():
        rows += [(what, f"{size:,}", figure, aim) for what, figure, aim in _recall(beside, load)]
    rows += _growth(recalls)
    rows += _ingest(ingest) if ingest else []
    rows += _hygiene(cycles)
    rows += _rolled(rolled) if rolled else []
    rows += _forgetting(forgetting) if forgetting else []
    rows += _code(code) if code else []
    rows += _started(started) if started else []
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _recall(beside: Beside, load: Load) -> Iterator[tuple[str, str, str]]:
    yield "embedding of the question, p50 / p95", _both(beside.embedding), ""
    yield "HNSW, ten nearest, p50 / p95", _both(beside.nearest), ""
    yield "of the ten, as near as the true ten", f"{beside.as_near:.3f}", ""
    yield "words, three rarest lexemes, p50 / p95", _both(beside.matching), ""
    yield "**floor**: the three together, p50 / p95", _both(beside.floor), ""
    yield "**REST recall**, k = 10, p50 / p95", _both(beside.product), ""
    yield "of it the recall itself (`took_ms`), p50 / p95", _both(beside.server), ""
    yield "REST recall : floor, p50", f"{beside.ratio(50):.2f}", "1.5"
    yield "REST recall : floor, p95", f"{beside.ratio(95):.2f}", "2"
    crowd = f"{load.clients} clients for {load.seconds:.0f} s"
    yield f"{crowd}: recalls a second", f"{load.per_second:.1f}", ""
    yield f"{crowd}: p50 / p95", _both(load.times), ""
    yield f"{crowd}: errors", str(len(load.errors)), "0"


def _growth(recalls: Mapping[int, tuple[Beside, Load]]) -> Iterator[Row]:
    sizes = sorted(recalls)
    for smaller, larger in pairwise(sizes):
        grown = recalls[larger][0].product.percentile(50) / recalls[smaller][0].product.percentile(50)
        aim = "2" if larger <= 10 * smaller else ""
        yield "REST recall p50, growth", f"{smaller:,} → {larger:,}", f"{grown:.2f}", aim


def _ingest(ingest: Ingest) -> Iterator[Row]:
    yield "embedder alone, texts a second", "", f"{ingest.embedder:.0f}", ""
    yield "REST writes of 4 clients, accepted a second", "from 0", f"{ingest.accepted:.0f}", ""
    yield "REST writes of 4 clients, embedded a second", "from 0", f"{ingest.rest:.0f}", ""
    yield "jsonl import, embedded a second", "from 0", f"{ingest.imported:.0f}", ""
    yield "REST writes : embedder alone", "", f"{ingest.rest / ingest.embedder:.2f}", "0.8"
    yield "jsonl import : embedder alone", "", f"{ingest.imported / ingest.embedder:.2f}", "0.8"


def _hygiene(cycles: Sequence[Cycle]) -> Iterator[Row]:
    for cycle in cycles:
        size, aim = f"{cycle.memories:,}", "60 s" if cycle.memories == LARGEST_TO_AIM_AT else ""
        yield f"**full cycle** without a model, {cycle.episodes:,} episodes", size, f"{cycle.seconds:.1f} s", aim
        for title, seconds in cycle.steps:
            yield f"of it: {title.lower()}", size, f"{seconds:.1f} s", ""
        yield "a second cycle", size, f"{cycle.again:.1f} s", ""
        yield f"**nearest** of {cycle.subjects:,} memories, without what follows", size, f"{cycle.pairs:.1f} s", ""
        yield "nearest of one memory, on the mean", size, f"{1000 * cycle.pairs / max(cycle.subjects, 1):.2f} ms", ""
    for smaller, larger in pairwise(cycles):
        rows = f"{smaller.memories:,} → {larger.memories:,}"
        most = f"{larger.memories / smaller.memories:.1f}"
        yield "full cycle, growth", rows, f"{larger.seconds / smaller.seconds:.2f}", most
        yield "nearest of all, growth", rows, f"{larger.pairs / smaller.pairs:.2f}", most


def _rolled(rolled: Rollup) -> Iterator[Row]:
    size = f"{rolled.memories:,}"
    yield f"**roll-up** of {rolled.signals:,} signals, all rows new", size, f"{rolled.first:.1f} s", ""
    yield "roll-up, nothing has changed", size, f"{rolled.unchanged:.1f} s", ""
    yield "roll-up, a tenth of the rows differs", size, f"{rolled.tenth:.1f} s", ""
    yield "one report, with the row of its memory", size, f"{rolled.report_ms:.1f} ms", ""


def _forgetting(found: Forgetting) -> Iterator[Row]:
    size, gone = f"{found.memories:,}", f"{found.leaving:,}"
    yield f"**cycle of a decaying scope**: all weights fall, {gone} archived", size, f"{found.archived:.1f} s", ""
    yield "a cycle right after it", size, f"{found.again:.1f} s", ""
    yield f"cycle: all weights fall, {gone} deleted", size, f"{found.deleted:.1f} s", ""
    yield f"cycle beside a writer and a reader, {gone} archived", size, f"{found.busy:.1f} s", ""
    for what, answers in (("no cycle", found.alone), ("a cycle", found.beside)):
        yield f"a write beside {what}, p50 / p95", size, _both(answers.writes), ""
        yield f"a recall beside {what}, p50 / p95", size, _both(answers.recalls), ""


def _code(code: Code) -> Iterator[Row]:
    size = f"{code.anchors:,}"
    yield f"**verdicts** over {code.files:,} files, no bytes seen before", size, f"{code.cold:.2f} s", "2 s"
    yield "verdicts, the same bytes again", size, f"{code.warm:.2f} s", ""
    yield "recall with 40 anchored candidates", size, f"{code.recall_ms:.0f} ms", ""
    yield "of it the code", size, f"{code.added_ms:.0f} ms", "150 ms"


def _started(started: ColdStart) -> Iterator[Row]:
    yield "**cold start** to the first list of tools, HTTP", "", f"{started.http:.1f} s", "5 s"
    yield "cold start to the first list of tools, standard input", "", f"{started.standard_input:.1f} s", "5 s"
    yield "of it on the processor, HTTP", "", f"{started.http_processor:.1f} s", ""
    yield "of it on the processor, standard input", "", f"{started.standard_input_processor:.1f} s", ""


def _both(times: Times) -> str:
    return f"{times.percentile(50):.1f} / {times.percentile(95):.1f} ms"
