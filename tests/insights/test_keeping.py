"""What a decaying scope keeps and lets go, on its page."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from insights.keeping import gauges, keeping
from memories.access import actor_for_user
from memories.models import ArchiveSample, AuditEntry, Memory, Regret, RetentionPolicy, Scope
from memories.retention import weight
from memories.services.lifecycle import forget
from memories.staying import kept_for, unpinned_warning
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.memories.retention.cycling import cycle, in_days, make_decaying, unused_for, weight_of
from tests.queries import queries_of, recorded_queries

pytestmark = pytest.mark.django_db


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text_of(client: Client, scope: Scope, **query: Any) -> str:
    return client.get(reverse("scope_keeping", args=[scope.pk]), query).content.decode()


def keep(client: Client, scope: Scope, *memories: Memory, act: str = "keep") -> Any:
    chosen = {"memory": [str(memory.pk) for memory in memories], "act": act}
    return client.post(reverse("scope_keep", args=[scope.pk]), chosen, follow=True)


def test_bands_and_dates_are_those_of_the_formula() -> None:
    scope, now = make_decaying(), timezone.now()
    days = [0, 10, 29, 31, 70, 120, 150, 180, 195, 205]
    for number in days:
        unused_for(number, scope=scope)

    kept = keeping(scope, now)

    weights = [weight(1, 24 * number, 720) for number in days]
    assert [band.count for band in kept.bands] == [
        sum(band.over < one <= band.to for one in weights) for band in kept.bands
    ]
    assert sum(band.count for band in kept.bands) == len(days)
    assert kept.leaving == {7: 2, 30: 3, 90: 5}
    assert kept.leaving_now == 1


def test_a_policy_of_its_own_is_what_the_dates_go_by() -> None:
    scope = make_decaying(half_life_hours=24, floor=0.25)
    unused_for(1, scope=scope)
    unused_for(0, scope=scope, pinned=True)

    assert keeping(scope, timezone.now()).leaving == {7: 1, 30: 1, 90: 1}


def test_an_empty_scope_shows_dashes_and_says_never() -> None:
    scope = make_decaying()

    text = text_of(signed_in(scope.owner), scope)

    assert "The last one: <b>never</b>." in text
    assert "Nothing decays yet." in text
    assert "Nothing is kept yet" in text
    assert "Nothing has left yet." in text
    assert "0 %" not in text


def test_the_chosen_are_kept_and_taken_back_exactly() -> None:
    scope = make_decaying()
    light, other = unused_for(190, scope=scope, weight=0.4), unused_for(190, scope=scope)
    client, before = signed_in(scope.owner), (light.weight, light.accessed_at)

    shown = keep(client, scope, light).content.decode()
    assert "Kept 1: full weight again" in shown
    assert weight_of(light) == 1.0
    assert light.accessed_at > before[1]
    assert weight_of(other) == 1.0
    assert keeping(scope, timezone.now()).leaving[30] == 1

    operation = AuditEntry.objects.get(object_type="operation").object_id
    client.post(reverse("scope_keep_undo", args=[scope.pk, operation]))
    light.refresh_from_db()
    assert (light.weight, light.accessed_at) == before


def test_the_chosen_are_pinned_and_stay() -> None:
    scope = make_decaying(fill=20)
    old = unused_for(300, scope=scope)

    keep(signed_in(scope.owner), scope, old, act="pin")
    cycle(scope, now=in_days(900))

    old.refresh_from_db()
    assert (old.pinned, old.state) == (True, "live")


def test_nothing_chosen_is_said_and_too_many_are_refused() -> None:
    scope = make_decaying()
    client = signed_in(scope.owner)

    assert "Choose at least one memory." in keep(client, scope).content.decode()
    many = [unused_for(190, scope=scope) for _ in range(101)]
    assert "Choose at most 100 memories at once." in keep(client, scope, *many).content.decode()
    assert not Memory.objects.filter(weight=1, accessed_at__gt=in_days(-1)).exists()


def test_of_two_people_the_second_is_told() -> None:
    scope = make_decaying()
    memory = unused_for(190, scope=scope)
    forget(actor=actor_for_user(scope.owner), memory=memory)

    assert "None of these can be kept any more" in keep(signed_in(scope.owner), scope, memory).content.decode()


def test_memories_of_another_scope_are_not_touched() -> None:
    scope, foreign = make_decaying(), unused_for(190, scope=make_decaying())

    keep(signed_in(scope.owner), scope, foreign)

    assert foreign.accessed_at == Memory.objects.get(pk=foreign.pk).accessed_at


@pytest.mark.parametrize("name", ["scope_keeping", "scope_weights_csv", "scope_retention"])
def test_strangers_find_no_page(name: str) -> None:
    scope = make_decaying()

    assert signed_in(make_user()).get(reverse(name, args=[scope.pk])).status_code == 404


def test_strangers_and_readers_change_nothing() -> None:
    scope = make_decaying(fill=20)
    memory = unused_for(300, scope=scope)
    done = cycle(scope).cycle
    assert done
    address, back = reverse("scope_keep", args=[scope.pk]), reverse("scope_bring_back", args=[scope.pk, done.pk])

    for user, status in ((make_user(), 404), (make_member(scope), 403)):
        client = signed_in(user)
        assert client.post(address, {"memory": [str(memory.pk)]}).status_code == status
        assert client.post(back).status_code == status
        assert client.post(reverse("scope_cycle", args=[scope.pk])).status_code == status
    memory.refresh_from_db()
    assert memory.state == "archived"


def test_strangers_and_readers_take_nothing_back_of_what_was_kept() -> None:
    scope = make_decaying()
    light = unused_for(190, scope=scope, weight=0.4)
    keep(signed_in(scope.owner), scope, light)
    operation = AuditEntry.objects.get(object_type="operation").object_id
    elsewhere = make_decaying()

    for user, through, status in (
        (make_user(), scope, 404),
        (make_member(scope), scope, 403),
        (elsewhere.owner, elsewhere, 404),
    ):
        answer = signed_in(user).post(reverse("scope_keep_undo", args=[through.pk, operation]))
        assert answer.status_code == status
    assert weight_of(light) == 1.0


@pytest.mark.behaviour("G45")
def test_a_cycle_is_taken_back_from_its_line() -> None:
    scope = make_decaying(fill=20)
    memory = unused_for(300, scope=scope)
    done = cycle(scope).cycle
    assert done
    client = signed_in(scope.owner)
    assert "1 can come back" in text_of(client, scope)

    answer = client.post(reverse("scope_bring_back", args=[scope.pk, done.pk]), follow=True)

    assert "Brought back 1" in answer.content.decode()
    memory.refresh_from_db()
    assert memory.state == "live"


@pytest.mark.behaviour("G45")
def test_the_share_of_recalls_that_miss_the_archive_stands_against_two_per_cent() -> None:
    scope = make_decaying(fill=20)
    memory = unused_for(300, scope=scope, content="The staging password lives in the vault.")
    cycle(scope)
    ArchiveSample.objects.create(scope=scope, day=timezone.now().date(), recalls=200, regretted=6)
    Regret.objects.create(memory=memory, count=6, last_at=timezone.now())

    text = text_of(signed_in(scope.owner), scope)

    assert "3 %" in text
    assert "More than 2 % of recalls miss what is in the archive." in text
    assert "6 recalls would have given it" in text


def test_exactly_two_per_cent_is_no_alarm() -> None:
    scope = make_decaying()
    ArchiveSample.objects.create(scope=scope, day=timezone.now().date(), recalls=100, regretted=2)

    assert "More than 2 %" not in text_of(signed_in(scope.owner), scope)


def test_a_memory_says_how_long_it_stays() -> None:
    scope, now = make_decaying(), timezone.now()

    said = [kept_for(memory, now) for memory in (
        unused_for(30, scope=scope),
        unused_for(300, scope=scope),
        unused_for(300, scope=scope, pinned=True),
        unused_for(300, scope=scope, kind="decision"),
        make_memory(scope=make_scope()),
    )]  # fmt: skip

    assert said == [
        "by use: weighs 0.5; unless somebody asks for it, it leaves in 169 days",
        "by use: weighs 0.00098; it leaves with the next cycle unless somebody asks for it",
        "by use: weighs 1; it stays whatever it weighs, because it is pinned",
        "by use: weighs 0.00098; it stays whatever it weighs, because it is a decision",
        "by age: nothing leaves here, and age lowers its place in search",
    ]


@pytest.mark.behaviour("G21")
def test_whoever_unpins_is_warned_of_what_the_next_cycle_would_let_go() -> None:
    scope, now = make_decaying(), timezone.now()
    forgotten = unused_for(365, scope=scope, pinned=True)
    used = unused_for(3, scope=scope, pinned=True)

    assert unpinned_warning(forgotten, now) == (
        "Nobody has asked for it for 365 days: unpinned it weighs 0.00022, below the floor of 0.01, and the next "
        "cycle lets it go."
    )
    assert unpinned_warning(used, now) == ""
    page = signed_in(scope.owner).get(reverse("memory_detail", args=[forgotten.pk])).content.decode()
    assert "the next cycle lets it go" in page


def test_gauges_are_over_decaying_scopes_alone_and_none_without_one() -> None:
    now = timezone.now()
    assert gauges([make_scope()], now) is None

    chosen = [make_decaying(half_life_hours=2160) for _ in range(3)]
    other = make_decaying()
    unused_for(199, scope=other)
    ArchiveSample.objects.create(scope=other, day=now.date() - timedelta(days=100), recalls=9, regretted=9)

    found = gauges([*chosen, other, make_scope()], now)

    assert found
    assert (found.scopes, found.largest, found.leaving[7]) == (4, 1, 1)
    assert (found.common, found.common_hours) == (3, 2160)
    assert found.regrets.share is None, "samples of more than 90 days ago say nothing of today"


def test_two_owners_are_no_custom() -> None:
    scopes = [make_decaying(half_life_hours=2160) for _ in range(2)]

    found = gauges(scopes, timezone.now())

    assert found
    assert found.common_hours is None
    assert RetentionPolicy.objects.count() == 2


def test_a_list_of_many_that_leave_costs_no_more_queries() -> None:
    scope = make_decaying(fill=20)
    unused_for(190, scope=scope)
    client = signed_in(scope.owner)
    few = queries_of(lambda: text_of(client, scope))
    for _ in range(60):
        unused_for(190, scope=scope)

    assert queries_of(lambda: text_of(client, scope)) == few == recorded_queries("scope_keeping")


def test_where_a_cycle_would_delete_it_is_confirmed_in_words_beside_the_way_to_an_export() -> None:
    scope = make_decaying(fill=20, prune_action="delete")
    client = signed_in(scope.owner)
    assert "Run it and delete" not in text_of(client, scope)
    unused_for(300, scope=scope)

    text = text_of(client, scope)

    assert "deleted for good" in text
    assert "Run it and delete" in text
    assert f"{reverse('transfer_page')}?format=jsonl&amp;scope={scope.pk}" in text


def test_an_undo_of_what_was_kept_counts_once() -> None:
    scope = make_decaying()
    memory = unused_for(190, scope=scope, weight=0.4)
    client = signed_in(scope.owner)
    keep(client, scope, memory)
    undo = reverse("scope_keep_undo", args=[scope.pk, AuditEntry.objects.get(object_type="operation").object_id])
    client.post(undo)
    Memory.objects.filter(pk=memory.pk).update(weight=0.2)

    again = client.post(undo, follow=True).content.decode()

    assert "there is nothing to take back" in again
    assert weight_of(memory) == 0.2
