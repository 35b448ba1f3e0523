"""A run that goes wrong is seen by whoever watches it, and nobody asks for a page that nobody looks at."""

import threading
import time

import pytest
from django.db import connection
from playwright.sync_api import expect

from reflections.hygiene import start_cycle, work_on
from tests.browser.conftest import NARROW
from tests.llm.server import cut_off, slow
from tests.reflections.distilling import distillate
from tests.reflections.factories import make_episodes, person
from tests.reflections.test_runs import restamp

LONG = 60  # seconds that the model would take


@pytest.fixture
def watched(owner, scope, model_server):
    """A reflection whose model thinks, and how to kill the model; the run has ended when this has."""
    make_episodes(scope, cosine=0.8)
    restamp()
    model_server.always(slow(LONG, cut_off(distillate())))
    run = start_cycle(actor=person(owner), scopes=[scope], steps=["reflection"], ring=False).run
    worker = threading.Thread(target=_work, args=[run.pk])
    worker.start()
    yield model_server
    _kill(model_server)
    worker.join(30)
    assert not worker.is_alive()


def _work(run_id):
    try:
        work_on(run_id)
    finally:
        connection.close()


def _kill(server):
    """No more connections are taken, and those that wait are cut."""
    server.closing.set()
    server.shutdown()
    server.server_close()


def _wait_for_the_question(server):
    deadline = time.monotonic() + 20
    while not server.requests:
        assert time.monotonic() < deadline, "the model was never asked"
        time.sleep(0.05)


@pytest.mark.behaviour("F49")
def test_a_model_that_dies_in_a_long_reflection_is_seen_within_five_seconds(visit, owner, watched):
    server = watched
    window = visit(owner, size=NARROW)
    page = window.open("/runs/")
    expect(page.locator("#run")).to_contain_text("Step 1 of 1 is under way")
    _wait_for_the_question(server)
    _kill(server)
    expect(page.locator("#run .notice")).to_contain_text("Failed", timeout=5000)
    expect(page.locator("#run .notice")).to_contain_text("model")
    window.assert_accessible()


@pytest.mark.behaviour("F49")
def test_a_tab_that_nobody_looks_at_stops_asking(visit, owner, watched):
    page = visit(owner).open("/runs/")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/runs/" in request.url else None)
    page.wait_for_timeout(2500)
    assert asked, "a tab that is looked at asks"
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
    page.wait_for_timeout(500)
    asked.clear()
    page.wait_for_timeout(4500)
    assert asked == []
