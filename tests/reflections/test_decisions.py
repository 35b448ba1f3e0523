from datetime import timedelta

import pytest
from django.utils import timezone

from memories import services as memory_services
from memories.access import actor_for_token
from memories.errors import Conflict, Forbidden, NotFound, ValidationFailed
from memories.models import AuditEntry, Link, Memory
from reflections.models import Candidate, ReflectionConfig
from reflections.services import approve, dismiss, snooze, undo, wake_due
from tests.factories import add_entity, make_member, make_token, make_user
from tests.reflections.factories import in_days, make_candidate, make_episodes, person

pytestmark = pytest.mark.django_db
ACTIONS = [approve, dismiss, snooze, undo]


@pytest.fixture
def actor(owner, scope):
    return person(owner)


@pytest.fixture
def candidate(actor, scope):
    return make_candidate(scope)


def episodes():
    return list(Memory.objects.filter(kind="episode").order_by("pk").values())


def last_entry(candidate) -> AuditEntry:
    return AuditEntry.objects.filter(object_type="candidate", object_id=str(candidate.pk)).latest("pk")


# Approve -------------------------------------------------------------------------------------


@pytest.mark.behaviour("Z59")
def test_nothing_is_written_until_approval(candidate):
    assert Memory.objects.exclude(kind="episode").count() == 0
    assert not Link.objects.exists()


@pytest.mark.behaviour("Z59")
def test_approval_writes_one_memory_derived_from_every_source(actor, candidate):
    sources = set(candidate.episodes.all())
    memory = approve(actor=actor, candidate=candidate, version=1)
    assert list(Memory.objects.exclude(kind="episode")) == [memory]
    links = Link.objects.filter(source=memory, type="derived_from").select_related("target")
    assert {link.target for link in links} == sources
    assert len(links) == 3
    candidate.refresh_from_db()
    assert (candidate.state, candidate.memory, candidate.decided_by) == ("approved", memory, actor.user)


@pytest.mark.behaviour("Z59", "F41")
def test_approval_leaves_the_sources_live_and_unmodified(actor, candidate):
    before = episodes()
    approve(actor=actor, candidate=candidate, version=1)
    assert episodes() == before


@pytest.mark.behaviour("Z59")
def test_approving_twice_writes_once(actor, candidate):
    approve(actor=actor, candidate=candidate, version=1)
    for version in (1, 2):
        with pytest.raises(Conflict, match=f"{actor.label} approved this draft"):
            approve(actor=actor, candidate=candidate, version=version)
    assert Memory.objects.exclude(kind="episode").count() == 1


@pytest.mark.behaviour("Z61")
@pytest.mark.parametrize("content", [None, "Rebuild the cache after each incident."])
def test_a_distillate_is_not_marked_human_even_when_edited(actor, candidate, content):
    memory = approve(actor=actor, candidate=candidate, version=1, content=content)
    assert (memory.author_kind, memory.provenance) == ("distilled", 1)
    assert memory.author == actor.user


def test_a_distillate_is_as_new_as_its_approval_and_shows_its_newest_source(actor, candidate):
    before = timezone.now()
    memory = approve(actor=actor, candidate=candidate, version=1)
    assert memory.created_at >= before
    assert memory.newest_source_at == max(candidate.episodes.values_list("created_at", flat=True))


def test_a_distillate_speaks_of_what_at_least_two_sources_speak_of(actor, scope):
    sources = make_episodes(scope, 3, entities=("cache",))
    add_entity(sources[0], "Deploy")
    add_entity(sources[1], "Deploy")
    add_entity(sources[2], "Alone")
    memory = approve(actor=actor, candidate=make_candidate(scope, sources=sources), version=1)
    assert set(memory.entities.values_list("canonical", flat=True)) == {"cache", "deploy"}


def test_an_edit_is_what_gets_stored_and_the_draft_stays_as_proposed(actor, candidate):
    memory = approve(
        actor=actor, candidate=candidate, version=1, content="  First line.\r\nSecond line.\n", kind="convention"
    )
    assert (memory.content, memory.kind) == ("First line.\nSecond line.", "convention")
    candidate.refresh_from_db()
    assert candidate.draft == "The cache is rebuilt after every incident."
    assert last_entry(candidate).detail["edited"] is True


def test_the_draft_sent_back_unchanged_counts_as_unedited(actor, candidate):
    approve(actor=actor, candidate=candidate, version=1, content=candidate.draft + "\r\n")
    assert last_entry(candidate).detail["edited"] is False


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "\x00"}, "content"),
        ({"content": "half a pair: \ud800"}, "content"),
        ({"kind": "episode"}, "kind"),
        ({"kind": "rumour"}, "kind"),
    ],
)
def test_an_approval_that_cannot_be_stored_is_refused_and_changes_nothing(actor, candidate, wrong, field):
    with pytest.raises(ValidationFailed) as refused:
        approve(actor=actor, candidate=candidate, version=1, **wrong)
    assert refused.value.field == field
    candidate.refresh_from_db()
    assert (candidate.state, candidate.version) == ("pending", 1)


