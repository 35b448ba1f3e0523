"""The download as the real server sends it: piece by piece, one moment of the store, closed when nobody reads on."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import AsyncClient

from memories.models import Memory, Scope
from memories.transfer.exporting import export_to
from memories.transfer.jsonl import Jsonl
from tests.factories import make_memory
from zeromemory import database

pytestmark = pytest.mark.django_db(transaction=True)


def fetched(owner, most=None, meanwhile=lambda: None):
    """The pieces of the download; after the first, *meanwhile* happens, and after *most* the reader goes away."""

    async def fetch():
        client = AsyncClient()
        await client.aforce_login(owner)
        answer = await client.get("/transfer/export/?format=jsonl")
        pieces = []
        async for piece in answer.streaming_content:
            pieces.append(piece)
            if len(pieces) == 1:
                await asyncio.to_thread(meanwhile)
            if len(pieces) == most:
                break
        await answer.streaming_content.aclose()
        await sync_to_async(connections.close_all)()
        return pieces

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests keeps a loop in this thread
        return pool.submit(asyncio.run, fetch()).result()


@pytest.fixture
def corpus(scope):
    return [make_memory(f"{number} " + "tide " * 10_000, scope=scope) for number in range(6)]


def test_an_export_is_sent_in_pieces_and_is_the_same_as_on_the_command_line(owner, corpus):
    pieces = fetched(owner)
    assert len(pieces) > 3
    assert max(map(len, pieces)) < 150_000
    assert b"".join(pieces) == b"".join(export_to(Jsonl(), list(Scope.objects.all()), whole=True))


def test_what_is_written_meanwhile_is_not_in_it(owner, corpus):
    def meanwhile():
        Memory.objects.filter(pk=corpus[-1].pk).update(source="changed meanwhile")
        connections.close_all()

    pieces = fetched(owner, meanwhile=meanwhile)
    assert b"changed meanwhile" not in b"".join(pieces)
    assert Memory.objects.get(pk=corpus[-1].pk).source == "changed meanwhile"


def held():
    """How many connections of the pool are in use, and how many transactions are open."""
    with psycopg.connect(**database.parameters()) as session:
        (open_ones,) = session.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND state LIKE 'idle in transaction%'"
        ).fetchone()
    told = connections["default"].pool.get_stats()
    return told["pool_size"] - told["pool_available"], open_ones


def test_a_reader_who_reads_slowly_holds_no_connection_and_no_moment_of_the_database(owner, corpus):
    before, during = held(), []
    fetched(owner, meanwhile=lambda: during.append(held()))
    assert during == [before]


def test_the_length_is_told_and_no_file_is_left(client_of, owner, corpus, settings, tmp_path):
    settings.DATA_FOLDER = tmp_path
    answer = client_of(owner).get("/transfer/export/?format=jsonl")
    assert list(tmp_path.iterdir()) == []
    assert len(answer.getvalue()) == int(answer["Content-Length"])


def test_a_full_disk_is_told(client_of, owner, corpus, settings, tmp_path):
    settings.DATA_FOLDER = tmp_path / "not there"
    answer = client_of(owner).get("/transfer/export/?format=jsonl")
    assert "cannot be written: No such file or directory. Make room" in answer.content.decode()


def test_a_reader_who_goes_away_leaves_no_transaction_open(owner, corpus):
    assert len(fetched(owner, most=1)) == 1
    with connections["default"].cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start < now()"
        )
        assert cursor.fetchone() == (0,)
