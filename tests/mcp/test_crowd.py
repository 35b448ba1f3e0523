"""Twenty-four calls at once on a pool of four connections."""

from __future__ import annotations

import uuid

import anyio
import pytest
from django.db import connection

from tests.factories import make_memory
from tests.mcp.talking import run, text_of
from zeromemory.mcp import calling

POOL = 4
CALLS = 24


@pytest.fixture
def small_pool(monkeypatch, transactional_db):
    """Taken by every server that starts after it."""
    connection.close()
    connection.close_pool()
    monkeypatch.setitem(connection.settings_dict["OPTIONS"]["pool"], "max_size", POOL)
    calling._limiter.cache_clear()
    yield
    connection.close()
    connection.close_pool()
    calling._limiter.cache_clear()


@pytest.fixture
def crowd(small_pool, agent):
    return agent


def in_use():
    """Connections of the pool that nobody gave back, and sessions at the server that are in the middle of something."""
    connection.close()
    stats = connection.pool.get_stats()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle'"
        )
        return stats["pool_size"] - stats["pool_available"], cursor.fetchone()[0]


def sessions():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend'"
        )
        return cursor.fetchone()[0]


def all_at_once(agent, one):
    """What *one* gave back of each of the calls, each by a client of its own."""

    async def work():
        found = {}

        async def call(number):
            async with agent.connected() as client:
                found[number] = await one(client, number)

        async with anyio.create_task_group() as group:
            for number in range(CALLS):
                group.start_soon(call, number)
        return [found[number] for number in range(CALLS)]

    return run(work)


async def recall(client, number):
    result = await client.call_tool("recall", {"query": f"harbour gate {number}"})
    return len(result.structured_content["results"])


def test_all_are_answered_and_every_connection_is_given_back(crowd, scope):
    make_memory("The harbour gate.", scope=scope)
    before = sessions()
    assert all_at_once(crowd, recall) == [1] * CALLS
    assert in_use() == (0, 0)
    assert sessions() <= before + POOL - 1


def test_calls_that_fail_and_clients_that_leave_or_die_keep_no_connection(crowd, scope):
    make_memory("The harbour gate.", scope=scope)

    async def fails(client, number):
        return text_of(await client.call_tool("forget", {"id": str(uuid.UUID(int=number))})).split(":")[0]

    async def leaves(client, number):
        with anyio.move_on_after(0.01):
            await recall(client, number)
        return "left"

    async def dies(client, number):
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(recall, client, number)
                await anyio.sleep(0.02)
                scope.cancel()
        return "died"

    ways = [recall, fails, leaves, dies]
    answers = all_at_once(crowd, lambda client, number: ways[number % len(ways)](client, number))
    assert answers == [1, "not_found", "left", "died"] * (CALLS // len(ways))
    assert all_at_once(crowd, recall) == [1] * CALLS
    assert in_use() == (0, 0)