def test_what_is_already_remembered_word_for_word_is_not_written_again(actor, scope, candidate):
    existing = memory_services.remember(actor=actor, scope=scope, content=candidate.draft).memory
    with pytest.raises(Conflict, match="already says exactly this"):
        approve(actor=actor, candidate=candidate, version=1)
    assert not Link.objects.filter(source=existing).exists()


def test_a_draft_that_equals_a_source_word_for_word_is_still_written(actor, scope):
    sources = make_episodes(scope, 3)
    memory = approve(
        actor=actor, candidate=make_candidate(scope, sources=sources, draft=sources[-1].content), version=1
    )
    assert memory not in sources


def test_a_draft_whose_quoted_source_was_forgotten_cannot_be_approved_as_it_is(actor, candidate):
    quoted = candidate.episodes.order_by("candidacy__position").last()
    memory_services.forget(actor=actor, memory=quoted)
    with pytest.raises(Conflict, match="forgotten or changed"):
        approve(actor=actor, candidate=candidate, version=1)
    assert approve(actor=actor, candidate=candidate, version=1, content="Something else.").content == "Something else."


def test_a_source_the_draft_does_not_quote_may_be_forgotten(actor, candidate):
    memory_services.forget(actor=actor, memory=candidate.episodes.order_by("candidacy__position").first())
    assert approve(actor=actor, candidate=candidate, version=1)


# Dismiss, snooze -----------------------------------------------------------------------------


@pytest.mark.behaviour("Z60")
def test_a_dismissed_candidate_stays_dismissed(actor, candidate):
    dismiss(actor=actor, candidate=candidate, version=1, reason=" says nothing ")
    candidate.refresh_from_db()
    assert (candidate.state, candidate.reason, candidate.decided_by) == ("dismissed", "says nothing", actor.user)
    assert wake_due() == 0
    for action in (approve, dismiss, snooze):
        with pytest.raises(Conflict, match="dismissed this draft"):
            action(actor=actor, candidate=candidate, version=2)


def test_a_reason_may_be_left_out_but_not_be_a_novel(actor, candidate):
    with pytest.raises(ValidationFailed):
        dismiss(actor=actor, candidate=candidate, version=1, reason="x" * 2001)


@pytest.mark.behaviour("Z60")
def test_a_snooze_hides_for_fourteen_days_and_then_the_same_row_is_pending_again(actor, candidate, time_machine):
    start = timezone.now()
    time_machine.move_to(start)
    snooze(actor=actor, candidate=candidate, version=1)
    time_machine.move_to(start + timedelta(days=13, hours=23))
    assert not Candidate.objects.pending().exists()
    time_machine.move_to(start + timedelta(days=14, seconds=1))
    assert Candidate.objects.pending().get() == candidate
    assert wake_due() == 1
    candidate.refresh_from_db()
    assert (candidate.state, candidate.snoozed_until) == ("pending", None)


def test_counts_agree_before_and_after_the_sweep_has_woken_a_row(scope, candidate):
    Candidate.objects.update(state="snoozed", snoozed_until=timezone.now() - timedelta(seconds=1))
    before = Candidate.objects.counts()
    wake_due()
    assert Candidate.objects.counts() == before == {"pending": 1, "snoozed": 0, "approved": 0, "dismissed": 0}


def test_a_snoozed_row_whose_date_has_come_can_be_decided_before_the_sweep(actor, candidate):
    Candidate.objects.update(state="snoozed", snoozed_until=timezone.now() - timedelta(seconds=1))
    assert approve(actor=actor, candidate=candidate, version=1)


@pytest.mark.behaviour("Z60")
def test_any_action_on_a_snoozed_row_is_refused(actor, candidate):
    snooze(actor=actor, candidate=candidate, version=1, until=in_days(3))
    for action in (approve, dismiss, snooze):
        with pytest.raises(Conflict, match="It is snoozed until"):
            action(actor=actor, candidate=candidate, version=2)


def test_the_days_of_a_snooze_are_configuration(actor, candidate):
    ReflectionConfig.objects.update_or_create(id=1, defaults={"snooze_days": 3})
    until = snooze(actor=actor, candidate=candidate, version=1).snoozed_until
    assert until - timezone.now() == pytest.approx(timedelta(days=3), abs=timedelta(seconds=10))


@pytest.mark.parametrize("days", [-1, 0, 367])
def test_a_snooze_ends_in_the_future_and_within_a_year(actor, candidate, days):
    with pytest.raises(ValidationFailed) as refused:
        snooze(actor=actor, candidate=candidate, version=1, until=in_days(days))
    assert refused.value.field == "until"


# Undo ----------------------------------------------------------------------------------------


def test_undoing_an_approval_forgets_the_memory_and_asks_again(actor, candidate):
    memory = approve(actor=actor, candidate=candidate, version=1)
    undo(actor=actor, candidate=candidate, version=2)
    memory.refresh_from_db()
    assert (memory.state, memory.invalidation_reason) == ("invalidated", "approval undone")
    candidate.refresh_from_db()
    assert (candidate.state, candidate.memory, candidate.decided_by) == ("pending", None, None)


