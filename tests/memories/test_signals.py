"""Signals as they are given: outright, by a judge, and by what is written from a memory."""

from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from memories import services
from memories.access import actor_for_token, actor_for_user
from memories.errors import Forbidden, NotFound, ValidationFailed
from memories.models import Link, Memory, Reinforcement, Role, UsageEvent
from memories.services.links import LinkSpec
from memories.services.reinforcement import record_challenge, roll_up_all
from memories.services.signals import Verdict, mark_used, record_judgement
from tests.factories import make_member, make_memory, make_token, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return actor_for_user(owner)


def standing(memory):
    row = Reinforcement.objects.filter(memory=memory).first()
    return (row.useful, row.misled) if row else (0, 0)


def agent_of(user, scope, **rights):
    return actor_for_token(make_token(user, [scope], **rights)[0])


# Direct reports ------------------------------------------------------------------------------


def test_a_report_counts_at_once_and_the_roll_up_agrees(actor, scope):
    memory = make_memory(scope=scope)
    found = mark_used(actor=actor, memory=memory, useful=True, session="s1")
    assert (found.useful, found.misled) == standing(memory) == (1, 0)
    assert found.multiplier == Reinforcement.objects.get().multiplier == pytest.approx(1.10397, abs=5e-6)
    assert roll_up_all(now=timezone.now()) == (1, 0, 0)


def test_a_session_says_it_once_however_often_it_is_sent(actor, scope):
    memory = make_memory(scope=scope)
    for _ in range(3):
        mark_used(actor=actor, memory=memory, useful=True, session="s1")
    mark_used(actor=actor, memory=memory, useful=True, session="s2")
    assert UsageEvent.objects.count() == 2
    assert standing(memory) == (2, 0)


def test_the_later_word_of_a_session_counts(actor, scope):
    memory = make_memory(scope=scope)
    mark_used(actor=actor, memory=memory, useful=True, session="s1")
    assert mark_used(actor=actor, memory=memory, misled=True, session="s1").misled == 1
    assert standing(memory) == (0, 1)
    mark_used(actor=actor, memory=memory, session="s1")
    assert standing(memory) == (0, 0)
    assert UsageEvent.objects.count() == 3


def test_a_session_of_the_same_name_may_say_it_again_when_its_word_has_left_the_window(actor, scope):
    memory = make_memory(scope=scope)
    UsageEvent.objects.create(
        memory=memory, at=timezone.now() - timedelta(days=91), source="direct", session="main", useful=True
    )
    mark_used(actor=actor, memory=memory, useful=True, session="main")
    assert standing(memory) == (1, 0)


def test_a_session_may_not_be_named_after_a_secret(actor, scope):
    memory, secret = make_memory(scope=scope), "ghp_" + "a" * 36
    with pytest.raises(ValidationFailed, match="session github_token"):
        mark_used(actor=actor, memory=memory, useful=True, session=secret)
    with pytest.raises(ValidationFailed, match="session github_token"):
        record_judgement(session=secret, verdicts=[Verdict(memory.pk, 0.7, useful=True)])
    assert not UsageEvent.objects.exists()


def test_a_report_on_an_older_wording_raises_the_newer_one(actor, scope):
    memory = make_memory("The crane lifts forty tons.", scope=scope)
    edited = services.edit(actor=actor, memory=memory, expected_version=1, content="It lifts forty tonnes.")
    mark_used(actor=actor, memory=memory, useful=True, session="s1")
    assert standing(edited) == (1, 0)


def test_whoever_may_read_may_report_and_a_token_must_be_able_to_write(scope):
    memory, reader = make_memory(scope=scope), make_member(scope, Role.READER)
    assert mark_used(actor=agent_of(reader, scope), memory=memory, useful=True).useful == 1
    with pytest.raises(Forbidden, match="may only read"):
        mark_used(actor=agent_of(reader, scope, can_write=False), memory=memory, useful=True)


def test_a_memory_of_somebody_else_does_not_exist(scope):
    with pytest.raises(NotFound):
        mark_used(actor=actor_for_user(make_user()), memory=make_memory(scope=scope), useful=True)
    assert not UsageEvent.objects.exists()


def test_useful_and_misleading_at_once_is_refused(actor, scope):
    with pytest.raises(ValidationFailed, match="one of the two"):
        mark_used(actor=actor, memory=make_memory(scope=scope), useful=True, misled=True)


@pytest.mark.behaviour("Z27")
def test_shown_a_thousand_times_and_not_used_changes_nothing(actor, scope):
    memory = make_memory(scope=scope)
    Memory.objects.filter(pk=memory.pk).update(access_count=1000)
    now = timezone.now()
    UsageEvent.objects.bulk_create(
        UsageEvent(memory=memory, at=now, source=source, session=f"s{n}", confidence=1.0)
        for n in range(500)
        for source in ("direct", "judge")
    )
    roll_up_all(now=now)
    assert not Reinforcement.objects.exists()
    assert mark_used(actor=actor, memory=memory, session="s1").multiplier == 1.0


# A judge -------------------------------------------------------------------------------------


def test_a_judge_counts_its_confidence_and_misled_forces_useful_to_be_false(scope):
    one, two = make_memory(scope=scope), make_memory(scope=scope)
    verdicts = [
        Verdict(one.pk, 0.7, useful=True, relevant=True),
        Verdict(two.pk, 0.9, useful=True, relevant=True, misled=True),
    ]
    assert record_judgement(session="s1", verdicts=verdicts) == 2
    assert standing(one) == (0.7, 0)
    assert standing(two) == (0, 0.9)
    assert not UsageEvent.objects.get(memory=two).useful


