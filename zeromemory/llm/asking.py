"""One question, one checked answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from zeromemory.llm.choice import ModelChoice, model_in_use
from zeromemory.llm.contract import Contract, Output
from zeromemory.llm.errors import Mask, ModelUnavailable, Spent

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer[T: Output]:
    """``raw`` is what the model wrote. Tokens and ``requests`` include those of answers that could not be used;
    ``estimated`` is true where the server did not report all of the tokens."""

    value: T
    model: str
    input_tokens: int
    output_tokens: int
    requests: int
    raw: str
    estimated: bool = False


def ask[T: Output](question: Contract[T], *, choice: ModelChoice | None = None, mask: Mask = str) -> Answer[T]:
    """The answer of the configured model, or of *choice*. Blocks for as long as the time-out allows. *mask* takes the
    secrets out of what is quoted of it: ``raw``, messages and reasons. An answer that it would change is not accepted.

    Raises a ModelError: ModelUnavailable (ModelTimedOut), ModelBusy or ModelRejected (QuestionRefused). Not for
    coroutines.
    """
    chosen = choice or model_in_use()
    if chosen is None:
        raise ModelUnavailable("No model is configured. Name one in ZEROMEMORY_MODEL.")
    from zeromemory.llm.conversation import converse  # here, because these import the model libraries
    from zeromemory.llm.failures import Failure

    spent = Spent()
    value = converse(question, chosen, Failure(chosen, spent, mask))
    logger.info("%s answered: %d + %d tokens", chosen.name, spent.input_tokens, spent.output_tokens)
    return Answer(
        value=value,
        model=chosen.name,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        requests=spent.requests,
        raw=spent.raw[-1],
        estimated=spent.estimated,
    )
