import threading
import time
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from json import dumps, loads

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from memories import embedding_queue, vector_index
from memories.access import actor_for_user
from memories.models import EmbedderChange, Embedding, Memory, Reinforcement
from memories.recall import recall
from memories.services import edit, remember
from memories.tasks import embed_memory, embed_pending
from tests.factories import make_memory
from zeromemory.embedding import get_embedder

pytestmark = pytest.mark.django_db

UNREACHABLE = "openai:http://127.0.0.1:9/v1#absent"


@pytest.fixture
def write(owner, scope):
    return lambda content, **asked: remember(actor=actor_for_user(owner), scope=scope, content=content, **asked).memory


class EmbeddingServer(BaseHTTPRequestHandler):
    """Answers like an embeddings endpoint, except for texts with the word poison in them."""

    def do_POST(self):
        texts = loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self.server.batches.append(len(texts))
        self.server.meanwhile()
        refused = any("poison" in text for text in texts)
        answer = {"data": [{"index": place, "embedding": [1.0, len(text)]} for place, text in enumerate(texts)]}
        self.send_response(self.server.refusal if refused else 200)
        self.end_headers()
        self.wfile.write(dumps({"error": "poison"} if refused else answer).encode())

    def log_message(self, *_):
        """Silent."""


@pytest.fixture(params=[400, 500])
def refusal(request):
    return request.param


@pytest.fixture
def endpoint():
    server = HTTPServer(("127.0.0.1", 0), EmbeddingServer)
    server.refusal, server.batches, server.meanwhile = 400, [], lambda: None
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with override_settings(EMBEDDER=f"openai:http://127.0.0.1:{server.server_port}/v1#tiny"):
        yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_task_embeds_every_window_with_the_stamp_of_its_model(write):
    memory = write("The release is cut on Monday. " * 200)
    embed_memory(str(memory.pk))
    memory.refresh_from_db()
    embedder = get_embedder()
    assert memory.embedded_at
    assert memory.embeddings.count() == memory.windows.count() > 1
    stamps = set(memory.embeddings.values_list("model", "model_version", "dimensions", "live"))
    assert stamps == {(embedder.name, embedder.version, 384, True)}


def test_one_bell_is_enough_for_all_that_waits(write):
    first, *others = (write(f"note {number}") for number in range(40))
    embed_memory(str(first.pk))
    assert Memory.objects.filter(embedded_at=None).count() == 0
    assert len(others) == 39


def test_embedding_twice_changes_nothing_the_second_time(write):
    memory = write("once")
    embed_memory(str(memory.pk))
    before = list(Embedding.objects.values())
    Memory.objects.update(embedding_claimed_at=None)
    embed_memory(str(memory.pk))
    embed_pending()
    assert list(Embedding.objects.values()) == before
    Memory.objects.update(embedded_at=None, embedded_with="")
    embed_memory(str(memory.pk))
    assert list(Embedding.objects.values()) == before


def test_a_memory_that_is_gone_is_no_error():
    embed_memory("00000000-0000-0000-0000-000000000000")


@pytest.mark.django_db(transaction=True)
def test_a_memory_erased_while_it_is_being_encoded_is_no_error(write, endpoint):
    memory, other = write("erased"), write("kept")
    endpoint.meanwhile = lambda: erase(memory)
    embed_pending()
    assert Embedding.objects.get().memory == other


def erase(memory):
    Memory.objects.filter(pk=memory.pk).delete()
    connection.close()  # the thread's own


@pytest.mark.behaviour("F19")
def test_being_embedded_does_not_move_the_date_of_the_last_change(write):
    memory = write("x")
    before = memory.updated_at
    embed_memory(str(memory.pk))
    memory.refresh_from_db()
    assert memory.updated_at == before
    assert memory.version == 1


@pytest.mark.behaviour("F19")
def test_failing_to_be_embedded_does_not_move_the_date_of_the_last_change(write):
    memory = write("x")
    with override_settings(EMBEDDER=UNREACHABLE):
        embed_memory(str(memory.pk))
    after = Memory.objects.get()
    assert (after.updated_at, after.version) == (memory.updated_at, 1)
    assert after.embedding_error


