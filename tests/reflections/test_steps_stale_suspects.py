from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memories import services
from memories.errors import Conflict
from memories.models import AuditEntry, Memory, Reinforcement, ReinforcementConfig, UsageEvent
from memories.services.reinforcement import roll_up_all
from reflections import hygiene
from reflections.inbox.correcting import correct
from reflections.models import Dispute, HygieneConfig, ModelCall
from reflections.services import disputes
from reflections.suspects import suspects
from tests.factories import make_memory, make_scope
from tests.reflections.disputing import make_single
from tests.reflections.factories import in_days, person
from tests.reflections.stepping import fresh, run_step

pytestmark = pytest.mark.django_db


@pytest.fixture
def note(scope):
    return make_memory("The API listens on port 8080.", scope=scope, age_days=200)


def misled(memory, source="direct", *, session="", days=0.0, at=None, confidence=1.0, **given):
    """A report of so many days ago."""
    at = at or timezone.now() - timedelta(days=days)
    values = {"misled": True, "user": memory.scope.owner} | given
    return UsageEvent.objects.create(
        memory=memory, source=source, session=session, at=at, confidence=confidence, **values
    )


def twice(memory, **given):
    misled(memory, session="one", **given)
    misled(memory, "judge", session="two", confidence=0.6, **given)


def look(*scopes):
    return run_step("stale_suspects", *scopes)


def pending():
    return list(Dispute.objects.filter(type="stale_suspect", status="pending"))


# When a person is asked ----------------------------------------------------------------------


@pytest.mark.behaviour("Z31")
def test_one_report_is_no_suspicion(scope, note):
    misled(note, session="one")
    step = look(scope)
    assert (step.state, step.found, Dispute.objects.count()) == ("done", 0, 0)


@pytest.mark.behaviour("Z31")
def test_a_challenge_and_a_judge_make_one_suspicion_and_the_memory_stays(owner, scope, note, model_server):
    """The challenge has a row of its own: that one becomes the suspicion."""
    dispute, _ = disputes.challenge(actor=person(owner), memory=note, reason="It is 9090.", session="one")
    misled(note, "judge", session="two", confidence=0.6)
    step = look(scope)
    row = Dispute.objects.get()
    assert (step.found, step.done) == (1, 1)
    assert (row.pk, row.type, row.status) == (dispute.pk, "stale_suspect", "pending")
    assert (fresh(note).state, model_server.requests, ModelCall.objects.count()) == ("live", [], 0)


@pytest.mark.behaviour("Z31")
def test_two_reports_without_a_row_open_one_that_says_why(scope, note):
    misled(note, session="one", at=in_days(-2))
    misled(note, "judge", session="two", confidence=0.71, at=in_days(-1))
    look(scope)
    row = Dispute.objects.get()
    assert (row.type, row.status, row.subject, row.model, row.scanner) == (
        "stale_suspect",
        "pending",
        note,
        "",
        "stale suspects",
    )
    assert row.rationale.startswith("It misled 2 times, from ")
    newest, oldest = row.evidence.split("\n")
    assert newest.endswith("The judge read the conversation, session two, confidence 0.71")
    assert oldest.endswith("owner reported it, session one")
    assert AuditEntry.objects.filter(action="open_dispute", object_id=str(row.pk)).exists()


@pytest.mark.behaviour("Z22")
@pytest.mark.behaviour("Z31")
@pytest.mark.parametrize(("confidence", "rows"), [(0.59, 0), (0.6, 1)])
def test_a_judge_counts_from_six_tenths_on(scope, note, confidence, rows):
    misled(note, session="one")
    misled(note, "judge", session="two", confidence=confidence)
    look(scope)
    assert len(pending()) == rows


@pytest.mark.parametrize(("days", "rows"), [(89.9, 1), (90.1, 0)])
def test_only_ninety_days_count(scope, note, days, rows):
    misled(note, session="one", days=days)
    misled(note, session="two", days=1)
    look(scope)
    assert len(pending()) == rows


@pytest.mark.behaviour("Z28")
def test_one_session_counts_once_and_reports_without_one_stand_alone(scope, note):
    misled(note, session="one", days=2)
    misled(note, session="one", days=1)
    misled(note, "judge", session="one", confidence=1)
    look(scope)
    assert pending() == []
    at = in_days(-1)
    misled(note, at=at)
    look(scope)
    assert len(pending()[0].reports) == 2


