"""Summaries that wait for a person: what is drafted, what a decision does, and what stays meanwhile."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.access import actor_for_user
from memories.errors import Conflict, Forbidden
from memories.models import AuditEntry, Memory, RetentionPolicy, Scope
from memories.services.lifecycle import forget, pin
from memories.services.retention import preview
from reflections import services
from reflections.models import Candidate
from tests.factories import make_member
from tests.llm.server import ModelServer
from tests.memories.retention.cycling import unused_for, weight_of
from tests.reflections.factories import make_candidate, make_episodes
from tests.reflections.summing import SUMMARY, fading_scope, states, summarised, summary_of, waiting_in

pytestmark = pytest.mark.django_db


def approved(scope: Scope, **asked: Any) -> Memory:
    draft = waiting_in(scope)
    return services.approve(actor=actor_for_user(scope.owner), candidate=draft, version=draft.version, **asked)


@pytest.mark.behaviour("G10")
def test_without_a_model_the_draft_quotes_and_nothing_is_retired() -> None:
    scope, weak = fading_scope(3)

    done = summarised(scope)

    draft = waiting_in(scope)
    assert (draft.purpose, draft.origin, done.summarised) == ("summary", "extractive", 0)
    quoted = {memory.content for memory in draft.episodes.all()}
    assert quoted
    assert set(draft.draft.splitlines()) == quoted <= {memory.content for memory in weak}
    assert done.note == f"A summary of {len(quoted)} memories waits in the inbox."
    assert states(weak) == ["live"] * 3


@pytest.mark.behaviour("G10")
def test_without_a_model_a_person_decides_even_where_summaries_are_automatic() -> None:
    scope, weak = fading_scope(3, summaries="automatic")

    assert summarised(scope).summarised == 0

    assert waiting_in(scope).draft
    assert states(weak) == ["live"] * 3


def test_what_the_model_writes_waits_with_exactly_what_it_consumed(model_server: ModelServer) -> None:
    scope, weak = fading_scope(3)
    model_server.will_answer(summary_of("m3", "m1"))

    done = summarised(scope)

    draft = waiting_in(scope)
    assert (draft.draft, draft.origin) == (SUMMARY, "openai:scripted-model")
    assert draft.rationale == "Summary of what is fading, 2 memories: hardly anybody asks for it any more."
    assert [member.memory for member in draft.members.all()] == [weak[0], weak[2]]
    assert done.note == "A summary of 2 memories waits in the inbox."
    assert states(weak) == ["live"] * 3


@pytest.mark.behaviour("G15")
@pytest.mark.behaviour("G16")
def test_an_approval_stores_it_and_retires_exactly_the_consumed(model_server: ModelServer) -> None:
    scope, weak = fading_scope(3)
    Memory.objects.filter(pk=weak[2].pk).update(confidence="unverified")
    model_server.will_answer(summary_of("m1", "m3"))
    summarised(scope)

    summary = approved(scope)

    assert states([*weak, summary]) == ["superseded", "live", "superseded", "live"]
    assert set(summary.supersedes.all()) == {weak[0], weak[2]}
    assert weight_of(weak[0]) == pytest.approx(0.25, rel=0.01)
    summary.refresh_from_db()
    assert (summary.confidence, summary.author_kind, summary.weight) == ("unverified", "distilled", 1.0)
    entry = AuditEntry.objects.get(action="supersede", object_id=str(weak[0].pk))
    assert entry.user == scope.owner


def test_an_edited_text_stands_for_the_same_sources(model_server: ModelServer) -> None:
    scope, weak = fading_scope(2)
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)

    summary = approved(scope, content="The gauges of the harbour are read by hand.")

    assert summary.content == "The gauges of the harbour are read by hand."
    assert states(weak) == ["superseded", "superseded"]


def test_an_approval_leaves_what_was_pinned_since(model_server: ModelServer) -> None:
    scope, weak = fading_scope(2)
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)
    pin(actor=actor_for_user(scope.owner), memory=weak[0])

    approved(scope)

    assert states(weak) == ["live", "superseded"]


def test_a_summary_of_what_was_forgotten_since_is_not_approved_unread(model_server: ModelServer) -> None:
    scope, weak = fading_scope(2)
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)
    forget(actor=actor_for_user(scope.owner), memory=weak[0])

    with pytest.raises(Conflict, match="forgotten or changed since"):
        approved(scope)

    assert states(weak) == ["invalidated", "live"]


def test_an_approval_is_undone_whole_and_can_be_given_again(model_server: ModelServer) -> None:
    scope, weak = fading_scope(3)
    owner = actor_for_user(scope.owner)
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)
    summary = approved(scope)
    draft = Candidate.objects.get()

    services.undo(actor=owner, candidate=draft, version=draft.version)

    assert states([*weak, summary]) == ["live", "live", "live", "invalidated"]
    assert waiting_in(scope) == draft
    restored = AuditEntry.objects.get(action="restore", object_id=str(weak[0].pk))
    assert restored.user == scope.owner
    assert states([approved(scope), *weak]) == ["live", "superseded", "superseded", "live"]


def test_what_was_dismissed_is_not_summarised_again(model_server: ModelServer) -> None:
    scope, weak = fading_scope(3)
    model_server.will_answer(summary_of("m1", "m2", "m3"))
    summarised(scope)
    draft = waiting_in(scope)

    services.dismiss(actor=actor_for_user(scope.owner), candidate=draft, version=draft.version)
    summarised(scope)

    assert states(weak) == ["live"] * 3
    assert Candidate.objects.count() == 1
    assert len(model_server.requests) == 1


def test_one_summary_waits_at_a_time() -> None:
    scope, _ = fading_scope(3)

    summarised(scope)
    again = summarised(scope)

    assert Candidate.objects.count() == 1
    assert again.note == "A summary waits in the inbox, so no other was drafted."


@pytest.mark.parametrize("trigger", ["write", "schedule", "agent"])
def test_what_no_person_asked_for_is_summarised_once_a_day(trigger: str, model_server: ModelServer) -> None:
    scope, _ = fading_scope(3)
    model_server.always(summary_of())

    summarised(scope)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    scope.retention_cycles.update(started_at=an_hour_ago, finished_at=an_hour_ago)
    summarised(scope, trigger=trigger)
    assert len(model_server.requests) == 1

    summarised(scope, trigger="button")
    assert len(model_server.requests) == 2


def test_a_source_of_another_draft_is_left_out(model_server: ModelServer) -> None:
    scope, weak = fading_scope(3)
    make_candidate(scope, sources=[weak[0]])
    model_server.will_answer(summary_of("m1", "m2"))

    summarised(scope)

    assert set(Candidate.objects.get(purpose="summary").episodes.all()) == {weak[1], weak[2]}


# While it waits ------------------------------------------------------------------------------


def waiting_summary(model_server: ModelServer) -> tuple[Scope, list[Memory]]:
    """Of memories that are light enough to leave."""
    scope, _ = fading_scope(3)
    light = [unused_for(300, scope=scope, content=f"Nobody asks for {n}.") for n in range(2)]
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)
    return scope, light


def test_what_a_person_is_asked_about_is_not_let_go_meanwhile(model_server: ModelServer) -> None:
    scope, light = waiting_summary(model_server)

    assert not preview(scope).exists()
    summarised(scope)

    assert states(light) == ["live", "live"]


def test_after_a_month_without_an_answer_it_is(model_server: ModelServer) -> None:
    scope, light = waiting_summary(model_server)
    Candidate.objects.update(created_at=timezone.now() - timedelta(days=31))

    assert set(preview(scope)) == set(light)
    assert summarised(scope).archived == 2


def test_after_a_dismissal_it_leaves_like_everything_else(model_server: ModelServer) -> None:
    scope, light = waiting_summary(model_server)
    draft = waiting_in(scope)
    services.dismiss(actor=actor_for_user(scope.owner), candidate=draft, version=draft.version)

    assert summarised(scope).archived == 2
    assert states(light) == ["archived", "archived"]


def test_where_the_scope_deletes_what_is_in_a_draft_goes_into_the_archive(model_server: ModelServer) -> None:
    scope, light = waiting_summary(model_server)
    RetentionPolicy.objects.filter(scope=scope).update(prune_action="delete")
    draft = waiting_in(scope)
    services.dismiss(actor=actor_for_user(scope.owner), candidate=draft, version=draft.version)

    assert summarised(scope).archived == 2
    assert states(light) == ["archived", "archived"]


# As people see it ----------------------------------------------------------------------------


def test_the_inbox_says_what_it_is_and_what_an_approval_does(client: Client, model_server: ModelServer) -> None:
    scope, _ = fading_scope(3)
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)
    client.force_login(scope.owner)

    page = client.get(reverse("inbox"), {"type": "summary"}).content.decode()

    assert "May this stand in for 2 memories that are fading?" in page
    assert "Approve and retire its sources in its favour" in page
    assert "Summary of what is fading, 2 memories" in page


def test_an_approval_in_the_inbox_says_what_became_of_the_sources(client: Client, model_server: ModelServer) -> None:
    scope, weak = fading_scope(3)
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)
    client.force_login(scope.owner)
    draft = waiting_in(scope)

    page = client.post(reverse("inbox_act", args=["draft", draft.pk, "approve"]), {"version": 1}, follow=True)
    assert "Approved. Wrote 1 memory, in whose favour 2 sources are retired." in page.content.decode()
    page = client.post(reverse("inbox_act", args=["draft", draft.pk, "undo"]), {"version": 2}, follow=True)

    assert "its memory is forgotten, and what it stood for is restored." in page.content.decode()
    assert states(weak) == ["live"] * 3


def test_the_page_of_drafts_tells_summaries_from_drafts(client: Client, model_server: ModelServer) -> None:
    scope, _ = fading_scope(3)
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)
    make_candidate(scope, sources=make_episodes(scope))
    client.force_login(scope.owner)

    page = client.get(reverse("reflection_list")).content.decode()

    assert "2 fading memories" in page
    assert "3 episodes" in page


def test_a_reader_decides_nothing(model_server: ModelServer) -> None:
    scope, weak = fading_scope(3)
    model_server.will_answer(summary_of("m1", "m2"))
    summarised(scope)
    draft = waiting_in(scope)

    with pytest.raises(Forbidden):
        services.approve(actor=actor_for_user(make_member(scope)), candidate=draft, version=1)

    assert states(weak) == ["live"] * 3
