"""What agents are told: in which scopes, and what becomes of a rule when its memory does."""

import pytest
from django.utils import timezone

from memories import services
from memories.access import actor_for_token, actor_for_user
from memories.models import Memory
from reflections.delivery import deliverable
from tests.factories import make_member, make_memory, make_scope, make_token, make_user
from tests.queries import queries_of
from tests.reflections.factories import person
from tests.reflections.ruling import make_proposal, make_rule

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("Z88")]


def told(actor, *scopes):
    """The texts that are delivered, of each layer."""
    return [[one.rule.text for one in layer.delivered] for layer in deliverable(actor, [scope.pk for scope in scopes])]


def why(actor, scope):
    return [one.why for layer in deliverable(actor, [scope.pk]) for one in layer.left_out]


# Where ---------------------------------------------------------------------------------------


def test_a_rule_is_told_in_its_scopes_and_nowhere_else(owner, scope):
    other, third = make_scope(owner), make_scope(owner)
    make_rule(scope, "In two.", scopes=[scope, other])
    actor = person(owner)
    assert told(actor, scope) == told(actor, other) == told(actor, scope, other) == [[], ["In two."]]
    assert told(actor, third) == told(actor) == [[], []]


def test_a_core_rule_is_told_wherever_its_owner_works(owner, scope):
    make_rule(make_scope(owner, slug="core"), "Everywhere.")
    token, _ = make_token(owner, [scope])
    assert told(person(owner), scope) == told(actor_for_token(token), scope) == [["Everywhere."], []]


def test_a_core_rule_is_not_told_to_those_the_owner_shares_other_scopes_with(owner, scope):
    make_rule(make_scope(owner, slug="core"), "Everywhere.")
    assert told(person(make_member(scope, "writer")), scope) == [[], []]


def test_members_of_a_core_scope_are_told_its_rules_where_they_ask_for_it(owner):
    core = make_scope(owner, slug="core")
    make_rule(core, "Everywhere.")
    member = person(make_member(core))
    assert told(member, core) == [["Everywhere."], []]
    assert told(member) == [[], []]


def test_a_scope_that_is_not_theirs_tells_nobody_anything(scope):
    make_rule(scope)
    assert told(person(make_user()), scope) == [[], []]


def test_a_token_is_told_what_its_scopes_are_told(owner, scope):
    make_rule(make_scope(owner), "Elsewhere.")
    make_rule(scope, "Here.")
    token, _ = make_token(owner, [scope])
    actor = actor_for_token(token)
    assert told(actor, scope) == [[], ["Here."]]
    assert [layer.name for layer in deliverable(actor, actor.readable)] == ["core", "scope"]


@pytest.mark.parametrize("state", ["proposed", "snoozed", "dismissed", "revoked"])
def test_only_what_is_promoted_is_told(owner, scope, state):
    now = timezone.now()
    decided = {"decided_at": now, "decided_by": owner}
    columns = {
        "proposed": {},
        "snoozed": decided | {"snoozed_until": now},
        "dismissed": decided,
        "revoked": decided | {"promoted_at": now, "promoted_by": owner, "reason": "Old."},
    }
    make_proposal(scope, state=state, **columns[state])
    assert told(person(owner), scope) == [[], []]


# How many ------------------------------------------------------------------------------------


def test_twelve_of_fourteen_are_told_and_two_say_why_not(owner, scope):
    for number in range(14):
        make_rule(scope, f"Rule {number:02}.", days=20 - number)
    _, layer = deliverable(person(owner), [scope.pk])
    assert [one.rule.text for one in layer.delivered] == [f"Rule {number:02}." for number in range(12)]
    assert [one.rule.text for one in layer.left_out] == ["Rule 12.", "Rule 13."]
    assert all(one.why.startswith("12 others") for one in layer.left_out)


def test_each_layer_has_its_own_twelve_and_pinned_ones_come_first(owner, scope):
    core = make_scope(owner, slug="core")
    for number in range(13):
        make_rule(core, f"Core {number}.")
        make_rule(scope, f"Here {number}.")
    make_rule(scope, "Pinned.", pinned=True)
    first, second = deliverable(person(owner), [scope.pk, core.pk])
    assert (len(first.delivered), len(first.rulings)) == (12, 13)
    assert (len(second.delivered), len(second.rulings)) == (13, 14)
    assert second.delivered[0].rule.text == "Pinned."


