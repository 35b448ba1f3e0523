"""Questions to the model: what they cost is on record whatever comes of them, and the budget of the day holds."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from reflections.models import ModelCall
from reflections.services.asking import BudgetSpent, ask, is_model_configured, spent_today
from tests.llm.server import answer, prose, slow, status
from zeromemory.llm import (
    Distil,
    Distillate,
    Episode,
    ModelBusy,
    ModelRejected,
    ModelTimedOut,
    ModelUnavailable,
    QuestionRefused,
    Sentence,
    failures,
    patience,
)

pytestmark = pytest.mark.django_db

QUESTION = Distil((Episode("a", "The cache was rebuilt.", datetime(2026, 3, 1, tzinfo=UTC)),))
ANOTHER = Distil((Episode("a", "The queue was drained.", datetime(2026, 3, 2, tzinfo=UTC)),))
ANSWER = Distillate(
    consolidate=True,
    content="The cache is rebuilt by hand.",
    kind="fact",
    confidence=0.9,
    rationale="one episode says so",
    sentences=(Sentence(text="The cache is rebuilt by hand.", sources=("a",)),),
)
SECRET = "ghp_" + "a1" * 18


def make_call(**overrides) -> ModelCall:
    values = {"job": "reflection", "model": "test:model", "seconds": 1.0, "outcome": "answered"} | overrides
    return ModelCall.objects.create(**values)


def test_an_answered_question_is_on_record_with_its_cost(scope, model_server):
    model_server.will_answer(ANSWER)
    run_id = uuid4()
    given = ask(QUESTION, job="reflection", scope=scope, run_id=run_id)
    call = ModelCall.objects.get()
    assert given.value == ANSWER
    assert (call.job, call.scope, call.run_id, call.model) == ("reflection", scope, run_id, "openai:scripted-model")
    assert (call.outcome, call.input_tokens, call.output_tokens, call.requests) == ("answered", 100, 20, 1)
    assert (call.reason, call.raw) == ("", "")
    assert 0 < call.seconds < 60


def test_an_answer_that_cannot_be_used_is_kept_for_reading_with_its_cost(model_server):
    model_server.always(prose("I would rather talk about the weather."))
    with pytest.raises(ModelRejected):
        ask(QUESTION, job="reflection")
    call = ModelCall.objects.get()
    assert (call.outcome, call.requests, call.input_tokens) == ("rejected", 3, 300)
    assert call.raw.count("about the weather") == 3
    assert "cannot be used" in call.reason


@pytest.mark.behaviour("F34")
def test_secrets_that_the_model_writes_are_masked_in_what_is_kept(model_server):
    model_server.always(prose(f"The token is {SECRET}."))
    with pytest.raises(ModelRejected):
        ask(QUESTION, job="reflection")
    assert SECRET not in ModelCall.objects.get().raw
    assert "ghp_…" in ModelCall.objects.get().raw


@pytest.mark.behaviour("F34")
def test_a_secret_at_the_edge_of_what_is_kept_is_masked_too(model_server):
    room = patience.LONGEST_RAW - len(SECRET) // 2
    model_server.always(prose(f"{'so ' * 3000}"[: room - 1] + f" {SECRET}"))
    with pytest.raises(ModelRejected):
        ask(QUESTION, job="reflection")
    assert SECRET[:12] not in ModelCall.objects.get().raw


@pytest.mark.behaviour("F34")
@pytest.mark.parametrize("before", range(failures.LONGEST_QUOTE - len(SECRET), failures.LONGEST_QUOTE, 9))
def test_a_secret_at_the_edge_of_a_quoted_refusal_is_masked_too(model_server, before):
    model_server.always(status(401, message=f"{'x' * (before - 1)} {SECRET}"))
    with pytest.raises(ModelUnavailable) as raised:
        ask(QUESTION, job="reflection")
    assert SECRET[:6] not in str(raised.value)
    assert SECRET[:6] not in ModelCall.objects.get().reason


@pytest.mark.behaviour("F34")
def test_a_secret_at_the_edge_of_a_complaint_is_masked_too(model_server):
    field = f"{'x' * (failures.LONGEST_REASON - 20)} {SECRET}"
    model_server.always(answer(ANSWER.model_dump(mode="json") | {field: 1}))
    with pytest.raises(ModelRejected) as raised:
        ask(QUESTION, job="reflection")
    assert all(len(reason) > failures.LONGEST_REASON - 20 for reason in raised.value.reasons)
    assert SECRET[:6] not in "".join(raised.value.reasons)


@pytest.mark.behaviour("Z77")
@pytest.mark.parametrize("field", ["content", "rationale"])
def test_an_answer_with_a_secret_in_it_is_rejected_and_kept_without_it(model_server, field):
    model_server.always(answer(ANSWER.model_copy(update={field: f"The key is {SECRET}."})))
    with pytest.raises(ModelRejected, match="holds a secret") as raised:
        ask(QUESTION, job="reflection")
    call = ModelCall.objects.get()
    assert (call.outcome, call.requests) == ("rejected", 3)
    assert "ghp_…(36 more characters)" in call.raw
    assert SECRET[:8] not in f"{raised.value}{raised.value.reasons}{call.raw}{call.reason}"


@pytest.mark.behaviour("Z77")
def test_a_model_that_is_told_so_may_answer_without_the_secret(model_server):
    model_server.will(ANSWER.model_copy(update={"rationale": SECRET}), ANSWER)
    assert ask(QUESTION, job="reflection").value == ANSWER


@pytest.mark.behaviour("F34")
def test_secrets_that_a_server_repeats_in_its_refusal_are_masked(model_server):
    model_server.always(status(401, message=f"what is {SECRET}"))
    with pytest.raises(ModelUnavailable):
        ask(QUESTION, job="reflection")
    assert SECRET not in ModelCall.objects.get().reason
    assert "ghp_…" in ModelCall.objects.get().reason


@pytest.mark.parametrize(
    ("failure", "error", "outcome"),
    [
        (status(401), ModelUnavailable, "unavailable"),
        (status(429, retry_after=600), ModelBusy, "busy"),
        (status(413), QuestionRefused, "refused"),
    ],
    ids=["refused key", "asked to wait", "too long"],
)
def test_a_question_without_an_answer_is_on_record(model_server, failure, error, outcome):
    model_server.always(failure)
    with pytest.raises(error) as raised:
        ask(QUESTION, job="reflection")
    call = ModelCall.objects.get()
    assert (call.outcome, call.reason, call.raw) == (outcome, str(raised.value), "")


# One question that cannot be asked --------------------------------------------------------------


def test_what_a_model_refuses_that_has_answered_before_is_the_question(model_server):
    model_server.will(ANSWER, status(400))
    ask(QUESTION, job="reflection")
    with pytest.raises(QuestionRefused, match="refused the question"):
        ask(ANOTHER, job="reflection")


def test_a_model_that_has_never_answered_and_refuses_is_set_up_wrongly_until_the_third_time(model_server):
    model_server.always(status(400))
    for question in (QUESTION, QUESTION, ANOTHER):
        with pytest.raises(ModelUnavailable, match="ZEROMEMORY_MODEL"):
            ask(question, job="reflection")
    with pytest.raises(QuestionRefused):
        ask(QUESTION, job="reflection")


def test_a_question_that_is_not_answered_in_time_three_times_is_set_aside(model_server, settings):
    settings.MODEL_TIMEOUT = 0.2
    model_server.always(slow(5, ANSWER))
    for question in (QUESTION, QUESTION, ANOTHER):
        with pytest.raises(ModelTimedOut):
            ask(question, job="reflection")
    with pytest.raises(QuestionRefused, match="the same question 3 times"):
        ask(QUESTION, job="reflection")
    assert {call.outcome for call in ModelCall.objects.all()} == {"timed_out"}


def test_another_model_may_take_its_own_time(model_server, settings):
    settings.MODEL_TIMEOUT = 0.2
    model_server.always(slow(5, ANSWER))
    for model in ("openai:one", "openai:two", "openai:three"):
        settings.MODEL = model
        with pytest.raises(ModelTimedOut):
            ask(QUESTION, job="reflection")


def test_the_record_knows_a_question_again_and_none_of_its_words(model_server):
    model_server.always(answer(ANSWER))
    for question in (QUESTION, ANOTHER, QUESTION):
        ask(question, job="reflection")
    first, other, again = ModelCall.objects.order_by("pk").values_list("question", flat=True)
    assert first == again != other
    assert len(first) == 64


# The budget ----------------------------------------------------------------------------------


@pytest.mark.behaviour("F40")
def test_a_spent_budget_asks_nobody_and_says_when_it_goes_on(model_server, settings):
    settings.MODEL_DAILY_TOKENS = 1500
    make_call(input_tokens=1400, output_tokens=100)
    with pytest.raises(BudgetSpent, match=r"1,500 of the 1,500 tokens.*midnight UTC.*ZEROMEMORY_MODEL_DAILY_TOKENS"):
        ask(QUESTION, job="reflection")
    assert model_server.requests == []
    assert ModelCall.objects.count() == 1


@pytest.mark.behaviour("F40")
def test_one_token_below_the_budget_the_model_is_asked(model_server, settings):
    settings.MODEL_DAILY_TOKENS = 1500
    make_call(input_tokens=1400, output_tokens=99)
    model_server.will_answer(ANSWER)
    ask(QUESTION, job="reflection")
    assert spent_today() == (1619, 1500)


@pytest.mark.behaviour("F40")
def test_answers_that_could_not_be_used_count_against_the_budget(model_server, settings):
    settings.MODEL_DAILY_TOKENS = 300
    model_server.always(prose("no"))
    for error in (ModelRejected, BudgetSpent):
        with pytest.raises(error):
            ask(QUESTION, job="reflection")
    assert len(model_server.requests) == 3


@pytest.mark.behaviour("F40")
def test_the_budget_holds_for_a_server_that_reports_no_tokens(model_server, settings):
    settings.MODEL_DAILY_TOKENS = 50
    model_server.reports_usage = False
    model_server.always(answer(ANSWER))
    ask(QUESTION, job="reflection")
    with pytest.raises(BudgetSpent):
        ask(QUESTION, job="reflection")
    assert ModelCall.objects.get().estimated


@pytest.mark.behaviour("F40")
def test_an_absurd_report_is_kept_as_far_as_it_goes_and_spends_the_day(model_server, settings):
    settings.MODEL_DAILY_TOKENS = 50
    model_server.input_tokens = model_server.output_tokens = 2**63
    model_server.always(answer(ANSWER))
    run_id = uuid4()
    ask(QUESTION, job="reflection", run_id=run_id)
    assert spent_today() == (2 * (2**31 - 1), 50)


@pytest.mark.behaviour("F40")
def test_a_new_day_in_utc_has_a_new_budget(settings):
    settings.MODEL_DAILY_TOKENS = 1000
    midnight = timezone.now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    make_call(input_tokens=900, at=midnight - timedelta(seconds=1))
    make_call(input_tokens=7, at=midnight)
    assert spent_today() == (7, 1000)


@pytest.mark.behaviour("F40")
def test_without_a_budget_there_is_no_limit(model_server):
    make_call(input_tokens=2_000_000_000)
    model_server.will_answer(ANSWER)
    ask(QUESTION, job="reflection")


def test_what_a_run_asked_is_found_by_its_id():
    run_id = uuid4()
    first, second = make_call(run_id=run_id), make_call(run_id=run_id)
    make_call(run_id=uuid4())
    assert list(ModelCall.objects.of_run(run_id)) == [first, second]


def test_whether_a_model_is_configured(settings):
    assert not is_model_configured()
    settings.MODEL = "openai:some-model"
    assert is_model_configured()


# The record ----------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_nobody_is_asked_while_a_transaction_is_open(model_server):
    with pytest.raises(RuntimeError), transaction.atomic():
        ask(QUESTION, job="reflection")
    assert model_server.requests == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE model_call SET input_tokens = 0",
        "UPDATE model_call SET question = 'another'",
        "UPDATE model_call SET raw = 'better'",
        "DELETE FROM model_call",
    ],
    ids=["cost", "question", "raw", "row"],
)
def test_the_record_is_never_rewritten_nor_removed(change):
    make_call(outcome="rejected", raw="no JSON", input_tokens=5)
    with pytest.raises(IntegrityError, match="never"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)


def test_a_kept_answer_may_be_emptied(scope):
    call = make_call(outcome="rejected", raw="quotes what was erased", scope=scope)
    ModelCall.objects.update(raw="", scope=None)
    call.refresh_from_db()
    assert (call.raw, call.scope) == ("", None)
