from itertools import permutations

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memories.access import actor_for_token, actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed, ZeroMemoryError
from memories.history import versions
from memories.models import AuditEntry, Link, Memory
from memories.services import forget, link, pin, restore, supersede, unpin
from memories.services.lifecycle import retire_in_favour
from tests.factories import make_member, make_memory, make_scope, make_token, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def last_entry():
    return AuditEntry.objects.latest("pk")


def test_forgetting_keeps_the_row_and_says_who_when_and_why(actor, scope):
    memory = make_memory("keep me", scope=scope)
    forget(actor=actor, memory=memory, reason="outdated")
    memory.refresh_from_db()
    assert (memory.content, memory.state) == ("keep me", "invalidated")
    assert (memory.invalidated_by, memory.invalidated_actor) == (actor.user, actor.label)
    assert memory.invalidation_reason == "outdated"
    assert (last_entry().action, last_entry().reason) == ("forget", "outdated")


def test_an_agent_that_forgets_is_named(owner, scope):
    memory = make_memory(scope=scope)
    token, _ = make_token(owner, [scope])
    forget(actor=actor_for_token(token, agent="claude"), memory=memory)
    memory.refresh_from_db()
    assert memory.invalidated_actor == "claude (token of owner)"
    assert last_entry().token == token


def test_forgetting_twice_is_a_conflict_that_says_so(actor, scope):
    memory = make_memory(scope=scope)
    forget(actor=actor, memory=memory)
    with pytest.raises(Conflict, match="already forgotten"):
        forget(actor=actor, memory=memory)


def test_restoring_undoes_forgetting(actor, scope):
    memory = make_memory(scope=scope)
    forget(actor=actor, memory=memory, reason="by mistake")
    restore(actor=actor, memory=memory, reason="it was right")
    memory.refresh_from_db()
    assert memory.state == "live"
    assert (memory.invalidated_by, memory.invalidated_actor, memory.invalidation_reason) == (None, "", "")
    assert (last_entry().action, last_entry().reason) == ("restore", "it was right")


def test_a_live_memory_has_nothing_to_restore(actor, scope):
    with pytest.raises(Conflict):
        restore(actor=actor, memory=make_memory(scope=scope))


def test_restoring_cuts_the_supersede_links_that_point_at_it_and_records_them(actor, scope):
    old, new = make_memory(scope=scope), make_memory(scope=scope)
    supersede(actor=actor, memory=old, replacement=new)
    link(actor=actor, source=new, target=old, type="relates_to")
    restore(actor=actor, memory=old)
    assert [row.type for row in Link.objects.all()] == ["relates_to"]
    assert last_entry().detail == {"links_cut": [str(new.pk)]}
    assert {old.pk, new.pk} == set(Memory.objects.live().values_list("pk", flat=True))


def test_a_memory_whose_twin_lives_cannot_be_restored(actor, scope):
    memory = make_memory("the same", scope=scope)
    forget(actor=actor, memory=memory)
    make_memory("the same", scope=scope)
    with pytest.raises(Conflict, match="exactly the same"):
        restore(actor=actor, memory=memory)


@pytest.mark.parametrize(("mine", "theirs"), [("row-1", "row-2"), ("row-1", ""), ("", "row-2")])
def test_an_imported_memory_comes_back_beside_its_twin(actor, scope, mine, theirs):
    memory, twin = (make_memory("the same", scope=scope, external_id=name) for name in (mine, theirs))
    forget(actor=actor, memory=memory)
    restore(actor=actor, memory=memory)
    assert set(Memory.objects.live()) == {memory, twin}


def test_the_versions_of_a_damaged_chain_hold_the_memory_itself(actor, scope):
    one, two = (make_memory(scope=scope, invalidated_at=timezone.now(), invalidated_actor="x") for _ in range(2))
    Memory.objects.filter(pk=one.pk).update(superseded_by=two)
    Memory.objects.filter(pk=two.pk).update(superseded_by=one)
    assert one in versions(one, actor)
    assert two in versions(two, actor)


def test_a_replacement_is_looked_at_anew_before_anything_is_retired(actor, scope):
    old, new = make_memory(scope=scope), make_memory(scope=scope)
    forget(actor=actor, memory=Memory.objects.get(pk=new.pk))
    with pytest.raises(Conflict, match="itself retired"):
        retire_in_favour(actor=actor, memory=old, replacement=new)


def test_superseding_retires_in_favour_of_the_replacement(actor, scope):
    old, new = make_memory(scope=scope), make_memory(scope=scope)
    supersede(actor=actor, memory=old, replacement=new, reason="newer")
    old.refresh_from_db()
    assert (old.state, old.superseded_by, old.invalidation_reason) == ("superseded", new, "newer")
    assert Link.objects.get().source == new
    assert last_entry().detail == {"by": str(new.pk)}


def test_superseding_twice_by_the_same_changes_nothing(actor, scope):
    old, new = make_memory(scope=scope), make_memory(scope=scope)
    supersede(actor=actor, memory=old, replacement=new)
    before = AuditEntry.objects.count()
    supersede(actor=actor, memory=old, replacement=new)
    assert AuditEntry.objects.count() == before


