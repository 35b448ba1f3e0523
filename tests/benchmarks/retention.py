"""A cycle over one large decaying scope, and what writes and recalls take beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import batched
from typing import Final

from django.db import connection
from django.utils import timezone

from memories.access import actor_for_user
from memories.agent_recall import recall_for_agent
from memories.models import Memory, RetentionPolicy, Scope, User
from memories.models.memory import content_hash
from memories.services import people
from memories.services.remember import remember
from memories.services.retention import run_cycle
from memories.windows import write_windows
from tests.benchmarks import databases
from tests.benchmarks.corpus import Tell
from tests.benchmarks.recall import Times

SIZE: Final = (50_000, 10_000)  # memories, and those of them that leave
ALONE_SECONDS: Final = 5.0
ROWS_A_BATCH: Final = 2000
WORDS: Final = ("crane", "gauge", "tug", "berth", "lock", "buoy", "dredger", "quay", "pilot", "winch", "barge", "tide")

AS_BEFORE: Final = """
UPDATE memories SET weight = 1, archived_at = NULL, invalidated_at = NULL, invalidated_by_id = NULL,
    invalidated_actor = '', invalidation_reason = ''
WHERE weight < 1 OR archived_at IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class Answers:
    """What writes and recalls took, in seconds."""

    writes: Times = field(default_factory=Times)
    recalls: Times = field(default_factory=Times)


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Seconds of a cycle that archives, of one right after, of one that deletes, and of one that archives while
    somebody writes and somebody recalls."""

    memories: int
    leaving: int
    archived: float
    again: float
    deleted: float
    busy: float
    alone: Answers
    beside: Answers


def measure(memories: int, leaving: int, tell: Tell) -> Forgetting:
    """In a database of its own, made anew and dropped."""
    name = databases.name_of("retention")
    databases.drop(name)
    with databases.opened(name):
        tell(f"Storing {memories:,} memories in one scope.")
        scope = _fill(memories, leaving)
        measured = _measured(name, scope, memories, leaving, tell)
    databases.drop(name)
    return measured


def _measured(name: str, scope: Scope, memories: int, leaving: int, tell: Tell) -> Forgetting:
    tell(f"A cycle that archives {leaving:,}.")
    archived, again = _cycle(scope, leaving), _cycle(scope, 0)
    _execute(AS_BEFORE)
    tell("The same beside a writer and a reader.")
    alone, beside = Answers(), Answers()
    with _answering(name, scope, alone):
        time.sleep(ALONE_SECONDS)
    with _answering(name, scope, beside):
        busy = _cycle(scope, leaving)
    _execute(AS_BEFORE)
    tell(f"A cycle that deletes {leaving:,}.")
    RetentionPolicy.objects.create(scope=scope, prune_action=RetentionPolicy.PruneAction.DELETE)
    deleted = _cycle(scope, leaving)
    return Forgetting(memories, leaving, archived, again, deleted, busy, alone, beside)


def _fill(memories: int, leaving: int) -> Scope:
    """Those that leave were used last 250 days ago, the others within 100."""
    owner = people.create_owner() or User.objects.get(username=people.OWNER)
    scope = Scope.objects.create(owner=owner, slug="large", name="large", retention=Scope.Retention.DECAYING)
    now = timezone.now()
    for numbers in batched(range(memories), ROWS_A_BATCH):
        rows = [_memory(scope, number, now - timedelta(days=_days(number, leaving))) for number in numbers]
        write_windows(*Memory.objects.bulk_create(rows))
    _execute("VACUUM ANALYZE")
    _execute("CHECKPOINT")
    return scope


def _days(number: int, leaving: int) -> int:
    return 250 if number < leaving else 1 + number % 100


def _memory(scope: Scope, number: int, used_at: datetime) -> Memory:
    words = " and the ".join(WORDS[(number // 12**place) % 12] for place in range(4))
    content = f"Note {number}: the {words} were looked at, and nothing was found that the next shift has to know."
    return Memory(
        scope=scope,
        content=content,
        content_sha256=content_hash(content),
        created_at=used_at,
        updated_at=used_at,
        accessed_at=used_at,
    )


def _cycle(scope: Scope, leaving: int) -> float:
    began = time.perf_counter()
    done = run_cycle(scope=scope, trigger="command")
    seconds = time.perf_counter() - began
    assert done.cycle, done.said
    left = done.cycle.archived + done.cycle.deleted
    assert left == leaving, f"{left} left, not {leaving}"
    return seconds


def _execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


# Beside it -----------------------------------------------------------------------------------


@contextmanager
def _answering(name: str, scope: Scope, answers: Answers) -> Iterator[None]:
    """One writer and one reader, each as fast as it is answered, meanwhile. What fails for them fails the benchmark."""
    actor, ended, ready = actor_for_user(scope.owner), threading.Event(), threading.Barrier(3)

    def write(number: int) -> None:
        content = f"Note of {time.time_ns()}: the {WORDS[number % 12]} is free."
        remember(actor=actor, scope=scope, content=content, compare=False)

    def recall(number: int) -> None:
        query = f"{WORDS[number % 12]} and {WORDS[number // 12 % 12]}"
        recall_for_agent(actor=actor, query=query)

    def answered(act: Callable[[int], None], times: Times) -> None:
        with databases.joined(name):
            act(0)
            ready.wait()
            number = 1
            while not ended.is_set():
                began = time.perf_counter()
                act(number)
                times.add(began)
                number += 1

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(answered, write, answers.writes), threads.submit(answered, recall, answers.recalls)]
        try:
            ready.wait()
            yield
        finally:
            ended.set()
        for each in running:
            each.result()
