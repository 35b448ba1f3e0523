"""Conversations whose judging fails: a model that does not answer, a spent budget, a worker that is lost."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.models import AuditEntry, UsageEvent
from reflections import judging
from reflections.models import ModelCall, Transcript
from reflections.services import transcripts
from tests.api.handing_in import SAID, answers, events, hand_in, judged, verdict
from tests.llm.server import prose, slow, status

pytestmark = pytest.mark.django_db


# When the model does not answer ----------------------------------------------------------------


def test_a_busy_model_is_asked_again_later_and_the_conversation_is_kept(api, given, model_server):
    model_server.always(status(429, retry_after=3600))
    waiting = judged(api)
    row = Transcript.objects.get()
    assert (waiting["state"], bool(waiting["note"]), row.text) == ("queued", True, SAID)
    assert row.due_at > timezone.now()
    judging.work_on(row.pk)
    asked = len(model_server.requests)
    model_server.always(answers(verdict(given)))
    Transcript.objects.update(due_at=timezone.now())
    judging.work_on(row.pk)
    assert (Transcript.objects.get().state, len(model_server.requests)) == ("done", asked + 1)


def test_a_slow_model_is_given_up_for_now(api, given, model_server, settings):
    settings.MODEL_TIMEOUT = 0.3
    model_server.always(slow(2, answers(verdict(given))))
    assert judged(api)["state"] == "queued"
    assert events() == []


def test_after_a_few_tries_it_fails_and_the_conversation_is_forgotten(api, given, model_server):
    model_server.always(status(401))
    row = Transcript.objects.get(pk=hand_in(api).json()["id"])
    for _ in range(transcripts.MOST_ATTEMPTS):
        Transcript.objects.update(due_at=timezone.now())
        judging.work_on(row.pk)
    row.refresh_from_db()
    assert (row.state, row.text, row.attempts) == ("failed", "", 5)
    assert row.note
    model_server.always(answers(verdict(given)))
    assert judged(api)["state"] == "done"


def test_an_answer_in_prose_sets_that_piece_aside(api, given, model_server):
    model_server.always(prose("It did fine, I would say."))
    done = judged(api)
    assert (done["state"], done["note"], events()) == ("failed", "1 answer of 1 could not be used.", [])
    assert ModelCall.objects.get().outcome == "rejected"


def test_a_spent_budget_waits_for_the_next_day(api, given, model_server, settings):
    settings.MODEL_DAILY_TOKENS = 1
    model_server.always(answers(verdict(given)))
    judged(api, transcript="Something else.\n")
    waiting = judged(api)
    assert (waiting["state"], "tokens it may use in a day" in waiting["note"]) == ("queued", True)
    assert Transcript.objects.get(state="queued").due_at.date() > timezone.now().date()


def test_days_without_budget_are_no_attempts(api, given, model_server, settings):
    settings.MODEL_DAILY_TOKENS = 1
    model_server.always(answers(verdict(given, useful=True)))
    judged(api, transcript="Something else.\n")
    row = Transcript.objects.get(pk=hand_in(api).json()["id"])
    for _ in range(transcripts.MOST_ATTEMPTS + 1):
        Transcript.objects.update(due_at=timezone.now())
        judging.work_on(row.pk)
    row.refresh_from_db()
    assert (row.state, row.text, row.attempts) == ("queued", SAID, 0)
    settings.MODEL_DAILY_TOKENS = 0
    Transcript.objects.update(due_at=timezone.now())
    judging.work_on(row.pk)
    row.refresh_from_db()
    assert (row.state, row.attempts) == ("done", 1)


# When the worker is lost -----------------------------------------------------------------------


@pytest.fixture
def two_pieces(api, given, model_server):
    model_server.always(answers(verdict(given, useful=True)))
    return Transcript.objects.get(pk=hand_in(api, transcript="A line of the talk.\n" * 2000).json()["id"])


def test_what_a_lost_worker_left_is_taken_up_where_it_was_and_written_once(two_pieces, model_server):
    lost = transcripts.claim(two_pieces.pk)
    verdicts = [{"id": str(two_pieces.shown[0]), "useful": False, "relevant": True, "misled": True, "confidence": 0.9}]
    assert transcripts.keep(lost, asked=1, verdicts=verdicts)
    assert transcripts.requeue_lost() == 0
    Transcript.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    assert transcripts.requeue_lost() == 1
    judging.work_on(two_pieces.pk)
    assert (len(model_server.requests), UsageEvent.objects.get().misled) == (1, True)
    assert Transcript.objects.get().attempts == 2
    assert not transcripts.keep(lost, asked=2)
    assert not transcripts.end(lost, "done")


def test_a_row_has_one_worker_and_one_is_read_at_a_time(api, two_pieces):
    other = hand_in(api, transcript="Another.\n").json()["id"]
    assert transcripts.claim(two_pieces.pk)
    assert transcripts.claim(two_pieces.pk) is None
    assert transcripts.claim(other) is None


def test_one_that_keeps_losing_its_worker_is_given_up(two_pieces):
    Transcript.objects.update(attempts=4)
    transcripts.claim(two_pieces.pk)
    Transcript.objects.update(heartbeat_at=timezone.now() - timedelta(minutes=1))
    assert transcripts.requeue_lost() == 1
    row = Transcript.objects.get()
    assert (row.state, row.text, "worker was lost" in row.note) == ("failed", "", True)
    entry = AuditEntry.objects.get(action="judge")
    assert (entry.object_id, entry.actor, entry.detail["state"]) == (str(row.pk), "judge of usefulness", "failed")
