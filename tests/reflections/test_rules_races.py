"""Two at the same moment, with real transactions: one decision stands, and the other person is told."""

import pytest

from memories.models import AuditEntry
from memories.services import edit, forget
from reflections.models import StandingRule
from reflections.services import rules
from tests.factories import make_member, make_memory
from tests.reflections.factories import person
from tests.reflections.ruling import make_convention, make_proposal, make_rule, multiplier, useful
from tests.reflections.stepping import run_step
from tests.reflections.together import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.behaviour("Z88")]


@pytest.fixture
def two(owner, scope):
    return person(owner), person(make_member(scope, "writer"))


def kinds(results):
    return sorted(type(result).__name__ for result in results)


def told(results):
    (refusal,) = [result.message for result in results if isinstance(result, Exception)]
    return refusal


def test_of_two_who_promote_and_dismiss_one_is_told_who_was_first(scope, two):
    rule = make_proposal(scope)
    results = at_once(
        lambda: rules.promote(actor=two[0], rule=rule, version=1),
        lambda: rules.dismiss(actor=two[1], rule=rule, version=1),
    )
    assert kinds(results) == ["Conflict", "StandingRule"]
    rule.refresh_from_db()
    assert told(results).startswith(f"{rule.decided_by.username} {rule.state} this rule")
    assert multiplier(rule.memory) == (0.6 if rule.state == "promoted" else 1.0)
    assert AuditEntry.objects.filter(object_type="standingrule").count() == 1


def test_two_who_promote_by_hand_make_one_rule(scope, two):
    memory = make_memory(scope=scope)
    results = at_once(*(lambda who=who: rules.make_rule(actor=who, memory=memory, text="Test.") for who in two))
    assert kinds(results) == ["Conflict", "StandingRule"]
    assert StandingRule.objects.filter(state="promoted").count() == 1


def test_by_hand_and_from_the_inbox_at_once_is_one_promotion_without_a_deadlock(scope, two):
    rule = make_proposal(scope)
    results = at_once(
        lambda: rules.make_rule(actor=two[0], memory=rule.memory, text="Test."),
        lambda: rules.promote(actor=two[1], rule=rule, version=1),
    )
    assert kinds(results) == ["Conflict", "StandingRule"]
    assert "promoted this rule" in told(results)


def test_a_step_and_a_person_at_once_make_one_rule(scope, two):
    memory = make_convention(scope)
    useful(memory, "monday", "tuesday", "friday")
    at_once(
        lambda: run_step("rule_candidates", scope),
        lambda: rules.make_rule(actor=two[0], memory=memory, text="Test."),
    )
    assert StandingRule.objects.count() == 1
    run_step("rule_candidates", scope)
    assert StandingRule.objects.count() == 1


def test_a_memory_that_is_edited_at_that_moment_is_promoted_in_its_new_wording(scope, two):
    rule = make_proposal(scope)
    at_once(
        lambda: rules.promote(actor=two[0], rule=rule, version=1),
        lambda: edit(actor=two[1], memory=rule.memory, expected_version=1, content="Test first."),
    )
    rule.memory.refresh_from_db()
    assert multiplier(rule.memory.superseded_by) == 0.6


def test_a_memory_that_is_forgotten_at_that_moment_is_a_rule_or_told(scope, two):
    rule = make_proposal(scope)
    results = at_once(
        lambda: rules.promote(actor=two[0], rule=rule, version=1),
        lambda: forget(actor=two[1], memory=rule.memory),
    )
    rule.refresh_from_db()
    refused = "Conflict" in kinds(results)
    assert rule.state == ("proposed" if refused else "promoted")


def test_two_who_revoke_and_pin_do_not_deadlock(scope, two):
    rule = make_rule(scope)
    results = at_once(
        lambda: rules.revoke(actor=two[0], rule=rule, version=1, reason="Old."),
        lambda: rules.pin(actor=two[1], rule=rule, version=1),
    )
    assert kinds(results) == ["Conflict", "StandingRule"]
