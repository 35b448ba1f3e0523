import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape

from reflections.hygiene import STEPS, work_on
from reflections.models import ModelCall, Run, Transcript
from tests.factories import make_member, make_scope, make_user
from tests.memories.pages import text_of
from tests.queries import queries_of, recorded_queries
from tests.reflections.factories import make_cycle

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def mine(client_of, owner, scope):
    return client_of(owner)


def page(client, **headers):
    response = client.get(reverse("run_list"), headers=headers)
    assert response.status_code == 200
    return response.text


def test_with_nothing_run_the_page_says_what_to_do(mine):
    assert "Nothing has run yet" in page(mine)
    assert "Run the full cycle" in page(mine)


def test_every_step_is_listed_with_what_it_may_change(mine):
    text = page(mine)
    for step in STEPS.values():
        assert step.title in text
        assert escape(step.may_change.split(";")[0].split(",")[0]) in text


@pytest.mark.parametrize(("kind", "said"), [("full", "Full cycle of home"), ("quick", "Quick cycle of home")])
def test_a_cycle_is_started_from_the_page_and_shown_with_its_steps(mine, scope, kind, said):
    answer = mine.post(reverse("run_start"), {"kind": kind}, follow=True)
    assert said in answer.text
    assert "It is about to start." in answer.text
    assert Run.objects.get().kind == kind


def test_one_scope_can_be_chosen(mine, owner, scope):
    make_scope(owner, slug="garden")
    mine.post(reverse("run_start"), {"kind": "full", "scope": "garden"})
    assert [each.slug for each in Run.objects.get().scopes.all()] == ["garden"]


def test_a_second_start_says_that_one_is_under_way(mine, scope):
    mine.post(reverse("run_start"), {"kind": "full"})
    answer = mine.post(reverse("run_start"), {"kind": "quick"}, follow=True)
    assert "No second run was started" in answer.text
    assert Run.objects.count() == 1


def test_a_run_under_way_asks_for_itself_again_and_one_that_ended_does_not(mine, scope):
    mine.post(reverse("run_start"), {"kind": "full"})
    address = reverse("run_detail", args=[Run.objects.get().pk])
    part = mine.get(address, headers=HTMX).text
    assert f'hx-get="{address}"' in part
    assert "<html" not in part
    work_on(Run.objects.get().pk)
    assert "hx-get" not in mine.get(address, headers=HTMX).text


def test_a_failed_step_is_told_and_what_is_left_can_be_tried_again(mine, scope):
    failed = make_cycle(scope)
    text = page(mine)
    assert "The model does not answer. Nothing was changed." in text
    assert "1,204" in text
    assert "Try what is left again" in text
    mine.post(reverse("run_again", args=[failed.pk]))
    again = Run.objects.exclude(pk=failed.pk).get()
    assert [step.name for step in again.steps.all()] == [next(iter(STEPS))]


def test_a_run_that_waits_can_be_stopped(mine, scope):
    mine.post(reverse("run_start"), {"kind": "full"})
    run = Run.objects.get()
    assert "Stop this run" in page(mine)
    mine.post(reverse("run_cancel", args=[run.pk]))
    assert "Cancelled" in page(mine)
    answer = mine.post(reverse("run_cancel", args=[run.pk]), follow=True)
    assert "ended already" in answer.text


def test_a_run_that_waits_long_asks_for_the_worker(mine, scope):
    mine.post(reverse("run_start"), {"kind": "full"})
    Run.objects.update(requested_at=timezone.now() - timedelta(minutes=2))
    assert "Is the worker running?" in page(mine)


def test_tokens_that_no_server_reported_are_shown_as_estimates(mine, scope, settings):
    settings.MODEL = "openai:tiny"
    run = make_cycle(scope)
    for job, estimated in (("pair_scan", True), ("reflection", False)):
        ModelCall.objects.create(
            job=job, run_id=run.pk, model="openai:tiny", input_tokens=4000, output_tokens=321, requests=1, seconds=1,
            outcome="answered", estimated=estimated,
        )  # fmt: skip
    told = text_of(mine.get(reverse("run_detail", args=[run.pk])))
    assert told.count("about 4,321") == 1
    assert told.count("4,321") == 2
    assert "about 8,642 tokens since midnight UTC" in text_of(mine.get(reverse("run_list")))