def test_each_scope_has_its_own_twelve_however_many_are_asked_for_at_once(owner, scope):
    other = make_scope(owner)
    for number in range(13):
        make_rule(scope, f"Here {number:02}.", days=20 - number)
        make_rule(other, f"There {number:02}.", days=20 - number)
    _, layer = deliverable(person(owner), [scope.pk, other.pk])
    assert (len(layer.delivered), len(layer.rulings)) == (24, 26)
    assert {one.rule.text for one in layer.left_out} == {"Here 12.", "There 12."}
    assert told(person(owner), scope, other)[1] != told(person(owner), scope)[1]


def test_a_rule_that_one_of_its_scopes_has_no_room_for_is_told_for_the_sake_of_the_other(owner, scope):
    other = make_scope(owner)
    for number in range(12):
        make_rule(scope, f"Here {number:02}.", days=20 - number)
    make_rule(scope, "In both.", scopes=[scope, other])
    assert "In both." not in told(person(owner), scope)[1]
    for order in ([scope, other], [other, scope]):
        assert told(person(owner), *order)[1].count("In both.") == 1


def test_what_proved_most_useful_comes_first(owner, scope):
    make_rule(scope, "Some.", useful=2, days=9)
    make_rule(scope, "Most.", useful=7, days=1)
    make_rule(scope, "None.", days=30)
    assert told(person(owner), scope) == [[], ["Most.", "Some.", "None."]]


# What becomes of the memory ------------------------------------------------------------------


def test_a_forgotten_memory_ends_it_until_it_is_restored(owner, scope):
    actor, rule = person(owner), make_rule(scope)
    services.forget(actor=actor, memory=rule.memory)
    assert told(actor, scope) == [[], []]
    assert why(actor, scope) == ["Its memory was forgotten. Restore it, and the rule is delivered again."]
    services.restore(actor=actor, memory=rule.memory)
    assert told(actor, scope) == [[], [rule.text]]


def test_a_memory_that_another_replaced_ends_it(owner, scope):
    actor, rule = person(owner), make_rule(scope)
    services.supersede(actor=actor, memory=rule.memory, replacement=make_memory(scope=scope))
    assert told(actor, scope) == [[], []]
    assert why(actor, scope)[0].startswith("Another memory replaced")


def test_a_memory_that_is_no_longer_valid_ends_it(owner, scope):
    rule = make_rule(scope)
    Memory.objects.filter(pk=rule.memory_id).update(valid_until=timezone.now())
    assert why(person(owner), scope)[0].startswith("Its memory is no longer valid")


def test_an_edit_leaves_the_text_of_the_rule_and_says_that_the_memory_changed(owner, scope):
    actor, rule = person(owner), make_rule(scope)
    services.edit(actor=actor, memory=rule.memory, expected_version=1, content="Test before lunch.")
    _, layer = deliverable(actor, [scope.pk])
    (one,) = layer.delivered
    assert (one.rule.text, one.has_changed) == ("Tests run before every push.", True)
    assert one.memory.content == "Test before lunch."


def test_an_edit_after_which_it_was_forgotten_ends_it(owner, scope):
    actor, rule = person(owner), make_rule(scope)
    edited = services.edit(actor=actor, memory=rule.memory, expected_version=1, content="Test before lunch.")
    services.forget(actor=actor, memory=edited)
    assert why(actor, scope)[0].startswith("Its memory was forgotten")


def test_an_edit_before_the_promotion_is_no_news(owner, scope):
    actor, rule = person(owner), make_rule(scope, days=0)
    services.edit(actor=actor, memory=rule.memory, expected_version=1, content="Test before lunch.")
    type(rule).objects.filter(pk=rule.pk).update(worded_at=timezone.now())
    assert not deliverable(actor, [scope.pk])[1].delivered[0].has_changed


def test_the_queries_do_not_grow_with_the_rules(owner, scope):
    actor = actor_for_user(owner)
    make_rule(scope)
    few = queries_of(lambda: deliverable(actor, [scope.pk]))
    for number in range(9):
        make_rule(scope, f"Rule {number}.")
    assert queries_of(lambda: deliverable(actor, [scope.pk])) == few == 2