@pytest.mark.behaviour("F19")
def test_a_reinforcement_row_does_not_move_the_date_of_the_last_change(scope):
    memory = make_memory(scope=scope, age_days=9)
    Reinforcement.objects.create(memory=memory, multiplier=1.2)
    assert Memory.objects.get().updated_at == memory.updated_at


def test_the_sweep_takes_the_oldest_first_and_stops_at_its_bounds(write):
    memories = [write(f"number {number}") for number in range(5)]
    assert embedding_queue.embed_waiting(most=2) == 2
    assert set(Memory.objects.filter(embedded_at__isnull=False)) == set(memories[:2])
    assert embedding_queue.embed_waiting(seconds=0) == 0
    assert embedding_queue.embed_waiting() == 3
    assert embedding_queue.embed_waiting() == 0


def test_the_sweep_encodes_across_memories(write, endpoint):
    for number in range(10):
        write(f"number {number}")
    embed_pending()
    assert endpoint.batches == [1] * 10 + [10]  # each write asked what resembles it


def test_a_memory_another_worker_has_taken_up_is_left_to_it_until_the_claim_lapses(write):
    memory = write("x")
    Memory.objects.update(embedding_claimed_at=timezone.now() - timedelta(minutes=9))
    embed_memory(str(memory.pk))
    assert embedding_queue.embed_waiting() == 0
    Memory.objects.update(embedding_claimed_at=timezone.now() - timedelta(minutes=11))
    assert embedding_queue.embed_waiting() == 1


def test_a_retired_memory_is_not_embedded_until_it_is_restored(write):
    memory = write("x")
    Memory.objects.update(invalidated_at=timezone.now(), invalidated_actor="somebody")
    embed_memory(str(memory.pk))
    assert not Embedding.objects.exists()
    Memory.objects.update(invalidated_at=None, invalidated_actor="")
    assert embedding_queue.embed_waiting() == 1


def test_a_memory_without_windows_gets_them(scope):
    memory = make_memory("made by other means", scope=scope)
    memory.windows.all().delete()
    embed_pending()
    assert memory.windows.get().embeddings.exists()


@pytest.mark.behaviour("G30")
def test_an_unreachable_embedder_leaves_the_memory_found_by_words_and_a_later_sweep_embeds_it_once(write, owner):
    with override_settings(EMBEDDER=UNREACHABLE):
        memory = write("the needle")
        embed_pending()
        memory.refresh_from_db()
        assert memory.embedded_at is None
        assert "cannot be reached" in memory.embedding_error
        assert recall(actor=actor_for_user(owner), query="needle").results[0].memory == memory
    Memory.objects.update(embedding_claimed_at=timezone.now() - timedelta(minutes=11))
    assert embedding_queue.embed_waiting() == 1
    memory.refresh_from_db()
    assert memory.embedding_error == ""
    assert Embedding.objects.count() == 1
    assert embedding_queue.embed_waiting() == 0


def test_with_the_embedder_down_a_sweep_gives_up_after_a_few_and_keeps_the_rest_free(write):
    for number in range(10):
        write(f"number {number}")
    with override_settings(EMBEDDER=UNREACHABLE):
        embed_pending()
    assert Memory.objects.exclude(embedding_error="").count() == embedding_queue.FAILURES_IN_A_ROW
    assert Memory.objects.filter(embedding_claimed_at__isnull=True).count() == 7


@pytest.mark.behaviour("F27")
def test_one_text_that_cannot_be_embedded_does_not_keep_the_others_waiting(write, endpoint, refusal):
    endpoint.refusal = refusal
    poisoned = [write(f"poison {number}") for number in range(2)]
    others = [write(f"harmless {number}") for number in range(8)]
    embed_pending()
    assert set(Memory.objects.filter(embedded_at__isnull=False)) == set(others)
    assert set(Memory.objects.exclude(embedding_error="")) == set(poisoned)


def test_a_batch_of_ten_with_one_giant_embeds_all_ten(write, endpoint):
    for number in range(9):
        write(f"harmless {number}")
    giant = write("one giant word of a sentence. " * 4000)
    embed_pending()
    assert Memory.objects.filter(embedded_at__isnull=True).count() == 0
    assert giant.embeddings.count() == giant.windows.count() > 100