def test_an_undone_approval_can_be_approved_again(actor, candidate):
    approve(actor=actor, candidate=candidate, version=1)
    undo(actor=actor, candidate=candidate, version=2)
    again = approve(actor=actor, candidate=candidate, version=3)
    assert list(Memory.objects.live().exclude(kind="episode")) == [again]


@pytest.mark.parametrize("action", [dismiss, snooze])
def test_undoing_a_dismissal_or_a_snooze_makes_it_pending(actor, candidate, action):
    action(actor=actor, candidate=candidate, version=1)
    undo(actor=actor, candidate=candidate, version=2)
    assert Candidate.objects.pending().get() == candidate


def test_there_is_nothing_to_undo_in_a_pending_row(actor, candidate):
    with pytest.raises(Conflict, match="nothing to undo"):
        undo(actor=actor, candidate=candidate, version=1)


def forgotten(actor, memory):
    memory_services.forget(actor=actor, memory=memory)


def pinned(actor, memory):
    memory_services.pin(actor=actor, memory=memory)


def edited(actor, memory):
    memory_services.edit(actor=actor, memory=memory, expected_version=memory.version, content="Better words.")


@pytest.mark.parametrize("change", [forgotten, pinned, edited])
def test_an_approval_stands_once_its_memory_was_changed(actor, candidate, change):
    memory = approve(actor=actor, candidate=candidate, version=1)
    change(actor, memory)
    with pytest.raises(Conflict, match="so the approval stands"):
        undo(actor=actor, candidate=candidate, version=2)
    candidate.refresh_from_db()
    assert candidate.memory == memory


# Who -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.behaviour("F36")
def test_a_token_decides_nothing_whatever_it_may_write(owner, scope, candidate, action):
    token, _ = make_token(owner, [scope])
    with pytest.raises(Forbidden, match="signed-in person"):
        action(actor=actor_for_token(token), candidate=candidate, version=1)
    candidate.refresh_from_db()
    assert (candidate.state, candidate.version) == ("pending", 1)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.behaviour("Z63")
def test_for_a_stranger_the_draft_does_not_exist(candidate, action):
    with pytest.raises(NotFound):
        action(actor=person(make_user()), candidate=candidate, version=1)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_reader_may_look_but_not_decide(scope, candidate, action):
    reader = person(make_member(scope, "reader"))
    assert Candidate.objects.visible_to(reader).get() == candidate
    with pytest.raises(Forbidden):
        action(actor=reader, candidate=candidate, version=1)


def test_a_writer_of_a_shared_scope_may_decide(scope, candidate):
    assert approve(actor=person(make_member(scope, "writer")), candidate=candidate, version=1)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.behaviour("F36")
def test_the_audit_names_the_person(actor, candidate, action):
    if action is undo:
        dismiss(actor=actor, candidate=candidate, version=1)
    action(actor=actor, candidate=candidate, version=2 if action is undo else 1)
    entry = last_entry(candidate)
    assert (entry.action, entry.user, entry.token) == (action.__name__, actor.user, None)


def test_the_second_person_is_told_who_decided_how_and_when(actor, scope, candidate):
    dismiss(actor=actor, candidate=candidate, version=1)
    second = person(make_member(scope, "writer"))
    with pytest.raises(Conflict) as told:
        approve(actor=second, candidate=candidate, version=1)
    assert told.value.message.startswith(f"{actor.label} dismissed this draft on ")
    assert str(timezone.now().year) not in told.value.message


def test_whoever_holds_a_stale_copy_of_a_reopened_draft_is_told_to_look_again(actor, candidate):
    dismiss(actor=actor, candidate=candidate, version=1)
    undo(actor=actor, candidate=candidate, version=2)
    with pytest.raises(Conflict, match=r"reopened this draft on .* Look at it again"):
        approve(actor=actor, candidate=candidate, version=1)


def test_a_forgotten_distillate_leaves_the_shelf_readable(actor, candidate):
    memory = approve(actor=actor, candidate=candidate, version=1)
    memory_services.forget(actor=actor, memory=memory)
    assert Candidate.objects.in_tab("approved").get() == candidate


# Own output is never input -------------------------------------------------------------------


@pytest.mark.behaviour("F41")
def test_five_rounds_with_approvals_neither_reuse_distillates_nor_grow_sources(actor, scope):
    from reflections.services import find_candidates
    from tests.reflections.factories import STAMP

    sources = make_episodes(scope, 3)
    before = Memory.objects.filter(pk__in=[source.pk for source in sources]).order_by("pk")
    state = list(before.values())
    ReflectionConfig.objects.update_or_create(id=1, defaults={"cosine_min": 0.78, "cosine_max": 0.92})
    written = []
    for _ in range(5):
        find_candidates(scope=scope, stamp=STAMP)
        for waiting in Candidate.objects.pending():
            written.append(approve(actor=actor, candidate=waiting, version=waiting.version))
    assert len(written) == 1
    assert Candidate.objects.count() == 1
    assert list(before.values()) == state