def test_two_reports_of_one_moment_without_a_session_are_two(scope, note):
    at = in_days(-1)
    misled(note, at=at)
    misled(note, at=at)
    look(scope)
    assert len(pending()[0].reports) == 2


@pytest.mark.behaviour("Z28")
def test_where_a_session_spoke_for_itself_its_judge_is_not_heard(scope, note):
    misled(note, session="one")
    misled(note, session="two", misled=False, useful=True)
    misled(note, "judge", session="two", confidence=0.9)
    look(scope)
    assert pending() == []


def test_the_latest_word_of_a_session_counts(scope, note):
    misled(note, session="one")
    misled(note, session="two", days=2)
    misled(note, session="two", days=1, misled=False, useful=True)
    look(scope)
    assert pending() == []
    misled(note, session="two")
    look(scope)
    assert len(pending()) == 1


def test_a_challenge_that_was_withdrawn_does_not_count_unless_it_counts_again(scope, note):
    at = in_days(-1)
    misled(note, session="one")
    misled(note, "challenge", session="two", at=at)
    misled(note, "withdrawn", at=at, misled=False)
    look(scope)
    assert pending() == []
    misled(note, "reinstated", at=at, misled=False)
    look(scope)
    assert len(pending()) == 1


def test_how_many_and_for_how_long_is_configuration(scope, note):
    HygieneConfig.objects.update_or_create(id=1, defaults={"suspect_reports": 3, "suspect_days": 10})
    twice(note, days=1)
    misled(note, session="three", days=11)
    look(scope)
    assert pending() == []
    misled(note, session="four", days=9)
    look(scope)
    assert len(pending()) == 1


def test_what_is_retired_or_past_its_end_or_elsewhere_is_left_alone(owner, scope, note):
    gone = make_memory("Gone.", scope=scope)
    lapsed = make_memory("Over.", scope=scope, valid_until=in_days(-1))
    elsewhere = make_memory("Elsewhere.", scope=make_scope(owner, slug="work"))
    for memory in (gone, lapsed, elsewhere):
        twice(memory)
    services.forget(actor=person(owner), memory=gone)
    assert look(scope).found == 0


def test_from_which_confidence_a_judge_counts_is_configuration(scope, note):
    ReinforcementConfig.objects.update_or_create(id=1, defaults={"judge_minimum": 0.8})
    twice(note)
    assert look(scope).found == 0


def test_it_is_part_of_the_quick_cycle_and_comes_after_loops_are_closed(scope):
    steps = list(hygiene.STEPS)
    assert hygiene.STEPS["stale_suspects"].in_quick
    assert steps.index("stale_suspects") > steps.index("loop_closure")


def test_a_survey_counts_and_writes_nothing(scope, note):
    twice(note)
    said = hygiene.STEPS["stale_suspects"].survey(scope)
    assert said == "would ask a person about 1 text that misled more than once"
    assert not Dispute.objects.exists()


# Not twice -----------------------------------------------------------------------------------


@pytest.mark.behaviour("Z32")
def test_while_a_suspicion_waits_no_other_is_added(owner, scope, note):
    twice(note)
    look(scope)
    misled(note, session="three")
    misled(note, session="four")
    assert look(scope).found == 0
    disputes.snooze(actor=person(owner), dispute=pending()[0], version=1)
    assert look(scope).found == 0
    assert Dispute.objects.count() == 1


@pytest.mark.behaviour("Z32")
@pytest.mark.parametrize("type", ["outdated", "code_changed", "loop_done"])
def test_while_another_doubt_about_the_memory_waits_none_is_added(scope, note, type):
    make_single(scope, type, memory=note)
    twice(note)
    look(scope)
    assert pending() == []


def test_a_pair_in_dispute_is_another_matter(scope, note):
    disputes.open_pair(one=note, another=make_memory("Port 9090.", scope=scope), type="contradiction", scanner="x")
    twice(note)
    look(scope)
    assert len(pending()) == 1


@pytest.mark.behaviour("Z33")
def test_after_it_was_upheld_the_same_evidence_does_not_raise_it_again_and_two_newer_reports_do(owner, scope, note):
    twice(note)
    look(scope)
    disputes.resolve(actor=person(owner), dispute=pending()[0], version=1, resolution="uphold")
    look(scope)
    assert pending() == []
    misled(note, session="three")
    look(scope)
    assert pending() == []
    misled(note, session="four")
    look(scope)
    assert [report["session"] for report in pending()[0].reports] == ["three", "four"]


