"""Choosing how a scope keeps its memories."""

import pytest

from memories.access import actor_for_token, actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import AuditEntry, Memory, RetentionPolicy, Role, Scope
from memories.services.policies import set_policy
from tests.factories import make_member, make_memory, make_scope, make_token, make_user

pytestmark = pytest.mark.django_db


def test_an_admin_switches_a_scope_and_no_memory_changes() -> None:
    scope = make_scope()
    make_memory(scope=scope, age_days=900)
    before = list(Memory.objects.values())

    set_policy(actor=actor_for_user(scope.owner), scope=scope, retention="decaying", half_life_hours=48)

    scope.refresh_from_db()
    assert scope.retention == "decaying"
    assert RetentionPolicy.of(scope).rule.half_life_hours == 48
    assert list(Memory.objects.values()) == before
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == [
        "set_retention",
        "set_retention_policy",
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("half_life_hours", -1),
        ("half_life_hours", 1e9),
        ("half_life_hours", "soon"),
        ("floor", 0.9),
        ("threshold", 1.5),
        ("top_k", 51),
        ("prune_action", "burn"),
        ("summaries", "never"),
        ("confidence_weight", 2),
        ("colour", "red"),
    ],
)
def test_what_no_scope_can_decay_by_is_refused_by_name(field: str, value: object) -> None:
    scope = make_scope()

    with pytest.raises(ValidationFailed) as refused:
        set_policy(actor=actor_for_user(scope.owner), scope=scope, **{field: value})

    assert refused.value.field == field
    assert not RetentionPolicy.objects.exists()


def test_blank_and_zero_are_the_default() -> None:
    scope = make_scope()
    owner = actor_for_user(scope.owner)
    set_policy(actor=owner, scope=scope, half_life_hours=48, threshold=5)

    policy = set_policy(actor=owner, scope=scope, half_life_hours=0, threshold=None)

    assert (policy.half_life_hours, policy.threshold) == (None, None)
    assert policy.rule.half_life_hours == 720


def test_only_admins_choose() -> None:
    scope = make_scope()
    writer = actor_for_user(make_member(scope, Role.WRITER))
    token, _ = make_token(scope.owner, [scope])

    for actor in (writer, actor_for_token(token)):
        with pytest.raises(Forbidden):
            set_policy(actor=actor, scope=scope, retention="decaying")
    with pytest.raises(NotFound):
        set_policy(actor=actor_for_user(make_user()), scope=scope, retention="decaying")
    assert Scope.objects.get().retention == "ageing"


def test_of_two_admins_the_second_is_told() -> None:
    scope = make_scope()
    owner = actor_for_user(scope.owner)
    set_policy(actor=owner, scope=scope, expected_version=0, top_k=5)

    with pytest.raises(Conflict, match="version 1, not 0"):
        set_policy(actor=owner, scope=scope, expected_version=0, top_k=9)


def test_an_unknown_policy_is_refused() -> None:
    scope = make_scope()

    with pytest.raises(ValidationFailed, match="ageing, decaying"):
        set_policy(actor=actor_for_user(scope.owner), scope=scope, retention="forever")
