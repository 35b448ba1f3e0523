"""Standing rules: what each decision does to the rule and to the memory behind it, and how it is taken back."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from memories import services as memory_services
from memories.errors import Conflict, NotFound, ValidationFailed
from memories.models import AuditEntry, Memory
from memories.services.reinforcement import record_challenge, roll_up
from reflections.models import StandingRule
from reflections.services import rules
from tests.factories import make_member, make_memory, make_scope, make_user
from tests.reflections.factories import in_days, person
from tests.reflections.ruling import make_proposal, make_rule, multiplier, useful
from tests.reflections.test_disputes import actions_on

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("Z88")]


@pytest.fixture
def actor(owner, scope):
    return person(owner)


def now_as(rule):
    return StandingRule.objects.get(pk=rule.pk)


# Promoting -----------------------------------------------------------------------------------


def test_promoting_delivers_the_text_as_it_was_proposed(actor, scope):
    rule = rules.promote(actor=actor, rule=make_proposal(scope), version=1)
    rule = now_as(rule)
    assert (rule.state, rule.text, rule.version) == ("promoted", "Tests run before every push.", 2)
    assert (rule.promoted_by, rule.decided_by) == (actor.user, actor.user)
    assert rule.promoted_at is not None


@pytest.mark.behaviour("Z25")
def test_a_promoted_memory_ranks_at_six_tenths_whatever_its_signals(actor, scope):
    rule = make_proposal(scope)
    useful(rule.memory, *map(str, range(30)))
    rules.promote(actor=actor, rule=rule, version=1)
    assert multiplier(rule.memory) == 0.6
    record_challenge(memory=rule.memory, user=actor.user)
    assert multiplier(rule.memory) == 0.6
    roll_up(memory=rule.memory, now=timezone.now() + timedelta(days=365))
    assert multiplier(rule.memory) == 0.6


@pytest.mark.behaviour("Z25")
def test_an_edit_of_the_memory_carries_the_multiplier_on(actor, scope):
    rule = rules.promote(actor=actor, rule=make_proposal(scope), version=1)
    edited = memory_services.edit(actor=actor, memory=rule.memory, expected_version=1, content="Test first.")
    assert multiplier(edited) == 0.6


def test_what_the_person_types_is_their_wording(actor, scope):
    rule = make_proposal(scope)
    rules.promote(actor=actor, rule=rule, version=1, text="Run the tests.\r\nThen push.  ")
    assert now_as(rule).text == "Run the tests.\nThen push."
    assert rule.memory.content == "Tests run before every push."
    assert AuditEntry.objects.get(action="promote_rule").detail["edited"] is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "its text is empty"),
        (" \u200b\n", "its text is empty"),
        ("x" * 4001, "at most 4,000 characters"),
        ("half \ud800 a pair", "surrogate"),
        ("The key is AKIAIOSFODNN7EXAMPLE.", "secret_content_rejected: text aws_access_key"),
    ],
    ids=["empty", "unseen", "long", "unstorable", "secret"],
)
def test_a_wording_that_may_not_be_is_refused(actor, scope, text, words):
    rule = make_proposal(scope)
    with pytest.raises(ValidationFailed, match=words) as refused:
        rules.promote(actor=actor, rule=rule, version=1, text=text)
    assert refused.value.field == "text"
    assert now_as(rule).state == "proposed"


def test_it_is_delivered_where_the_person_says(scope, owner):
    other = make_scope(owner)
    rule = make_proposal(scope)
    rules.promote(actor=person(owner), rule=rule, version=1, layer="scope", scopes=[other.pk])
    assert list(now_as(rule).scopes.all()) == [other]


def test_everywhere_is_for_the_owner_of_the_scope(actor, scope):
    rule = make_proposal(scope)
    writer = person(make_member(scope, "writer"))
    with pytest.raises(ValidationFailed, match="Only the owner"):
        rules.promote(actor=writer, rule=rule, version=1, layer="core")
    rules.promote(actor=actor, rule=rule, version=1, layer="core")
    assert (now_as(rule).layer, list(now_as(rule).scopes.all())) == ("core", [])


def test_back_from_everywhere_it_is_delivered_in_its_own_scope(actor, scope):
    rule = make_rule(scope, layer="core")
    rules.reword(actor=actor, rule=rule, version=1, text="Test.", layer="scope")
    assert list(now_as(rule).scopes.all()) == [scope]


@pytest.mark.parametrize(
    ("asked", "field"),
    [({"layer": "sky"}, "layer"), ({"layer": "scope", "scopes": []}, "scopes")],
    ids=["an unknown layer", "no scope"],
)
def test_a_place_that_is_none_is_refused(actor, scope, asked, field):
    with pytest.raises(ValidationFailed) as refused:
        rules.promote(actor=actor, rule=make_proposal(scope), version=1, **asked)
    assert refused.value.field == field


def test_a_scope_that_one_may_not_write_to_is_no_place_for_it(scope, owner):
    foreign, read = make_scope(), make_scope()
    make_member(read, "reader", user=owner)
    for other in (foreign, read):
        with pytest.raises(ValidationFailed, match="scopes that you may write to"):
            rules.promote(actor=person(owner), rule=make_proposal(scope), version=1, scopes=[other.pk])


@pytest.mark.parametrize("state", ["forgotten", "replaced", "lapsed"])
def test_a_memory_that_is_gone_is_not_promoted(actor, scope, state):
    rule = make_proposal(scope)
    if state == "forgotten":
        memory_services.forget(actor=actor, memory=rule.memory)
    elif state == "replaced":
        memory_services.supersede(actor=actor, memory=rule.memory, replacement=make_memory(scope=scope))
    else:
        Memory.objects.filter(pk=rule.memory_id).update(valid_until=timezone.now())
    with pytest.raises(Conflict, match="retired or no longer valid"):
        rules.promote(actor=actor, rule=now_as(rule), version=1)


# By hand -------------------------------------------------------------------------------------


def test_a_memory_is_promoted_by_hand_in_the_words_of_the_person(actor, scope):
    memory = make_memory("We use tabs.", scope=scope)
    rule = now_as(rules.make_rule(actor=actor, memory=memory, text="Indent with tabs."))
    assert (rule.memory, rule.text, rule.state, rule.sessions) == (memory, "Indent with tabs.", "promoted", 0)
    assert list(rule.scopes.all()) == [scope]
    assert multiplier(memory) == 0.6


def test_by_hand_what_waits_as_a_proposal_is_that_very_proposal(actor, scope):
    rule = make_proposal(scope)
    rules.snooze(actor=actor, rule=rule, version=1)
    made = rules.make_rule(actor=actor, memory=rule.memory, text="Test.")
    assert (made.pk, now_as(rule).state, StandingRule.objects.count()) == (rule.pk, "promoted", 1)


def test_by_hand_an_edited_wording_finds_the_rule_of_the_earlier_one(actor, scope):
    rule = make_rule(scope)
    edited = memory_services.edit(actor=actor, memory=rule.memory, expected_version=1, content="Test first.")
    with pytest.raises(Conflict, match="has been proposed before"):
        rules.make_rule(actor=actor, memory=edited, text="Test first.")


@pytest.mark.parametrize("decide", ["dismiss", "revoke"])
def test_by_hand_a_decision_is_not_got_round_but_undone(actor, scope, decide):
    rule = make_proposal(scope) if decide == "dismiss" else make_rule(scope)
    getattr(rules, decide)(actor=actor, rule=rule, version=1, reason="No longer so.")
    with pytest.raises(Conflict, match="undo that decision"):
        rules.make_rule(actor=actor, memory=rule.memory, text="Test.")


def test_a_foreign_memory_is_not_there(scope):
    with pytest.raises(NotFound):
        rules.make_rule(actor=person(make_user()), memory=make_memory(scope=scope), text="Test.")


# Dismissing and snoozing ---------------------------------------------------------------------


def test_dismissing_ends_it_and_leaves_the_memory_alone(actor, scope):
    rule = make_proposal(scope)
    before = Memory.objects.filter(pk=rule.memory_id).values().get()
    rules.dismiss(actor=actor, rule=rule, version=1, reason="Too obvious.")
    assert (now_as(rule).state, now_as(rule).reason) == ("dismissed", "Too obvious.")
    assert Memory.objects.filter(pk=rule.memory_id).values().get() == before
    for again in (rules.promote, rules.dismiss, rules.snooze):
        with pytest.raises(Conflict, match="owner dismissed this rule"):
            again(actor=actor, rule=rule, version=2)


def test_snoozing_is_for_fourteen_days_and_then_it_waits_again(actor, scope):
    rule = make_proposal(scope)
    rules.snooze(actor=actor, rule=rule, version=1)
    assert abs(now_as(rule).snoozed_until - in_days(14)) < timedelta(minutes=1)
    assert not now_as(rule).is_open
    with pytest.raises(Conflict, match="snoozed until"):
        rules.promote(actor=actor, rule=rule, version=2)
    StandingRule.objects.filter(pk=rule.pk).update(snoozed_until=in_days(-1))
    assert rules.promote(actor=actor, rule=rule, version=2).state == "promoted"


@pytest.mark.parametrize("days", [-1, 400])
def test_a_day_that_is_past_or_far_away_is_refused(actor, scope, days):
    with pytest.raises(ValidationFailed):
        rules.snooze(actor=actor, rule=make_proposal(scope), version=1, until=in_days(days))


# Revoking ------------------------------------------------------------------------------------


def test_revoking_gives_the_memory_back_to_its_signals(actor, scope):
    rule = make_proposal(scope)
    rules.promote(actor=actor, rule=rule, version=1)
    useful(rule.memory, *map(str, range(5)))
    rules.revoke(actor=actor, rule=rule, version=2, reason="The team moved on.")
    assert (now_as(rule).state, now_as(rule).reason) == ("revoked", "The team moved on.")
    assert multiplier(rule.memory) == pytest.approx(1.26876, abs=5e-6)


def test_revoking_reaches_the_wordings_it_was_edited_into(actor, scope):
    rule = rules.promote(actor=actor, rule=make_proposal(scope), version=1)
    edited = memory_services.edit(actor=actor, memory=rule.memory, expected_version=1, content="Test first.")
    rules.revoke(actor=actor, rule=now_as(rule), version=2, reason="The team moved on.")
    assert (multiplier(rule.memory), multiplier(edited)) == (1.0, 1.0)


@pytest.mark.parametrize("reason", ["", "  ", "\u200b"])
def test_revoking_needs_a_reason(actor, scope, reason):
    rule = make_rule(scope)
    with pytest.raises(ValidationFailed) as refused:
        rules.revoke(actor=actor, rule=rule, version=1, reason=reason)
    assert refused.value.field == "reason"
    assert now_as(rule).state == "promoted"


def test_a_rule_whose_memory_is_gone_can_be_revoked(actor, scope):
    rule = make_rule(scope)
    memory_services.forget(actor=actor, memory=rule.memory)
    rules.revoke(actor=actor, rule=now_as(rule), version=1, reason="Gone.")
    assert now_as(rule).state == "revoked"
    assert multiplier(rule.memory) == 1.0


def test_only_a_rule_is_revoked_pinned_or_reworded(actor, scope):
    rule = make_proposal(scope)
    acts = [
        lambda: rules.revoke(actor=actor, rule=rule, version=1, reason="x"),
        lambda: rules.pin(actor=actor, rule=rule, version=1),
        lambda: rules.reword(actor=actor, rule=rule, version=1, text="x"),
    ]
    for act in acts:
        with pytest.raises(Conflict):
            act()


# Pinning and wording -------------------------------------------------------------------------


def test_pinning_and_unpinning(actor, scope):
    rule = make_rule(scope)
    rules.pin(actor=actor, rule=rule, version=1)
    assert now_as(rule).pinned
    rules.pin(actor=actor, rule=rule, version=2)
    rules.unpin(actor=actor, rule=rule, version=2)
    assert not now_as(rule).pinned
    assert actions_on(rule) == ["pin_rule", "unpin_rule"]


def test_rewording_changes_the_rule_and_not_the_memory(actor, scope):
    rule = make_rule(scope)
    rules.reword(actor=actor, rule=rule, version=1, text="Test, then push.")
    assert now_as(rule).text == "Test, then push."
    assert Memory.objects.get(pk=rule.memory_id).content == "Tests run before every push."
    assert multiplier(rule.memory) == 0.6


def test_rewording_takes_it_out_of_no_scope_that_one_may_not_write_to(actor, scope):
    foreign = make_scope()
    rule = make_rule(scope, scopes=[scope, foreign])
    rules.reword(actor=actor, rule=rule, version=1, text="Test.", layer="scope", scopes=[scope.pk])
    assert set(now_as(rule).scopes.all()) == {scope, foreign}


def test_a_rule_that_others_alone_deliver_is_reworded_without_choosing_a_scope(actor, scope):
    foreign = make_scope()
    rule = make_rule(scope, scopes=[foreign])
    rules.reword(actor=actor, rule=rule, version=1, text="Test.", layer="scope", scopes=[])
    assert (now_as(rule).text, list(now_as(rule).scopes.all())) == ("Test.", [foreign])


# Taking back ---------------------------------------------------------------------------------


@pytest.mark.parametrize("decide", ["promote", "dismiss", "snooze"])
def test_what_is_undone_waits_again_and_the_memory_ranks_as_before(actor, scope, decide):
    rule = make_proposal(scope)
    getattr(rules, decide)(actor=actor, rule=rule, version=1)
    rules.undo(actor=actor, rule=rule, version=2)
    rule = now_as(rule)
    assert (rule.state, rule.is_open, rule.promoted_at, rule.snoozed_until) == ("proposed", True, None, None)
    assert multiplier(rule.memory) == 1.0


def test_what_was_revoked_is_a_rule_again(actor, scope):
    rule = make_rule(scope, pinned=True)
    since = rule.promoted_at
    rules.revoke(actor=actor, rule=rule, version=1, reason="By mistake.")
    rules.undo(actor=actor, rule=rule, version=2)
    rule = now_as(rule)
    assert (rule.state, rule.pinned, rule.promoted_at, rule.reason) == ("promoted", True, since, "")
    assert multiplier(rule.memory) == 0.6


def test_what_waits_has_nothing_to_undo(actor, scope):
    with pytest.raises(Conflict, match="nothing to undo"):
        rules.undo(actor=actor, rule=make_proposal(scope), version=1)


# What the database keeps ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "constraint"),
    [
        ({"state": "revoked", "reason": ""}, "standing_rule_revoked_for_a_reason"),
        ({"layer": "sky"}, "standing_rule_layer_known"),
        ({"text": ""}, "standing_rule_says_something"),
        ({"snoozed_until": timezone.now()}, "standing_rule_snoozed_has_date"),
        ({"decided_by": None}, "standing_rule_decided_by_somebody"),
        ({"promoted_by": None}, "standing_rule_promoted_by_somebody"),
        ({"state": "dismissed"}, "standing_rule_promoted_by_somebody"),
    ],
)
def test_the_database_refuses_a_row_that_cannot_be(scope, columns, constraint):
    rule = make_rule(scope)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        StandingRule.objects.filter(pk=rule.pk).update(**columns)


def test_the_database_keeps_one_rule_a_memory(scope):
    rule = make_rule(scope)
    with pytest.raises(IntegrityError), transaction.atomic():
        make_proposal(scope, memory=rule.memory)
