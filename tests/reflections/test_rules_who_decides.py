"""Standing rules: who decides about them, who does not, and the trail of each decision."""

import pytest

from memories.access import actor_for_token
from memories.errors import Conflict, Forbidden, NotFound
from memories.models import AuditEntry
from reflections.models import StandingRule
from reflections.services import rules
from tests.factories import make_member, make_memory, make_token, make_user
from tests.reflections.factories import person
from tests.reflections.ruling import make_proposal, make_rule

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("Z88")]


@pytest.fixture
def actor(owner, scope):
    return person(owner)


DECISIONS = {
    "promote": {},
    "dismiss": {},
    "snooze": {},
    "revoke": {"reason": "x"},
    "pin": {},
    "unpin": {},
    "reword": {"text": "x"},
    "undo": {},
}
decisions = pytest.mark.parametrize(("verb", "asked"), DECISIONS.items(), ids=DECISIONS)


def decided_upon(scope, verb):
    return make_proposal(scope) if verb in ("promote", "dismiss", "snooze") else make_rule(scope)


@decisions
def test_no_token_decides_not_even_one_that_settles_disputes(scope, owner, verb, asked):
    rule = decided_upon(scope, verb)
    token, _ = make_token(owner, [scope], can_adjudicate=True)
    before = StandingRule.objects.values().get()
    with pytest.raises(Forbidden, match="signed-in person"):
        getattr(rules, verb)(actor=actor_for_token(token), rule=rule, version=1, **asked)
    with pytest.raises(Forbidden, match="signed-in person"):
        rules.make_rule(actor=actor_for_token(token), memory=make_memory(scope=scope), text="x")
    assert StandingRule.objects.values().get() == before


@decisions
def test_somebody_elses_rule_is_not_there(scope, verb, asked):
    rule = decided_upon(scope, verb)
    with pytest.raises(NotFound):
        getattr(rules, verb)(actor=person(make_user()), rule=rule, version=1, **asked)


@decisions
def test_a_reader_only_reads(scope, verb, asked):
    rule = decided_upon(scope, verb)
    with pytest.raises(Forbidden, match="writer role"):
        getattr(rules, verb)(actor=person(make_member(scope, "reader")), rule=rule, version=1, **asked)


@decisions
def test_a_stale_tab_is_told(actor, scope, verb, asked):
    rule = decided_upon(scope, verb)
    with pytest.raises(Conflict):
        getattr(rules, verb)(actor=actor, rule=rule, version=7, **asked)


@pytest.mark.parametrize(
    ("verb", "action", "asked"),
    [
        ("promote", "promote_rule", {}),
        ("dismiss", "dismiss_rule", {"reason": "no"}),
        ("snooze", "snooze_rule", {}),
        ("revoke", "revoke_rule", {"reason": "no"}),
        ("reword", "reword_rule", {"text": "x"}),
        ("undo", "reopen_rule", {}),
    ],
)
def test_every_decision_is_in_the_trail(actor, scope, verb, action, asked):
    rule = decided_upon(scope, verb)
    getattr(rules, verb)(actor=actor, rule=rule, version=1, **asked)
    entry = AuditEntry.objects.get(object_type="standingrule", object_id=str(rule.pk))
    assert (entry.action, entry.user, entry.scope, entry.reason) == (action, actor.user, scope, asked.get("reason", ""))
    assert "Tests run" not in str(entry.detail)
