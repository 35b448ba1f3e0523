"""Whether the worker and the embedder work, in words a person can act on."""

import time

import pytest
from celery.signals import worker_shutdown

from memories import condition
from zeromemory import diagnosis
from zeromemory.lib import heartbeat


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROMEMORY_DATA", str(tmp_path))
    return tmp_path


def test_a_worker_that_never_answered_says_how_to_start_it(data_folder):
    assert (condition.worker().state, "make up" in condition.worker().text) == ("down", True)


def test_a_worker_that_answered_just_now_works(data_folder):
    heartbeat.beat()
    assert (condition.worker().state, condition.worker().text) == ("ok", "works")


def test_a_worker_that_was_stopped_is_not_taken_for_one_that_works(data_folder):
    heartbeat.beat()
    answered = heartbeat.last()
    worker_shutdown.send(sender=None)
    assert (condition.worker().state, condition.worker().text) == ("down", "was stopped: start it with make up")
    finding = diagnosis.worker()
    assert (finding.ok, finding.detail.startswith("was stopped; it last answered 0 s ago")) == (False, True)
    assert heartbeat.last() == answered
    heartbeat.beat()
    assert diagnosis.worker().ok


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(100, "1 minute"), (59 * 60, "59 minutes"), (3600, "1 hour"), (30 * 3600, "1 day"), (9 * 86400, "9 days")],
)
def test_a_worker_that_fell_silent_says_for_how_long(data_folder, monkeypatch, seconds, said):
    heartbeat.beat()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + seconds)
    assert condition.worker().text.startswith(f"silent for {said}:")


@pytest.mark.django_db
def test_the_embedder_is_named_with_its_version(settings):
    part = condition.embedder()
    assert part.state == "ok"
    assert part.text.startswith("local:all-MiniLM-L6-v2-int8, version ")


@pytest.mark.django_db
def test_no_embedder_is_a_choice_and_no_failure(settings):
    settings.EMBEDDER = "none"
    assert condition.embedder().state == "off"


@pytest.mark.django_db
def test_a_broken_embedder_says_what_to_do(settings):
    settings.EMBEDDER_MODEL_PATH = "/nowhere"
    assert condition.embedder().state == "down"
    assert "ZEROMEMORY_EMBEDDER_PATH must be a folder" in condition.embedder().text


@pytest.mark.django_db
def test_a_server_that_is_not_asked_keeps_no_page_waiting(settings):
    settings.EMBEDDER = "openai:http://192.0.2.1:9#model"
    began = time.monotonic()
    assert condition.embedder().state == "ok"
    assert time.monotonic() - began < 0.5
