"""What use says: the evidence behind a memory's multiplier, on its page."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memories import services
from memories.access import actor_for_user
from memories.models import Reinforcement, UsageEvent
from memories.ranking import REINFORCEMENT_DEFAULTS
from memories.services.edit import EDITED
from memories.services.reinforcement import record_challenge, roll_up, roll_up_all, set_promoted
from memories.services.signals import Verdict, mark_used, record_judgement
from memories.usage import said_of
from tests.factories import make_memory, make_scope, make_user
from tests.memories.pages import text_of

pytestmark = pytest.mark.django_db


def shown(client_of, person, memory) -> str:
    answer = client_of(person).get(reverse("memory_detail", args=[memory.pk]))
    assert answer.status_code == 200
    return text_of(answer)


def test_without_signals_the_page_says_so_and_what_a_report_would_do(client_of, owner, scope):
    page = shown(client_of, owner, make_memory(scope=scope))
    assert "Recall multiplies its score by ×1.00 because nothing that counts was said of it in 90 days." in page
    assert "One more useful session would raise it to ×1.10." in page


def test_the_page_shows_the_sums_and_each_signal_with_its_weight(client_of, owner, scope):
    memory, actor = make_memory(scope=scope), actor_for_user(owner)
    mark_used(actor=actor, memory=memory, useful=True, session="s-1")
    record_judgement(session="s-1", verdicts=[Verdict(memory.pk, 0.9, useful=True)])
    record_judgement(session="s-2", verdicts=[Verdict(memory.pk, 0.7, misled=True)])
    page = shown(client_of, owner, memory)
    assert "Recall multiplies its score by ×0.97 for 1 useful and 0.70 misled in 90 days." in page
    assert "3 signals, of which 2 count" in page
    assert "Report: useful" in page
    assert f"by {owner.get_username()} in session s-1" in page
    assert "in session s-2, confidence 0.70" in page
    assert "Counts 0.70" in page
    assert "Does not count, its session is heard by another signal" in page


def test_what_was_said_of_an_earlier_wording_is_shown_with_the_later_one(client_of, owner, scope):
    memory = make_memory("The crane lifts forty tons.", scope=scope)
    record_challenge(memory=memory, user=owner, session="s-1")
    edited = services.edit(actor=actor_for_user(owner), memory=memory, expected_version=1, content="Forty tonnes.")
    assert "Challenge: misled" in shown(client_of, owner, edited)


def test_a_report_that_leaves_the_window_is_announced(client_of, owner, scope):
    memory, now = make_memory(scope=scope), timezone.now()
    UsageEvent.objects.create(
        memory=memory, at=now - timedelta(days=80, minutes=-1), source="direct", session="s-4", useful=True
    )
    roll_up(memory=memory, now=now)
    page = shown(client_of, owner, memory)
    assert "the report of session s-4 leaves the window; if nothing else is said, it then stands at ×1.00." in page


def test_a_rule_is_said_to_stand_whatever_is_reported(client_of, owner, scope):
    memory = make_memory(scope=scope)
    set_promoted(memory=memory, promoted=True, now=timezone.now())
    page = shown(client_of, owner, memory)
    assert "Recall multiplies its score by ×0.60 because it is a standing rule." in page
    assert "It is a standing rule, so it stands at ×0.60" in page


def test_the_multiplier_shown_is_the_one_that_recall_reads(client_of, owner, scope):
    memory = make_memory(scope=scope)
    Reinforcement.objects.create(memory=memory, multiplier=1.23, useful=3)
    assert "multiplies its score by ×1.23 for 3 useful and 0 misled" in shown(client_of, owner, memory)


def test_markup_in_a_session_is_shown_and_not_followed(client_of, owner, scope):
    memory = make_memory(scope=scope)
    mark_used(actor=actor_for_user(owner), memory=memory, useful=True, session="<b>s</b>")
    answer = client_of(owner).get(reverse("memory_detail", args=[memory.pk]))
    assert b"<b>s</b>" not in answer.content


def test_what_was_said_in_a_scope_one_may_not_read_counts_and_is_not_shown(client_of, owner, scope):
    earlier, memory = make_memory(scope=make_scope()), make_memory(scope=scope)
    earlier.superseded_by, earlier.invalidation_reason = memory, EDITED
    earlier.invalidated_at, earlier.invalidated_actor = timezone.now(), "somebody"
    earlier.save()
    record_challenge(memory=earlier, user=earlier.scope.owner, session="s-1")
    roll_up(memory=memory, now=timezone.now())
    page = shown(client_of, owner, memory)
    assert "1 signal, of which 1 counts" in page
    assert "the challenge leaves the window" in page
    assert "s-1" not in page


def test_a_chain_that_goes_in_a_circle_is_rolled_up_all_the_same(owner, scope):
    one, two = make_memory(scope=scope), make_memory(scope=scope)
    for old, new in ((one, two), (two, one)):
        old.superseded_by, old.invalidation_reason = new, EDITED
        old.invalidated_at, old.invalidated_actor = timezone.now(), "somebody"
        old.save()
    mark_used(actor=actor_for_user(owner), memory=one, useful=True)
    assert {row.useful for row in Reinforcement.objects.all()} == {1}
    assert roll_up_all(now=timezone.now()) == (2, 0, 0)


def test_a_stranger_sees_nothing_of_it(client_of, owner, scope):
    memory = make_memory(scope=scope)
    mark_used(actor=actor_for_user(owner), memory=memory, useful=True, session="s-1")
    assert client_of(make_user()).get(reverse("memory_detail", args=[memory.pk])).status_code == 404


def test_the_page_asks_as_often_for_many_signals_as_for_one(client_of, owner, scope, django_assert_max_num_queries):
    client, memory = client_of(owner), make_memory(scope=scope)
    address = reverse("memory_detail", args=[memory.pk])
    mark_used(actor=actor_for_user(owner), memory=memory, useful=True, session="s-0")
    with django_assert_max_num_queries(60) as first:
        client.get(address)
    for number in range(60):
        mark_used(actor=actor_for_user(owner), memory=memory, useful=True, session=f"s-{number}")
    with django_assert_max_num_queries(len(first)):
        answer = client.get(address)
    assert text_of(answer).count("Report: useful") == 50


def test_of_what_left_the_window_the_newest_is_read_and_the_rest_is_not(client_of, owner, scope):
    memory, long_ago = make_memory(scope=scope), timezone.now() - timedelta(days=200)
    UsageEvent.objects.bulk_create(
        UsageEvent(memory=memory, at=long_ago - timedelta(days=day), source="direct", useful=True) for day in range(60)
    )
    said = said_of(memory, now=timezone.now(), constants=REINFORCEMENT_DEFAULTS)
    assert [one.signal.at for one in said] == [long_ago - timedelta(days=day) for day in range(50)]
    mark_used(actor=actor_for_user(owner), memory=memory, useful=True, session="s-1")
    page = shown(client_of, owner, memory)
    assert "The newest 51 signals, of which 1 counts" in page
