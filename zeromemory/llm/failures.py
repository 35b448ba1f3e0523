"""From the errors of the library to ours: a sentence, what to do, and what was spent."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_ai import exceptions as library

from zeromemory.lib.unseen import with_marks
from zeromemory.llm.choice import ModelChoice
from zeromemory.llm.errors import (
    Mask,
    ModelBusy,
    ModelError,
    ModelRejected,
    ModelTimedOut,
    ModelUnavailable,
    QuestionRefused,
    Spent,
)

logger = logging.getLogger(__name__)

LONGEST_REASON: Final = 500  # characters
LONGEST_QUOTE: Final = 200  # characters of the server's own words in our message

CHECK_NAMES: Final = "Check the model's name in ZEROMEMORY_MODEL and the address in ZEROMEMORY_MODEL_BASE_URL."
CHECK_KEY: Final = "Check ZEROMEMORY_MODEL_KEY, or the provider's own variable for its key."
CHECK_SERVER: Final = "Check the network, that the server runs, and ZEROMEMORY_MODEL_BASE_URL."
TRY_LATER: Final = "Try again later."
IF_ALWAYS: Final = f"If it refuses every question: {CHECK_NAMES}"

OF_THE_REQUEST: Final = (400, 413, 422)  # statuses that speak of the content of a request
TOO_LARGE: Final = 413
# what some providers send with such a status, though it concerns every question
OF_THE_SETTINGS: Final = (
    library.ModelAuthenticationError,
    library.ModelQuotaExceededError,
    library.ModelNotFoundError,
    library.ModelRateLimitError,
)
FILTERED: Final = "content_filter"  # the code of a provider that refuses what a question quotes

# the first that fits: kind of error, sentence, advice, whether the same question may succeed later
UNAVAILABLE: Final[list[tuple[type[Exception], str, str, bool]]] = [
    (library.ModelAuthenticationError, "refused the key", CHECK_KEY, False),
    (library.ModelQuotaExceededError, "has no credit left for this key", "Top up the account.", False),
    (library.ModelNotFoundError, "does not know the model or the address", CHECK_NAMES, False),
    (library.ModelRequestRejectedError, "refused the request", CHECK_NAMES, False),
    (library.ModelConnectionError, "cannot be reached", CHECK_SERVER, True),
    (library.ModelServerError, "is failing", TRY_LATER, True),
    (library.ModelUnavailableError, "is overloaded or down", TRY_LATER, True),
    (library.ModelAPIError, "gave no answer", CHECK_NAMES, False),
    (library.UserError, "cannot be asked", CHECK_NAMES, False),
]


@dataclass(frozen=True, slots=True)
class Failure:
    """One conversation's way of failing. *reasons* is filled while it goes on. What a machine said is masked whole and
    cut then, because nobody knows the first half of a secret for one."""

    choice: ModelChoice
    spent: Spent
    mask: Mask
    reasons: list[str] = field(default_factory=list)

    def of_time(self) -> ModelTimedOut:
        message = (
            f"{self.choice.name} did not answer within {self.choice.timeout:g} seconds. "
            "Check that its server is not overloaded, or raise ZEROMEMORY_MODEL_TIMEOUT."
        )
        return ModelTimedOut(message, spent=self.spent)

    def of(self, error: Exception) -> ModelError:
        if isinstance(error, library.ModelTimeoutError):
            return self.of_time()
        if isinstance(error, library.ModelRateLimitError):
            return ModelBusy(f"{self.choice.name} asks to wait{self._words(error)}. {TRY_LATER}", spent=self.spent)
        return self._of_question(error) or self._of_model(error) or self._unusable(error)

    def _of_question(self, error: Exception) -> QuestionRefused | None:
        status, code = getattr(error, "status_code", None), getattr(error, "provider_error_code", None)
        if isinstance(error, library.ModelContextWindowExceededError) or status == TOO_LARGE:
            what, advice = "cannot read so long a question", "Name a model that reads more."
        elif isinstance(error, library.ContentFilterError) or code == FILTERED:
            what, advice = "refuses what this question quotes", "Others may be answered."
        elif status in OF_THE_REQUEST and not isinstance(error, OF_THE_SETTINGS):
            what, advice = "refused the question", IF_ALWAYS
        else:
            return None
        message = f"{self.choice.name} {what}{self._words(error)}. {advice}"
        return QuestionRefused(message, spent=self.spent, may_be_settings=advice == IF_ALWAYS)

    def _of_model(self, error: Exception) -> ModelUnavailable | None:
        for kind, what, advice, retryable in UNAVAILABLE:
            if isinstance(error, kind):
                message = f"{self.choice.name} {what}{self._words(error)}. {advice}"
                return ModelUnavailable(message, spent=self.spent, retryable=retryable)
        return None

    def _unusable(self, error: Exception) -> ModelError:
        if not self.spent.raw:  # what came back was no answer of this protocol, so nothing can be read from it
            # The library's own words speak of its classes, so they are for the log alone.
            logger.warning("%s gave no answer of its protocol%s", self.choice.name, self._words(error))
            message = f"{self.choice.name} answered with something else than a model's answer."
            return ModelUnavailable(f"{message} {CHECK_NAMES}", spent=self.spent)
        reasons = (*self.reasons, reason(error, self.mask))
        message = f"{self.choice.name} gave {len(self.spent.raw)} answers that cannot be used. The last: {reasons[-1]}"
        return ModelRejected(message, spent=self.spent, reasons=reasons)

    def _words(self, error: Exception) -> str:
        """What the server said, in brackets, without the key and in bounded length."""
        said = _words_of(getattr(error, "body", None)) or _words_of(str(error))
        for key in filter(None, (self.choice.key, self.choice.key_elsewhere)):
            said = said.replace(key, "***")
        said = _in_one_line(said, self.mask)[:LONGEST_QUOTE]
        status = getattr(error, "status_code", None)
        quoted = ": ".join(piece for piece in (str(status or ""), said) if piece)
        return f" ({quoted})" if quoted else ""


def _words_of(body: object) -> str:
    """The message in an error's body, whichever protocol it is of."""
    while isinstance(body, Mapping):
        body = body.get("error") or body.get("message") or ""
    return body if isinstance(body, str) else ""


def _in_one_line(text: str, mask: Mask) -> str:
    return mask(with_marks(" ".join(mask(text).split())))


def reason(error: BaseException, mask: Mask) -> str:
    """Why an answer could not be used."""
    cause = error.__cause__
    retry = getattr(cause, "tool_retry", None)
    return complaint(retry.content if retry is not None else cause or error, mask)


def complaint(content: object, mask: Mask) -> str:
    """The library's description of what is wrong with an answer, in one line of bounded length."""
    if isinstance(content, list):
        content = "; ".join(map(_detail, content))
    return _in_one_line(str(content), mask)[:LONGEST_REASON]


def _detail(problem: Mapping[str, Any]) -> str:
    place = ".".join(map(str, problem.get("loc", ())))
    return f"{place}: {problem.get('msg', '')}" if place else str(problem.get("msg", ""))
