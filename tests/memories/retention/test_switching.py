"""What a switch of policy would do, counted before it is made."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memories.decaying import held
from memories.models import Memory, RetentionPolicy, Role, Scope
from memories.retention import RetentionRule
from memories.switching import preview_of
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.retention.cycling import cycle, in_days, make_decaying, unused_for

pytestmark = pytest.mark.django_db


def previewed(scope: Scope, retention: str, **rule: Any) -> Any:
    return preview_of(scope, retention=retention, rule=RetentionRule(**rule), now=in_days(0))


@pytest.mark.behaviour("X4")
def test_places_that_no_policy_changes_are_not_counted() -> None:
    scope = make_scope()
    make_memory("A decision of last year.", scope=scope, kind="decision", age_days=400)  # 0.93 by age, 1 by use
    make_memory("A fact of today.", scope=scope, kind="fact")  # 0.9 either way

    told = previewed(scope, "decaying")

    assert (told.live, told.moved, told.movers) == (2, 0, ())


@pytest.mark.behaviour("X4")
def test_whoever_age_held_down_rises_where_age_does_not_count() -> None:
    scope = make_scope()
    old = make_memory("Written first.", scope=scope, kind="fact", age_days=2000)
    new = make_memory("Written last.", scope=scope, kind="episode", age_days=1)

    told = previewed(scope, "decaying")

    assert told.moved == 2
    assert {(one.memory.pk, one.before, one.after) for one in told.movers} == {(old.pk, 2, 1), (new.pk, 1, 2)}
    assert Scope.objects.get(pk=scope.pk).retention == "ageing"


@pytest.mark.behaviour("X4")
def test_the_way_back_is_counted_too() -> None:
    scope = make_decaying()
    make_memory("Written first.", scope=scope, kind="fact", age_days=2000)
    make_memory("Written last.", scope=scope, kind="episode", age_days=1)

    told = previewed(scope, "ageing")

    assert (told.moved, told.leaving, told.runs) == (2, 0, False)


@pytest.mark.behaviour("F16")
def test_what_would_leave_is_what_the_first_cycle_then_lets_go() -> None:
    scope = make_scope()
    for number in range(30):
        unused_for(10 * number, scope=scope)

    told = previewed(scope, "decaying")
    Scope.objects.filter(pk=scope.pk).update(retention="decaying")
    scope.refresh_from_db()
    done = cycle(scope).cycle

    assert told.runs
    assert done
    assert told.leaving == done.archived == Memory.objects.filter(archived_at__isnull=False).count()
    assert told.count == 30
    assert held(scope).count() == 30 - told.leaving


def test_below_the_threshold_nothing_would_leave() -> None:
    scope = make_scope()
    unused_for(900, scope=scope)

    told = previewed(scope, "decaying")

    assert (told.runs, told.leaving, told.count) == (False, 0, 1)


# The page ----------------------------------------------------------------------------------------


def page(client: Client, scope: Scope, **query: Any) -> Any:
    return client.get(reverse("scope_retention", args=[scope.pk]), query)


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


WANTED = {"retention": "decaying", "prune_action": "archive", "summaries": "review", "version": "0"}


@pytest.mark.behaviour("X4")
def test_a_look_changes_nothing_and_the_second_step_does() -> None:
    scope = make_scope()
    for number in range(25):
        unused_for(20 * number, scope=scope)
    client = signed_in(scope.owner)

    looked = page(client, scope, **WANTED)
    text = looked.content.decode()
    assert "The next cycle would let 15 go" in text
    assert Scope.objects.get(pk=scope.pk).retention == "ageing"

    done = client.post(reverse("scope_retention", args=[scope.pk]), WANTED, follow=True)
    assert "is decaying. No memory was changed by that." in done.content.decode()
    assert Scope.objects.get(pk=scope.pk).retention == "decaying"
    assert not Memory.objects.filter(archived_at__isnull=False).exists()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("half_life_hours", "-3", "must be a number from 1"),
        ("half_life_hours", "soon", "Enter a number"),
        ("floor", "0.9", "must be a number from"),
        ("top_k", "51", "must be a whole number"),
        ("retention", "for ever", "Select a valid choice"),
        ("version", "7", "The policy changed meanwhile"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field_and_kept(field: str, value: str, said: str) -> None:
    scope = make_scope()

    answer = signed_in(scope.owner).post(reverse("scope_retention", args=[scope.pk]), WANTED | {field: value})

    assert answer.status_code == 422
    text = answer.content.decode()
    assert said in text
    assert field in ("retention", "version") or f'value="{value}"' in text
    assert not RetentionPolicy.objects.exists()
    assert Scope.objects.get(pk=scope.pk).retention == "ageing"


def test_deletion_is_said_in_words_beside_the_way_to_an_export() -> None:
    scope = make_scope()
    for number in range(25):
        unused_for(20 * number, scope=scope)

    text = page(signed_in(scope.owner), scope, **(WANTED | {"prune_action": "delete"})).content.decode()

    assert "Deleted memories do not come back." in text
    assert reverse("transfer_page") in text


def test_members_read_the_policy_and_strangers_find_nothing() -> None:
    scope = make_scope()
    writer = signed_in(make_member(scope, Role.WRITER))

    assert "Only admins of the scope change this." in page(writer, scope).content.decode()
    assert writer.post(reverse("scope_retention", args=[scope.pk]), WANTED).status_code == 403
    assert page(signed_in(make_user()), scope).status_code == 404
    assert Scope.objects.get(pk=scope.pk).retention == "ageing"
