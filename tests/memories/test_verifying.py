"""Saying that a memory still holds, and being asked to."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import services
from memories.access import actor_for_token, actor_for_user
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.looks import budgets, is_stale, looks
from memories.models import AuditEntry, FreshnessConfig, Memory, Verification
from memories.recall import recall
from memories.services.verification import verify
from tests.factories import make_member, make_memory, make_scope, make_token, make_user
from tests.memories.test_schema import removed_for_good

pytestmark = pytest.mark.django_db
TEXT = "The newest release of the tide library is 4.2."


@pytest.fixture
def core(owner):
    return make_scope(owner, slug="core", name="Core")


@pytest.fixture
def fact(core):
    return make_memory(TEXT, scope=core, age_days=181)


def check(memory, days_ago=1.0, **given):
    values = {"verdict": "current", "method": "person", "actor": "owner"} | given
    return Verification.objects.create(memory=memory, at=timezone.now() - timedelta(days=days_ago), **values)


def found(owner, query="tide library", **asked):
    return recall(actor=actor_for_user(owner), query=query, **asked).results


def stale_days(memory):
    look = looks([memory], timezone.now()).get(memory.pk)
    return look.stale_days if look else None


# Which are asked about -----------------------------------------------------------------------


@pytest.mark.behaviour("Z73")
@pytest.mark.parametrize(
    ("kind", "age_days", "expected"),
    [("fact", 181, 181), ("fact", 180, None), ("reference", 91, 91), ("reference", 90, None), ("decision", 900, None),
     ("convention", 900, None), ("preference", 900, None)],
)  # fmt: skip
def test_recall_says_how_long_nobody_looked_at_a_core_fact(owner, core, kind, age_days, expected):
    make_memory(TEXT, scope=core, kind=kind, age_days=age_days)
    assert [result.stale_days for result in found(owner)] == [expected]


@pytest.mark.behaviour("Z73")
@pytest.mark.parametrize("slug", ["core_banking", "core-banking", "home"])
def test_a_scope_that_is_not_called_core_is_not_the_core(owner, slug):
    make_memory(TEXT, scope=make_scope(owner, slug=slug), age_days=900)
    assert [result.stale_days for result in found(owner)] == [None]


@pytest.mark.behaviour("Z74")
def test_a_check_of_yesterday_clears_the_marker_and_moves_no_score(owner, fact):
    before = found(owner)[0]
    check(fact)
    after = found(owner)[0]
    assert (before.stale_days, after.stale_days) == (181, None)
    assert after.score == pytest.approx(before.score, abs=1e-6)
    assert after.factors.age == pytest.approx(before.factors.age, abs=1e-6)


@pytest.mark.behaviour("Z74")
def test_the_marker_itself_moves_no_score(owner, core, fact):
    old = make_memory("The tide library is documented at tides.example.org.", scope=core, age_days=181)
    with_marker = {result.memory.pk: result.score for result in found(owner)}
    FreshnessConfig.objects.update_or_create(id=1, defaults={"fact_days": 3650})
    without = {result.memory.pk: result.score for result in found(owner)}
    assert set(with_marker) == {fact.pk, old.pk}
    assert without == pytest.approx(with_marker, abs=1e-6)


def test_whoever_is_given_a_stale_fact_is_asked_to_look(owner, fact):
    assert found(owner)[0].why.endswith("; not checked for 181 days: verify it, supersede it or challenge it.")
    check(fact)
    assert "checked" not in found(owner)[0].why


def test_a_search_of_the_past_says_what_was_stale_then(owner, fact):
    check(fact, days_ago=1)
    then = timezone.now() - timedelta(hours=25)
    Memory.objects.filter(pk=fact.pk).update(created_at=then - timedelta(days=185), recorded_at=then)
    assert [result.stale_days for result in found(owner, as_of=then)] == [185]


def test_of_what_is_not_in_the_core_recall_reads_no_ledger(owner, scope):
    make_memory(TEXT, scope=scope, age_days=900)
    with CaptureQueriesContext(connection) as captured:
        found(owner)
    assert not [query for query in captured if "memory_verification" in query["sql"] or "freshness" in query["sql"]]


def test_however_many_core_facts_there_are_their_checks_are_read_at_once(core):
    few = [make_memory(scope=core) for _ in range(2)]
    many = [*few, *(make_memory(scope=core) for _ in range(20))]
    for memories in (few, many):
        with CaptureQueriesContext(connection) as captured:
            looks(memories, timezone.now())
        assert len(captured) == 2


@pytest.mark.parametrize("days", [0, 90, 90.5, 91, 180, 180.5, 181, 400])
@pytest.mark.parametrize("kind", ["fact", "reference", "decision"])
@pytest.mark.parametrize("checked", [None, 5, 100, 200])
def test_the_database_and_the_formula_agree_on_what_is_stale(core, days, kind, checked):
    memory = make_memory(scope=core, kind=kind, age_days=days)
    if checked:
        check(memory, checked)
    now = timezone.now()
    in_database = Memory.objects.filter(is_stale(budgets(), now), pk=memory.pk).exists()
    assert in_database == (stale_days(memory) is not None)


def test_what_is_retired_is_not_asked_about(owner, fact):
    services.forget(actor=actor_for_user(owner), memory=fact)
    assert not Memory.objects.filter(is_stale(budgets(), timezone.now())).exists()


# Saying so -----------------------------------------------------------------------------------


def test_a_person_says_that_it_holds_and_the_memory_does_not_move(owner, fact):
    before = Memory.objects.filter(pk=fact.pk).values().get()
    verify(actor=actor_for_user(owner), memory=fact, note="Read the release page.", source="https://tides.example.org")
    row = Verification.objects.get()
    assert (row.memory, row.verdict, row.method, row.user, row.actor) == (fact, "current", "person", owner, "owner")
    assert (row.note, row.source, row.confidence, row.model) == (
        "Read the release page.", "https://tides.example.org", None, "",
    )  # fmt: skip
    assert Memory.objects.filter(pk=fact.pk).values().get() == before
    assert stale_days(fact) is None
    entry = AuditEntry.objects.get(action="verify")
    assert (entry.object_id, entry.user) == (str(fact.pk), owner)


def test_an_agent_says_so_under_its_own_name(owner, core, fact):
    token, _ = make_token(owner, [core])
    verify(actor=actor_for_token(token, agent="crew"), memory=fact)
    row = Verification.objects.get()
    assert (row.method, row.actor) == ("agent", "crew (token of owner)")


def test_each_check_is_a_line_of_its_own(owner, fact):
    for _ in range(3):
        verify(actor=actor_for_user(owner), memory=fact)
    assert Verification.objects.count() == 3


def test_who_may_not_write_says_nothing_and_who_may_not_read_finds_nothing(core, fact):
    with pytest.raises(Forbidden):
        verify(actor=actor_for_user(make_member(core)), memory=fact)
    with pytest.raises(NotFound):
        verify(actor=actor_for_user(make_user()), memory=fact)
    assert not Verification.objects.exists()


def test_of_what_is_retired_there_is_nothing_to_verify(owner, fact):
    services.forget(actor=actor_for_user(owner), memory=fact)
    with pytest.raises(Conflict, match="nothing to verify"):
        verify(actor=actor_for_user(owner), memory=fact)


@pytest.mark.parametrize("field", ["note", "source"])
def test_a_secret_beside_a_check_is_refused(owner, fact, field):
    with pytest.raises(ValidationFailed, match="secret_content_rejected"):
        verify(actor=actor_for_user(owner), memory=fact, **{field: "ghp_" + "a1B2" * 9})
    assert not Verification.objects.exists()


def test_whoever_words_it_anew_has_looked_at_it(owner, fact):
    new = services.edit(actor=actor_for_user(owner), memory=fact, expected_version=1, content=TEXT.replace("4.2", "5"))
    assert new.created_at == fact.created_at
    assert stale_days(new) is None
    assert Verification.objects.get().note == "Worded anew"


def test_an_edit_that_leaves_the_text_is_no_look(owner, fact):
    services.edit(actor=actor_for_user(owner), memory=fact, expected_version=1, source="a letter")
    assert not Verification.objects.exists()


# The ledger ----------------------------------------------------------------------------------


def test_a_line_of_the_ledger_is_never_changed(fact):
    check(fact)
    with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
        Verification.objects.update(note="other")


def test_a_line_of_the_ledger_goes_only_with_its_memory(fact):
    check(fact)
    with pytest.raises(IntegrityError, match="while their memory stands"):
        removed_for_good(Verification.objects.all())
    removed_for_good(Memory.objects.filter(pk=fact.pk))
    assert not Verification.objects.exists()
