"""What a person approved is not written anew: whatever a later search finds, or finds no more."""

import pytest

from memories.models import AuditEntry, Embedding, Memory, Window
from memories.services import edit, forget
from reflections import hygiene
from reflections.models import Candidate, ModelCall, ReflectionConfig
from reflections.services import approve
from tests.llm.server import answer, prose
from tests.reflections.distilling import distillate, rows_of, searched
from tests.reflections.factories import make_episodes, person
from tests.reflections.stepping import fresh

pytestmark = [pytest.mark.django_db, pytest.mark.behaviour("F7")]

EMPTY = distillate(consolidate=False, content="", confidence=0.0, sentences=[])


@pytest.fixture(autouse=True)
def _pinned_band(db):
    ReflectionConfig.objects.update_or_create(id=1, defaults={"cosine_min": 0.78, "cosine_max": 0.92})


@pytest.fixture
def approved(owner, scope):
    """An approved draft, its memory and the episodes it came from."""
    episodes = make_episodes(scope)
    (candidate,) = searched(scope)
    memory = approve(actor=person(owner), candidate=candidate, version=candidate.version)
    return candidate, memory, episodes


def stand(candidate, memory):
    """All that is stored of the two, and what was done to them."""
    return (
        Memory.objects.filter(pk=memory.pk).values().get(),
        Candidate.objects.filter(pk=candidate.pk).values().get(),
        AuditEntry.objects.filter(object_id__in=[str(memory.pk), str(candidate.pk)]).count(),
    )


def fresh_candidate(candidate):
    return Candidate.objects.get(pk=candidate.pk)


def reworded(owner, episode):
    """The next version, as near to the others as this one was."""
    row = fresh(episode)
    changed = edit(actor=person(owner), memory=row, expected_version=row.version, content=f"{row.content} No more.")
    window = Window.objects.get(memory=changed)
    Embedding.objects.filter(memory=row).update(memory=changed, window=window, live=True)
    Memory.objects.filter(pk=changed.pk).update(embedded_at=row.embedded_at, embedded_with=row.embedded_with)


def test_a_search_after_all_evidence_was_forgotten_leaves_the_text(owner, scope, approved):
    candidate, memory, episodes = approved
    for episode in episodes:
        forget(actor=person(owner), memory=fresh(episode), reason="no longer true")
    before = stand(candidate, memory)
    assert searched(scope) == [fresh_candidate(candidate)]
    assert stand(candidate, memory) == before


def test_a_search_after_the_evidence_was_reworded_asks_nothing_and_leaves_the_text(
    owner, scope, approved, model_server
):
    candidate, memory, episodes = approved
    for episode in episodes:
        reworded(owner, episode)
    before = stand(candidate, memory)
    model_server.always(answer(EMPTY))
    searched(scope)
    assert stand(candidate, memory) == before
    assert not ModelCall.objects.exists()
    assert Candidate.objects.count() == 1


@pytest.mark.parametrize("said", [answer(EMPTY), prose(""), prose("I find no evidence for this.")], ids=str)
def test_new_episodes_of_the_same_matter_that_a_model_makes_nothing_of_leave_the_text(
    scope, approved, model_server, said
):
    candidate, memory, _ = approved
    before = stand(candidate, memory)
    make_episodes(scope, newest_days=0.1, session="later")
    model_server.always(said)
    searched(scope)
    assert ModelCall.objects.exists()
    assert stand(candidate, memory) == before


def test_a_whole_cycle_leaves_the_text(owner, scope, approved, model_server):
    candidate, memory, episodes = approved
    for episode in episodes:
        forget(actor=person(owner), memory=fresh(episode))
    before = rows_of(Memory)
    model_server.always(prose("I find no evidence for this."))
    run = hygiene.start_cycle(actor=None, scopes=[scope], ring=False).run
    hygiene.work_on(run.pk)
    assert [row for row in rows_of(Memory) if row["id"] == memory.pk] == [
        row for row in before if row["id"] == memory.pk
    ]
    assert fresh_candidate(candidate).draft == candidate.draft
