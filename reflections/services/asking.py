"""Asking the model for a step of the cycle: within the budget of the day, and with a record of what it cost."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from memories.guard import masked
from memories.models import Scope
from reflections.models import ModelCall
from reflections.models.model_calls import REASON_LENGTH
from zeromemory import llm
from zeromemory.llm import (
    Answer,
    Contract,
    LookUp,
    ModelBusy,
    ModelError,
    ModelRejected,
    ModelTimedOut,
    ModelUnavailable,
    Output,
    QuestionRefused,
    Searched,
)

Outcome = ModelCall.Outcome
OUTCOMES: Final[dict[type[ModelError], Outcome]] = {
    QuestionRefused: Outcome.REFUSED,
    ModelRejected: Outcome.REJECTED,
    ModelTimedOut: Outcome.TIMED_OUT,
    ModelUnavailable: Outcome.UNAVAILABLE,
    ModelBusy: Outcome.BUSY,
}
MOST_FAILURES: Final = 3  # of one question, whose fault it is then
MOST_UNUSABLE: Final = 5  # answers to different questions one after another, in one run
BETWEEN_ANSWERS: Final = "\n\n"


class BudgetSpent(ModelError):
    """The tokens of the day are used up, so nobody was asked."""


def ask[T: Output](
    question: Contract[T], *, job: str, scope: Scope | None = None, run_id: UUID | None = None
) -> Answer[T]:
    """The answer of the configured model. Blocks for as long as its time-out allows, so no transaction may be open.

    What is asked and spent stays on record, whatever comes of it. Raises a ModelError: BudgetSpent, ModelBusy,
    ModelUnavailable where another question would fare no better, ModelRejected where this one is to be set aside;
    RuntimeError inside a transaction.
    """
    return _recorded(question, lambda: llm.ask(question, mask=masked), job=job, scope=scope, run_id=run_id)


def search(question: LookUp, *, job: str, scope: Scope | None = None, run_id: UUID | None = None) -> Searched:
    """The same for a look-up on the web. Raises SearchUnsupported too."""
    return _recorded(question, lambda: llm.search(question, mask=masked), job=job, scope=scope, run_id=run_id)


def _recorded[Cost: (Answer[Any], Searched)](
    question: object, asked: Callable[[], Cost], *, job: str, scope: Scope | None, run_id: UUID | None
) -> Cost:
    with transaction.atomic(durable=True):
        _require_budget()
        _require_sense(run_id)
    call = ModelCall(job=job, scope=scope, run_id=run_id, model=model_name(), question=key_of(question))
    began = time.monotonic()
    try:
        answer = asked()
    except ModelError as error:
        _keep_failure(call, error, began)
        raise _laid_on_whom(call, error) from error
    _keep(call, answer, Outcome.ANSWERED, began)
    return answer


def key_of(question: object) -> str:
    return salted_hmac("reflections.question", repr(question), algorithm="sha256").hexdigest()


def is_model_configured() -> bool:
    return llm.model_in_use() is not None


def spent_today() -> tuple[int, int]:
    """Tokens read and written since midnight in UTC, and how many a day may cost; 0 is no limit."""
    return cost_today()[0], settings.MODEL_DAILY_TOKENS


def cost_today() -> tuple[int, bool]:
    """Tokens of that day, and whether some of them are estimates because a server reported none."""
    return ModelCall.objects.of_day(timezone.now()).cost()


def _require_budget() -> None:
    spent, budget = spent_today()
    if budget and spent >= budget:
        raise BudgetSpent(
            f"The model has used {spent:,} of the {budget:,} tokens it may use in a day. It is asked again after "
            f"midnight UTC, {_hours_left()} from now; ZEROMEMORY_MODEL_DAILY_TOKENS sets the limit.",
            retryable=True,
        )


def _require_sense(run_id: UUID | None) -> None:
    """A model that understands no question costs as much as one that does."""
    if run_id is None:
        return
    latest = list(ModelCall.objects.of_run(run_id).reverse().values_list("outcome", flat=True)[:MOST_UNUSABLE])
    if len(latest) == MOST_UNUSABLE and set(latest) == {Outcome.REJECTED}:
        raise ModelUnavailable(
            f"The model gave no usable answer {MOST_UNUSABLE} times one after another, so this run asks it no more. "
            "Its answers are kept with the calls; another model may do better."
        )


def _hours_left() -> str:
    now = timezone.now().astimezone(UTC)
    midnight = datetime(now.year, now.month, now.day, tzinfo=UTC).timestamp() + 24 * 3600
    minutes = int((midnight - now.timestamp()) // 60)
    return f"{minutes // 60} h {minutes % 60:02d} min"


def model_name() -> str:
    """As records name it; empty where none is configured."""
    choice = llm.model_in_use()
    return choice.name if choice else ""


def _keep_failure(call: ModelCall, error: ModelError, began: float) -> None:
    error.args = (masked(str(error)),)  # whoever shows it repeats no secret either
    call.reason = str(error)[:REASON_LENGTH]
    if isinstance(error, ModelRejected):
        call.raw = masked(BETWEEN_ANSWERS.join(error.raw))
    outcome = next(outcome for kind, outcome in OUTCOMES.items() if isinstance(error, kind))
    _keep(call, error, outcome, began)


def _laid_on_whom(call: ModelCall, error: ModelError) -> ModelError:
    """*error*, or the one that says better whether the question is at fault: all others of a step wait for that."""
    if isinstance(error, ModelTimedOut) and _has_failed_often(call):
        message = f"{error} It was the same question {MOST_FAILURES} times, so that one is set aside."
        return QuestionRefused(message, spent=error.spent)
    if isinstance(error, QuestionRefused) and error.may_be_settings and not _is_set_up_well(call):
        return ModelUnavailable(str(error), spent=error.spent)
    return error


def _is_set_up_well(call: ModelCall) -> bool:
    """A model that has answered before is set up well, so what it refuses now is the question."""
    return ModelCall.objects.answered_by(call.model).exists() or _has_failed_often(call)


def _has_failed_often(call: ModelCall) -> bool:
    return ModelCall.objects.without_an_answer(question=call.question, model=call.model).count() >= MOST_FAILURES


def _keep(call: ModelCall, cost: Answer[Any] | Searched | ModelError, outcome: Outcome, began: float) -> None:
    call.input_tokens, call.output_tokens, call.requests = cost.input_tokens, cost.output_tokens, cost.requests
    call.estimated = cost.estimated
    call.seconds, call.outcome = time.monotonic() - began, outcome
    with transaction.atomic(durable=True):
        call.save(force_insert=True)
