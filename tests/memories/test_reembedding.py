"""Changing the embedder of a store with memories in it: nothing is mixed, nothing is lost, and it can be taken back."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from random import Random

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import override_settings

from memories import embedding_queue
from memories.access import actor_for_user
from memories.candidates import Filters, Meaning
from memories.embedder_in_use import in_use, newest_change, query_embedder
from memories.errors import Conflict, Forbidden
from memories.models import AuditEntry, EmbedderChange, Embedding, Memory
from memories.recall import find
from memories.services import edit, reembedding, remember, supersede
from tests.addresses import database_url
from tests.factories import make_user
from tests.memories.embedding_servers import meaning_server, named
from zeromemory.lib.folders import PROJECT

pytestmark = pytest.mark.django_db
State = EmbedderChange.State


@pytest.fixture
def server():
    with meaning_server() as server:
        yield server


@pytest.fixture
def write(owner, scope):
    return lambda content: remember(actor=actor_for_user(owner), scope=scope, content=content, ring=False).memory


@pytest.fixture
def asked(scope):
    """The five memories nearest in meaning, by the embedder that has to answer queries."""

    def nearest(query):
        embedder = query_embedder()
        meaning = Meaning(embedder.encode_query(query), embedder.name, embedder.version)
        return [result.memory for result in find(query=query, meaning=meaning, filters=Filters(scopes=[scope.pk]), k=5)]

    return nearest


@pytest.fixture
def changing(server, write):
    """Ten memories embedded by m384, and the setting changed to m768: nothing is embedded by that yet."""
    memories = [write(f"w{number} w{number + 1}") for number in range(10)]
    with named(server, "m384"):
        embedding_queue.embed_waiting()
    with named(server, "m768"):
        reembedding.keep_up()
        yield memories


def answering():
    return query_embedder().name.rpartition("#")[2]


def reembed(**options):
    out = StringIO()
    call_command("reembed", stdout=out, **options)
    return out.getvalue()


def one_claim_at_a_time(monkeypatch, size=4):
    monkeypatch.setattr(embedding_queue, "MEMORIES_A_CLAIM", size)


def test_an_empty_store_begins_with_whatever_is_configured(server, write):
    with named(server, "m384"):
        write("w1")
        embedding_queue.embed_waiting()
        change = newest_change()
    assert (change.state, change.former_stamp, change.stamp) == (
        State.FINISHED,
        "",
        f"{server.setting('m384')} unversioned",
    )


def test_a_store_in_which_nothing_is_embedded_changes_at_once(server, write):
    with named(server, "m384"):
        reembedding.keep_up()
    with named(server, "m768"):
        reembedding.keep_up()
        write("w1")
        assert answering() == "m768"
        assert newest_change().state == State.FINISHED


@pytest.mark.behaviour("F26")
def test_the_former_embedder_answers_until_every_memory_has_its_new_vectors(changing, asked, monkeypatch):
    one_claim_at_a_time(monkeypatch)
    for expected in (0, 4, 8):
        assert newest_change().state == State.RUNNING
        assert answering() == "m384"
        assert asked("v3 v4")[0] == changing[3]
        assert Embedding.objects.filter(dimensions=768).count() == expected
        assert not embedding_queue.waiting(Memory.objects.all()).exists()
        embedding_queue.embed_waiting(most=4)
    assert answering() == "m768"
    assert asked("v3 v4")[0] == changing[3]
    assert newest_change().memories == 10


@pytest.mark.behaviour("F26")
def test_the_former_embedder_answers_even_before_a_worker_has_seen_the_new_setting(server, write, asked):
    memory = write("w1 w2")
    with named(server, "m384"):
        embedding_queue.embed_waiting()
    with named(server, "m768"):
        assert asked("v1 v2") == [memory]
        assert answering() == "m384"


@pytest.mark.usefixtures("changing")
def test_a_memory_written_during_a_change_is_embedded_by_the_former_one_first(server, write, asked):
    before = len(server.texts)
    memory = write("w90 w91")
    embedding_queue.embed_one(memory.pk)
    assert [model for model, _ in server.texts[before:]] == ["m384"]
    assert asked("v90 v91")[0] == memory
    embedding_queue.embed_one(memory.pk)
    assert sorted(memory.embeddings.values_list("dimensions", flat=True)) == [384, 768]


@pytest.mark.usefixtures("changing")
def test_while_paused_no_new_vectors_are_made_but_new_memories_are_found_by_meaning(server, write, asked):
    reembedding.pause()
    memory = write("w90 w91")
    embedding_queue.embed_waiting()
    assert server.asked_of("m768") == []
    assert asked("v90 v91")[0] == memory
    reembedding.resume()
    embedding_queue.embed_waiting()
    assert answering() == "m768"


def test_a_rollback_half_way_answers_with_the_former_one_at_once_and_makes_nothing_anew(changing, server, asked):
    embedding_queue.embed_waiting(most=4)
    reembedding.roll_back()
    before = len(server.texts)
    assert not embedding_queue.waiting(Memory.objects.all()).exists()
    embedding_queue.embed_waiting()
    assert len(server.texts) == before
    assert answering() == "m384"
    assert asked("v3 v4")[0] == changing[3]


def test_a_finished_change_can_be_rolled_back_and_begun_again_without_encoding_twice(changing, server, asked):
    embedding_queue.embed_waiting()
    assert answering() == "m768"
    reembedding.roll_back()
    assert answering() == "m384"
    reembedding.resume()
    before = len(server.texts)
    embedding_queue.embed_waiting()
    assert answering() == "m768"
    assert len(server.texts) == before
    assert asked("v3 v4")[0] == changing[3]


@pytest.mark.usefixtures("changing")
def test_what_was_written_after_the_change_is_embedded_by_the_former_one_after_a_rollback(write, asked):
    embedding_queue.embed_waiting()
    memory = write("w90 w91")
    embedding_queue.embed_waiting()
    reembedding.roll_back()
    assert list(embedding_queue.waiting(Memory.objects.all())) == [memory]
    embedding_queue.embed_waiting()
    assert asked("v90 v91")[0] == memory


@pytest.mark.usefixtures("changing")
def test_setting_the_former_embedder_again_rolls_the_change_back(server):
    embedding_queue.embed_waiting(most=4)
    with named(server, "m384"):
        embedding_queue.embed_waiting()
        assert newest_change().state == State.ROLLED_BACK
        assert (answering(), in_use().coming) == ("m384", None)


@pytest.mark.usefixtures("changing")
def test_a_third_embedder_takes_the_place_of_the_second(server):
    embedding_queue.embed_waiting(most=4)
    with named(server, "m32"):
        assert answering() == "m384"
        embedding_queue.embed_waiting()
        assert answering() == "m32"
    assert [change.state for change in EmbedderChange.objects.order_by("pk")] == ["finished", "rolled_back", "finished"]


@pytest.mark.behaviour("F26")
@pytest.mark.usefixtures("changing")
def test_with_the_former_embedder_gone_the_new_one_answers_for_what_it_has(server, monkeypatch):
    change = newest_change()
    change.former_stamp, change.former_choice = "local:elsewhere 123456789abc", {}
    change.save()
    Memory.objects.update(embedded_with=change.former_stamp)
    assert answering() == "m768"
    embedding_queue.embed_waiting(most=4)
    assert embedding_queue.waiting(Memory.objects.all()).count() == 6
    embedding_queue.embed_waiting()
    assert newest_change().state == State.FINISHED


@pytest.mark.usefixtures("changing")
def test_a_change_is_not_finished_while_one_memory_lacks_its_vectors(server):
    embedding_queue.embed_waiting(most=9)
    server.refuses.add("m768")
    with pytest.raises(CommandError, match="Not done: 9 of 10"):
        reembed()
    assert newest_change().state == State.RUNNING
    assert answering() == "m384"
    server.refuses.clear()
    assert "Done: all 10" in reembed()
    assert answering() == "m768"


@pytest.mark.behaviour("F3")
@pytest.mark.usefixtures("changing")
def test_the_command_counts_what_the_database_counts(monkeypatch):
    embedding_queue.embed_waiting(most=4)
    assert f"4 of {Memory.objects.count()} memories have the new vectors, 40 %" in reembed(status=True)
    assert "6 memories to embed" in reembed()
    assert "10 of 10 memories" in reembed(status=True)


@pytest.mark.usefixtures("changing")
def test_the_command_pauses_resumes_and_rolls_back():
    assert "Paused" in reembed(pause=True)
    with pytest.raises(CommandError, match=r"is paused\. Go on with: reembed --resume"):
        reembed()
    assert "Done: all 10" in reembed(resume=True)
    assert "Searches use openai:" in reembed(rollback=True)
    assert answering() == "m384"
    with pytest.raises(CommandError, match="already rolled back"):
        reembed(rollback=True)


def test_nothing_can_be_steered_where_nothing_changes(server, write):
    write("w1")
    with named(server, "m384"):
        embedding_queue.embed_waiting()
        for act in (reembedding.pause, reembedding.resume, reembedding.roll_back):
            with pytest.raises(Conflict):
                act()


@pytest.mark.usefixtures("changing")
def test_only_staff_steer_a_change(owner):
    with pytest.raises(Forbidden):
        reembedding.pause(user=make_user())
    reembedding.pause(user=owner)
    assert AuditEntry.objects.get(action="pause_embedder_change").user == owner


@override_settings(EMBEDDER_KEY="a-secret-key")
@pytest.mark.usefixtures("changing")
def test_no_key_is_stored():
    rows = list(EmbedderChange.objects.values())
    assert "a-secret-key" not in str(rows)
    assert rows[-1]["choice"].keys() == {"setting", "path", "query_prefix", "document_prefix"}


def command(server, model):
    environment = os.environ | {"DATABASE_URL": database_url(), "ZEROMEMORY_EMBEDDER": server.setting(model)}
    return subprocess.Popen(
        [sys.executable, "manage.py", "reembed"], cwd=PROJECT, env=environment, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.django_db(transaction=True)
@pytest.mark.behaviour("F26")
def test_384_to_768_and_back_on_500_memories_with_a_kill_half_way_finds_the_same(server, write, asked):
    chance = Random(1)
    words = {
        write(" ".join(f"w{word}" for word in told)): told
        for told in (chance.sample(range(300), 6) for _ in range(500))
    }

    def recall_at_five():
        questions = list(words.items())[::5]
        return sum(memory in asked(" ".join(f"v{word}" for word in told[:4])) for memory, told in questions) / len(
            questions
        )

    with named(server, "m384"):
        embedding_queue.embed_waiting()
        before = recall_at_five()
    with named(server, "m768"):
        doomed = command(server, "m768")
        server.meanwhile = lambda *_: len(server.asked_of("m768")) < 250 or doomed.send_signal(signal.SIGKILL)
        assert doomed.wait(timeout=120) == -signal.SIGKILL
        server.meanwhile = lambda *_: None
        assert 0 < Embedding.objects.filter(dimensions=768).count() < 500
        assert (answering(), recall_at_five()) == ("m384", before)
        Memory.objects.update(embedding_claimed_at=None)  # as when the claims of the killed one have lapsed
        assert command(server, "m768").wait(timeout=120) == 0
        assert answering() == "m768"
        assert Embedding.objects.filter(dimensions=768).count() == 500
        assert recall_at_five() == pytest.approx(before, abs=0.02)
    with named(server, "m384"):
        assert command(server, "m384").wait(timeout=120) == 0
        assert answering() == "m384"
        assert recall_at_five() == pytest.approx(before, abs=0.02)
    assert before > 0.9


@pytest.mark.django_db(transaction=True)
@pytest.mark.behaviour("F54")
def test_re_embedding_while_ten_writers_save_reaches_nobody_with_a_deadlock(server, owner, scope, write):
    actor = actor_for_user(owner)
    old = [write(f"w{number}") for number in range(60)]
    with named(server, "m384"):
        embedding_queue.embed_waiting()
    start, written = threading.Barrier(11), threading.Event()

    def save(writer):
        start.wait(timeout=30)
        for memory in old[writer::10]:
            new = remember(actor=actor, scope=scope, content=f"new {memory.pk}", ring=False).memory
            changed = edit(actor=actor, memory=memory, expected_version=1, content=f"changed {memory.pk}")
            supersede(actor=actor, memory=new, replacement=changed)
        connections.close_all()

    def re_embed():
        start.wait(timeout=30)
        while not written.is_set():
            embedding_queue.embed_waiting()
        connections.close_all()

    with named(server, "m768"), ThreadPoolExecutor(11) as pool:
        embedding = pool.submit(re_embed)
        saving = [pool.submit(save, writer) for writer in range(10)]
        errors = [future.exception(timeout=120) for future in saving]
        written.set()
        assert errors == [None] * 10
        assert embedding.exception(timeout=120) is None
        Memory.objects.update(embedding_claimed_at=None)
        assert "Done: all 60 memories" in reembed()
        assert answering() == "m768"
