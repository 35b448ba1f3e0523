import pytest

from memories import services
from memories.errors import Conflict, ValidationFailed
from memories.models import Kind
from reflections import hygiene
from reflections.models import Dispute, Examined, HygieneConfig
from reflections.services import disputes
from reflections.steps.kind_audit import MEANINGS
from tests.factories import make_memory, make_scope
from tests.llm.server import prose
from tests.reflections.disputing import make_single
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, run_step

pytestmark = pytest.mark.django_db


@pytest.fixture
def note(scope):
    return make_memory("Never deploy on a Friday.", scope=scope, kind="fact")


def verdict(kind="convention", confidence=0.9):
    return {"kind": kind, "confidence": confidence, "rationale": "It says how things are done."}


def audit(*scopes):
    return run_step("kind_audit", *scopes)


@pytest.fixture
def misfiled(scope, note, model_server):
    model_server.always(verdict())
    audit(scope)
    return Dispute.objects.get()


def test_another_kind_is_proposed_and_nothing_is_changed(scope, note, model_server):
    model_server.will_answer(verdict(confidence=0.8))
    step = audit(scope)
    dispute = Dispute.objects.get()
    assert (step.state, step.found, step.done) == ("done", 1, 1)
    assert (dispute.type, dispute.subject, dispute.proposed_kind, dispute.confidence) == (
        "misfiled",
        note,
        "convention",
        0.8,
    )
    assert (dispute.scanner, dispute.model) == ("kind audit", "openai:scripted-model")
    assert (fresh(note).kind, fresh(note).version) == ("fact", 1)


@pytest.mark.parametrize("given", [{"confidence": 0.79}, {"kind": "fact", "confidence": 1}], ids=["unsure", "same"])
def test_nobody_is_asked_where_the_judge_is_unsure_or_agrees(scope, note, model_server, given):
    model_server.will_answer(verdict(**given))
    step = audit(scope)
    assert (step.found, step.done, step.skipped, Dispute.objects.count()) == (1, 0, 1, 0)


def test_the_judge_is_told_what_each_kind_means(scope, note, model_server):
    assert set(MEANINGS) == set(Kind.values)
    model_server.will_answer(verdict())
    audit(scope)
    for kind, meaning in MEANINGS.items():
        assert f"{kind}: {meaning}" in model_server.last.prompt


def test_a_memory_is_audited_once_as_each_kind(owner, scope, note, model_server):
    model_server.always(verdict("fact"))
    audit(scope)
    assert audit(scope).found == 0
    services.edit(actor=person(owner), memory=fresh(note), expected_version=services.LATEST, kind="reference")
    assert audit(scope).found == 1
    assert sorted(Examined.objects.values_list("matter", flat=True)) == ["fact", "reference"]
    assert len(model_server.requests) == 2


def test_only_what_agents_and_imports_wrote_is_audited(owner, scope, model_server):
    make_memory("Typed by a person.", scope=scope, author_kind="human")
    make_memory("Approved by a person.", scope=scope, author_kind="distilled")
    make_memory("Elsewhere.", scope=make_scope(owner, slug="work"))
    services.forget(actor=person(owner), memory=make_memory("Gone.", scope=scope))
    make_memory("Imported.", scope=scope, author_kind="import")
    model_server.always(verdict("fact"))
    assert audit(scope).found == 1
    assert "Imported." in model_server.last.prompt


def test_one_run_looks_at_the_newest_so_many_over_all_its_scopes(owner, scope, model_server):
    HygieneConfig.objects.update_or_create(id=1, defaults={"kind_most": 2})
    for number in range(2):
        make_memory(f"Note {number} of home.", scope=scope)
    work = make_scope(owner, slug="work")
    make_memory("A note of work.", scope=work)
    model_server.always(verdict("fact"))
    assert audit(scope, work).found == 2
    assert "Note 0" in model_server.last.prompt
    assert audit(scope, work).found == 1


def test_an_answer_that_cannot_be_used_is_not_asked_for_again(scope, note, model_server):
    model_server.always(prose("A convention, I would say."))
    step = audit(scope)
    assert (step.state, step.failed, Dispute.objects.count()) == ("done", 1, 0)
    assert audit(scope).found == 0


def test_without_a_model_it_does_nothing_and_says_so(scope, note):
    step = audit(scope)
    assert (step.state, step.found) == ("done", 0)
    assert "ZEROMEMORY_MODEL" in step.note
    assert "no model" in hygiene.STEPS["kind_audit"].survey(scope)


def test_a_survey_counts_and_asks_nobody(scope, note, model_server):
    assert hygiene.STEPS["kind_audit"].survey(scope) == "would ask about 1 kind, of the newest memories first"
    assert model_server.requests == []


# What a person decides -----------------------------------------------------------------------


def test_refiling_changes_the_kind_and_is_undone(owner, note, misfiled):
    settled = disputes.resolve(actor=person(owner), dispute=misfiled, version=1, resolution="refile")
    assert (settled.status, settled.resolution, settled.former_kind) == ("resolved", "refiled", "fact")
    assert fresh(note).kind == "convention"
    again = disputes.undo(actor=person(owner), dispute=settled, version=2)
    assert (again.status, again.former_kind, fresh(note).kind) == ("pending", "", "fact")


def test_a_refiling_is_not_undone_over_a_later_one(owner, note, misfiled):
    settled = disputes.resolve(actor=person(owner), dispute=misfiled, version=1, resolution="refile")
    services.edit(actor=person(owner), memory=fresh(note), expected_version=services.LATEST, kind="decision")
    with pytest.raises(Conflict, match="another kind since"):
        disputes.undo(actor=person(owner), dispute=settled, version=2)
    assert fresh(note).kind == "decision"


@pytest.mark.parametrize("resolution", ["refile", "uphold"])
def test_after_a_decision_nobody_is_asked_again(owner, scope, note, misfiled, model_server, resolution):
    disputes.resolve(actor=person(owner), dispute=misfiled, version=1, resolution=resolution)
    model_server.always(verdict("gotcha", 1))
    assert audit(scope).found == 0
    assert Dispute.objects.count() == 1


def test_only_what_is_misfiled_is_refiled(owner, scope):
    dispute = make_single(scope)
    with pytest.raises(ValidationFailed, match="Nobody proposed another kind"):
        disputes.resolve(actor=person(owner), dispute=dispute, version=1, resolution="refile")