@pytest.mark.behaviour("Z33")
def test_evidence_of_the_very_moment_of_the_decision_does_not_count(owner, scope, note):
    twice(note, days=2)
    look(scope)
    decided = disputes.resolve(actor=person(owner), dispute=pending()[0], version=1, resolution="uphold").decided_at
    misled(note, session="three", at=decided)
    misled(note, session="four", at=decided)
    look(scope)
    assert pending() == []
    just_after = decided + timedelta(microseconds=1)
    misled(note, session="five", at=just_after)
    misled(note, session="six", at=just_after)
    look(scope)
    assert [report["session"] for report in pending()[0].reports] == ["five", "six"]


@pytest.mark.behaviour("Z33")
def test_a_session_that_was_heard_before_the_decision_is_heard_again(owner, scope, note):
    misled(note, "challenge", session="one", days=2)
    misled(note, session="two", days=2)
    look(scope)
    disputes.resolve(actor=person(owner), dispute=pending()[0], version=1, resolution="uphold")
    misled(note, session="one")
    misled(note, session="three")
    look(scope)
    assert [report["session"] for report in pending()[0].reports] == ["one", "three"]


@pytest.mark.behaviour("Z33")
def test_a_decision_about_any_doubt_of_that_memory_counts_and_a_sweep_is_none(owner, scope, note):
    twice(note)
    row = make_single(scope, "outdated", memory=note)
    disputes.resolve(actor=person(owner), dispute=row, version=1, resolution="uphold")
    assert look(scope).found == 0
    other = make_memory("Another.", scope=scope)
    twice(other)
    look(scope)
    services.forget(actor=person(owner), memory=other)
    run_step("stale_sweep", scope)
    services.restore(actor=person(owner), memory=other)
    look(scope)
    assert [row.subject for row in pending()] == [other]


# An edit carries the reports on ----------------------------------------------------------------


def edited(owner, memory, content):
    return services.edit(actor=person(owner), memory=memory, expected_version=services.LATEST, content=content)


def test_reports_about_an_earlier_wording_are_about_the_one_that_stands(owner, scope, note):
    misled(note, session="one")
    second = edited(owner, note, "The API listens on port 8081.")
    third = edited(owner, second, "The API listens on port 8082.")
    misled(second, session="two")
    look(scope)
    assert pending()[0].subject == third


def test_what_was_decided_about_an_earlier_wording_counts(owner, scope, note):
    twice(note)
    look(scope)
    correct(actor=person(owner), dispute=pending()[0], version=1, text="The API listens on port 9090.", seen=1)
    assert look(scope).found == 0
    new = Memory.objects.live().get()
    misled(new, session="three")
    misled(note, session="four")
    look(scope)
    assert [row.subject for row in pending()] == [new]


def test_a_memory_that_another_one_replaced_does_not_pass_its_reports_on(owner, scope, note):
    twice(note)
    other = make_memory("Port 9090.", scope=scope)
    services.supersede(actor=person(owner), memory=note, replacement=other)
    assert look(scope).found == 0


# A challenge that grows ------------------------------------------------------------------------


@pytest.fixture
def grown(owner, scope, note):
    disputes.challenge(actor=person(owner), memory=note, reason="It is 9090.", evidence="the log", session="one")
    misled(note, "judge", session="two", confidence=0.8)
    look(scope)
    return Dispute.objects.get()


def test_what_the_challenger_wrote_stays_and_a_stale_tab_is_told(owner, grown):
    assert (grown.rationale, grown.evidence, grown.opened_by) == ("It is 9090.", "the log", owner)
    assert [report["source"] for report in grown.reports] == ["challenge", "judge"]
    assert AuditEntry.objects.get(action="misled_again").object_id == str(grown.pk)
    with pytest.raises(Conflict, match="changed since you opened it"):
        disputes.resolve(actor=person(owner), dispute=grown, version=1, resolution="uphold")


@pytest.mark.behaviour("Z34")
def test_a_challenge_meanwhile_joins_it(owner, note, grown):
    joined = disputes.challenge(actor=person(owner), memory=note)
    assert (joined.dispute, joined.already_pending) == (grown, True)