def test_vectors_of_another_dimension_get_an_index_of_their_own(write, endpoint):
    write("x")
    vector_index.ensure_index.cache_clear()
    embed_pending()
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'embedding_live_hnsw_2'")
        (definition,) = cursor.fetchone()
    assert "halfvec(2)" in definition
    assert "WHERE (live AND (dimensions = 2))" in definition


def test_vectors_of_another_model_stay_beside_the_new_ones(write, endpoint):
    memory = write("x")
    embed_pending()
    with override_settings(EMBEDDER="local"):
        embed_pending()
    assert sorted(memory.embeddings.values_list("dimensions", flat=True)) == [2, 384]


def test_after_a_change_of_model_the_sweep_embeds_again_oldest_first_and_keeps_the_old_vectors(write, endpoint):
    memories = [write(f"number {number}") for number in range(3)]
    embed_pending()
    with override_settings(EMBEDDER="local"):
        assert embedding_queue.embed_waiting(most=2) == 2
        assert set(Embedding.objects.filter(dimensions=384).values_list("memory", flat=True)) == {
            memory.pk for memory in memories[:2]
        }
        assert embedding_queue.embed_waiting() == 1
        assert embedding_queue.embed_waiting() == 0
    assert sorted(memories[0].embeddings.values_list("dimensions", flat=True)) == [2, 384]


def test_going_back_to_the_model_before_costs_no_encoding(write, endpoint):
    write("x")
    embed_pending()
    with override_settings(EMBEDDER="local"):
        embed_pending()
    before = len(endpoint.batches)
    assert embedding_queue.embed_waiting() == 1
    assert not embedding_queue.waiting(Memory.objects.all()).exists()
    assert len(endpoint.batches) == before


def test_with_the_former_model_gone_recall_says_what_is_found_by_words_only(write, owner, endpoint):
    for number in range(2):
        write(f"needle {number}")
    embed_pending()
    actor = actor_for_user(owner)
    assert recall(actor=actor, query="needle").notices == []
    EmbedderChange.objects.update(choice={})
    with override_settings(EMBEDDER="local"):
        (notice,) = recall(actor=actor, query="needle").notices
        assert notice.startswith("2 of these memories are embedded by another model")
        embed_pending()
        assert recall(actor=actor, query="needle").notices == []


def test_the_sweep_finds_what_another_model_embedded_through_an_index(write):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        waiting = embedding_queue.waiting(Memory.objects.all())
        assert "memory_live_embedded_with" in waiting.explain()


def reembed():
    out = StringIO()
    call_command("reembed", stdout=out)
    return out.getvalue()


def test_reembed_embeds_everything_with_the_model_in_use_and_counts_it(write, endpoint):
    for number in range(3):
        write(f"number {number}")
    Memory.objects.filter(pk=write("forgotten").pk).update(invalidated_at=timezone.now(), invalidated_actor="x")
    embed_pending()
    with override_settings(EMBEDDER="local"):
        said = reembed()
        assert "3 memories to embed" in said
        assert "3 of 3 embedded" in said
        assert "Done: all 3 memories" in said
        assert "0 memories to embed" in reembed()


def test_reembed_does_not_say_done_while_one_is_missing_and_goes_on_when_run_again(write, endpoint):
    harmless, poisoned = write("harmless"), write("poison")
    with pytest.raises(CommandError, match="Not done: 1 of 2"):
        reembed()
    assert harmless.embeddings.exists()
    Memory.objects.filter(pk=poisoned.pk).update(invalidated_at=timezone.now(), invalidated_actor="x")
    write("another")
    assert "Done: all 2 memories" in reembed()


@override_settings(EMBEDDER=UNREACHABLE)
def test_reembed_gives_up_on_an_embedder_out_of_reach(write):
    write("x")
    with pytest.raises(CommandError, match="cannot be reached"):
        reembed()


@override_settings(EMBEDDER="none")
def test_reembed_without_an_embedder_says_what_to_set():
    with pytest.raises(CommandError, match="ZEROMEMORY_EMBEDDER"):
        reembed()


@override_settings(EMBEDDER="none")
def test_without_an_embedder_the_work_waits_in_peace(write):
    memory = write("x")
    embed_memory(str(memory.pk))
    embed_pending()
    memory.refresh_from_db()
    assert (memory.embedded_at, memory.embedding_error, memory.embedding_claimed_at) == (None, "", None)


