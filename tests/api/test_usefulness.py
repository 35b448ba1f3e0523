"""Conversations that are handed in over REST, and what the judge makes of the memories in them."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from memories import services as memory_services
from memories.access import actor_for_token
from memories.models import AuditEntry, Membership, RecallActivity, Reinforcement, UsageEvent
from memories.services import tokens
from reflections import judging
from reflections.models import ModelCall, Transcript
from reflections.services import transcripts
from tests.api.handing_in import SAID, answers, events, hand_in, judged, recall, verdict
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.reflections.factories import person
from tests.reflections.together import at_once

pytestmark = pytest.mark.django_db
SECRET = "ghp_" + "a1B2c3D4" * 5


# What comes of it ----------------------------------------------------------------------------


@pytest.mark.behaviour("Z30")
def test_what_the_judge_found_is_a_signal_of_ids_flags_and_confidence(api, given, owner, model_server):
    model_server.will_answer(answers(verdict(given, useful=True)))
    waiting = hand_in(api).json()
    assert (waiting["state"], waiting["shown"], waiting["questions"]) == ("queued", [str(given.pk)], 1)
    done = judged(api)
    assert (done["state"], done["note"], done["verdicts"]) == ("done", "", [verdict(given, useful=True)])
    assert events() == [("judge", "monday", True, True, False, 0.8)]
    assert UsageEvent.objects.get().user == owner
    assert Reinforcement.objects.get().multiplier > 1


@pytest.mark.behaviour("Z30")
def test_the_conversation_is_forgotten_when_it_is_read(api, given, model_server):
    model_server.will_answer(answers(verdict(given)))
    judged(api)
    row = Transcript.objects.get()
    assert (row.state, row.text) == ("done", "")
    assert "deploy had to be undone" not in str(list(AuditEntry.objects.values())) + str(
        list(ModelCall.objects.values())
    )


def test_the_judge_is_shown_the_conversation_and_the_memories_as_quotes(api, given, model_server):
    model_server.will_answer(answers(verdict(given)))
    judged(api)
    assert SAID.strip() in model_server.last.prompt
    assert given.content in model_server.last.prompt
    call = ModelCall.objects.get()
    assert (call.job, call.scope, call.outcome, call.raw) == ("usefulness", given.scope, "answered", "")


def test_what_misled_was_not_useful_whatever_the_judge_says(api, given, model_server):
    model_server.will_answer(answers(verdict(given, useful=True, misled=True, confidence=0.9)))
    judged(api)
    assert events() == [("judge", "monday", False, True, True, 0.9)]
    assert Reinforcement.objects.get().multiplier < 1


@pytest.mark.behaviour("Z22")
@pytest.mark.parametrize(("confidence", "multiplier"), [(0.7, 1.07959), (0.59, None), (0.6, 1.0705)])
def test_how_far_a_judge_lifts_a_memory(api, given, model_server, confidence, multiplier):
    model_server.will_answer(answers(verdict(given, useful=True, confidence=confidence)))
    judged(api)
    row = Reinforcement.objects.first()
    assert (row and round(row.multiplier, 5)) == (multiplier and pytest.approx(multiplier, abs=1e-5))


@pytest.mark.behaviour("Z28")
def test_a_direct_report_of_the_session_goes_before_the_judge(api, given, model_server):
    api.post(f"/memories/{given.pk}/used", {"useful": True, "session": "monday"})
    model_server.will_answer(answers(verdict(given, useful=True, confidence=0.9)))
    judged(api)
    assert (Reinforcement.objects.get().useful, UsageEvent.objects.count()) == (1, 2)


def test_ids_that_were_not_shown_get_no_verdict(api, given, scope, model_server):
    other = make_memory("Unrelated.", scope=scope)
    stranger = {**verdict(given, useful=True), "id": str(uuid.uuid4())}
    model_server.will_answer(answers(verdict(other, useful=True), stranger, verdict(given, useful=True)))
    done = judged(api)
    assert [one["id"] for one in done["verdicts"]] == [str(given.pk)]
    assert list(UsageEvent.objects.values_list("memory", flat=True)) == [given.pk]


# What was shown ------------------------------------------------------------------------------


def test_only_what_that_session_was_given_is_judged(api, given, scope, model_server):
    make_memory("Another port of the API is 7070.", scope=scope)
    recall(api, "tuesday")
    assert hand_in(api).json()["shown"] == [str(given.pk)]


def test_of_the_named_memories_only_those_count_that_this_caller_was_given(
    api, api_of, given, owner, scope, model_server
):
    never = make_memory("Never recalled.", scope=scope)
    asked = [str(given.pk), str(never.pk), str(uuid.uuid4())]
    assert hand_in(api, shown=asked).json()["shown"] == [str(given.pk)]
    other_token = api_of(owner, scope)
    assert hand_in(other_token, shown=asked).json()["shown"] == []


def test_a_recall_without_a_session_counts_where_the_caller_names_the_memory(api, note, model_server):
    recall(api, "")
    assert hand_in(api).json()["shown"] == []
    assert hand_in(api, shown=[str(note.pk)]).json()["shown"] == [str(note.pk)]


def test_what_another_session_was_given_does_not_count_though_it_is_named(api, note, model_server):
    recall(api, "tuesday")
    assert hand_in(api, shown=[str(note.pk)]).json()["shown"] == []


def test_what_was_given_more_than_thirty_days_ago_does_not_count(api, given, model_server):
    RecallActivity.objects.update(at=timezone.now() - timedelta(days=31))
    assert hand_in(api).json()["shown"] == []


def test_with_nothing_to_judge_nobody_is_asked_and_the_answer_says_why(api, note, model_server):
    answer = hand_in(api).json()
    assert (answer["state"], "nothing to judge" in answer["note"]) == ("skipped", True)
    assert Transcript.objects.get().text == ""
    assert model_server.requests == []


# Who may -------------------------------------------------------------------------------------


def test_a_token_that_may_only_read_hands_nothing_in(api_of, owner, scope):
    refused = hand_in(api_of(owner, scope, can_write=False))
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_nobody_else_sees_what_was_handed_in(api, api_of, given, owner, scope, model_server):
    identity = hand_in(api).json()["id"]
    for stranger in (api_of(owner, scope), api_of(make_member(scope, "admin"), scope), api_of(make_user())):
        assert stranger.get(f"/usefulness/transcripts/{identity}").status_code == 404
    assert api.get("/usefulness/transcripts/none").status_code == 404


def test_what_the_caller_may_no_longer_read_is_not_shown_to_the_judge(api_of, scope, model_server):
    reader = make_member(scope, "writer")
    api = api_of(reader, scope)
    make_memory("The API listens on port 8080.", scope=scope)
    recall(api)
    identity = hand_in(api).json()["id"]
    Membership.objects.filter(user=reader).delete()
    judging.work_on(identity)
    assert (Transcript.objects.get().state, model_server.requests, events()) == ("done", [], [])


def test_a_token_that_was_revoked_meanwhile_has_nothing_judged(api, given, owner, model_server):
    identity = hand_in(api).json()["id"]
    tokens.revoke(actor=person(owner), token=Transcript.objects.get().token)
    judging.work_on(identity)
    row = Transcript.objects.get()
    assert (row.state, row.text, "no longer in force" in row.note) == ("failed", "", True)
    assert model_server.requests == []


# What is refused -----------------------------------------------------------------------------


def test_a_secret_is_refused_and_not_repeated(api, given, model_server):
    refused = hand_in(api, transcript=f"{SAID}The key is {SECRET}.")
    assert (refused.status_code, refused.json()["field"]) == (400, "transcript")
    assert SECRET not in refused.content.decode()
    assert not Transcript.objects.exists()


@pytest.mark.parametrize(
    ("body", "status_code", "field"),
    [
        ({"transcript": "x" * 200_001}, 413, "transcript"),
        ({"transcript": "ü" * 100_001}, 413, "transcript"),
        ({"transcript": " \n "}, 400, "transcript"),
        ({"session": " "}, 400, "session"),
        ({"session": "s" * 121}, 400, "session"),
        ({"shown": ["no id"]}, 400, "shown.0"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_the_field(api, given, model_server, body, status_code, field):
    refused = hand_in(api, **body)
    assert (refused.status_code, refused.json()["field"]) == (status_code, field)


def test_so_many_may_wait_and_no_more(api, given, model_server, monkeypatch):
    monkeypatch.setattr(transcripts, "MOST_WAITING", 2)
    assert [hand_in(api, transcript=f"Said {n}.").status_code for n in range(3)] == [202, 202, 409]


# Twice, and without a model --------------------------------------------------------------------


def test_handed_in_twice_is_judged_once(api, given, model_server):
    model_server.always(answers(verdict(given, useful=True)))
    first, second = judged(api), judged(api)
    assert first["id"] == second["id"]
    assert (len(model_server.requests), UsageEvent.objects.count()) == (1, 1)


def test_without_a_model_it_is_taken_and_says_so_and_can_be_handed_in_again(api, given, settings, model_server):
    settings.MODEL = ""
    skipped = hand_in(api).json()
    assert (skipped["state"], "ZEROMEMORY_MODEL" in skipped["note"]) == ("skipped", True)
    assert Transcript.objects.get().text == ""
    settings.MODEL = "openai:scripted-model"
    model_server.will_answer(answers(verdict(given)))
    again = judged(api)
    assert (again["id"], again["state"], again["note"]) == (skipped["id"], "done", "")


def test_two_conversations_of_one_session_add_one_voice(api, given, model_server):
    model_server.always(answers(verdict(given, useful=True)))
    judged(api)
    judged(api, transcript="More of it.\n")
    assert Reinforcement.objects.get().useful == pytest.approx(0.8)


@pytest.mark.django_db(transaction=True)
def test_handed_in_twice_at_one_moment_is_one_row(given, owner, model_server):
    token = RecallActivity.objects.get().token
    caller = actor_for_token(token)
    results = at_once(*[lambda: transcripts.hand_in(actor=caller, session="monday", transcript=SAID)] * 2)
    assert len({row.pk for row in results}) == Transcript.objects.count() == 1


# Long conversations ----------------------------------------------------------------------------


def test_a_long_conversation_is_read_in_pieces_that_end_with_a_line_and_judged_as_one(api, given, model_server):
    lines = "".join(f"Line {number} of a long talk.\n" for number in range(1500))
    said = iter([verdict(given, useful=True, confidence=0.9), verdict(given, misled=True, confidence=0.3)])
    model_server.answers(lambda request: answers(next(said)))
    done = judged(api, transcript=lines)
    assert (done["questions"], done["asked"]) == (2, 2)
    assert events() == [("judge", "monday", True, True, False, 0.9)]
    assert "Line 1499 of" in model_server.last.prompt
    assert "Line 0 of" not in model_server.last.prompt


def test_a_memory_that_is_gone_by_then_gets_no_signal(api, given, owner, model_server):
    model_server.will_answer(answers(verdict(given, useful=True)))
    identity = hand_in(api).json()["id"]
    memory_services.forget(actor=person(owner), memory=given)
    judging.work_on(identity)
    assert Transcript.objects.get().state == "done"


def test_a_question_about_two_scopes_is_of_neither(api_of, owner, scope, model_server):
    both = [scope, make_scope(owner, slug="work")]
    memories = [make_memory(f"The API port of {place.slug}.", scope=place) for place in both]
    api = api_of(owner, *both)
    recall(api)
    model_server.will_answer(answers(*map(verdict, memories)))
    assert judged(api)["state"] == "done"
    assert ModelCall.objects.get().scope is None