def test_a_retired_memory_replaces_nothing(actor, scope):
    old, retired = make_memory(scope=scope), make_memory(scope=scope)
    forget(actor=actor, memory=retired)
    with pytest.raises(Conflict):
        supersede(actor=actor, memory=old, replacement=retired)
    old.refresh_from_db()
    assert old.state == "live"


def test_a_memory_does_not_supersede_itself(actor, scope):
    memory = make_memory(scope=scope)
    with pytest.raises(ValidationFailed):
        supersede(actor=actor, memory=memory, replacement=memory)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=st.lists(st.tuples(st.sampled_from(["supersede", "restore", "forget"]), st.integers(0, 11)), max_size=12))
def test_no_sequence_of_acts_closes_a_circle_of_successors(actor, scope, acts):
    trio = [make_memory(scope=scope) for _ in range(3)]
    pairs = list(permutations(range(3), 2))
    for act, choice in acts:
        memory, other = (trio[place] for place in pairs[choice % len(pairs)])
        try:
            if act == "supersede":
                supersede(actor=actor, memory=memory, replacement=other)
            else:
                {"restore": restore, "forget": forget}[act](actor=actor, memory=memory)
        except ZeroMemoryError:
            continue
    assert all(ends_somewhere(memory) for memory in trio)


def ends_somewhere(memory):
    seen = set()
    row = Memory.objects.get(pk=memory.pk)
    while row.superseded_by_id:
        if row.pk in seen:
            return False
        seen.add(row.pk)
        row = Memory.objects.get(pk=row.superseded_by_id)
    return True


def test_pinning_and_unpinning_are_acts_of_somebody(actor, scope):
    memory = make_memory(scope=scope, age_days=5)
    pinned = pin(actor=actor, memory=memory)
    assert (pinned.pinned, pinned.version) == (True, 2)
    assert pinned.updated_at > memory.updated_at
    assert last_entry().action == "pin"
    assert not unpin(actor=actor, memory=memory).pinned
    assert last_entry().action == "unpin"


def test_pinning_what_is_pinned_leaves_no_trace(actor, scope):
    memory = make_memory(scope=scope, pinned=True)
    assert pin(actor=actor, memory=memory).version == 1
    assert not AuditEntry.objects.exists()


def test_a_retired_memory_cannot_be_pinned(actor, scope):
    memory = make_memory(scope=scope, invalidated_at=timezone.now(), invalidated_actor="somebody")
    with pytest.raises(Conflict):
        pin(actor=actor, memory=memory)


@pytest.mark.parametrize("type", ["relates_to", "contradicts", "derived_from"])
def test_a_link_is_made_once(actor, scope, type):
    source, target = make_memory(scope=scope), make_memory(scope=scope)
    first = link(actor=actor, source=source, target=target, type=type)
    assert link(actor=actor, source=source, target=target, type=type) == first
    assert first.created_by == actor.label
    assert AuditEntry.objects.count() == 1


def test_a_supersedes_link_retires_its_target(actor, scope):
    source, target = make_memory(scope=scope), make_memory(scope=scope)
    link(actor=actor, source=source, target=target, type="supersedes")
    target.refresh_from_db()
    assert target.superseded_by == source


def test_a_link_to_itself_or_of_an_unknown_type_is_refused(actor, scope):
    memory, other = make_memory(scope=scope), make_memory(scope=scope)
    with pytest.raises(ValidationFailed):
        link(actor=actor, source=memory, target=memory, type="relates_to")
    with pytest.raises(ValidationFailed):
        link(actor=actor, source=memory, target=other, type="owns")


ACTS = {
    "forget": lambda actor, memory, other: forget(actor=actor, memory=memory),
    "restore": lambda actor, memory, other: restore(actor=actor, memory=memory),
    "pin": lambda actor, memory, other: pin(actor=actor, memory=memory),
    "unpin": lambda actor, memory, other: unpin(actor=actor, memory=memory),
    "supersede": lambda actor, memory, other: supersede(actor=actor, memory=memory, replacement=other),
    "be superseded by": lambda actor, memory, other: supersede(actor=actor, memory=other, replacement=memory),
    "link": lambda actor, memory, other: link(actor=actor, source=memory, target=other, type="relates_to"),
}


@pytest.mark.parametrize("act", ACTS)
def test_a_reader_changes_nothing(scope, act):
    reader = actor_for_user(make_member(scope))
    memory, other = make_memory(scope=scope), make_memory(scope=scope)
    with pytest.raises(Forbidden):
        ACTS[act](reader, memory, other)
    assert Memory.objects.live().count() == 2
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("act", ACTS)
def test_a_stranger_is_told_that_there_is_no_such_memory(scope, act):
    stranger = make_user()
    own = make_memory(scope=make_scope(stranger))
    with pytest.raises(NotFound):
        ACTS[act](actor_for_user(stranger), make_memory(scope=scope), own)
    assert Memory.objects.live().count() == 2


@pytest.mark.parametrize("reason", ["r" * 2001, "a\x00"])
def test_a_reason_that_cannot_be_stored_is_refused(actor, scope, reason):
    with pytest.raises(ValidationFailed) as refused:
        forget(actor=actor, memory=make_memory(scope=scope), reason=reason)
    assert refused.value.field == "reason"
