"""The cycle of a decaying scope: what it lowers, what it lets go, and what it leaves alone."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from memories.access import actor_for_user
from memories.decaying import statistics, weight_at
from memories.errors import Conflict, Forbidden
from memories.models import AuditEntry, Memory, RetentionCycle, RetentionPolicy
from memories.retention import RetentionRule, in_hours, weight
from memories.services.lifecycle import forget, pin, restore, unpin
from memories.services.retention import bring_back, preview, run_cycle
from tests.factories import make_member, make_memory, make_scope
from tests.memories.retention.cycling import cycle, in_days, make_decaying, unused_for, weight_of

pytestmark = pytest.mark.django_db


@pytest.mark.behaviour("G1")
def test_a_new_memory_weighs_1_and_was_never_asked_for() -> None:
    memory = make_memory(scope=make_decaying())

    assert (memory.weight, memory.access_count, memory.accessed_at) == (1.0, 0, memory.created_at)


@pytest.mark.behaviour("G2")
@pytest.mark.parametrize(("days", "left"), [(7, 0.8507), (30, 0.5), (60, 0.25), (90, 0.125)])
def test_a_cycle_writes_down_what_is_left(days: float, left: float) -> None:
    scope = make_decaying(fill=20)
    memory = unused_for(days, scope=scope)

    cycle(scope)

    assert weight_of(memory) == pytest.approx(left, rel=0.01)


@pytest.mark.behaviour("G3")
def test_five_cycles_in_one_instant_leave_one_weight() -> None:
    scope = make_decaying(fill=20)
    memory, now = unused_for(30, scope=scope), in_days(0)

    weights = {weight_of(memory) for _ in range(5) if cycle(scope, now=now).cycle}

    assert len(weights) == 1
    assert weights.pop() == pytest.approx(0.5, rel=0.01)


@pytest.mark.behaviour("G4")
def test_what_was_used_since_stays_as_light_as_it_was() -> None:
    scope = make_decaying(fill=20)
    memory = make_memory(scope=scope, weight=0.2)

    cycle(scope)

    assert weight_of(memory) == 0.2


@pytest.mark.behaviour("G4")
def test_what_was_set_to_nothing_on_purpose_leaves() -> None:
    scope = make_decaying(fill=20)
    memory = make_memory(scope=scope, weight=0)

    cycle(scope)

    memory.refresh_from_db()
    assert memory.archived_at


@pytest.mark.behaviour("G5")
def test_last_use_counts_and_not_the_age() -> None:
    scope = make_decaying(fill=20)
    memory = make_memory(scope=scope, age_days=730, accessed_at=in_days(-1))

    cycle(scope)

    assert weight_of(memory) == pytest.approx(0.977, abs=0.001)
    assert memory.archived_at is None


@pytest.mark.behaviour("G6")
def test_199_days_are_kept_and_200_are_not() -> None:
    scope = make_decaying(fill=20)
    kept, gone = unused_for(199, scope=scope), unused_for(200, scope=scope)

    cycle(scope)

    kept.refresh_from_db()
    gone.refresh_from_db()
    assert (kept.state, gone.state) == ("live", "archived")
    assert gone.invalidation_reason == "Nobody asked for it: its weight fell below 0.01."


@pytest.mark.behaviour("G7")
@pytest.mark.parametrize("written", [None, 0])
def test_a_half_life_of_nothing_is_the_default(written: float | None) -> None:
    scope = make_decaying(fill=20, half_life_hours=written, floor=written, threshold=written, top_k=written)
    memory = unused_for(30, scope=scope)

    cycle(scope)

    assert RetentionPolicy.of(scope).rule == RetentionRule()
    assert weight_of(memory) == pytest.approx(0.5, rel=0.01)


@pytest.mark.behaviour("G8")
def test_below_the_threshold_nothing_runs_and_at_it_no_summary_is_asked_for() -> None:
    scope = make_decaying(fill=18)
    old, asked = unused_for(300, scope=scope), []

    def summarise(*told: Any) -> int:
        asked.append(told)
        return 0

    refused = cycle(scope, summarise=summarise)
    make_memory(scope=scope)
    ran = cycle(scope, summarise=summarise)

    assert refused.cycle is None
    assert refused.said == "Nothing was done: the scope holds 19; a cycle runs from 20 on."
    assert ran.cycle
    assert (ran.cycle.archived, asked) == (1, [])
    old.refresh_from_db()
    assert old.state == "archived"


@pytest.mark.behaviour("G8")
def test_above_the_threshold_a_summary_is_asked_for() -> None:
    scope, asked = make_decaying(fill=21), []

    def summarise(*told: Any) -> int:
        asked.append(told)
        return 3

    done = cycle(scope, summarise=summarise)

    assert done.cycle
    assert (len(asked), done.cycle.summarised) == (1, 3)


@pytest.mark.behaviour("G9")
def test_a_scope_that_never_reaches_the_threshold_never_decays() -> None:
    scope = make_decaying(fill=3)
    memory = unused_for(500, scope=scope)

    cycle(scope)

    assert weight_of(memory) == 1.0
    assert statistics(scope).last_cycle is None


@pytest.mark.behaviour("G11")
def test_an_empty_scope_has_statistics_of_nothing() -> None:
    scope = make_decaying(threshold=1)

    said, counts = cycle(scope), statistics(scope)

    assert said.cycle is None
    assert (counts.all, counts.live, counts.tombstones, counts.recalls, counts.average_weight) == (0, 0, 0, 0, None)


@pytest.mark.behaviour("G18")
def test_tombstones_fall_and_leave_like_others() -> None:
    scope = make_decaying(fill=20)
    owner = actor_for_user(scope.owner)
    young, old = unused_for(30, scope=scope), unused_for(300, scope=scope)
    for memory in (young, old):
        forget(actor=owner, memory=memory, reason="no use")

    cycle(scope)

    assert weight_of(young) == pytest.approx(0.5, rel=0.01)
    old.refresh_from_db()
    assert old.archived_at
    assert (old.invalidation_reason, old.invalidated_by) == ("no use", scope.owner)


@pytest.mark.behaviour("G21")
def test_a_pinned_memory_is_left_alone_until_it_is_unpinned() -> None:
    scope = make_decaying(fill=20)
    owner = actor_for_user(scope.owner)
    memory = unused_for(400, scope=scope, pinned=True)

    cycle(scope)
    assert weight_of(memory) == 1.0
    assert memory.state == "live"

    unpin(actor=owner, memory=memory)
    Memory.objects.filter(pk=memory.pk).update(accessed_at=in_days(-365))
    memory.refresh_from_db()
    assert weight(memory.weight, in_hours(memory.accessed_at, in_days(0)), 720) == pytest.approx(0.0002, abs=5e-5)

    cycle(scope)
    memory.refresh_from_db()
    assert memory.state == "archived"


@pytest.mark.behaviour("G21")
def test_a_tombstone_is_not_pinned() -> None:
    scope = make_decaying()
    owner, memory = actor_for_user(scope.owner), make_memory(scope=scope)
    forget(actor=owner, memory=memory)

    with pytest.raises(Conflict, match="live memory can be pinned"):
        pin(actor=owner, memory=memory)


@pytest.mark.behaviour("X6")
@pytest.mark.parametrize("prune", ["archive", "delete"])
@pytest.mark.parametrize("kind", ["decision", "convention", "preference", "gotcha"])
def test_no_cycle_lets_go_of_a_protected_kind(kind: str, prune: str) -> None:
    scope = make_decaying(fill=20, prune_action=prune)
    memory = unused_for(3000, scope=scope, kind=kind)

    cycle(scope)

    memory.refresh_from_db()
    assert memory.state == "live"


@pytest.mark.behaviour("G39")
def test_statistics_count_and_write_nothing() -> None:
    scope = make_decaying()
    make_memory(scope=scope, weight=0.5, access_count=2)
    make_memory(scope=scope, weight=0.75, access_count=3)
    dead = make_memory(scope=scope, weight=0.25)
    forget(actor=actor_for_user(scope.owner), memory=dead)
    before = list(Memory.objects.order_by("pk").values())

    counts = statistics(scope)

    assert (counts.all, counts.live, counts.tombstones, counts.recalls) == (3, 2, 1, 5)
    assert counts.average_weight == 0.625
    assert list(Memory.objects.order_by("pk").values()) == before


@pytest.mark.behaviour("G45")
def test_what_was_archived_is_restored_and_stays() -> None:
    scope = make_decaying(fill=20)
    owner, memory = actor_for_user(scope.owner), unused_for(300, scope=scope)
    cycle(scope)
    memory.refresh_from_db()

    restore(actor=owner, memory=memory)
    cycle(scope)

    memory.refresh_from_db()
    assert (memory.state, memory.archived_at) == ("live", None)
    assert memory.weight == pytest.approx(1)


@pytest.mark.behaviour("G45")
def test_a_whole_cycle_is_taken_back() -> None:
    scope = make_decaying(fill=20)
    owner = actor_for_user(scope.owner)
    old = [unused_for(300 + n, scope=scope) for n in range(3)]
    retired = unused_for(300, scope=scope)
    forget(actor=owner, memory=retired)
    done = cycle(scope).cycle
    assert done

    assert bring_back(actor=owner, cycle=done) == 3

    states = {memory.pk: memory.state for memory in Memory.objects.filter(scope=scope)}
    assert {states[memory.pk] for memory in old} == {"live"}
    assert states[retired.pk] == "archived"


def test_what_somebody_wrote_anew_meanwhile_keeps_its_old_self_in_the_archive() -> None:
    scope = make_decaying(fill=20)
    owner = actor_for_user(scope.owner)
    unused_for(300, scope=scope, content="The port is 8000.")
    done = cycle(scope).cycle
    assert done
    make_memory("The port is 8000.", scope=scope)

    assert bring_back(actor=owner, cycle=done) == 0


def test_deleted_means_gone_and_its_tombstones_point_nowhere() -> None:
    scope = make_decaying(fill=20, prune_action="delete")
    summary = unused_for(300, scope=scope)
    source = make_memory(
        scope=scope, superseded_by=summary, invalidated_at=in_days(-1), invalidated_actor="somebody", weight=1.0
    )

    done = cycle(scope).cycle

    assert done
    assert (done.archived, done.deleted) == (0, 1)
    assert not Memory.objects.filter(pk=summary.pk).exists()
    source.refresh_from_db()
    assert (source.superseded_by, source.state) == (None, "invalidated")
    entry = AuditEntry.objects.get(action="prune", object_id=str(summary.pk))
    assert entry.actor == "consolidation"


def test_each_that_leaves_is_on_record() -> None:
    scope = make_decaying(fill=20)
    memory = unused_for(300, scope=scope)

    done = cycle(scope).cycle

    assert done
    entry = AuditEntry.objects.get(action="archive", object_id=str(memory.pk))
    assert (entry.actor, entry.scope, entry.detail["cycle"]) == ("consolidation", scope, str(done.pk))
    assert AuditEntry.objects.get(action="consolidate").detail["archived"] == 1


def test_the_preview_is_what_the_cycle_then_does() -> None:
    scope = make_decaying(fill=20)
    old = {unused_for(days, scope=scope).pk for days in (199.5, 250, 900)}
    unused_for(199, scope=scope)
    unused_for(300, scope=scope, pinned=True)
    before = set(preview(scope).values_list("pk", flat=True))

    cycle(scope)

    assert before == old == set(Memory.objects.filter(archived_at__isnull=False).values_list("pk", flat=True))


def test_a_scope_that_ages_has_no_cycle() -> None:
    scope = make_scope()
    memory = unused_for(900, scope=scope)

    with pytest.raises(Conflict, match="does not decay"):
        cycle(scope)

    assert weight_of(memory) == 1.0


def test_a_reader_starts_no_cycle() -> None:
    scope = make_decaying(fill=20)
    reader = actor_for_user(make_member(scope))

    with pytest.raises(Forbidden):
        run_cycle(scope=scope, trigger="button", actor=reader)


def test_sql_and_python_agree_on_every_weight() -> None:
    scope, now, rule = make_decaying(), in_days(0), RetentionRule(half_life_hours=7.3)
    for days in (-3, 0, 0.001, 1, 40, 199.3, 365, 36_500):
        make_memory(scope=scope, age_days=days, weight=0.9)

    rows = Memory.objects.filter(scope=scope).annotate(then=weight_at(rule, now))

    for row in rows:
        python = weight(row.weight, in_hours(row.accessed_at, now), rule.half_life_hours)
        assert row.then == pytest.approx(python, abs=1e-9, rel=1e-9)


@pytest.mark.django_db(transaction=True)
def test_the_cycle_writes_the_very_weight_that_it_foretold() -> None:
    scope, now = make_decaying(fill=20), in_days(0)
    for days in (0.5, 3, 80, 150):
        unused_for(days, scope=scope)
    foretold = dict(
        Memory.objects.filter(scope=scope).annotate(then=weight_at(RetentionRule(), now)).values_list("pk", "then")
    )

    cycle(scope, now=now)

    for pk, then in foretold.items():
        assert Memory.objects.get(pk=pk).weight == pytest.approx(then, abs=1e-9)


@pytest.mark.django_db(transaction=True)
def test_a_cycle_beside_another_is_dropped() -> None:
    scope = make_decaying(fill=21)
    other: list[Any] = []

    def summarise(*told: Any) -> int:
        with ThreadPoolExecutor(1) as thread:
            other.append(thread.submit(_cycle_and_close, scope).result())
        return 0

    mine = cycle(scope, summarise=summarise)

    assert mine.cycle
    assert other[0].cycle is None
    assert other[0].said == "A cycle of this scope runs already, so this one was dropped."
    assert RetentionCycle.objects.count() == 1


def _cycle_and_close(scope: Any) -> Any:
    try:
        return cycle(scope)
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_whoever_is_being_changed_is_passed_by_and_nobody_waits() -> None:
    scope = make_decaying(fill=20)
    memory = unused_for(300, scope=scope)

    with transaction.atomic():
        Memory.objects.select_for_update().get(pk=memory.pk)
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(_cycle_and_close, scope).result(timeout=30)

    assert done.cycle.archived == 0
    assert cycle(scope).cycle.archived == 1  # type: ignore[union-attr]  # it ran


def test_what_is_recalled_while_a_cycle_goes_on_stays() -> None:
    scope = make_decaying(fill=21)
    old, other = unused_for(300, scope=scope), unused_for(300, scope=scope)

    def summarise(*told: Any) -> int:
        Memory.objects.filter(pk=old.pk).update(accessed_at=in_days(0))
        return 0

    cycle(scope, summarise=summarise)
    cycle(scope)

    assert weight_of(old) == pytest.approx(1)
    assert old.state == "live"
    other.refresh_from_db()
    assert other.state == "archived"
    assert other.weight == pytest.approx(2 ** (-300 / 30), rel=0.01)


def test_a_restored_tombstone_stays() -> None:
    scope = make_decaying(fill=20)
    owner, memory = actor_for_user(scope.owner), unused_for(190, scope=scope)
    forget(actor=owner, memory=memory)
    memory.refresh_from_db()

    restore(actor=owner, memory=memory)
    cycle(scope, now=in_days(20))

    memory.refresh_from_db()
    assert memory.state == "live"


def test_of_a_cycle_that_was_lost_half_way_all_that_left_can_come_back() -> None:
    scope = make_decaying(fill=20)
    owner, moment = actor_for_user(scope.owner), in_days(-0.001)
    lost = RetentionCycle.objects.create(scope=scope, trigger="write", actor="consolidation", started_at=moment)
    gone = make_memory(
        scope=scope, archived_at=moment, invalidated_at=moment, invalidated_actor="consolidation", weight=0.001
    )

    cycle(scope)

    lost.refresh_from_db()
    assert (lost.state, lost.archived) == ("failed", 1)
    assert bring_back(actor=owner, cycle=lost) == 1
    gone.refresh_from_db()
    assert gone.state == "live"


def test_of_equal_words_one_comes_back() -> None:
    scope = make_decaying(fill=20)
    for number in range(2):
        unused_for(300, scope=scope, content="The port is 8000.", external_id=f"imported {number}")
    done = cycle(scope).cycle
    assert done

    assert bring_back(actor=actor_for_user(scope.owner), cycle=done) == 1


def test_a_cycle_that_fails_says_so_and_the_next_goes_on() -> None:
    scope = make_decaying(fill=21)
    old = unused_for(300, scope=scope)

    def summarise(*told: Any) -> int:
        raise RuntimeError("no summary")

    with pytest.raises(RuntimeError):
        cycle(scope, summarise=summarise)
    failed = RetentionCycle.objects.get()
    assert (failed.state, failed.note) == ("failed", "It stopped at an error (RuntimeError).")

    cycle(scope)

    old.refresh_from_db()
    assert old.state == "archived"