def test_upholding_it_withdraws_the_challenge_with_the_rest_and_undoing_that_counts_both_again(owner, note, grown):
    reported = set(UsageEvent.objects.filter(misled=True).values_list("at", flat=True))
    disputes.resolve(actor=person(owner), dispute=grown, version=2, resolution="uphold")
    assert set(UsageEvent.objects.filter(source="withdrawn").values_list("at", flat=True)) == reported
    assert grown.opened_at in reported
    disputes.undo(actor=person(owner), dispute=grown, version=3)
    assert set(UsageEvent.objects.filter(source="reinstated").values_list("at", flat=True)) == reported


# What upholding does to the reports ------------------------------------------------------------


def standing(memory):
    roll_up_all(now=timezone.now())
    row = Reinforcement.objects.filter(memory=memory).first()
    return (row.useful, row.misled, round(row.multiplier, 5)) if row else None


def upheld(owner, row):
    return disputes.resolve(actor=person(owner), dispute=row, version=row.version, resolution="uphold")


def test_reports_against_what_was_upheld_count_no_more_until_that_is_undone(owner, scope, note):
    twice(note, days=2)
    misled(note, "direct", session="three", days=1, misled=False, useful=True)
    look(scope)
    accused = standing(note)
    assert accused[:2] == (1.0, pytest.approx(1.6))
    settled = upheld(owner, pending()[0])
    assert standing(note) == (1.0, 0.0, 1.10397)
    undone = disputes.undo(actor=person(owner), dispute=settled, version=settled.version)
    assert (undone.upheld, standing(note)) == ({}, accused)
    upheld(owner, undone)
    assert standing(note) == (1.0, 0.0, 1.10397)


def test_the_weaker_voice_of_a_session_does_not_take_the_place_of_the_one_that_was_withdrawn(owner, scope, note):
    for session in ("one", "two"):
        misled(note, session=session, days=2)
        misled(note, "judge", session=session, days=1, confidence=0.9)
    look(scope)
    upheld(owner, pending()[0])
    assert standing(note) is None


def test_reports_about_an_earlier_wording_count_against_the_upheld_one_no_more(owner, scope, note):
    twice(note, days=2)
    later = edited(owner, note, "The API listens on port 8081.")
    look(scope)
    assert standing(later)[1] == pytest.approx(1.6)
    settled = upheld(owner, pending()[0])
    assert standing(later) is None
    disputes.undo(actor=person(owner), dispute=settled, version=settled.version)
    assert standing(later)[1] == pytest.approx(1.6)


def test_a_report_after_the_decision_counts_and_undoing_it_reinstates_only_what_it_withdrew(owner, scope, note):
    first = upheld(owner, disputes.challenge(actor=person(owner), memory=note, session="zero").dispute)
    twice(note)
    look(scope)
    settled = upheld(owner, pending()[0])
    misled(note, session="after")
    assert standing(note)[1] == 1.0
    disputes.undo(actor=person(owner), dispute=settled, version=settled.version)
    assert standing(note)[1] == pytest.approx(2.6)
    assert first.upheld == {"reports": [first.opened_at.isoformat()]}


def test_undoing_an_uphold_from_before_reports_were_kept_counts_its_challenge_again(owner, scope, note):
    settled = upheld(owner, disputes.challenge(actor=person(owner), memory=note).dispute)
    Dispute.objects.filter(pk=settled.pk).update(upheld={})
    disputes.undo(actor=person(owner), dispute=settled, version=settled.version)
    assert standing(note)[1] == 1.0


def test_a_challenge_that_somebody_put_off_is_left_alone(owner, scope, note):
    row = disputes.challenge(actor=person(owner), memory=note, session="one").dispute
    disputes.snooze(actor=person(owner), dispute=row, version=1)
    misled(note, session="two")
    assert look(scope).found == 0


# At scale --------------------------------------------------------------------------------------


def test_finding_takes_one_query_however_many_there_are(scope, note):
    for number in range(4):
        twice(make_memory(f"Note {number}.", scope=scope))
    with CaptureQueriesContext(connection) as asked:
        now = timezone.now()
        found = list(suspects(scope.pk, now=now, since=now - timedelta(90), reports=2, judge_minimum=0.6))
    assert (len(found), len(asked)) == (4, 1)
