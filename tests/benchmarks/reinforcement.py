"""The roll-up of what was said of memories: all signals of the window in one statement."""

import re
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import batched
from typing import Final

from django.db import connection, transaction
from django.utils import timezone

from memories.access import actor_for_user
from memories.models import Memory, Scope, User
from memories.models.memory import content_hash
from memories.services import people
from memories.services.edit import EDITED
from memories.services.reinforcement import ROLL_UP_MEMORY, RolledUp, roll_up_all, roll_up_statement, what_to_roll_up
from memories.services.signals import mark_used
from tests.benchmarks import databases
from tests.benchmarks.corpus import Tell

SIZE: Final = (100_000, 1_000_000)  # memories, signals
RUNS: Final = 3
REPORTS: Final = 50
ROWS_A_BATCH: Final = 5000
SHOWN_FROM_MS: Final = 20

# Every fiftieth memory was edited into the next. Few memories are spoken of often, in 20,000 sessions of the window.
EDITS: Final = """
UPDATE memories m SET superseded_by_id = later.id, invalidated_at = now(), invalidated_actor = 'somebody',
    invalidation_reason = %(edited)s
FROM memories later
WHERE m.version %% 50 = 0 AND later.version = m.version + 1"""
SIGNALS: Final = """
INSERT INTO usage_event (memory_id, at, source, session, useful, misled, confidence)
SELECT known.ids[1 + floor(power(random(), 2) * array_length(known.ids, 1))::int],
    now() - random() * interval '89 days', told.source, 'session ' || floor(random() * 20000), told.useful,
    NOT told.useful, CASE told.source WHEN 'judge' THEN 0.4 + 0.6 * random() ELSE 1 END
FROM generate_series(1, %(signals)s) n
CROSS JOIN (SELECT array_agg(id ORDER BY id) AS ids FROM memories) known
JOIN LATERAL (
    SELECT (ARRAY['direct', 'direct', 'direct', 'link', 'judge', 'judge', 'judge', 'judge', 'challenge'])[1 + n %% 9],
        n %% 9 < 8 AND n %% 7 > 0 OR n %% 9 = 3
) told (source, useful) ON true"""


@dataclass(frozen=True, slots=True)
class Rollup:
    """Medians: seconds of the roll-up over an empty table, over one that is up to date, and over one of which a tenth
    differs; milliseconds of one report. *plan* is of the second."""

    memories: int
    signals: int
    first: float
    unchanged: float
    tenth: float
    report_ms: float
    plan: str


def measure(memories: int, signals: int, tell: Tell) -> Rollup:
    """In a database of its own, made anew and dropped."""
    name = databases.name_of("reinforcement")
    databases.drop(name)
    with databases.opened(name):
        tell(f"Storing {signals:,} signals about {memories:,} memories.")
        _fill(memories, signals)
        tell("Rolling them up.")
        measured = Rollup(
            memories,
            signals,
            first=_median(lambda: _execute("TRUNCATE memory_reinforcement")),
            unchanged=_median(lambda: None),
            tenth=_median(lambda: _execute("UPDATE memory_reinforcement SET useful = useful + 1 WHERE random() < 0.1")),
            report_ms=1000 * _report(),
            plan=_plan(),
        )
    databases.drop(name)
    return measured


def _fill(memories: int, signals: int) -> None:
    owner = people.create_owner() or User.objects.get(username=people.OWNER)
    scope, now = Scope.objects.create(owner=owner, slug="large", name="large"), timezone.now()
    for numbers in batched(range(1, memories + 1), ROWS_A_BATCH):
        Memory.objects.bulk_create(
            Memory(
                scope=scope,
                kind="fact",
                content=f"Memory number {number}, about as long as most of them are. " * 3,
                content_sha256=content_hash(str(number)),
                created_at=now,
                updated_at=now,
                accessed_at=now,
                version=number,
            )
            for number in numbers
        )
    _execute(EDITS, edited=EDITED)
    _execute("SET session_replication_role = replica")  # no look at each key: they were just written
    _execute(SIGNALS, signals=signals)
    _execute("SET session_replication_role = origin")
    _execute("VACUUM ANALYZE")
    _execute("CHECKPOINT")


def _execute(statement: str, **parameters: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def _median(before: Callable[[], object]) -> float:
    return statistics.median(_seconds(before) for _ in range(RUNS))


def _seconds(before: Callable[[], object]) -> float:
    before()
    began = time.perf_counter()
    _rolled_up()
    return time.perf_counter() - began


def _rolled_up() -> RolledUp:
    return roll_up_all(now=timezone.now())


def _report() -> float:
    actor = actor_for_user(User.objects.get(username=people.OWNER))
    times = []
    for number, memory in enumerate(Memory.objects.live().order_by("pk")[:REPORTS]):
        began = time.perf_counter()
        mark_used(actor=actor, memory=memory, useful=True, session=f"report {number}")
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _plan() -> str:
    """The nodes that take their time, as the database tells them."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('work_mem', %s, true)", [ROLL_UP_MEMORY])
        cursor.execute(
            f"EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) {roll_up_statement()}",
            what_to_roll_up(now=timezone.now(), scope=None),
        )
        lines = [row[0] for row in cursor.fetchall()]
    return "\n".join(line for line in lines if _took(line) >= SHOWN_FROM_MS or line.startswith("Execution"))


def _took(line: str) -> float:
    """Milliseconds until a node was done; 0 for a line that names none."""
    found = re.search(r"actual time=[\d.]+\.\.([\d.]+)", line)
    return float(found.group(1)) if found else 0.0
