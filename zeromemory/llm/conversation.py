"""The exchange with a model: structured answers, bounded retries, one time limit over everything."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import httpx2
from pydantic_ai import Agent, ModelRetry, ToolOutput
from pydantic_ai import exceptions as library
from pydantic_ai.settings import ModelSettings

from zeromemory.llm.choice import ModelChoice
from zeromemory.llm.contract import Contract, Output, UnusableAnswer
from zeromemory.llm.errors import Mask
from zeromemory.llm.failures import Failure
from zeromemory.llm.fencing import Fence
from zeromemory.llm.patience import PatientModel
from zeromemory.llm.providers import model_of

if TYPE_CHECKING:
    from ssl import SSLContext

CONNECT_SECONDS: Final = 5.0
MORE_TRIES: Final = 2  # after an answer that cannot be used
MOST_ANSWER_TOKENS: Final = 8192  # of one answer, thinking included


def converse[T: Output](question: Contract[T], choice: ModelChoice, failure: Failure) -> T:
    """Counts into what *failure* has spent as it goes, so that it knows its cost. Raises a ModelError."""
    # A thread of its own, because the caller's may have a loop that runs: then none can be started there.
    with ThreadPoolExecutor(1, "model") as thread:
        return thread.submit(asyncio.run, _converse(question, choice, failure)).result()


async def _converse[T: Output](question: Contract[T], choice: ModelChoice, failure: Failure) -> T:
    fence = question.fence()
    try:
        async with (
            asyncio.timeout(choice.timeout),
            client_of(choice) as client,
        ):
            model = PatientModel(model_of(choice, client), failure.spent, failure.reasons, failure.mask)
            answer: Any = await _agent(question, model, fence, failure.mask).run(
                question.prompt(fence), infer_name=False
            )
            return answer.output  # type: ignore[no-any-return]  # the agent was built for this contract
    except TimeoutError as error:
        raise failure.of_time() from error
    except (library.AgentRunError, library.UserError) as error:
        raise failure.of(error) from error


def client_of(choice: ModelChoice) -> httpx2.AsyncClient:
    timeout = httpx2.Timeout(choice.timeout, connect=min(CONNECT_SECONDS, choice.timeout))
    return httpx2.AsyncClient(timeout=timeout, verify=_certificates())


@cache
def _certificates() -> SSLContext:
    """Read once: reading them takes longer than a question that a server nearby answers."""
    return httpx2.create_ssl_context()


def _agent[T: Output](question: Contract[T], model: PatientModel, fence: Fence, mask: Mask) -> Agent[None, Any]:
    agent: Agent[None, Any] = Agent(
        model,
        output_type=ToolOutput(question.output, name="answer", description="Your answer."),
        instructions=f"{question.instructions}\n\n{fence.declaration}",
        retries=MORE_TRIES,
        model_settings=ModelSettings(max_tokens=MOST_ANSWER_TOKENS, max_retries=0),
    )

    @agent.output_validator
    def accept(value: T) -> T:
        said = value.model_dump_json()
        if mask(said) != said:
            raise ModelRetry("The answer holds a secret, such as a key or a password. Answer without it.")
        try:
            return question.accepted(value, fence)
        except UnusableAnswer as problem:
            raise ModelRetry(str(problem)) from problem

    return agent
