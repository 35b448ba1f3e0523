"""Whatever way a memory comes in, it is found by meaning; and an embedder that fails costs words, not time."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.core.management import call_command
from django.test import override_settings

from memories import embedding_queue
from memories.access import actor_for_token, actor_for_user
from memories.models import Memory
from memories.recall import recall
from memories.services import remember
from memories.tasks import embed_pending
from tests.factories import make_token
from zeromemory.embedding import reset
from zeromemory.mcp.memory_tools import remember as tool_remember

pytestmark = pytest.mark.django_db

TOLD = "Penguins cannot fly but they swim very well."
QUESTION = "flightless birds of the cold south"  # shares no word with what was told


def through_rest(client, owner, scope, tmp_path):
    _, secret = make_token(owner, [scope])
    sent = {"scope": scope.slug, "content": TOLD}
    answer = client.post(
        "/api/v1/memories", sent, content_type="application/json", headers={"Authorization": f"Bearer {secret}"}
    )
    assert answer.status_code == 201


def through_the_form(client, owner, scope, tmp_path):
    client.force_login(owner)
    sent = {"scope": scope.pk, "content": TOLD, "kind": "fact", "entities": "", "source": ""}
    assert client.post("/memories/new/", sent).status_code == 302


def through_an_edit(client, owner, scope, tmp_path):
    client.force_login(owner)
    memory = remember(actor=actor_for_user(owner), scope=scope, content="Something else.").memory
    sent = {"content": TOLD, "kind": "fact", "entities": "", "source": "", "version": 1}
    assert client.post(f"/memories/{memory.pk}/edit/", sent).status_code == 302


def through_an_import(client, owner, scope, tmp_path):
    file = tmp_path / "memories.jsonl"
    file.write_text(json.dumps({"content": TOLD}))
    call_command("import_memories", str(file), user=owner.username, scope=scope.slug, verbosity=0)


def through_the_protocol(client, owner, scope, tmp_path):
    """As the tool does it; tests/mcp does the same through the door."""
    token, _ = make_token(owner, [scope])
    told = tool_remember(actor_for_token(token, agent="coder"), TOLD)
    assert told.answer["scope"] == scope.slug


def through_a_restore(client, owner, scope, tmp_path):
    client.force_login(owner)
    memory = remember(actor=actor_for_user(owner), scope=scope, content=TOLD).memory
    for act in ("forget", "restore"):
        assert client.post(f"/memories/{memory.pk}/{act}/").status_code == 302


WAYS = [
    through_rest, through_the_protocol, through_the_form, through_an_edit, through_an_import, through_a_restore,
]  # fmt: skip


@pytest.mark.behaviour("F25")
def test_the_administration_shows_memories_and_is_no_way_in(client, owner, scope):
    client.force_login(owner)
    sent = {"scope": scope.pk, "content": TOLD, "kind": "fact"}
    assert client.post("/admin/memories/memory/add/", sent).status_code == 403
    assert not Memory.objects.exists()


@pytest.mark.behaviour("F25")
@pytest.mark.parametrize("way", WAYS)
def test_a_saved_memory_is_found_by_paraphrase(way, client, owner, scope, tmp_path):
    for other in ("The invoice was paid in Swiss francs.", "Office plants need water on Tuesday."):
        remember(actor=actor_for_user(owner), scope=scope, content=other)
    way(client, owner, scope, tmp_path)
    embed_pending()
    first = recall(actor=actor_for_user(owner), query=QUESTION).results[0]
    assert first.memory == Memory.objects.get(content=TOLD, invalidated_at=None)
    assert first.ranks.vector == 1
    assert first.ranks.text is None


class SilentServer(ThreadingHTTPServer):
    """Takes the connection and the question, and answers once ``awake`` is set."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Silent)
        self.awake = threading.Event()


class _Silent(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self.server.awake.wait(timeout=30)
        entries = [{"index": place, "embedding": [1.0, 2.0]} for place, _ in enumerate(texts)]
        try:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"data": entries}).encode())
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def silent():
    with SilentServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with override_settings(EMBEDDER=f"openai:http://127.0.0.1:{server.server_port}/v1#silent"):
            yield server
        server.awake.set()
        server.shutdown()
        thread.join()
        reset()


def timed_recall(owner, query):
    began = time.perf_counter()
    found = recall(actor=actor_for_user(owner), query=query)
    return found, time.perf_counter() - began


def test_a_server_that_never_answers_delays_one_recall_by_two_seconds_and_the_next_not_at_all(silent, owner, scope):
    memory = remember(actor=actor_for_user(owner), scope=scope, content="the needle").memory
    timed_recall(owner, str(memory.pk))  # opens the connection to the database
    reset()
    found, took = timed_recall(owner, "needle")
    assert [result.memory for result in found.results] == [memory]
    assert "did not answer within 2 seconds" in found.notices[0]
    assert took < 2.5  # two seconds, and half a one for a busy machine
    for query in ("the needle", "a needle"):
        found, took = timed_recall(owner, query)
        assert found.results
        assert found.notices[0].startswith("Searching by words only:")
        assert took < 0.5


def test_what_waited_for_a_silent_server_is_embedded_once_it_answers(silent, owner, scope, monkeypatch):
    monkeypatch.setattr("zeromemory.embedding.openai.DOCUMENT_SECONDS", 0.9)
    memory = remember(actor=actor_for_user(owner), scope=scope, content="the needle").memory
    embed_pending()
    memory.refresh_from_db()
    assert "did not answer" in memory.embedding_error
    silent.awake.set()
    embedding_queue.try_again(Memory.objects.all())
    embed_pending()
    memory.refresh_from_db()
    assert (memory.embedding_error, memory.embeddings.count()) == ("", 1)
    assert not embedding_queue.waiting(Memory.objects.all()).exists()
