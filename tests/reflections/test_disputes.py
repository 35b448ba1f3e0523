"""Settling disputes: what each decision does, to whom it is refused, and how it is taken back."""

import uuid
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from memories import services as memory_services
from memories.access import actor_for_token
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import AuditEntry, Link, Memory, Reinforcement
from memories.services.verification import verify
from reflections.access import dispute_for
from reflections.models import Dispute
from reflections.services import approve
from reflections.services.disputes import challenge, open_pair, open_single, resolve, snooze, undo
from tests.factories import make_member, make_memory, make_scope, make_token, make_user
from tests.reflections.disputing import make_pair, make_single, states
from tests.reflections.factories import make_candidate, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def actor(owner, scope):
    return person(owner)


def settle(actor, dispute, resolution, **asked):
    return resolve(actor=actor, dispute=dispute, version=dispute.version, resolution=resolution, **asked)


def actions_on(row) -> list[str]:
    entries = AuditEntry.objects.filter(object_type=row._meta.model_name, object_id=str(row.pk))
    return list(entries.order_by("pk").values_list("action", flat=True))


def rows_of(dispute):
    return list(Memory.objects.filter(pk__in=[side.pk for side in dispute.sides]).order_by("pk").values())


# Pairs ---------------------------------------------------------------------------------------


def test_keeping_both_touches_neither(actor, scope):
    dispute = make_pair(scope)
    before = rows_of(dispute)
    settled = settle(actor, dispute, "keep_both", reason="both are true")
    assert (settled.status, settled.resolution, settled.reason) == ("resolved", "kept_both", "both are true")
    assert rows_of(dispute) == before


@pytest.mark.parametrize("stays", [0, 1])
def test_forgetting_one_keeps_the_winner_and_leaves_no_successor(actor, scope, stays):
    dispute = make_pair(scope)
    winner, loser = dispute.sides[stays], dispute.sides[1 - stays]
    settled = settle(actor, dispute, "forget", winner=winner.pk)
    assert (settled.resolution, settled.winner) == ("forgot", winner)
    assert states(winner, loser) == ["live", "invalidated"]


@pytest.mark.parametrize("stays", [0, 1])
def test_either_side_can_supersede_the_other(actor, scope, stays):
    dispute = make_pair(scope, "supersedes")
    winner, loser = dispute.sides[stays], dispute.sides[1 - stays]
    settle(actor, dispute, "supersede", winner=str(winner.pk))
    loser.refresh_from_db()
    assert (loser.state, loser.superseded_by) == ("superseded", winner)
    assert Link.objects.filter(source=winner, target=loser, type="supersedes").exists()


def test_merging_writes_one_memory_of_a_person_that_supersedes_both(actor, scope):
    dispute = make_pair(scope, old={"entities": ["api"]}, new={"entities": ["port"], "pinned": True})
    settled = settle(actor, dispute, "merge", text="The API moved from port 8080 to 9090.\r\n")
    merged = settled.merged
    assert merged.content == "The API moved from port 8080 to 9090."
    assert (merged.author_kind, merged.provenance, merged.author, merged.pinned) == ("human", 2, actor.user, True)
    assert {entity.name for entity in merged.entities.all()} == {"api", "port"}
    assert {Memory.objects.get(pk=side.pk).superseded_by for side in dispute.sides} == {merged}


def test_merging_into_the_text_of_one_side_is_refused_with_the_way_out(actor, scope):
    dispute = make_pair(scope)
    with pytest.raises(Conflict, match="let it supersede the other"):
        settle(actor, dispute, "merge", text=dispute.subject.content)
    assert states(*dispute.sides) == ["live", "live"]


@pytest.mark.parametrize("resolution", ["forget", "supersede"])
def test_a_winner_that_was_retired_meanwhile_never_leaves_the_pair_without_a_live_side(actor, scope, resolution):
    dispute = make_pair(scope)
    memory_services.forget(actor=actor, memory=dispute.other)
    with pytest.raises(Conflict, match="retired"):
        settle(actor, dispute, resolution, winner=dispute.other.pk)
    assert states(*dispute.sides) == ["live", "invalidated"]


# One memory ----------------------------------------------------------------------------------


@pytest.mark.behaviour("Z36")
def test_upholding_dismisses_the_doubt_and_leaves_the_memory_live(actor, scope):
    dispute = make_single(scope)
    settled = settle(actor, dispute, "uphold")
    assert (settled.status, settled.resolution) == ("dismissed", "upheld")
    assert states(dispute.subject) == ["live"]


