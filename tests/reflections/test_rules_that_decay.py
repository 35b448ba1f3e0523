"""Standing rules whose memories live in a scope that decays."""

import pytest

from memories.access import actor_for_user
from memories.decaying import may_leave
from memories.models import Memory
from memories.services.edit import edit
from reflections.delivery import hindrance
from reflections.fading import may_be_summarised
from reflections.models import StandingRule
from tests.memories.retention.cycling import cycle, in_days, make_decaying
from tests.reflections.ruling import make_rule

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("prune", ["archive", "delete"])
def test_a_rule_that_is_delivered_keeps_its_memory_in_every_wording(prune: str) -> None:
    scope = make_decaying(fill=20, prune_action=prune)
    rule = make_rule(scope, "Ask before deploying.")
    Memory.objects.filter(pk=rule.memory_id).update(kind="reference")
    rule.memory.refresh_from_db()
    newer = edit(
        actor=actor_for_user(scope.owner), memory=rule.memory, expected_version=rule.memory.version,
        content="Ask the lead before deploying.",
    )  # fmt: skip

    assert not may_leave(scope, in_days(0)).filter(pk__in=[rule.memory_id, newer.pk]).exists()
    assert not may_be_summarised(scope).filter(pk=newer.pk).exists()
    cycle(scope, now=in_days(900))

    assert Memory.objects.get(pk=newer.pk).state == "live"
    assert StandingRule.objects.filter(pk=rule.pk).exists()


def test_a_revoked_rule_keeps_nothing() -> None:
    scope = make_decaying(fill=20)
    rule = make_rule(scope, "Ask before deploying.", state="revoked", reason="It no longer holds.")
    Memory.objects.filter(pk=rule.memory_id).update(kind="reference")

    cycle(scope, now=in_days(900))

    assert Memory.objects.get(pk=rule.memory_id).state == "archived"


def test_nothing_is_delivered_of_a_memory_in_the_archive() -> None:
    scope = make_decaying()
    rule = make_rule(scope, "Ask before deploying.")
    Memory.objects.filter(pk=rule.memory_id).update(
        archived_at=in_days(0), invalidated_at=in_days(0), invalidated_actor="consolidation"
    )

    assert "in the archive" in hindrance(Memory.objects.get(pk=rule.memory_id))