def test_tokens_of_a_step_and_of_the_day_are_counted(mine, scope, settings):
    settings.MODEL, settings.MODEL_DAILY_TOKENS = "openai:tiny", 100_000
    run = make_cycle(scope)
    for job in ("pair_scan", "reflection"):
        ModelCall.objects.create(
            job=job, run_id=run.pk, model="openai:tiny", input_tokens=4000, output_tokens=321, requests=1, seconds=1,
            outcome="answered",
        )  # fmt: skip
    text = page(mine)
    assert text.count("4,321") == 2
    assert "8,642 tokens since midnight UTC of 100,000 a day" in text


@pytest.mark.behaviour("F39")
def test_a_cycle_that_should_run_and_does_not_is_told(mine, scope, settings):
    scope.created_at = timezone.now() - timedelta(days=9)
    scope.save(update_fields=["created_at"])
    assert "should run every" not in page(mine)
    settings.HYGIENE_HOURS = 6
    assert "should run every 6 hours" in page(mine)
    make_cycle(scope, state="done", error="")
    assert "should run every" not in page(mine)


# Walls -----------------------------------------------------------------------------------------


def test_a_stranger_sees_no_run_and_cannot_touch_one(client_of, scope):
    run = make_cycle(scope)
    stranger = client_of(make_user())
    assert "The model does not answer" not in page(stranger)
    assert stranger.get(reverse("run_detail", args=[run.pk])).status_code == 404
    for name in ("run_again", "run_cancel"):
        assert stranger.post(reverse(name, args=[run.pk])).status_code == 404
    assert stranger.post(reverse("run_start"), {"kind": "full", "scope": scope.slug}).status_code == 404
    assert Run.objects.count() == 1


def test_whoever_reads_one_of_two_scopes_sees_no_run_over_both(client_of, owner, scope):
    run = make_cycle(scope)
    run.scopes.add(make_scope(owner), through_defaults={"is_open": False})
    reader = client_of(make_member(scope, "reader"))
    assert reader.get(reverse("run_detail", args=[run.pk])).status_code == 404


def test_a_reader_sees_runs_and_no_buttons(client_of, scope):
    run = make_cycle(scope)
    reader = client_of(make_member(scope, "reader"))
    text = page(reader)
    assert "The model does not answer" in text
    assert "Try what is left again" not in text
    assert "Run the full cycle" not in text
    assert reader.post(reverse("run_again", args=[run.pk])).status_code == 403


def test_the_queries_do_not_grow_with_the_runs(mine, scope):
    make_cycle(scope)
    few = queries_of(lambda: page(mine))
    for _ in range(20):
        make_cycle(scope)
    assert queries_of(lambda: page(mine)) == few == recorded_queries("run_list")


def test_what_the_installation_spends_is_for_staff(client_of, settings, scope):
    settings.MODEL, settings.MODEL_DAILY_TOKENS = "openai:tiny", 100
    ModelCall.objects.create(
        job="pair_scan", model="m", input_tokens=99, output_tokens=9, seconds=1, requests=1, outcome="answered"
    )
    text = page(client_of(make_member(scope, "writer")))
    assert not re.search(r"\b108\b", text)
    assert "The tokens of today are spent" in text


# Conversations that were handed in ------------------------------------------------------------


def make_transcript(owner, **given):
    ended = {"state": "failed", "finished_at": timezone.now(), "note": "The model does not answer."}
    values = {"user": owner, "actor": "crew", "session": "monday", "digest": str(uuid4()), "shown": []} | ended
    return Transcript.objects.create(**values | given)


def test_what_became_of_conversations_is_told_also_why_one_failed(mine, owner, scope):
    make_transcript(owner)
    verdicts = [
        {"id": "x", "useful": useful, "relevant": True, "misled": not useful, "confidence": 1} for useful in (1, 0)
    ]
    make_transcript(owner, session="tuesday", state="done", note="", verdicts=verdicts)
    make_transcript(owner, session="<i>x", state="running", note="", finished_at=None, questions=3, asked=1)
    text = text_of(mine.get(reverse("run_list")))
    assert "monday crew Failed The model does not answer." in text
    assert "tuesday crew Judged 1 useful, 1 misled, of 2 judged." in text
    assert "&lt;i&gt;x crew Being read 1 of 3 questions asked." in text


def test_only_whoever_handed_it_in_sees_it(client_of, owner, scope):
    make_transcript(owner)
    assert "monday" not in page(client_of(make_member(scope, "admin")))


def test_the_queries_do_not_grow_with_the_conversations(mine, owner, scope):
    make_cycle(scope)
    few = queries_of(lambda: page(mine))
    for _ in range(12):
        make_transcript(owner)
    assert queries_of(lambda: page(mine)) == few
