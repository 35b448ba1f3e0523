"""Which memories are proposed as standing rules, and which never again."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories import services
from memories.models import AuditEntry, Memory, UsageEvent
from memories.services.reinforcement import record_challenge, withdraw_reports
from reflections import hygiene
from reflections.models import HygieneConfig, StandingRule
from reflections.services import rules
from reflections.services.disputes import challenge
from tests.factories import make_memory, make_scope
from tests.queries import queries_of
from tests.reflections.factories import person
from tests.reflections.ruling import make_convention, useful
from tests.reflections.stepping import run_step

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("Z88")]
THREE = ("monday", "tuesday", "friday")


def proposed(scope):
    """The memories that a run of the step proposes."""
    before = set(StandingRule.objects.values_list("pk", flat=True))
    run_step("rule_candidates", scope)
    return [rule.memory for rule in StandingRule.objects.exclude(pk__in=before).order_by("pk")]


def test_three_sessions_in_thirty_days_propose_a_rule(scope):
    memory = make_convention(scope)
    useful(memory, *THREE)
    step = run_step("rule_candidates", scope)
    rule = StandingRule.objects.get()
    assert (step.found, step.done, step.skipped) == (1, 1, 0)
    assert (rule.memory, rule.text, rule.state, rule.sessions) == (memory, memory.content, "proposed", 3)
    assert (rule.layer, list(rule.scopes.all())) == ("scope", [scope])
    assert rule.rationale == "Useful in 3 sessions within 30 days."


def test_a_memory_of_the_core_scope_is_proposed_for_everywhere(owner):
    core = make_scope(owner, slug="core")
    useful(make_convention(core), *THREE)
    run_step("rule_candidates", core)
    rule = StandingRule.objects.get()
    assert (rule.layer, list(rule.scopes.all())) == ("core", [])


@pytest.mark.parametrize(
    "sessions",
    [("monday", "tuesday"), ("monday", "monday", "tuesday"), ("monday", "tuesday", ""), ("", "", "")],
    ids=["two", "one twice", "one without a name", "none named"],
)
def test_fewer_distinct_sessions_do_not(scope, sessions):
    useful(make_convention(scope), *sessions)
    assert proposed(scope) == []


def test_what_was_said_longer_ago_does_not_count(scope):
    memory = make_convention(scope)
    useful(memory, "monday", "tuesday")
    useful(memory, "friday", days=31)
    assert proposed(scope) == []


@pytest.mark.parametrize("kind", ["convention", "preference", "gotcha"])
def test_these_kinds_are_proposed(scope, kind):
    memory = make_convention(scope, kind=kind)
    useful(memory, *THREE)
    assert proposed(scope) == [memory]


@pytest.mark.parametrize("kind", ["fact", "decision", "reference", "episode", "task", "open-question"])
def test_other_kinds_are_not(scope, kind):
    useful(make_convention(scope, kind=kind), *THREE)
    assert proposed(scope) == []


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ({"source": "judge", "confidence": 0.6}, True),
        ({"source": "judge", "confidence": 0.59}, False),
        ({"source": "link"}, True),
        ({"useful": False}, False),
        ({"useful": False, "misled": True}, False),
    ],
    ids=["a sure judge", "an unsure judge", "a newer memory built on it", "not useful", "misled"],
)
def test_a_session_counts_when_it_says_useful_and_is_sure(scope, said, counts):
    memory = make_convention(scope)
    useful(memory, "monday", "tuesday")
    useful(memory, "friday", **said)
    assert proposed(scope) == [memory] * counts


@pytest.mark.parametrize(
    "graver",
    [{"source": "challenge", "misled": True}, {"source": "direct", "misled": True}, {"source": "direct"}],
    ids=["a challenge", "a report that it misled", "a report that it was of no use"],
)
def test_a_session_that_later_spoke_against_it_does_not_count(scope, graver):
    memory = make_convention(scope)
    useful(memory, *THREE, days=2)
    useful(memory, "friday", useful=False, **graver)
    assert proposed(scope) == []


def test_a_challenge_that_was_withdrawn_speaks_against_nothing(scope, owner):
    memory, at = make_convention(scope), timezone.now() - timedelta(days=1)
    useful(memory, *THREE)
    record_challenge(memory=memory, user=owner, session="friday", at=at)
    assert proposed(scope) == []
    withdraw_reports(memory=memory, only_of=at, user=owner)
    assert proposed(scope) == [memory]


@pytest.mark.parametrize("changed", ["created_at", "updated_at"])
def test_what_changed_within_a_week_waits(scope, changed):
    memory = make_convention(scope)
    useful(memory, *THREE)
    Memory.objects.filter(pk=memory.pk).update(**{changed: timezone.now() - timedelta(days=6.9)})
    assert proposed(scope) == []
    Memory.objects.filter(pk=memory.pk).update(**{changed: timezone.now() - timedelta(days=7.1)})
    assert proposed(scope) == [memory]


@pytest.mark.parametrize(
    "retired",
    [
        {"invalidated_at": timezone.now() - timedelta(days=9), "invalidated_actor": "owner"},
        {"valid_until": timezone.now() - timedelta(days=9)},
    ],
    ids=["forgotten", "no longer valid"],
)
def test_what_is_not_live_is_not_proposed(scope, retired):
    memory = make_convention(scope)
    useful(memory, *THREE)
    Memory.objects.filter(pk=memory.pk).update(**retired)
    assert proposed(scope) == []


def test_what_is_in_doubt_is_not_proposed_until_the_doubt_is_settled(scope, owner):
    memory = make_convention(scope)
    useful(memory, *THREE)
    dispute = challenge(actor=person(owner), memory=memory).dispute
    assert proposed(scope) == []
    dispute.delete()
    assert proposed(scope) == [memory]


def test_another_scope_is_left_alone(scope, owner):
    useful(make_convention(make_scope(owner)), *THREE)
    assert proposed(scope) == []


# Never again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("decide", [None, rules.dismiss, rules.snooze, rules.promote], ids=["waits", "d", "s", "a"])
def test_what_was_ever_proposed_is_not_proposed_again(scope, owner, decide):
    memory = make_convention(scope)
    useful(memory, *THREE)
    assert proposed(scope) == [memory]
    if decide:
        decide(actor=person(owner), rule=StandingRule.objects.get(), version=1)
    useful(memory, "may", "june", "july")
    assert proposed(scope) == []


def test_an_edited_wording_is_the_same_memory(scope, owner):
    memory = make_convention(scope)
    useful(memory, *THREE)
    run_step("rule_candidates", scope)
    rules.dismiss(actor=person(owner), rule=StandingRule.objects.get(), version=1)
    edited = services.edit(actor=person(owner), memory=memory, expected_version=1, content="Test before pushing.")
    Memory.objects.filter(pk=edited.pk).update(updated_at=timezone.now() - timedelta(days=8))
    useful(edited, *THREE)
    assert proposed(scope) == []


def test_what_was_said_of_an_earlier_wording_counts(scope, owner):
    memory = make_convention(scope)
    useful(memory, *THREE)
    edited = services.edit(actor=person(owner), memory=memory, expected_version=1, content="Test before pushing.")
    Memory.objects.filter(pk=edited.pk).update(updated_at=timezone.now() - timedelta(days=8))
    assert proposed(scope) == [edited]


def test_what_another_memory_replaced_passes_nothing_on(scope, owner):
    old, new = make_convention(scope), make_convention(scope, "Tests run on the server.")
    useful(old, *THREE)
    services.supersede(actor=person(owner), memory=old, replacement=new)
    assert proposed(scope) == []


def test_a_second_run_proposes_nothing(scope):
    useful(make_convention(scope), *THREE)
    run_step("rule_candidates", scope)
    assert run_step("rule_candidates", scope).found == 0


# Around it -----------------------------------------------------------------------------------


def test_a_text_too_long_to_be_read_every_time_is_passed_over(scope):
    useful(make_convention(scope, "Long. " * 700), *THREE)
    step = run_step("rule_candidates", scope)
    assert (step.found, step.done, step.skipped) == (1, 0, 1)


def test_the_numbers_are_those_of_the_configuration(scope):
    HygieneConfig.objects.update_or_create(id=1, defaults={"rule_sessions": 2, "rule_days": 10})
    memory = make_convention(scope)
    useful(memory, "monday")
    useful(memory, "tuesday", days=11)
    assert proposed(scope) == []
    useful(memory, "wednesday")
    assert proposed(scope) == [memory]


def test_it_belongs_to_the_quick_cycle_after_the_sweep_and_says_what_it_would_do(scope):
    step = hygiene.STEPS["rule_candidates"]
    names = list(hygiene.STEPS)
    assert step.in_quick
    assert names.index("rule_candidates") > names.index("stale_sweep")
    useful(make_convention(scope), *THREE)
    assert step.survey(scope) == "would propose 1 standing rule"
    assert not StandingRule.objects.exists()


def test_a_proposal_stands_in_the_trail_with_its_scanner(scope):
    useful(make_convention(scope), *THREE)
    run_step("rule_candidates", scope)
    entry = AuditEntry.objects.get(action="propose_rule")
    assert (entry.actor, entry.user, entry.scope, entry.detail) == (
        "rule candidates",
        None,
        scope,
        {"scanner": "rule candidates"},
    )


def test_looking_takes_one_query_however_many_memories_there_are(scope):
    look = hygiene.STEPS["rule_candidates"].survey
    useful(make_convention(scope), *THREE)
    few = queries_of(lambda: look(scope))
    for number in range(20):
        useful(make_convention(scope, f"Rule {number}."), *THREE)
    assert queries_of(lambda: look(scope)) == few


def test_a_memory_that_changed_while_the_step_looked_is_left(scope):
    memory = make_convention(scope)
    since = timezone.now() - timedelta(days=60)
    asked = {"sessions": 3, "rationale": "Useful.", "label": "rule candidates"}
    assert rules.propose(memory=memory, settled=since, **asked) is None
    assert rules.propose(memory=memory, settled=timezone.now(), **asked)
    assert rules.propose(memory=memory, settled=timezone.now(), **asked) is None
    assert UsageEvent.objects.count() == 0


def test_a_fact_that_became_a_convention_lately_waits(scope, owner):
    memory = make_memory("Tests run first.", scope=scope, kind="fact", age_days=40)
    useful(memory, *THREE)
    services.edit(actor=person(owner), memory=memory, expected_version=1, kind="convention")
    assert proposed(scope) == []