@pytest.mark.behaviour("Z35")
def test_retiring_leaves_no_successor_and_restoring_brings_it_back_without_the_links_that_retired_it(actor, scope):
    dispute = make_single(scope)
    settled = settle(actor, dispute, "retire")
    memory = Memory.objects.get(pk=dispute.subject_id)
    assert (settled.resolution, memory.state, memory.superseded_by) == ("retired", "invalidated", None)
    memory_services.restore(actor=actor, memory=memory)
    successor = make_memory("A later statement.", scope=scope)
    memory_services.supersede(actor=actor, memory=memory, replacement=successor)
    memory_services.restore(actor=actor, memory=memory)
    assert states(memory) == ["live"]
    assert not Link.objects.filter(target=memory, type="supersedes").exists()
    restored = AuditEntry.objects.filter(action="restore", object_id=str(memory.pk)).latest("pk")
    assert restored.detail["links_cut"] == [str(successor.pk)]


# Refusals ------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z37")
def test_four_refusals_are_told_apart_and_the_foreign_one_reveals_nothing(actor, scope):
    pair, settled = make_pair(scope), make_single(scope, memory=make_memory(scope=scope))
    settle(actor, settled, "uphold")
    settled.refresh_from_db()
    foreign = make_pair(make_scope())
    asked = [
        (pair, "retire", {}),
        (pair, "forget", {"winner": make_memory(scope=scope).pk}),
        (settled, "retire", {}),
        (foreign, "keep_both", {}),
    ]
    refusals = []
    for dispute, resolution, more in asked:
        with pytest.raises((ValidationFailed, Conflict, NotFound)) as refused:
            settle(actor, dispute, resolution, **more)
        refusals.append(refused.value)
    assert [(error.code, error.field) for error in refusals] == [
        ("validation_failed", "resolution"),
        ("validation_failed", "winner"),
        ("conflict", None),
        ("not_found", None),
    ]
    assert len({error.message for error in refusals}) == 4
    with pytest.raises(NotFound) as absent:
        dispute_for(actor, uuid.uuid4())
    assert absent.value.message == refusals[3].message


@pytest.mark.parametrize(
    ("resolution", "asked", "field"),
    [
        ("erase", {}, "resolution"),
        ("forget", {}, "winner"),
        ("keep_both", {"winner": "x"}, "winner"),
        ("forget", {"winner": "not an id"}, "winner"),
        ("merge", {}, "text"),
        ("merge", {"text": " \r\n"}, "text"),
        ("keep_both", {"text": "x"}, "text"),
        ("keep_both", {"reason": "x" * 2001}, "reason"),
        ("keep_both", {"reason": "ghp_" + "a" * 36}, "reason"),
        ("uphold", {}, "resolution"),
    ],
)
def test_what_does_not_fit_a_pair_is_refused_and_changes_nothing(actor, scope, resolution, asked, field):
    dispute = make_pair(scope)
    with pytest.raises(ValidationFailed) as refused:
        settle(actor, dispute, resolution, **asked)
    assert refused.value.field == field
    dispute.refresh_from_db()
    assert (dispute.status, dispute.version) == ("pending", 1)


def test_whoever_comes_second_is_told_who_decided_what(actor, scope):
    dispute = make_pair(scope)
    settle(actor, dispute, "keep_both")
    second = person(make_member(scope, "writer"))
    with pytest.raises(Conflict, match=rf"^{actor.label} kept both memories on .* Undo that decision"):
        settle(second, dispute, "forget", winner=dispute.subject_id)
    assert states(*dispute.sides) == ["live", "live"]


def test_a_reader_sees_a_dispute_and_does_not_settle_it(actor, scope):
    dispute = make_pair(scope)
    reader = person(make_member(scope, "reader"))
    assert dispute_for(reader, dispute.pk) == dispute
    for act in (lambda: settle(reader, dispute, "keep_both"), lambda: snooze(actor=reader, dispute=dispute, version=1)):
        with pytest.raises(Forbidden):
            act()


@pytest.mark.parametrize("act", [snooze, undo])
def test_nobody_else_puts_off_or_takes_back_a_foreign_dispute(actor, act):
    foreign = make_pair(make_scope())
    with pytest.raises(NotFound):
        act(actor=actor, dispute=foreign, version=1)


# Tokens --------------------------------------------------------------------------------------


def test_a_token_settles_disputes_only_when_it_was_made_for_that(owner, scope):
    dispute = make_pair(scope)
    with pytest.raises(Forbidden, match="may not settle disputes"):
        settle(actor_for_token(make_token(owner, [scope])[0]), dispute, "keep_both")
    settled = settle(actor_for_token(make_token(owner, [scope], can_adjudicate=True)[0]), dispute, "keep_both")
    assert settled.resolution == "kept_both"


