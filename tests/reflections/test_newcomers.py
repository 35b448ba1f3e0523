"""What becomes of a new memory when it gets its vectors: no cycle runs in these tests."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from memories.embedding_queue import embed_waiting, first_embedded
from memories.models import AuditEntry, Memory
from memories.sameness import adds_nothing
from memories.services import remember, restore
from reflections.ladder import Reason
from reflections.models import Dispute, HygieneConfig
from reflections.newcomers import settle
from reflections.services.disputes import undo
from tests.factories import make_memory, make_scope, make_user
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, near
from tests.reflections.together import at_once
from tests.reflections.wordings import NEWS, OPPOSITE, REWORDED, SAME_WORDS
from zeromemory.embedding import get_embedder

pytestmark = pytest.mark.django_db

ALLOWED = "The nightly export may be stopped by hand."
FORBIDDEN = "The nightly export may not be stopped by hand."
PLEASE = "Please note that the nightly export may be stopped by hand"
AT_TWO = "The nightly export of the harbour database starts at two."
AT_THREE = "The nightly export of the harbour database starts at three."


def written(owner, scope, *texts, **given):
    rows = [remember(actor=person(owner), scope=scope, content=text, **given).memory for text in texts]
    embed_waiting()
    return rows


def states(*memories):
    return [fresh(memory).state for memory in memories]


def pair(scope, cosine=1.0, first=None, second=None, **both):
    """An older and a newer memory of two texts at this similarity, as their vectors would have it."""
    older = near(scope, "The gate opens at six.", age_days=1, **both | (first or {}))
    newer = near(scope, "The gate opens at seven.", cosine, **both | (second or {}))
    settle([newer.pk])
    return older, newer


# The words decide, not the cosine ------------------------------------------------------------


@pytest.mark.behaviour("Z49")
def test_the_opposite_lies_as_near_as_a_paraphrase_so_the_words_decide():
    embedder = get_embedder()

    def cosines(pairs):
        ones, others = (embedder.encode_documents(list(texts)) for texts in zip(*pairs, strict=True))
        return sorted((ones * others).sum(axis=1))

    opposite, reworded = cosines(OPPOSITE), cosines(REWORDED)
    assert sum(cosine >= 0.92 for cosine in opposite) >= len(OPPOSITE) / 2
    assert opposite[len(opposite) // 2] >= reworded[len(reworded) // 2]
    assert not any(adds_nothing(*texts) for texts in OPPOSITE)


def test_what_adds_nothing_is_told_by_its_words():
    assert all(adds_nothing(*texts) for texts in SAME_WORDS)
    assert not any(adds_nothing(*texts) for texts in [*REWORDED, *NEWS])


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("Plan A is in force.", "Plan is in force."),
        ("The release note is short.", "The release is short."),
        ("Set debug = -1.", "Set debug = 1."),
        ("Call userId first.", "Call userid first."),
        ("- 5 degrees are enough.", "-5 degrees are enough."),
    ],
)
def test_a_word_that_tells_is_no_filler(one, another):
    assert not adds_nothing(one, another)


# A weaker provisional newcomer ---------------------------------------------------------------


@pytest.mark.behaviour("Z49")
@pytest.mark.parametrize("text", [PLEASE, "the nightly export may be stopped by hand"])
def test_a_provisional_newcomer_that_adds_nothing_becomes_the_standing_memory(owner, scope, text):
    (standing,) = written(owner, scope, ALLOWED)
    (newcomer,) = written(owner, scope, text, provenance=0)
    newcomer = fresh(newcomer)
    assert (newcomer.superseded_by, newcomer.invalidated_actor) == (standing, "writing")
    assert newcomer.invalidation_reason == f"writing: {Reason.ADDS_NOTHING}"
    assert fresh(standing).content == ALLOWED
    entry = AuditEntry.objects.get(object_id=str(newcomer.pk), action="supersede")
    assert (entry.actor, entry.detail["scanner"], entry.detail["by"]) == ("writing", "writing", str(standing.pk))


def test_what_gave_way_comes_back_with_one_act_and_is_not_taken_again(owner, scope):
    (standing,) = written(owner, scope, ALLOWED)
    (newcomer,) = written(owner, scope, PLEASE, provenance=0)
    dispute = Dispute.objects.get()
    undo(actor=person(owner), dispute=dispute, version=dispute.version)
    assert states(standing, newcomer) == ["live", "live"]
    settle([standing.pk, newcomer.pk])
    assert states(standing, newcomer) == ["live", "live"]


def test_a_person_who_restores_it_has_the_last_word(owner, scope):
    standing, newcomer = (*written(owner, scope, ALLOWED), *written(owner, scope, PLEASE, provenance=0))
    restore(actor=person(owner), memory=newcomer)
    settle([newcomer.pk])
    assert states(standing, newcomer) == ["live", "live"]


@pytest.mark.behaviour("Z49")
@pytest.mark.parametrize("rank", [0, 1])
def test_the_opposite_is_stored_and_queued_as_soon_as_it_has_its_vectors(owner, scope, rank):
    rows = [*written(owner, scope, ALLOWED), *written(owner, scope, FORBIDDEN, provenance=rank)]
    assert states(*rows) == ["live", "live"]
    dispute = Dispute.objects.get()
    assert (dispute.type, dispute.status, dispute.scanner) == ("unjudged", "pending", "writing")


def test_a_reworded_provisional_newcomer_is_left_to_a_person(owner, scope):
    one, another = REWORDED[6]
    rows = [*written(owner, scope, one), *written(owner, scope, another, provenance=0)]
    assert states(*rows) == ["live", "live"]
    assert Dispute.objects.get().status == "pending"


def test_with_a_judge_the_pair_waits_for_it(owner, scope, settings):
    settings.MODEL = "openai:somebody"
    written(owner, scope, ALLOWED, FORBIDDEN)
    assert not Dispute.objects.exists()


def test_no_more_waits_for_a_person_than_a_person_looks_at(owner, scope):
    HygieneConfig.objects.create(pair_most=1)
    rows = written(owner, scope, ALLOWED, FORBIDDEN, "The nightly export must be stopped by hand.")
    assert Dispute.objects.count() == 1
    assert states(*rows) == ["live"] * 3


def test_below_the_configured_similarity_nothing_is_touched(owner, scope):
    HygieneConfig.objects.create(same_words_cosine=1, same_session_cosine=1)
    rows = [*written(owner, scope, ALLOWED), *written(owner, scope, PLEASE, provenance=0)]
    assert states(*rows) == ["live", "live"]
    assert not Dispute.objects.exists()


# One session ---------------------------------------------------------------------------------


@pytest.mark.behaviour("Z45")
def test_a_session_that_says_it_anew_corrects_itself(owner, scope):
    older, newer = written(owner, scope, AT_TWO, AT_THREE, session="monday")
    assert fresh(older).superseded_by == newer
    assert fresh(older).invalidation_reason == f"writing: {Reason.SAME_SESSION}"
    assert Dispute.objects.get().resolution == "superseded"


@pytest.mark.behaviour("Z45")
@pytest.mark.parametrize(
    ("cosine", "first", "second", "expected"),
    [
        (0.96, {"session": "a"}, {"session": "a"}, ["superseded", "live"]),
        (0.94, {"session": "a"}, {"session": "a"}, ["live", "live"]),
        (0.96, {"session": "a"}, {"session": "b"}, ["live", "live"]),
        (0.96, {"session": "a"}, {}, ["live", "live"]),
        (0.96, {}, {"session": "a"}, ["live", "live"]),
        (0.96, {}, {}, ["live", "live"]),
        (0.96, {"session": "a", "provenance": 0}, {"session": "a"}, ["live", "live"]),
    ],
)
def test_only_the_same_session_with_authority_is_sure_of_itself(scope, cosine, first, second, expected):
    assert states(*pair(scope, cosine, first, second)) == expected
    dispute = Dispute.objects.get()
    assert dispute.status == ("resolved" if "superseded" in expected else "pending")


@pytest.mark.behaviour("Z45")
@pytest.mark.parametrize("kept", [{"kind": "decision"}, {"pinned": True}])
def test_what_is_protected_or_pinned_waits_for_a_person(scope, kept):
    older, newer = pair(scope, 0.96, kept, {"kind": kept.get("kind", "fact")}, session="a")
    assert states(older, newer) == ["live", "live"]
    dispute = Dispute.objects.get()
    assert (dispute.status, dispute.type, dispute.proposed_winner) == ("pending", "supersedes", newer)


def test_two_people_who_name_their_sessions_alike_are_two_sessions(owner, scope):
    rows = pair(scope, 0.96, {"author": owner}, {"author": make_user()}, session="main")
    assert states(*rows) == ["live", "live"]


def test_of_a_long_text_the_beginning_alone_does_not_tell(owner, scope):
    opening = "The handbook of the harbour master begins with the tides and the lights. " * 30
    ends = ("Ships from the north berth first.", "Cranes are oiled on Mondays.")
    rows = written(owner, scope, *(opening + end for end in ends), session="a")
    assert states(*rows) == ["live", "live"]


def test_other_scopes_episodes_and_imports_are_left_alone(owner, scope):
    other = make_scope(owner)
    for place, given in ((other, {}), (scope, {"kind": "episode"}), (scope, {"external_id": "x", "kind": "task"})):
        written(owner, place, AT_TWO if place == other else AT_THREE, session="a", **given)
    near_import = make_memory(AT_TWO, scope=scope, session="a", author=owner, author_kind="import", kind="reference")
    embed_waiting()
    assert Memory.objects.live().count() == 4
    assert fresh(near_import).embedded_at


# Lost, doubled and at once -------------------------------------------------------------------


def test_a_worker_that_is_lost_before_it_settled_leaves_that_to_the_next(owner, scope):
    def lost(**_):
        raise SystemExit

    remember(actor=person(owner), scope=scope, content=AT_TWO, session="a")
    embed_waiting()
    remember(actor=person(owner), scope=scope, content=AT_THREE, session="a")
    handlers, first_embedded.receivers = first_embedded.receivers, []
    first_embedded.sender_receivers_cache.clear()
    first_embedded.connect(lost, weak=False)
    try:
        with pytest.raises(SystemExit):
            embed_waiting()
    finally:
        first_embedded.receivers = handlers
        first_embedded.sender_receivers_cache.clear()
    assert Memory.objects.live().count() == 2
    Memory.objects.update(embedding_claimed_at=timezone.now() - timedelta(hours=1))  # as claims lapse
    embed_waiting()
    assert [memory.content for memory in Memory.objects.live()] == [AT_THREE]


def test_what_fails_when_settling_does_not_keep_a_memory_from_being_embedded(owner, scope, caplog):
    def broken(**_):
        raise ValueError("broken")

    first_embedded.connect(broken, weak=False)
    try:
        (memory,) = written(owner, scope, ALLOWED)
    finally:
        first_embedded.disconnect(broken)
    assert fresh(memory).embedded_at
    assert "broken" in caplog.text


def test_settling_twice_changes_nothing_the_second_time(scope):
    older, newer = pair(scope, 0.96, session="a")
    before = AuditEntry.objects.count(), Dispute.objects.count()
    settle([older.pk, newer.pk])
    assert (AuditEntry.objects.count(), Dispute.objects.count()) == before


@pytest.mark.django_db(transaction=True)
def test_many_who_settle_at_once_leave_one_of_the_session_and_one_decision_a_pair(scope):
    rows = [near(scope, f"The gate opens at {hour}.", age_days=1 / (hour + 1), session="a") for hour in range(3)]
    results = at_once(*(partial(settle, [row.pk for row in rows]) for _ in range(4)))
    assert results == [None] * 4
    assert [memory.content for memory in Memory.objects.live()] == ["The gate opens at 2."]
    assert all(row.retired for row in Dispute.objects.all())
    assert Dispute.objects.count() == Memory.objects.exclude(invalidated_at=None).count()