def test_an_edited_text_is_embedded_anew(write, owner):
    old = write("old")
    embed_pending()
    new = edit(actor=actor_for_user(owner), memory=old, expected_version=1, content="new")
    embed_pending()
    assert new.embeddings.get().live
    assert not old.embeddings.get().live


def waiting_messages():
    return [file.read_text() for file in (settings.BROKER_FOLDER / "queue").glob("*")]


@pytest.fixture
def _empty_queue():
    for file in (settings.BROKER_FOLDER / "queue").glob("*"):
        file.unlink()


@pytest.mark.usefixtures("_empty_queue")
def test_writing_rings_for_the_memory_after_the_commit(write, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        memory = write("x")
        assert waiting_messages() == []
    (message,) = waiting_messages()
    body = loads(message)
    assert body["headers"]["task"] == "memories.tasks.embed_memory"
    assert str(memory.pk) in body["headers"]["argsrepr"]


@pytest.mark.usefixtures("_empty_queue")
def test_a_bell_that_nobody_has_answered_is_enough(write, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        for number in range(5):
            write(f"note {number}")
    assert len(waiting_messages()) == 1


@pytest.mark.usefixtures("_empty_queue")
@pytest.mark.parametrize(
    "since",
    [
        {"embedding_claimed_at": timezone.now()},
        {"embedded_at": timezone.now()},
        {"recorded_at": timezone.now() - timedelta(minutes=1)},
    ],
    ids=["taken up", "embedded", "written long ago"],
)
def test_a_bell_that_was_answered_or_lost_is_not(write, django_capture_on_commit_callbacks, since):
    Memory.objects.filter(pk=write("before").pk).update(**since)
    with django_capture_on_commit_callbacks(execute=True):
        memory = write("after")
    (message,) = waiting_messages()
    assert str(memory.pk) in loads(message)["headers"]["argsrepr"]


@pytest.mark.usefixtures("_empty_queue")
def test_what_time_cut_short_goes_on_behind_what_waits(write, monkeypatch):
    for number in range(3):
        write(f"note {number}")
    monkeypatch.setattr(embedding_queue, "MEMORIES_A_CLAIM", 1)
    monkeypatch.setattr("memories.tasks.ONE_BELL_SECONDS", 0.0)
    embed_memory(str(Memory.objects.earliest("recorded_at").pk))
    (message,) = waiting_messages()
    assert loads(message)["headers"]["task"] == "memories.tasks.embed_pending"
    embed_pending()
    assert not Memory.objects.filter(embedded_at=None).exists()
    assert len(waiting_messages()) == 1, "all was done, so nothing is rung for"


def test_a_duplicate_and_a_bulk_writer_ring_for_nothing(write, django_capture_on_commit_callbacks):
    write("x")
    with django_capture_on_commit_callbacks() as callbacks:
        write("x")
        write("y", ring=False)
    assert callbacks == []


@pytest.fixture
def _no_broker():
    app, before = embed_memory.app, embed_memory.app.conf.broker_write_url
    app.conf.broker_write_url = "amqp://127.0.0.1:9//"
    app._after_fork()  # forget the connections that are open
    yield
    app.conf.broker_write_url = before
    app._after_fork()


@pytest.mark.usefixtures("_no_broker")
def test_a_broker_out_of_reach_does_not_fail_the_write(write, django_capture_on_commit_callbacks, caplog):
    began = time.monotonic()
    with django_capture_on_commit_callbacks(execute=True):
        memory = write("kept")
    assert Memory.objects.get() == memory
    assert "refused" in caplog.text
    assert time.monotonic() - began < 2


@pytest.mark.django_db(transaction=True)
def test_one_sweep_at_a_time_and_the_next_when_its_connection_is_gone(write):
    write("x")

    def hold():
        with embedding_queue.only_sweep() as is_mine:
            held.append(is_mine)
            taken.set()
            done.wait(10)
        connection.close()

    held, taken, done = [], threading.Event(), threading.Event()
    other = threading.Thread(target=hold)
    other.start()
    taken.wait(10)
    embed_pending()
    assert Memory.objects.get().embedded_at is None, "another is at it"
    done.set()
    other.join()
    embed_pending()
    assert (held, Memory.objects.get().embedded_at is not None) == ([True], True)