@pytest.mark.behaviour("F36")
def test_a_token_that_settles_disputes_never_approves_a_draft_and_the_audit_names_its_person(owner, scope):
    token = actor_for_token(make_token(owner, [scope], can_adjudicate=True)[0], agent="agent")
    candidate = make_candidate(scope)
    with pytest.raises(Forbidden, match="Only a signed-in person"):
        approve(actor=token, candidate=candidate, version=1)
    candidate.refresh_from_db()
    assert candidate.state == "pending"
    dispute = make_pair(scope)
    settled = settle(token, dispute, "keep_both")
    entry = AuditEntry.objects.get(action="settle_dispute", object_id=str(dispute.pk))
    assert (entry.user, settled.decided_by) == (owner, owner)
    assert owner.get_username() in entry.actor


def test_what_a_token_merges_does_not_pass_for_a_persons_words(owner, scope):
    token = actor_for_token(make_token(owner, [scope], can_adjudicate=True)[0])
    merged = settle(token, make_pair(scope), "merge", text="Both in one.").merged
    assert (merged.author_kind, merged.provenance) == ("agent", 1)


# Snooze and undo -----------------------------------------------------------------------------


def test_a_snoozed_dispute_cannot_be_settled_until_its_day_has_come(actor, scope):
    dispute = snooze(actor=actor, dispute=make_pair(scope), version=1)
    assert list(Dispute.objects.in_status("snoozed")) == [dispute]
    with pytest.raises(Conflict, match="snoozed this dispute"):
        settle(actor, dispute, "keep_both")
    Dispute.objects.update(snoozed_until=timezone.now() - timedelta(seconds=1))
    assert list(Dispute.objects.in_status("pending")) == [dispute]
    assert settle(actor, dispute, "keep_both").snoozed_until is None


@pytest.mark.parametrize("until", [timedelta(0), timedelta(days=400)])
def test_a_dispute_is_not_snoozed_into_the_past_or_for_ever(actor, scope, until):
    dispute = make_pair(scope)
    with pytest.raises(ValidationFailed, match="nooze"):
        snooze(actor=actor, dispute=dispute, version=1, until=timezone.now() + until)


PAIR_DECISIONS = [
    ("keep_both", {}),
    ("forget", {"winner": "other"}),
    ("supersede", {"winner": "other"}),
    ("supersede", {"winner": "subject"}),
    ("merge", {"text": "Both in one."}),
]


@pytest.mark.parametrize(("resolution", "asked"), PAIR_DECISIONS)
def test_undoing_a_decision_brings_back_exactly_what_was(actor, scope, resolution, asked):
    dispute = make_pair(scope)
    before = rows_of(dispute)
    if "winner" in asked:
        asked = {"winner": getattr(dispute, asked["winner"]).pk}
    settled = settle(actor, dispute, resolution, **asked)
    reopened = undo(actor=actor, dispute=settled, version=settled.version)
    assert rows_of(dispute) == before
    assert (reopened.status, reopened.resolution, reopened.winner, reopened.retired) == ("pending", "", None, [])
    assert not Link.objects.filter(type="supersedes").exists()
    assert Memory.objects.live().count() == 2
    assert actions_on(dispute) == ["open_dispute", "settle_dispute", "reopen_dispute"]


@pytest.mark.parametrize("resolution", ["uphold", "retire"])
def test_undoing_a_decision_about_one_memory_brings_back_exactly_what_was(actor, scope, resolution):
    dispute = make_single(scope)
    before = rows_of(dispute)
    settled = settle(actor, dispute, resolution)
    undo(actor=actor, dispute=settled, version=settled.version)
    assert rows_of(dispute) == before


def test_undoing_a_refiling_brings_back_exactly_what_was(actor, scope):
    dispute = make_single(scope, "misfiled", proposed_kind="decision")
    before = rows_of(dispute)
    settled = settle(actor, dispute, "refile")
    assert rows_of(dispute) != before
    undo(actor=actor, dispute=settled, version=settled.version)
    assert rows_of(dispute) == before


def test_a_refiling_is_not_undone_over_a_later_change(actor, scope):
    dispute = make_single(scope, "misfiled", proposed_kind="decision")
    settled = settle(actor, dispute, "refile")
    memory_services.pin(actor=actor, memory=dispute.subject)
    with pytest.raises(Conflict, match="changed or filed as yet another kind since"):
        undo(actor=actor, dispute=settled, version=settled.version)


