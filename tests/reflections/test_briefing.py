"""What an agent is told before it begins: each part, its limits, and the one budget."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memories.access import actor_for_user
from memories.briefing import config
from memories.errors import NotFound, ValidationFailed
from memories.models import BriefingConfig, Link, RecallActivity, Reinforcement, Surfacing
from memories.services import close
from memories.windows import write_windows
from reflections.briefing import brief
from reflections.models import StandingRule
from tests.factories import add_entity, make_member, make_memory, make_scope, make_token, make_user
from tests.queries import queries_of, recorded_queries
from tests.reflections.ruling import make_rule

pytestmark = pytest.mark.django_db
TOPIC = "harbour gate"


@pytest.fixture
def told(owner):
    return lambda topic=TOPIC, **asked: brief(actor=actor_for_user(owner), topic=topic, **asked)


def keys(rows):
    return [row.memory.pk for row in rows]


# Open loops ----------------------------------------------------------------------------------


@pytest.mark.behaviour("Z64")
def test_an_open_task_is_told_whatever_the_topic_and_never_ranked(scope, told):
    task = make_memory("Paint the harbour gate.", scope=scope, kind="task")
    for topic in ("the price of bread", TOPIC):
        found = told(topic)
        assert keys(found.open_loops) == [task.pk]
        assert task.pk not in keys([*found.memories, *found.linked, *found.recent])


@pytest.mark.behaviour("Z65")
@pytest.mark.parametrize(("age", "is_told"), [(13.9, True), (14.1, False), (20, False)])
def test_a_loop_leaves_the_briefing_after_fourteen_days_and_nothing_else(scope, owner, told, age, is_told):
    task = make_memory("Paint the harbour gate.", scope=scope, kind="task", age_days=age)
    found = told()
    assert (keys(found.open_loops), found.open_loops_total) == (([task.pk], 1) if is_told else ([], 0))
    close(actor=actor_for_user(owner), memory=task)
    task.refresh_from_db()
    assert task.state == "invalidated"


@pytest.mark.behaviour("Z65")
def test_how_long_a_loop_is_told_is_a_row_of_configuration(scope, told):
    make_memory("Paint the harbour gate.", scope=scope, kind="task", age_days=20)
    BriefingConfig.objects.update(loop_days=30)
    assert told().open_loops_total == 1
    BriefingConfig.objects.all().delete()
    assert (told().open_loops_total, config().loop_days) == (0, 14)


@pytest.mark.behaviour("Z66")
def test_the_oldest_ten_loops_are_told_and_all_are_counted(scope, told):
    loops = [make_memory(f"Question {n}?", scope=scope, kind="open-question", age_days=12 - n) for n in range(12)]
    found = told()
    assert keys(found.open_loops) == [loop.pk for loop in loops[:10]]
    assert found.open_loops_total == 12


@pytest.mark.behaviour("Z67")
def test_the_loop_nearest_the_topic_is_whole_and_the_others_are_cut(scope, told):
    gate = make_memory("Paint the harbour gate. " + "It is rusty. " * 60, scope=scope, kind="task")
    bread = make_memory("Bake bread for the market. " + "It is early. " * 60, scope=scope, kind="task")
    for topic, whole, other in ((TOPIC, gate, bread), ("bread for the market", bread, gate)):
        rows = {row.memory.pk: row for row in told(topic).open_loops}
        assert (rows[whole.pk].text, rows[whole.pk].truncated) == (whole.content, False)
        assert rows[other.pk].truncated
        assert len(rows[other.pk].text) <= 400


def test_a_closed_loop_is_not_told(scope, owner, told):
    task = make_memory("Paint the harbour gate.", scope=scope, kind="task")
    close(actor=actor_for_user(owner), memory=task)
    assert told().open_loops_total == 0


# Memories ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("max_tokens", "number"), [(None, 12), (200, 3), (1000, 5), (4000, 20), (50_000, 24)])
def test_the_budget_says_how_many_memories_are_looked_for(scope, told, max_tokens, number):
    for n in range(30):
        make_memory(f"Harbour gate {n}.", scope=scope)
    assert len(told(max_tokens=max_tokens).memories) == number


def test_of_a_long_memory_the_stretch_that_matched_is_told(scope, told):
    make_memory("Nothing to see. " * 200, scope=scope)
    content = "Weather and wind. " * 150 + "The harbour gate opens at six. " + "Waves. " * 400
    memory = make_memory(content, scope=scope)
    memory.windows.all().delete()
    write_windows(memory)
    (row,) = [row for row in told().memories if row.memory.pk == memory.pk]
    assert "The harbour gate opens at six." in row.text
    assert (row.truncated, len(row.text) <= 1800) == (True, True)


def test_nothing_is_told_twice(scope, told):
    shared = [make_memory(f"Harbour gate {n}.", scope=scope, kind="decision", entities=["Gate"]) for n in range(30)]
    Link.objects.create(source=shared[0], target=shared[1], type="relates_to")
    found = told()
    assert len(keys(found.given)) == len(set(keys(found.given)))


def test_one_budget_bounds_all_texts_together(scope, told):
    for n in range(30):
        make_memory(f"Harbour gate {n}. " + "Mind the step. " * 40, scope=scope, kind="decision", entities=["Gate"])
        make_memory(f"Paint gate {n}. " + "Take care. " * 60, scope=scope, kind="task")
    found = told(max_tokens=500)
    spent = sum(len(row.text) for row in found.given) + sum(len(rule.text) for rule in found.rules)
    assert spent == found.spent <= found.budget == 2000
    assert any("left out: the budget was spent" in notice for notice in found.notices)


def test_without_a_topic_what_is_pinned_and_what_proved_useful_come_first(scope, told):
    new = make_memory("Quite new.", scope=scope)
    useful = make_memory("Proved useful.", scope=scope, age_days=100)
    Reinforcement.objects.create(memory=useful, multiplier=1.2, useful=3)
    pinned = make_memory("Pinned.", scope=scope, age_days=300, pinned=True)
    found = told(topic="")
    assert keys(found.memories) == [pinned.pk, useful.pk, new.pk]
    assert [row.why for row in found.memories] == [
        "Pinned.",
        "Proved useful: ×1.20.",
        "Among the newest of what lasts.",
    ]


# Linked, entities, recent --------------------------------------------------------------------


@pytest.mark.behaviour("Z70")
def test_what_hangs_together_is_sorted_cut_and_holds_nothing_that_passes(scope, told):
    gate = make_memory("The harbour gate.", scope=scope, entities=["Gate"])
    long = make_memory("Keys hang in the office. " * 40, scope=scope, entities=["Gate"], age_days=40)
    linked = make_memory("Oil comes by ship.", scope=scope, age_days=40)
    Link.objects.create(source=linked, target=gate, type="derived_from")
    for kind in ("episode", "task", "open-question"):
        make_memory(f"Something passing: {kind}.", scope=scope, kind=kind, entities=["Gate"], age_days=40)
    found = told("the harbour gate")
    rest = [row for row in found.linked if row.memory.pk in (long.pk, linked.pk)]
    assert keys(rest) == [linked.pk, long.pk]
    assert [row.score for row in found.linked] == sorted((row.score for row in found.linked), reverse=True)
    assert (rest[1].truncated, len(rest[1].text) <= 600) == (True, True)
    assert {row.memory.kind for row in found.linked} == {"fact"}


@pytest.mark.behaviour("Z71")
def test_two_spellings_of_a_thing_are_one_row_with_its_types_and_count(scope, told):
    first = make_memory("The harbour gate is new.", scope=scope, entities=["Redis"])
    second = make_memory("The harbour gate is old.", scope=scope)
    add_entity(second, "redis", "tool")
    (row,) = told().entities
    assert (row.types, row.memories) == (("thing", "tool"), 2)
    assert row.name.casefold() == "redis"
    assert not {first.pk, second.pk} & set(keys(told().linked))


def test_what_is_new_of_the_kinds_that_last_is_told_newest_first(scope, told):
    make_memory("Too old.", scope=scope, kind="decision", age_days=15)
    make_memory("Not said by anybody who knows.", scope=scope, kind="decision", provenance=0)
    make_memory("Passing.", scope=scope, kind="episode")
    rows = [make_memory(f"Decided {n}.", scope=scope, kind="decision", age_days=n) for n in range(7)]
    assert keys(told("something else entirely").recent) == [row.pk for row in rows[:5]]


# Rules, walls, logs --------------------------------------------------------------------------


def test_rules_come_first_and_pinned_ones_before_all(scope, owner, told):
    make_rule(scope, text="Say what the gate is for.")
    pinned = make_rule(scope, text="Close the gate.", pinned=True)
    assert told().rules[0].id == pinned.pk
    assert len(told().rules) == StandingRule.objects.count() == 2


def test_nothing_of_a_scope_that_is_not_readable_is_told(owner, scope):
    foreign = make_scope(make_user(), slug="elsewhere")
    for kind in ("fact", "decision", "task"):
        make_memory("The harbour gate of somebody else.", scope=foreign, kind=kind, entities=["Gate"])
    mine = make_memory("My harbour gate.", scope=scope, entities=["Gate"])
    found = brief(actor=actor_for_user(owner), topic=TOPIC)
    assert keys(found.given) == [mine.pk]
    assert [entity.memories for entity in found.entities] == [1]
    with pytest.raises(NotFound):
        brief(actor=actor_for_user(owner), topic=TOPIC, scopes=["elsewhere"])


@pytest.mark.parametrize("max_tokens", [0, -1, 199, 100_001])
def test_a_budget_out_of_bounds_is_refused(told, max_tokens):
    with pytest.raises(ValidationFailed) as caught:
        told(max_tokens=max_tokens)
    assert caught.value.field == "max_tokens"


def test_over_rest_it_is_logged_and_counted_and_on_the_page_it_is_not(scope, owner, client):
    memory = make_memory("The harbour gate.", scope=scope)
    client.force_login(owner)
    shown = client.get(reverse("briefing_page"), {"topic": TOPIC})
    assert "The harbour gate." in shown.content.decode()
    assert not RecallActivity.objects.exists()
    answer = client.post(
        "/api/v1/briefing",
        {"topic": TOPIC, "session": "one"},
        content_type="application/json",
        headers={"Authorization": f"Bearer {make_token(owner, [scope])[1]}"},
    )
    assert [row["id"] for row in answer.json()["memories"]] == [str(memory.pk)]
    line = RecallActivity.objects.get()
    assert (line.sort, line.session, line.memories) == ("briefing", "one", [memory.pk])
    assert Surfacing.objects.get().memory_id == memory.pk


def test_a_member_who_only_reads_is_told_too(scope):
    make_memory("The harbour gate.", scope=scope)
    reader = make_member(scope)
    assert len(brief(actor=actor_for_user(reader), topic=TOPIC).memories) == 1


def test_a_bad_budget_on_the_page_is_explained(client, owner):
    client.force_login(owner)
    answer = client.get(reverse("briefing_page"), {"max_tokens": "many"})
    assert answer.status_code == 400
    assert "whole number of tokens" in answer.content.decode()


def test_the_page_asks_no_more_for_more_memories(client, owner, scope):
    client.force_login(owner)
    for n in range(20):
        make_memory(f"Harbour gate {n}.", scope=scope, entities=["Gate"], age_days=n)
    assert queries_of(lambda: client.get(reverse("briefing_page"), {"topic": TOPIC})) == recorded_queries("briefing")


def test_it_is_quick_to_say_that_there_is_nothing(client, owner, scope):
    client.force_login(owner)
    assert "There is nothing to tell" in client.get(reverse("briefing_page")).content.decode()


def test_what_was_learned_in_the_future_is_new_too(scope, told):
    memory = make_memory(
        "Decided tomorrow.", scope=scope, kind="decision", created_at=timezone.now() + timedelta(hours=1)
    )
    assert keys(told("something else").recent) == [memory.pk]
