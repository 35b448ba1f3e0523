"""A model that counts what it costs, keeps what it said, and is asked again after a short wait when it is busy."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
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
NOT_SENT: Final = ("pool", "connect")  # the phases before a request is on its way
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
        size = _characters_of(messages) + len(repr(model_request_parameters.output_tools))
        waits = iter(WAITS)
        while True:
            self._spent.requests += 1
            try:
                response = await super().request(messages, model_settings, model_request_parameters)
                return self._counted(response, size)
            except asyncio.CancelledError:  # the time is up, but the server may go on for our money
                self._count_unreported(size)
                raise
            except ModelAPIError as error:
                if _may_have_cost(error):
                    self._count_unreported(size)
                if not isinstance(error, PASSING):
                    raise
                await asyncio.sleep(_pause(error, waits))
            except UnexpectedModelBehavior:
                self._count_unreported(size)
                raise
            except UNREADABLE as error:
                self._count_unreported(size)
                raise UnexpectedModelBehavior(f"no answer of the protocol: {error}") from error

    def _count_unreported(self, size: int) -> None:
        """A request of so many characters that was sent, and whose answer says nothing about what it cost."""
        self._spent.add(read=self._spent.tokens(0, size), written=0)

    def _counted(self, response: ModelResponse, size: int) -> ModelResponse:
        response = replace(response, parts=[_as_json(part) for part in response.parts])
        read = self._spent.tokens(response.usage.input_tokens, size)
        self._spent.add(read=read, written=self._spent.tokens(response.usage.output_tokens, _characters_of([response])))
        self._spent.raw.append(self._mask(_storable(said(response)))[:LONGEST_RAW])
        return response


def _may_have_cost(error: ModelAPIError) -> bool:
    """Whether the request was sent and not turned away with a status: its answer broke off or cannot be read."""
    return not isinstance(error, ModelHTTPError) and getattr(error, "phase", None) not in NOT_SENT


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


def _characters_of(messages: Sequence[ModelMessage]) -> int:
    """Of what is said in them, and of the instructions, which are sent once."""
    parts = [str(part) for message in messages for part in map(_said_in, message.parts)]
    instructions = getattr(messages[-1], "instructions", None) or ""
    return len(instructions) + sum(map(len, parts))


def _said_in(part: object) -> object:
    return getattr(part, "content", None) or getattr(part, "args", None) or ""


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
