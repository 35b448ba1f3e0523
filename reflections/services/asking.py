"""Asking the model for a step of the cycle: within the budget of the day, and with a record of what it cost."""

import time
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memories.guard import masked
from memories.models import Scope
from reflections.models import ModelCall
from reflections.models.model_calls import REASON_LENGTH
from zeromemory import llm
from zeromemory.llm import (
    Answer,
    Contract,
    ModelBusy,
    ModelError,
    ModelRejected,
    ModelUnavailable,
    Output,
)

Outcome = ModelCall.Outcome
OUTCOMES: Final[dict[type[ModelError], Outcome]] = {
    ModelRejected: Outcome.REJECTED,
    ModelUnavailable: Outcome.UNAVAILABLE,
    ModelBusy: Outcome.BUSY,
}
BETWEEN_ANSWERS: Final = "\n\n"


class BudgetSpent(ModelError):
    """The tokens of the day are used up, so nobody was asked."""


def ask[T: Output](
    question: Contract[T], *, job: str, scope: Scope | None = None, run_id: UUID | None = None
) -> Answer[T]:
    """The answer of the configured model. Blocks for as long as its time-out allows, so no transaction may be open.

    What is asked and spent stays on record, whatever comes of it. Raises a ModelError: BudgetSpent, ModelUnavailable,
    ModelBusy or ModelRejected; RuntimeError inside a transaction.
    """
    with transaction.atomic(durable=True):
        _require_budget()
    call = ModelCall(job=job, scope=scope, run_id=run_id, model=model_name())
    began = time.monotonic()
    try:
        answer = llm.ask(question)
    except ModelError as error:
        _keep_failure(call, error, began)
        raise
    _keep(call, answer, Outcome.ANSWERED, began)
    return answer


def is_model_configured() -> bool:
    return llm.model_in_use() is not None


def spent_today() -> tuple[int, int]:
    """Tokens read and written since midnight in UTC, and how many a day may cost; 0 is no limit."""
    return ModelCall.objects.of_day(timezone.now()).tokens(), settings.MODEL_DAILY_TOKENS


def _require_budget() -> None:
    spent, budget = spent_today()
    if budget and spent >= budget:
        raise BudgetSpent(
            f"The model has used {spent:,} of the {budget:,} tokens it may use in a day. It is asked again after "
            f"midnight UTC, {_hours_left()} from now; ZEROMEMORY_MODEL_DAILY_TOKENS sets the limit.",
            retryable=True,
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
    _keep(call, error, OUTCOMES[type(error)], began)


def _keep(call: ModelCall, cost: Answer[Output] | ModelError, outcome: Outcome, began: float) -> None:
    call.input_tokens, call.output_tokens, call.requests = cost.input_tokens, cost.output_tokens, cost.requests
    call.seconds, call.outcome = time.monotonic() - began, outcome
    with transaction.atomic(durable=True):
        call.save(force_insert=True)
