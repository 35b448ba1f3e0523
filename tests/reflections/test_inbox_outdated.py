"""What the web overtook, in the inbox."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memories.looks import ledger, looked_at, looks
from memories.models import AuditEntry, Memory, Verification
from reflections.inbox.evidence import of_dispute
from reflections.models import Dispute
from reflections.services import disputes
from tests.factories import make_memory, make_scope
from tests.llm.searching import page
from tests.llm.server import ANTHROPIC, searched, use
from tests.reflections.disputing import make_single
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, run_step

pytestmark = pytest.mark.django_db
TEXT = "The newest release of the tide library is 4.2."
URL = "https://tides.example.org/releases"


@pytest.fixture
def claude(settings, model_server):
    use(settings, model_server, ANTHROPIC)
    return model_server


@pytest.fixture
def core(owner):
    return make_scope(owner, slug="core", name="Core")


@pytest.fixture
def fact(core):
    memory = make_memory(TEXT, scope=core, age_days=900)
    at = timezone.now() - timedelta(days=200)
    Verification.objects.create(memory=memory, at=at, verdict="current", method="person", actor="owner")
    return memory


def look_up(scope):
    return run_step("external_reverification", scope)


def outdated(core, fact, claude, source=URL):
    claude.will(
        searched(page(source, says="It changed.")),
        {"verdict": "outdated", "confidence": 0.85, "what_changed": "It is 5.0 now.", "source": source},
    )
    look_up(core)
    return Dispute.objects.get()


def test_the_row_shows_what_changed_the_page_and_the_last_look(owner, core, fact, claude, client_of):
    row = outdated(core, fact, claude)
    shown = client_of(owner).get("/inbox/", {"item": f"dispute.{row.pk}"}).content.decode()
    assert "It is 5.0 now." in shown
    assert f'<a href="{URL}" rel="noopener nofollow noreferrer">' in shown
    assert "Last looked at" in shown
    assert "Looked at by" in shown


def test_of_what_was_never_looked_at_the_row_says_so(owner, core, claude):
    row = outdated(core, make_memory(TEXT, scope=core, age_days=300), claude)
    held = of_dispute(person(owner), with_texts(row), "", {})
    assert {"label": "Last looked at", "text": "never, since it was learned"} in held["sides"][0]["facts"]


def with_texts(row):
    return Dispute.objects.opening().get(pk=row.pk)


def test_an_address_that_no_browser_should_follow_is_text(owner, core, fact, claude, client_of):
    row = make_single(core, "outdated", memory=fact, evidence="javascript:alert(1)", rationale="It changed.")
    shown = client_of(owner).get("/inbox/", {"item": f"dispute.{row.pk}"}).content.decode()
    assert 'href="javascript' not in shown
    assert "javascript:alert(1)" in shown


def test_whoever_upholds_it_has_looked_at_it(owner, core, fact, claude):
    row = outdated(core, fact, claude)
    disputes.resolve(actor=person(owner), dispute=row, version=1, resolution="uphold")
    check = fact.verifications.order_by("-at").first()
    assert (fact.verifications.count(), check.verdict, check.method, check.user) == (2, "current", "person", owner)
    assert look_up(core).found == 0


def test_undoing_that_takes_the_look_back_and_the_next_uphold_is_a_look_again(owner, core, fact, claude):
    now = timezone.now()
    before = looks([fact], now)
    settled = disputes.resolve(
        actor=person(owner), dispute=outdated(core, fact, claude), version=1, resolution="uphold"
    )
    assert looks([fact], timezone.now())[fact.pk].days == 0
    undone = disputes.undo(actor=person(owner), dispute=settled, version=settled.version)
    assert looks([fact], timezone.now()) == before
    assert [check.verdict for check in ledger(fact)] == ["current"]
    assert looked_at([Memory.objects.select_related("scope").get(pk=fact.pk)], timezone.now())[0].check.note == ""
    assert [entry.action for entry in AuditEntry.objects.filter(object_id=str(fact.pk), action__contains="check")] == [
        "take_back_check"
    ]
    disputes.resolve(actor=person(owner), dispute=undone, version=undone.version, resolution="uphold")
    assert looks([fact], timezone.now())[fact.pk].days == 0


def test_whoever_retires_it_stamps_nothing(owner, core, fact, claude):
    row = outdated(core, fact, claude)
    disputes.resolve(actor=person(owner), dispute=row, version=1, resolution="retire")
    assert (fact.verifications.count(), fresh(fact).state) == (1, "invalidated")