def multiplier_of(memory) -> float:
    row = Reinforcement.objects.filter(memory=memory).first()
    return row.multiplier if row else 1.0


@pytest.mark.parametrize(("resolution", "settled_at"), [("uphold", 1.0), ("retire", 0.82671)])
def test_only_what_is_upheld_ranks_as_if_nobody_had_challenged_it_until_that_is_undone(
    actor, scope, resolution, settled_at
):
    memory = make_memory(scope=scope)
    dispute = challenge(actor=actor, memory=memory, reason="It lifts thirty.").dispute
    for _ in range(2):
        assert multiplier_of(memory) == pytest.approx(0.82671, abs=5e-6)
        settled = settle(actor, dispute, resolution)
        assert multiplier_of(memory) == pytest.approx(settled_at, abs=5e-6)
        dispute = undo(actor=actor, dispute=settled, version=settled.version)
    assert multiplier_of(memory) == pytest.approx(0.82671, abs=5e-6)


def test_upholding_against_one_challenge_leaves_what_an_earlier_one_said(actor, scope):
    memory = make_memory(scope=scope)
    kept = challenge(actor=actor, memory=memory).dispute
    settle(actor, kept, "retire")
    memory_services.restore(actor=actor, memory=memory)
    settle(actor, challenge(actor=actor, memory=memory).dispute, "uphold")
    assert multiplier_of(memory) == pytest.approx(0.82671, abs=5e-6)


def test_a_decision_is_not_undone_over_what_people_did_since(actor, scope):
    dispute = make_pair(scope)
    settled = settle(actor, dispute, "forget", winner=dispute.other_id)
    memory_services.restore(actor=actor, memory=dispute.subject)
    memory_services.forget(actor=actor, memory=dispute.subject, reason="wrong after all")
    with pytest.raises(Conflict, match="retired another time since"):
        undo(actor=actor, dispute=settled, version=settled.version)
    assert Memory.objects.get(pk=dispute.subject_id).invalidation_reason == "wrong after all"


def test_a_merge_is_not_undone_once_the_merged_text_was_edited(actor, scope):
    settled = settle(actor, make_pair(scope), "merge", text="Both in one.")
    memory_services.edit(actor=actor, memory=settled.merged, expected_version=1, content="Both, better said.")
    with pytest.raises(Conflict, match="was changed since"):
        undo(actor=actor, dispute=settled, version=settled.version)


def test_a_decision_is_not_undone_when_the_side_that_stayed_is_gone(actor, scope):
    dispute = make_pair(scope)
    settled = settle(actor, dispute, "forget", winner=dispute.other_id)
    memory_services.edit(actor=actor, memory=dispute.other, expected_version=1, content="Said anew.")
    with pytest.raises(Conflict, match="retired or edited since"):
        undo(actor=actor, dispute=settled, version=settled.version)


def test_what_waits_has_nothing_to_undo(actor, scope):
    dispute = make_pair(scope)
    with pytest.raises(Conflict, match="nothing to undo"):
        undo(actor=actor, dispute=dispute, version=1)


def test_undoing_a_decision_about_one_memory_gives_way_to_the_same_doubt_raised_since(actor, scope):
    dispute = make_single(scope)
    settled = settle(actor, dispute, "uphold")
    make_single(scope, memory=dispute.subject)
    with pytest.raises(Conflict, match="raised again since"):
        undo(actor=actor, dispute=settled, version=settled.version)


# Opening -------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z46")
@pytest.mark.parametrize("resolution", ["", "keep_both", "snooze"])
def test_a_pair_is_queued_once_whatever_became_of_it(actor, scope, resolution):
    dispute = make_pair(scope)
    if resolution == "snooze":
        snooze(actor=actor, dispute=dispute, version=1)
    if resolution == "keep_both":
        settle(actor, dispute, "keep_both")
    again = {"one": dispute.other, "another": dispute.subject, "type": "contradiction", "scanner": "pair scan"}
    assert open_pair(**again) is None
    assert Dispute.objects.count() == 1
    with pytest.raises(IntegrityError, match="dispute_pair_queued_once"), transaction.atomic():
        Dispute.objects.create(
            scope=scope, type="unjudged", subject=dispute.other, other=dispute.subject, opened_actor="x"
        )


def test_of_a_pair_the_older_one_is_the_subject_whichever_was_named_first(scope):
    newer, older = make_memory(scope=scope, age_days=1), make_memory(scope=scope, age_days=9)
    dispute = open_pair(one=newer, another=older, type="duplicate", scanner="pair scan", model="some:model")
    assert dispute.sides == [older, newer]
    entry = AuditEntry.objects.get(action="open_dispute")
    assert (entry.actor, entry.user) == ("pair scan (some:model)", None)
    assert (entry.detail["scanner"], entry.detail["model"]) == ("pair scan", "some:model")


