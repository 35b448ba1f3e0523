"""A rule follows its memory through its edits."""

import pytest
from django.utils import timezone

from memories.access import actor_for_user
from memories.services.edit import EDITED
from reflections.delivery import deliverable, wordings_now
from reflections.models import StandingRule
from tests.queries import queries_of
from tests.reflections.ruling import make_convention, make_rule

pytestmark = pytest.mark.django_db


def edited(old, new):
    old.superseded_by, old.invalidation_reason = new, EDITED
    old.invalidated_at, old.invalidated_actor = timezone.now(), "somebody"
    old.save()
    return new


def test_a_memory_whose_edits_go_in_a_circle_has_its_rule_left_out_with_the_reason(owner, scope):
    rule = make_rule(scope)
    edited(edited(rule.memory, make_convention(scope, "Tests run first.")), rule.memory)
    (left,) = deliverable(actor_for_user(owner), [scope.pk])[1].left_out
    assert (left.rule, left.memory) == (rule, rule.memory)
    assert "replaced its memory" in left.why


def test_the_present_wordings_take_two_queries_however_often_memories_were_edited(scope):
    rule = make_rule(scope)
    newest = rule.memory
    for number in range(8):
        newest = edited(newest, make_convention(scope, f"Tests run first, {number}."))
    rules = list(StandingRule.objects.whole())
    assert wordings_now(rules) == {rule.pk: newest}
    assert queries_of(lambda: wordings_now(rules)) == 2
