"""What resembles a memory that is being written is told at once: by its meaning too, where that is quickly known."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import override_settings

from memories import quick_meaning, similarity
from memories.access import actor_for_user
from memories.embedding_queue import embed_waiting
from memories.models import Memory
from memories.services import forget, remember
from tests.factories import make_scope, make_token
from tests.reflections.wordings import NEWS, OPPOSITE, REWORDED
from zeromemory.embedding import get_embedder, reset

pytestmark = pytest.mark.django_db

STANDS = "Integration tests need a running Redis."
REWRITTEN = "Redis has to be running for the integration tests."


@pytest.fixture
def write(owner, scope):
    def written(content, **given):
        return remember(actor=actor_for_user(owner), **{"scope": scope, "content": content} | given)

    return written


@pytest.fixture
def stands(write):
    memory = write(STANDS).memory
    embed_waiting()
    return memory


def test_a_paraphrase_is_told_with_how_near_it_is(write, stands):
    (found,) = write(REWRITTEN).similar
    assert found.memory == stands
    assert found.memory.headline == STANDS
    assert 0.9 < found.likeness < 0.95


def test_the_floor_lets_paraphrases_through_and_keeps_news_out():
    embedder = get_embedder()

    def told(pairs):
        ones, others = (embedder.encode_documents(list(texts)) for texts in zip(*pairs, strict=True))
        return sum(float(cosine) >= similarity.NEAR for cosine in (ones * others).sum(axis=1))

    assert (told(REWORDED), told(OPPOSITE), told(NEWS)) == (23, 24, 1)


def test_only_what_lives_in_the_same_scope_is_told(write, stands, owner):
    assert not write(REWRITTEN, scope=make_scope(owner)).similar
    forget(actor=actor_for_user(owner), memory=stands)
    assert not write(REWRITTEN).similar


def test_no_more_than_three_are_told_and_the_nearest_first(write):
    for number in range(6):
        write(f"Integration tests need a running Redis of version {number}.")
    embed_waiting()
    found = write(STANDS).similar
    assert len(found) == similarity.MOST
    assert [one.likeness for one in found] == sorted((one.likeness for one in found), reverse=True)


def test_over_rest_they_are_told_by_id_and_headline(client, owner, scope, stands):
    bearer = {"Authorization": f"Bearer {make_token(owner, [scope])[1]}"}
    sent = {"content": REWRITTEN}
    told = client.post("/api/v1/memories", sent, content_type="application/json", headers=bearer).json()
    (found,) = told["similar_existing"]
    assert (found["id"], found["headline"]) == (str(stands.pk), STANDS)
    assert found["likeness"] == pytest.approx(0.922, abs=0.01)


def test_an_embedder_that_takes_too_long_costs_a_notice_and_no_more(write, stands, monkeypatch):
    busy = threading.Event()
    with ThreadPoolExecutor(1) as encoder:
        monkeypatch.setattr(quick_meaning, "_encoder", encoder)
        monkeypatch.setattr(quick_meaning, "SECONDS", 0.01)
        encoder.submit(busy.wait)
        try:
            written = write(REWRITTEN)
        finally:
            busy.set()
    assert Memory.objects.filter(pk=written.memory.pk).exists()
    assert written.notices == (
        "Similar memories were sought by words only: the embedder takes too long at the moment.",
    )
    assert not written.similar


class Watching(ThreadPoolExecutor):
    """Notes whether the caller has a transaction open while it waits."""

    def __init__(self):
        super().__init__(1)
        self.seen = []

    def submit(self, *asked):
        self.seen.append(connection.in_atomic_block)
        return super().submit(*asked)


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_the_embedder_is_waited_for(write, monkeypatch):
    with Watching() as encoder:
        monkeypatch.setattr(quick_meaning, "_encoder", encoder)
        write(STANDS)
    assert encoder.seen == [False]


def test_an_embedder_that_is_down_leaves_the_words_and_says_so(write):
    with override_settings(EMBEDDER="openai:http://127.0.0.1:9/v1#absent"):
        try:
            stands = write(STANDS).memory
            written = write("Integration tests need a running Redis!")
        finally:
            reset()
    assert [one.memory for one in written.similar] == [stands]
    assert written.notices[0].startswith("Similar memories were sought by words only: ")