def test_one_doubt_of_a_kind_is_open_about_a_memory(scope):
    memory = make_memory(scope=scope)
    assert make_single(scope, "outdated", memory=memory)
    assert open_single(memory=memory, type="outdated", scanner="verification") is None
    assert open_single(memory=memory, type="stale_suspect", scanner="stale suspects")
    with pytest.raises(IntegrityError, match="dispute_one_open_of_a_type"), transaction.atomic():
        Dispute.objects.create(scope=scope, type="outdated", subject=memory, opened_actor="x")


def test_pairs_across_scopes_or_of_one_memory_are_refused(scope):
    memory = make_memory(scope=scope)
    for another in (memory, make_memory()):
        with pytest.raises(ValidationFailed, match="two memories of one scope"):
            open_pair(one=memory, another=another, type="duplicate", scanner="pair scan")


def test_nothing_is_queued_about_what_is_retired(actor, scope):
    memory, other = make_memory(scope=scope), make_memory(scope=scope)
    memory_services.forget(actor=actor, memory=memory)
    assert open_pair(one=memory, another=other, type="duplicate", scanner="pair scan") is None
    assert open_single(memory=memory, type="outdated", scanner="verification") is None


def test_a_secret_that_a_model_quotes_is_masked(scope):
    dispute = make_single(scope, rationale="It says ghp_" + "a" * 36 + " is the token.")
    assert dispute.rationale == "It says ghp_…(36 more characters) is the token."


@pytest.mark.parametrize(
    "columns",
    [
        {"status": "resolved"},
        {"status": "resolved", "resolution": "upheld"},
        {"resolution": "kept_both"},
        {"status": "snoozed"},
        {"confidence": 1.1},
        {"winner": "stranger"},
        {"proposed_winner": "stranger"},
        {"type": "challenged"},
        {"opened_actor": ""},
    ],
    ids=str,
)
def test_the_database_refuses_rows_that_cannot_be(scope, columns):
    dispute = make_pair(scope)
    stranger = make_memory(scope=scope)
    columns = {name: stranger if value == "stranger" else value for name, value in columns.items()}
    with pytest.raises(IntegrityError), transaction.atomic():
        Dispute.objects.filter(pk=dispute.pk).update(**columns)


def test_nobody_finds_a_dispute_of_another_scope(owner, actor):
    foreign = make_pair(make_scope(make_user()))
    assert list(Dispute.objects.visible_to(actor)) == []
    with pytest.raises(NotFound):
        dispute_for(actor, foreign.pk)


@pytest.mark.parametrize(
    ("resolution", "asked"), [("keep_both", {}), ("forget", {"winner": "new"}), ("supersede", {"winner": "new"})]
)
def test_a_decision_is_not_undone_when_a_side_that_stayed_was_changed_in_place(actor, scope, resolution, asked):
    row = make_pair(scope)
    winner = {"winner": row.other.pk} if asked else {}
    row = resolve(actor=actor, dispute=row, version=1, resolution=resolution, **winner)
    memory_services.edit(actor=actor, memory=row.other, expected_version=1, source="read again")
    with pytest.raises(Conflict, match="retired or edited since"):
        undo(actor=actor, dispute=row, version=2)
    assert Dispute.objects.get().resolution == row.resolution


def test_a_decision_is_undone_though_a_side_that_stayed_was_pinned_or_verified(actor, scope):
    row = resolve(actor=actor, dispute=make_pair(scope), version=1, resolution="keep_both")
    memory_services.pin(actor=actor, memory=row.other)
    verify(actor=actor, memory=row.subject)
    assert undo(actor=actor, dispute=row, version=2).status == "pending"


def test_what_was_snoozed_wakes_whatever_became_of_its_memories(actor, scope):
    row = make_pair(scope)
    row = snooze(actor=actor, dispute=row, version=1)
    memory_services.edit(actor=actor, memory=row.other, expected_version=1, source="read again")
    assert undo(actor=actor, dispute=row, version=2).status == "pending"


def test_a_secret_in_the_session_of_a_challenge_is_refused(actor, scope):
    memory = make_memory(scope=scope)
    with pytest.raises(ValidationFailed, match="session github_token"):
        challenge(actor=actor, memory=memory, reason="It misled.", session="ghp_" + "a" * 36)
    assert not Dispute.objects.exists()
