"""Twenty writers beside recall and cycles: all is stored, nobody meets an error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import connection

from memories.access import Actor, actor_for_user
from memories.agent_recall import recall_for_agent
from memories.models import Memory, RetentionCycle, Scope
from memories.services.remember import remember
from reflections.consolidation import consolidate
from tests.memories.retention.cycling import make_decaying, unused_for

pytestmark = pytest.mark.django_db(transaction=True)
WRITERS, FACTS, OLD = 20, 10, 200


def call(act: Callable[[], Any]) -> None:
    """As a request does: with a connection of the pool, which is given back."""
    try:
        act()
    finally:
        connection.close()


def write(actor: Actor, scope: Scope, writer: int) -> None:
    for number in range(FACTS):
        content = f"Writer {writer} says that crane {number} is free."
        call(partial(remember, actor=actor, scope=scope, content=content))


def until(ended: threading.Event, act: Callable[[], Any]) -> int:
    """How often *act* was done."""
    times = 0
    while not ended.is_set():
        call(act)
        times += 1
    return times


@pytest.mark.behaviour("G34")
def test_twenty_writers_of_ten_beside_recall_and_cycles_store_two_hundred() -> None:
    scope = make_decaying()
    actor = actor_for_user(scope.owner)
    for number in range(OLD):
        unused_for(250, scope=scope, content=f"Nobody asks for {number}.")
    ended = threading.Event()

    with ThreadPoolExecutor(WRITERS + 2) as threads:
        recalls = threads.submit(until, ended, lambda: recall_for_agent(actor=actor, query="which crane is free"))
        cycles = threads.submit(until, ended, lambda: consolidate(scope=scope, trigger="command"))
        writers = [threads.submit(write, actor, scope, writer) for writer in range(WRITERS)]
        errors = [writer.exception() for writer in writers]
        ended.set()

    assert errors == [None] * WRITERS
    assert (recalls.exception(), cycles.exception()) == (None, None)
    assert Memory.objects.live().filter(scope=scope, content__startswith="Writer").count() == WRITERS * FACTS
    assert (recalls.result() > 0, cycles.result() > 0) == (True, True)
    assert not RetentionCycle.objects.exclude(state="done").exists()
    left = Memory.objects.filter(scope=scope, content__startswith="Nobody asks", archived_at=None)
    assert all(hasattr(memory, "candidacy") for memory in left)  # what waits in a summary is kept, all else has left
