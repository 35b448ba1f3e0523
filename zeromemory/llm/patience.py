"""A model that counts what it costs, keeps what it said, and is asked again after a short wait when it is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryFeedbackPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from zeromemory.llm.errors import Spent
from zeromemory.llm.failures import complaint

WAITS: Final = [0.5, 2.0]  # seconds before the second and the third request
LONGEST_WAIT: Final = 15.0  # seconds; a provider that asks for more is not waited for
LONGEST_RAW: Final = 8000  # characters kept of one answer
PASSING: Final = (ModelRateLimitError, ModelServerError, ModelUnavailableError, ModelConnectionError)


class PatientModel(WrapperModel):
    def __init__(self, wrapped: Model, spent: Spent, reasons: list[str]) -> None:
        super().__init__(wrapped)
        self._spent = spent
        self._reasons = reasons

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        self._reasons.extend(_complaints(messages))
        waits = iter(WAITS)
        while True:
            self._spent.requests += 1
            try:
                response = await super().request(messages, model_settings, model_request_parameters)
            except PASSING as error:
                await asyncio.sleep(_pause(error, waits))
            else:
                self._count(response)
                return response

    def _count(self, response: ModelResponse) -> None:
        self._spent.input_tokens += response.usage.input_tokens
        self._spent.output_tokens += response.usage.output_tokens
        self._spent.raw.append(said(response)[:LONGEST_RAW])


def _pause(error: ModelAPIError, waits: Iterator[float]) -> float:
    """Seconds until the next request. Raises *error* when there is to be none."""
    ours = next(waits, None)
    theirs = error.retry_after or 0.0
    if ours is None or theirs > LONGEST_WAIT or isinstance(error, ModelTimeoutError):
        raise error
    return max(ours, theirs)


def said(response: ModelResponse) -> str:
    """What a response says: its text and the arguments of its calls, without thinking."""
    pieces = []
    for part in response.parts:
        if isinstance(part, TextPart):
            pieces.append(part.content)
        elif isinstance(part, ToolCallPart):
            pieces.append(part.args if isinstance(part.args, str) else part.args_as_json_str())
    return "\n".join(piece for piece in pieces if piece)


def _complaints(messages: list[ModelMessage]) -> Iterator[str]:
    """Why the last answer could not be used, as it is told to the model."""
    last = messages[-1]
    for part in last.parts if isinstance(last, ModelRequest) else ():
        if isinstance(part, RetryFeedbackPart) or (isinstance(part, ToolReturnPart) and part.outcome == "retried"):
            yield complaint(part.content)
