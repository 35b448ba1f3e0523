"""The archive of a scope: what left, what is missed, and the way back for those that a person chose."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from memories.models import ArchiveSample, AuditEntry, Memory, Regret, Scope
from tests.factories import make_member, make_memory, make_user
from tests.memories.retention.cycling import cycle, make_decaying, unused_for
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(scope: Scope, name: str = "scope_archive") -> str:
    return reverse(name, args=[scope.pk])


def archived(scope: Scope, number: int, **overrides: Any) -> list[Memory]:
    found = [unused_for(300 + each, scope=scope, **overrides) for each in range(number)]
    cycle(scope)
    return found


def restore(client: Client, scope: Scope, *memories: Memory) -> Any:
    chosen = {"memory": [str(memory.pk) for memory in memories]}
    return client.post(address(scope, "scope_archive_restore"), chosen, follow=True)


def states(*memories: Memory) -> list[str]:
    return [Memory.objects.get(pk=memory.pk).state for memory in memories]


@pytest.mark.behaviour("G45")
def test_the_chosen_come_back_and_the_others_stay() -> None:
    scope = make_decaying(fill=20)
    first, second, third = archived(scope, 3)

    shown = restore(signed_in(scope.owner), scope, first, second).content.decode()

    assert "Restored 2: full weight again" in shown
    assert states(first, second, third) == ["live", "live", "archived"]
    assert Memory.objects.get(pk=first.pk).weight == 1.0
    assert AuditEntry.objects.filter(action="restore", actor=str(scope.owner)).count() == 2
    assert cycle(scope).cycle.archived == 0  # type: ignore[union-attr]  # it ran


def test_what_a_live_memory_says_by_now_stays_and_is_counted() -> None:
    scope = make_decaying(fill=20)
    one, other = archived(scope, 2)
    make_memory(one.content, scope=scope)

    shown = restore(signed_in(scope.owner), scope, one, other).content.decode()

    assert "Restored 1: full weight again" in shown
    assert "1 stayed: a live memory says the same by now" in shown
    assert states(one, other) == ["archived", "live"]
    assert "None of these can come back" in restore(signed_in(scope.owner), scope, one).content.decode()


def test_nothing_chosen_is_said_and_what_is_no_id_is_not_there() -> None:
    scope = make_decaying(fill=20)
    archived(scope, 1)
    client = signed_in(scope.owner)

    assert "Choose at least one memory." in restore(client, scope).content.decode()
    assert client.post(address(scope, "scope_archive_restore"), {"memory": ["x"]}).status_code == 404


def test_memories_of_another_scope_and_live_ones_are_not_touched() -> None:
    scope, foreign = make_decaying(fill=20), make_decaying(fill=20)
    (theirs,), live = archived(foreign, 1), unused_for(3, scope=scope)
    before = live.accessed_at

    restore(signed_in(scope.owner), scope, theirs, live)

    assert states(theirs) == ["archived"]
    assert Memory.objects.get(pk=live.pk).accessed_at == before


def test_strangers_find_nothing_and_readers_change_nothing() -> None:
    scope = make_decaying(fill=20)
    (memory,) = archived(scope, 1)
    stranger, reader = signed_in(make_user()), signed_in(make_member(scope))

    assert stranger.get(address(scope)).status_code == 404
    assert restore(stranger, scope, memory).status_code == 404
    assert restore(reader, scope, memory).status_code == 403
    assert "Restore the chosen" not in reader.get(address(scope)).content.decode()
    assert states(memory) == ["archived"]


def test_what_is_missed_most_comes_first_where_that_is_asked_for() -> None:
    scope = make_decaying(fill=20)
    memories = archived(scope, 3)
    for memory, count in zip(memories, (1, 7, 3), strict=True):
        Regret.objects.create(memory=memory, count=count, last_at=timezone.now())
    client = signed_in(scope.owner)

    page = client.get(address(scope), {"by": "missed"})

    assert [memory.missed for memory in page.context["page"]] == [7, 3, 1]
    assert "7 recalls would have given it" in page.content.decode()


@pytest.mark.behaviour("G45")
def test_the_share_that_misses_it_is_a_dash_until_it_is_measured() -> None:
    scope = make_decaying(fill=20)
    archived(scope, 1)
    client = signed_in(scope.owner)
    assert "0 %" not in client.get(address(scope)).content.decode()

    ArchiveSample.objects.create(scope=scope, day=timezone.now().date(), recalls=200, regretted=6)

    shown = client.get(address(scope)).content.decode()
    assert "3 %" in shown
    assert "of 200 compared in 90 days" in shown
    assert "More than 2 % of recalls miss what is in the archive." in shown


def test_an_empty_archive_leads_to_what_leaves_next() -> None:
    scope = make_decaying()

    shown = signed_in(scope.owner).get(address(scope)).content.decode()

    assert "Nothing has left yet" in shown
    assert reverse("scope_keeping", args=[scope.pk]) in shown


def test_a_long_archive_costs_no_more_queries_and_is_paged() -> None:
    scope = make_decaying(fill=20)
    archived(scope, 3)
    client = signed_in(scope.owner)
    few = queries_of(lambda: client.get(address(scope)))
    archived(scope, 60)

    assert queries_of(lambda: client.get(address(scope))) == few == recorded_queries("scope_archive")
    assert "1 to 50 of 63" in client.get(address(scope)).content.decode()
    assert "51 to 63 of 63" in client.get(address(scope), {"page": 2}).content.decode()


def test_a_search_of_the_archive_finds_what_is_in_it_and_keeps_the_order() -> None:
    scope = make_decaying(fill=20)
    (wanted,) = archived(scope, 1, content="The staging key hangs behind the door.")
    archived(scope, 2)
    make_memory("A live staging key.", scope=scope)
    client = signed_in(scope.owner)

    found = client.get(address(scope), {"q": "KEY staging", "by": "missed"})

    assert [memory.pk for memory in found.context["page"]] == [wanted.pk]
    assert "?q=KEY+staging&amp;by=missed" in found.content.decode()
    assert (
        "Nothing in the archive holds all of these words."
        in client.get(address(scope), {"q": "zebra \x00"}).content.decode()
    )
