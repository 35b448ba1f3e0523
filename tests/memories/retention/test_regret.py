"""Recalls compared with the archive: what they would have found there, counted."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.agent_recall import recall_for_agent
from memories.decaying import statistics
from memories.models import ArchiveSample, Memory, RecallActivity, Regret
from memories.regrets import EVERY, is_sampled, measured
from memories.services.regrets import compare
from tests.factories import make_memory, make_scope
from tests.memories.retention.cycling import cycle, make_decaying, unused_for

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("G45")]


@pytest.fixture
def archived():
    """The only one about the harbour light, in the archive of a scope with twenty others."""
    scope = make_decaying(fill=20)
    memory = unused_for(300, scope=scope, content="The harbour light is green.")
    cycle(scope)
    return memory


def asked(scope, query="harbour light", k=8, **more):
    return compare(archives=[scope.pk], **{"scopes": [scope.pk], "query": query, "k": k} | more)


def test_what_would_have_been_given_is_counted_for_its_day_and_itself(archived):
    scope = archived.scope

    assert set(asked(scope)) == set(asked(scope)) == {archived.pk}
    asked(scope, "nothing of the kind")

    sample = ArchiveSample.objects.get(scope=scope, day=timezone.now().date())
    assert (sample.recalls, sample.regretted) == (3, 2)
    assert Regret.objects.get(memory=archived).count == 2
    assert measured(scope).share == pytest.approx(2 / 3)
    assert statistics(scope).regretted == 1


def test_what_better_ones_would_have_kept_out_is_no_regret(archived):
    for number in range(3):
        make_memory(f"The harbour light is green, says pilot {number}.", scope=archived.scope)
    Memory.objects.filter(pk=archived.pk).update(provenance=0)

    assert asked(archived.scope, "harbour light green pilot", k=3) == {}
    assert measured(archived.scope).recalls == 1


def test_what_other_scopes_of_the_recall_would_have_kept_out_is_no_regret(archived):
    elsewhere = make_scope(archived.scope.owner)
    for number in range(3):
        make_memory(f"The harbour light is green, says pilot {number}.", scope=elsewhere)
    Memory.objects.filter(pk=archived.pk).update(provenance=0)
    question = "harbour light green pilot"

    assert set(asked(archived.scope, question, k=3)) == {archived.pk}
    assert asked(archived.scope, question, k=3, scopes=[archived.scope.pk, elsewhere.pk]) == {}
    assert measured(archived.scope).recalls == 2
    assert not ArchiveSample.objects.filter(scope=elsewhere).exists()


def test_what_a_live_memory_says_too_is_no_regret(archived):
    make_memory("The harbour light is green.", scope=archived.scope)

    assert asked(archived.scope) == {}


@pytest.mark.parametrize("change", [{"invalidated_at": None}, {"superseded_by": True}])
def test_what_was_forgotten_before_it_was_archived_is_no_regret(archived, change):
    other = make_memory(scope=archived.scope)
    earlier = {"invalidated_at": timezone.now() - timedelta(days=9)}
    Memory.objects.filter(pk=archived.pk).update(**({"superseded_by": other} if "superseded_by" in change else earlier))

    assert asked(archived.scope) == {}


def test_the_filters_of_the_recall_hold_for_the_archive_too(archived):
    assert asked(archived.scope, kinds=["episode"]) == {}
    assert asked(archived.scope, confidences=["verified"]) == {}
    assert set(asked(archived.scope, kinds=["fact"], confidences=["inferred"])) == {archived.pk}


def test_a_scope_that_ages_again_is_passed_over(archived):
    archived.scope.retention = "ageing"
    archived.scope.save()

    assert asked(archived.scope) == {}
    assert measured(archived.scope).share is None


def test_one_recall_in_five_is_compared_and_the_same_ones_each_time():
    ids = [uuid.UUID(int=number) for number in range(100)]
    assert [one for one in ids if is_sampled(one)] == [one for one in ids if one.int % EVERY == 0]


def _recall_until_sampled(scope, **more):
    """Until one of the ids that are drawn is in the sample."""
    for _ in range(200):
        recall_for_agent(actor=actor_for_user(scope.owner), **{"query": "harbour light"} | more)
        if any(map(is_sampled, RecallActivity.objects.values_list("pk", flat=True))):
            return


def test_a_sampled_recall_rings_for_its_comparison(archived, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks() as rung:
        _recall_until_sampled(archived.scope)
    assert len(rung) == 1


def test_no_recall_of_scopes_without_an_archive_rings(django_capture_on_commit_callbacks):
    scope = make_decaying(fill=1)
    elsewhere = make_scope(scope.owner)
    make_memory("The harbour light is green.", scope=elsewhere)
    with django_capture_on_commit_callbacks() as rung:
        _recall_until_sampled(scope)
    assert rung == []


def test_the_message_names_all_that_was_read_and_holds_no_secret(archived, django_capture_on_commit_callbacks):
    elsewhere = make_scope(archived.scope.owner)
    secret = "ghp_" + "a1B2c3D4e5f6" * 3
    with django_capture_on_commit_callbacks() as rung:
        _recall_until_sampled(archived.scope, query=f"harbour light {secret}")
    message = rung[0].keywords["kwargs"]
    assert message["query"].startswith("harbour light ")
    assert secret not in message["query"]
    assert message["archives"] == [archived.scope.pk]
    assert {archived.scope.pk, elsewhere.pk} <= set(message["scopes"])
