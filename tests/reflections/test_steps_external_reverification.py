"""World facts looked up on the web: one test for each outcome, over the providers' protocols."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memories.models import AuditEntry, FreshnessConfig, Memory, Reinforcement, Verification
from memories.services.verification import verify
from reflections import hygiene
from reflections.models import Dispute, Examined, ModelCall, Run
from reflections.services import disputes
from tests.factories import make_memory, make_scope, make_user
from tests.llm.searching import RESPONSES, page
from tests.llm.server import ANTHROPIC, prose, searched, status, use
from tests.reflections.disputing import make_single
from tests.reflections.factories import person
from tests.reflections.stepping import fresh, run_step

pytestmark = pytest.mark.django_db
TEXT = "The newest release of the tide library is 4.2."
URL = "https://tides.example.org/releases"
STEP = "external_reverification"


@pytest.fixture(params=[ANTHROPIC, RESPONSES])
def web(request, settings, model_server):
    """A provider with a web search, in each protocol that has one."""
    use(settings, model_server, request.param)
    return model_server


@pytest.fixture
def claude(settings, model_server):
    use(settings, model_server, ANTHROPIC)
    return model_server


@pytest.fixture
def core(owner):
    return make_scope(owner, slug="core", name="Core")


@pytest.fixture
def fact(core):
    """Not looked at for 200 days, after two checks before."""
    memory = make_memory(TEXT, scope=core, age_days=900)
    for days in (500, 200):
        checked(memory, days)
    return memory


def checked(memory, days_ago):
    at = timezone.now() - timedelta(days=days_ago)
    return Verification.objects.create(memory=memory, at=at, verdict="current", method="person", actor="owner")


def verdict(word="current", confidence=0.9, what_changed="", source=URL):
    return {"verdict": word, "confidence": confidence, "what_changed": what_changed, "source": source}


def found(says="Version 5.0 came out in May.", **given):
    return searched(page(URL, says=says), **given)


def look_up(*scopes):
    return run_step(STEP, *scopes)


def ledger(memory):
    return memory.verifications.order_by("at").count()


# The outcomes --------------------------------------------------------------------------------


@pytest.mark.behaviour("Z75")
def test_what_the_web_confirms_is_stamped(core, fact, web):
    before = Memory.objects.filter(pk=fact.pk).values().get()
    web.will(found(), verdict("current", 0.9))
    step = look_up(core)
    assert (step.state, step.found, step.done, step.skipped, step.failed) == ("done", 1, 1, 0, 0)
    assert ledger(fact) == 3
    check = fact.verifications.order_by("-at").first()
    assert (check.verdict, check.method, check.source, check.confidence) == ("current", "web_search", URL, 0.9)
    assert (check.user, check.model) == (None, f"{web.requests[0].protocol}:scripted-model")
    assert check.actor == f"web check ({check.model})"
    assert Memory.objects.filter(pk=fact.pk).values().get() == before
    assert not Dispute.objects.exists()
    assert look_up(core).found == 0


@pytest.mark.behaviour("Z75")
def test_what_the_web_overtakes_becomes_a_question_to_a_person_and_is_not_stamped(owner, core, fact, web):
    web.will(found(), verdict("outdated", 0.85, "Version 5.0 took the place of 4.2."))
    step = look_up(core)
    assert (step.found, step.done) == (1, 1)
    row = Dispute.objects.get()
    assert (row.type, row.status, row.subject, row.confidence) == ("outdated", "pending", fact, 0.85)
    assert (row.rationale, row.evidence) == ("Version 5.0 took the place of 4.2.", URL)
    assert (row.scanner, row.model) == ("web check", f"{web.requests[0].protocol}:scripted-model")
    assert ledger(fact) == 2
    assert fresh(fact).state == "live"


@pytest.mark.behaviour("Z75")
@pytest.mark.parametrize("word", ["outdated", "current"])
def test_what_the_model_is_unsure_of_records_nothing(core, fact, web, word):
    web.will(found(), verdict(word, 0.3, "Perhaps."))
    step = look_up(core)
    assert (step.found, step.done, step.skipped) == (1, 0, 1)
    assert (ledger(fact), Dispute.objects.count()) == (2, 0)
    assert not AuditEntry.objects.filter(action__in=["verify", "open_dispute"]).exists()


@pytest.mark.behaviour("Z75")
def test_where_nobody_can_tell_that_is_stamped(core, fact, web):
    web.will(found("The weather was fine."), verdict("unclear", 0.4, source=None))
    look_up(core)
    check = fact.verifications.order_by("-at").first()
    assert (ledger(fact), check.verdict, check.source) == (3, "unverifiable", "")


def test_a_verdict_that_rests_on_no_page_that_was_found_tells_nothing(core, fact, web):
    web.will(found(), verdict("outdated", 0.99, "All is new.", source="https://elsewhere.example.org"))
    look_up(core)
    assert Dispute.objects.count() == 0
    assert fact.verifications.order_by("-at").first().verdict == "unverifiable"


@pytest.mark.behaviour("Z75")
@pytest.mark.parametrize(
    "reply",
    [found(searches=5, ran_out=True), searched(searches=5), found(is_paused=True), found(searches=6)],
    ids=["refused at the limit", "nothing found", "put off", "more than allowed"],
)
def test_a_search_that_ran_out_records_nothing_and_nothing_is_judged(core, fact, claude, reply):
    claude.will(reply)
    step = look_up(core)
    assert (step.state, step.found, step.skipped) == ("done", 1, 1)
    assert len(claude.requests) == 1
    assert (ledger(fact), Dispute.objects.count()) == (2, 0)


@pytest.mark.behaviour("Z75")
def test_a_provider_without_a_search_is_asked_once_and_its_name_is_on_record(core, fact, model_server):
    other = make_memory("The tide tables are at tables.example.org.", scope=core, kind="reference", age_days=300)
    step = look_up(core)
    assert (step.state, step.found, step.done, step.skipped) == ("done", 2, 0, 2)
    call = ModelCall.objects.get()
    assert (call.job, call.outcome, call.requests) == (STEP, "unavailable", 0)
    entry = AuditEntry.objects.get(action="skip_web_check")
    assert (entry.action, entry.scope, entry.detail["provider"], entry.detail["model"], entry.detail["skipped"]) == (
        "skip_web_check", core, "openai", "openai:scripted-model", 2,
    )  # fmt: skip
    assert "openai:scripted-model has no web search" in step.note
    assert (ledger(fact), ledger(other), Dispute.objects.count()) == (2, 0, 0)
    assert model_server.requests == []


@pytest.mark.behaviour("Z75")
def test_a_server_that_refuses_the_search_is_asked_once(core, fact, web):
    make_memory("The tide tables are at tables.example.org.", scope=core, kind="reference", age_days=300)
    web.always(status(400, message="web_search is not enabled for this organization"))
    step = look_up(core)
    assert (step.state, step.skipped, len(web.requests)) == ("done", 2, 1)
    assert AuditEntry.objects.get(action="skip_web_check").detail["provider"] == web.requests[0].protocol


def test_of_several_scopes_one_is_enough_to_learn_that_there_is_no_search(core, fact, model_server):
    another = make_scope(make_user(), slug="core")
    make_memory(scope=another, age_days=300)
    step = look_up(core, another)
    assert (step.skipped, ModelCall.objects.count()) == (2, 1)
    assert {entry.scope for entry in AuditEntry.objects.filter(action="skip_web_check")} == {core, another}


# What is looked up ---------------------------------------------------------------------------


@pytest.mark.behaviour("Z76")
def test_one_run_looks_up_ten_at_most_and_the_next_goes_on(core, claude):
    rows = [make_memory(f"Fact {number}.", scope=core, age_days=400 - number) for number in range(12)]
    claude.answers(lambda request: found() if request.searches_web else verdict())
    step = look_up(core)
    assert (step.found, step.done, Verification.objects.count()) == (10, 10, 10)
    assert set(Verification.objects.values_list("memory", flat=True)) == {row.pk for row in rows[:10]}
    assert all(request.body["tools"][0]["max_uses"] == 5 for request in claude.requests if request.searches_web)
    assert look_up(core).found == 2


@pytest.mark.behaviour("Z76")
def test_the_limit_is_that_of_the_run_and_not_of_each_scope(core, claude):
    another = make_scope(make_user(), slug="core")
    for number in range(7):
        make_memory(f"Fact {number}.", scope=core, age_days=300)
        make_memory(f"Fact {number}.", scope=another, age_days=300)
    claude.answers(lambda request: found() if request.searches_web else verdict())
    assert look_up(core, another).found == 10


@pytest.mark.behaviour("Z76")
@pytest.mark.parametrize("type", ["outdated", "challenged", "stale_suspect"])
def test_what_is_in_dispute_already_is_not_looked_up(core, fact, claude, type):
    make_single(core, type, memory=fact)
    assert (look_up(core).found, claude.requests) == (0, [])


@pytest.mark.behaviour("Z76")
def test_a_snoozed_doubt_is_a_doubt(owner, core, fact, claude):
    row = make_single(core, "outdated", memory=fact)
    disputes.snooze(actor=person(owner), dispute=row, version=1)
    assert look_up(core).found == 0


@pytest.mark.parametrize(
    ("slug", "given"),
    [("home", {}), ("core_banking", {}), ("core", {"kind": "decision"}), ("core", {"age_days": 180})],
)
def test_what_is_not_due_is_not_looked_up(owner, claude, slug, given):
    scope = make_scope(owner, slug=slug)
    make_memory(TEXT, scope=scope, **{"age_days": 900} | given)
    assert (look_up(scope).found, claude.requests) == (0, [])


def test_the_most_reinforced_come_first_then_the_longest_unseen(core, claude):
    FreshnessConfig.objects.update_or_create(id=1, defaults={"most_memories": 1})
    oldest = make_memory("The oldest.", scope=core, age_days=900)
    useful = make_memory("The useful one.", scope=core, age_days=300)
    Reinforcement.objects.create(memory=useful, multiplier=1.2)
    misled = make_memory("The misleading one.", scope=core, age_days=2000)
    Reinforcement.objects.create(memory=misled, multiplier=0.8)
    newer = make_memory("A newer one.", scope=core, age_days=400)
    claude.answers(lambda request: found() if request.searches_web else verdict())
    order = []
    for _ in range(4):
        look_up(core)
        order.append(Verification.objects.order_by("-pk").first().memory)
    assert order == [useful, oldest, newer, misled]


def test_a_look_that_told_nothing_lets_the_others_come_first_the_next_time(core, claude):
    FreshnessConfig.objects.update_or_create(id=1, defaults={"most_memories": 1})
    older, newer = (make_memory(f"Learned {days}.", scope=core, age_days=days) for days in (900, 300))
    claude.answers(lambda request: found() if request.searches_web else verdict("current", 0.1))
    look_up(core)
    assert Examined.objects.get().memory == older
    look_up(core)
    assert set(Examined.objects.values_list("memory", flat=True)) == {older.pk, newer.pk}
    look_up(core)
    assert Examined.objects.order_by("-at").first().memory == older
    assert Examined.objects.count() == 2


def test_the_confidence_that_counts_is_configuration(core, fact, claude):
    FreshnessConfig.objects.update_or_create(id=1, defaults={"confidence": 0.95})
    claude.will(found(), verdict("outdated", 0.94, "It changed."))
    look_up(core)
    assert not Dispute.objects.exists()


# When something goes wrong -------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_was_lost_is_followed_by_one_that_repeats_nothing_it_had_done(core, claude):
    rows = [make_memory(f"Fact {number}.", scope=core, age_days=400 - number) for number in range(3)]
    taken_over = []

    def answer(request):
        if request.searches_web and "Fact 1" in request.prompt and not taken_over:
            Run.objects.update(attempts=2)  # another worker has taken the run up meanwhile
            taken_over.append(True)
        connection.close()
        return found() if request.searches_web else verdict("current", 0.1)

    claude.answers(answer)
    run = hygiene.start_cycle(actor=None, scopes=[core], steps=[STEP], ring=False).run
    hygiene.work_on(run.pk)
    assert run.steps.get().state != "done"
    Run.objects.filter(pk=run.pk).update(state="queued")
    hygiene.work_on(run.pk)
    searches = [request.prompt for request in claude.requests if request.searches_web]
    asked = [sum(f"Fact {number}" in prompt for prompt in searches) for number in range(3)]
    assert asked[0] == 1  # only what it was at when it was lost may be asked about again
    assert set(asked) <= {1, 2}
    assert Examined.objects.filter(memory__in=rows).count() == 3


def test_a_model_that_does_not_answer_fails_the_step_and_what_was_stamped_stays(core, claude):
    first, second = (make_memory(f"Learned {days}.", scope=core, age_days=days) for days in (900, 300))
    claude.will(found(), verdict(), status(401))
    assert look_up(core).state == "failed"
    assert (ledger(first), ledger(second)) == (1, 0)
    claude.will(found(), verdict())
    look_up(core)
    assert ledger(second) == 1


def test_an_answer_that_cannot_be_used_is_counted_and_the_next_is_looked_up(core, claude):
    first, second = (make_memory(f"Learned {days}.", scope=core, age_days=days) for days in (900, 300))
    claude.will(found(), prose("Hm."), prose("Hm."), prose("Hm."), found(), verdict())
    step = look_up(core)
    assert (step.found, step.done, step.failed) == (2, 1, 1)
    assert (ledger(first), ledger(second)) == (0, 1)


@pytest.mark.django_db(transaction=True)
def test_what_somebody_verified_meanwhile_is_left_alone(owner, core, fact, claude):
    def answer(request):
        if request.searches_web:
            return found()
        verify(actor=person(owner), memory=fact)
        connection.close()
        return verdict("outdated", 0.99, "It changed.")

    claude.answers(answer)
    step = look_up(core)
    assert (step.skipped, Dispute.objects.count(), ledger(fact)) == (1, 0, 3)


def test_without_a_model_it_looks_up_nothing_and_says_so(core, fact):
    step = look_up(core)
    assert (step.state, step.found) == ("done", 0)
    assert "ZEROMEMORY_MODEL" in step.note
    assert "no model" in hygiene.STEPS[STEP].survey(core)


def test_a_survey_counts_and_asks_nobody(core, fact, claude):
    assert "would look up 1 fact of the world on the web" in hygiene.STEPS[STEP].survey(core)
    assert claude.requests == []


def test_it_costs_tokens_of_the_day_like_every_question(core, fact, claude, settings):
    claude.will(found(), verdict())
    look_up(core)
    assert [(call.job, call.outcome, call.scope) for call in ModelCall.objects.order_by("pk")] == [
        (STEP, "answered", core),
        (STEP, "answered", core),
    ]
    settings.MODEL_DAILY_TOKENS = 1
    make_memory("Another.", scope=core, age_days=300)
    step = look_up(core)
    assert (step.state, "tokens it may use in a day" in step.note) == ("failed", True)


def test_it_comes_before_the_re_examination():
    steps = list(hygiene.STEPS)
    assert steps.index(STEP) < steps.index("reexamination")
    assert not hygiene.STEPS[STEP].in_quick


@pytest.mark.behaviour("Z77")
def test_a_verdict_that_quotes_a_secret_of_the_web_is_asked_for_again(core, fact, claude):
    secret = "ghp_" + "a1B2" * 9
    told, better = (verdict("outdated", 0.9, words) for words in (f"The key is {secret} now.", "The key was replaced."))
    claude.will(found(f"The key is {secret}."), told, better)
    look_up(core)
    dispute = Dispute.objects.get()
    assert "The key was replaced." in dispute.rationale
    assert secret not in dispute.rationale + dispute.evidence
