"""A model that counts what it costs, keeps what it said, and is asked again after a short wait when it is busy."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from zeromemory.llm.errors import Mask, Spent
from zeromemory.llm.failures import complaint

WAITS: Final = [0.5, 2.0]  # seconds before the second and the third request
LONGEST_WAIT: Final = 15.0  # seconds; a provider that asks for more is not waited for
LONGEST_RAW: Final = 8000  # characters kept of one answer
PASSING: Final = (ModelRateLimitError, ModelServerError, ModelUnavailableError, ModelConnectionError)
# what the library raises while it reads a body that is well-formed and no answer of the protocol
UNREADABLE: Final = (TypeError, ValueError, AttributeError, LookupError)


class PatientModel(WrapperModel):
    def __init__(self, wrapped: Model, spent: Spent, reasons: list[str], mask: Mask) -> None:
        super().__init__(wrapped)
        self._spent = spent
        self._reasons = reasons
        self._mask = mask

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        if len(messages) > 1:
            self._reasons.append(_complaints(messages[-1], self._mask))
        waits = iter(WAITS)
        while True:
            self._spent.requests += 1
            try:
                response = await super().request(messages, model_settings, model_request_parameters)
                return self._counted(response)
            except PASSING as error:
                await asyncio.sleep(_pause(error, waits))
            except UNREADABLE as error:
                raise UnexpectedModelBehavior(f"no answer of the protocol: {error}") from error

    def _counted(self, response: ModelResponse) -> ModelResponse:
        response = replace(response, parts=[_as_json(part) for part in response.parts])
        self._spent.input_tokens += response.usage.input_tokens
        self._spent.output_tokens += response.usage.output_tokens
        self._spent.raw.append(self._mask(_storable(said(response)))[:LONGEST_RAW])
        return response


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
            pieces.append(str(part.args))
    return "\n".join(piece for piece in pieces if piece)


def _storable(text: str) -> str:
    """Without the two kinds of character that no database keeps."""
    return text.replace("\x00", "⟦U+0000⟧").encode(errors="replace").decode()


def _as_json(part: ModelResponsePart) -> ModelResponsePart:
    """Arguments as JSON text, as every protocol could carry them back: they are then checked in one way."""
    if not isinstance(part, ToolCallPart) or isinstance(part.args, str):
        return part
    return replace(part, args=json.dumps(_sendable(part.args), ensure_ascii=False))


def _sendable(value: Any) -> Any:
    """Without the numbers and half characters that JSON in UTF-8 has no place for."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_sendable(name): _sendable(held) for name, held in value.items()}
    return [_sendable(held) for held in value] if isinstance(value, list) else value


def _complaints(last: ModelMessage, mask: Mask) -> str:
    """Why the answer before could not be used, as it is told to the model."""
    return "; ".join(complaint(getattr(part, "content", ""), mask) for part in last.parts)