def test_verdicts_are_written_in_the_order_in_which_the_roll_up_writes(scope):
    memories = sorted((make_memory(scope=scope).pk for _ in range(4)), reverse=True)
    record_judgement(session="s1", verdicts=[Verdict(memory, 0.7, useful=True) for memory in memories])
    written = UsageEvent.objects.order_by("pk").values_list("memory", flat=True)
    assert list(written) == sorted(memories)


def test_the_same_verdict_of_a_session_is_written_once(scope):
    verdicts = [Verdict(make_memory(scope=scope).pk, 0.7, useful=True, relevant=True)]
    assert record_judgement(session="s1", verdicts=verdicts) == 1
    assert record_judgement(session="s1", verdicts=verdicts) == 0
    assert record_judgement(session="s2", verdicts=verdicts) == 1


def test_a_judge_never_outvotes_who_was_there(actor, scope):
    memory = make_memory(scope=scope)
    mark_used(actor=actor, memory=memory, useful=True, session="s1")
    record_judgement(session="s1", verdicts=[Verdict(memory.pk, 1.0, misled=True)])
    assert standing(memory) == (1, 0)


def test_a_verdict_on_a_memory_that_is_gone_is_passed_over(scope):
    memory = make_memory(scope=scope)
    gone = memory.pk
    memory.delete()
    assert record_judgement(session="s1", verdicts=[Verdict(gone, 0.7, useful=True)]) == 0


@pytest.mark.parametrize(("session", "confidence"), [("", 0.7), (" ", 0.7), ("s1", 1.01), ("s1", float("nan"))])
def test_a_judgement_that_cannot_be_is_refused(scope, session, confidence):
    memory = make_memory(scope=scope)
    with pytest.raises(ValidationFailed):
        record_judgement(session=session, verdicts=[Verdict(memory.pk, confidence, useful=True)])


# What is written from a memory ---------------------------------------------------------------


def write_from(actor, scope, memory, type="derived_from", **asked):
    links = [LinkSpec(type, memory.pk)]
    return services.remember(
        actor=actor, scope=scope, content=f"Written after {memory.pk}", links=links, **{"session": "s1"} | asked
    )


@pytest.mark.parametrize("type", ["derived_from", "supersedes"])
def test_a_new_memory_tells_that_the_recalled_one_it_was_written_from_was_of_use(actor, scope, type):
    memory = make_memory(scope=scope, access_count=1)
    write_from(actor, scope, memory, type)
    event = UsageEvent.objects.get()
    assert (event.memory, event.source, event.session, event.user) == (memory, "link", "s1", actor.user)
    assert standing(memory) == (1, 0)


@pytest.mark.parametrize("type", sorted({*Link.Type.values} - {"derived_from", "supersedes"}))
def test_other_links_tell_nothing_of_use(actor, scope, type):
    write_from(actor, scope, make_memory(scope=scope, access_count=1), type)
    assert not UsageEvent.objects.exists()


def test_what_was_never_recalled_was_not_used(actor, scope):
    write_from(actor, scope, make_memory(scope=scope))
    assert not UsageEvent.objects.exists()


def test_a_distillate_or_an_import_is_no_use_by_anybody(actor, scope):
    for kind in ("distilled", "import"):
        write_from(actor, scope, make_memory(scope=scope, access_count=1), author_kind=kind)
    assert not UsageEvent.objects.exists()


def test_a_link_of_a_session_that_was_misled_is_no_praise(actor, scope):
    memory = make_memory(scope=scope, access_count=1)
    record_challenge(memory=memory, user=actor.user, session="s1")
    write_from(actor, scope, memory, "supersedes")
    assert standing(memory) == (0, 1)


def test_writing_again_what_is_known_tells_nothing_twice(actor, scope):
    memory = make_memory(scope=scope, access_count=1)
    for _ in range(2):
        write_from(actor, scope, memory)
    assert UsageEvent.objects.count() == 1


@pytest.mark.behaviour("Z30")
def test_a_signal_that_cannot_be_written_fails_no_write(actor, scope, caplog):
    memory = make_memory(scope=scope, access_count=1)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE usage_event ADD CONSTRAINT broken CHECK (session <> 's1')")
    written = write_from(actor, scope, memory)
    assert Memory.objects.get(pk=written.memory.pk).links_out.count() == 1
    assert not UsageEvent.objects.exists()
    assert "could not be noted" in caplog.text


@pytest.mark.behaviour("Z30")
def test_events_hold_ids_flags_and_confidence_and_no_text():
    assert {field.name for field in UsageEvent._meta.fields} == {
        "id", "memory", "at", "source", "session", "user", "useful", "relevant", "misled", "confidence",
    }  # fmt: skip
    assert UsageEvent._meta.get_field("session").max_length == 120


@pytest.mark.behaviour("Z30")
def test_a_report_that_cannot_be_written_says_so_and_leaves_the_row(actor, scope):
    memory = make_memory(scope=scope)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE usage_event ADD CONSTRAINT broken CHECK (session <> 's1')")
    with pytest.raises(DatabaseError):
        mark_used(actor=actor, memory=memory, useful=True, session="s1")
    assert not Reinforcement.objects.exists()
