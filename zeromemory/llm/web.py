"""One request with the provider's web search, and the pages in its answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pydantic_ai import exceptions as library
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    Citation,
    ContentCitationAnchor,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    UserPromptPart,
    WebCitationSource,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.settings import ModelSettings

from zeromemory.llm.choice import ModelChoice
from zeromemory.llm.contracts import Finding
from zeromemory.llm.conversation import MOST_ANSWER_TOKENS, client_of
from zeromemory.llm.errors import SearchUnsupported
from zeromemory.llm.failures import OF_THE_REQUEST, Failure
from zeromemory.llm.fencing import Fence
from zeromemory.llm.patience import PatientModel
from zeromemory.llm.providers import model_of
from zeromemory.llm.searching import Found, LookUp

MOST_FINDINGS: Final = 12
LONGEST_FINDING: Final = 2000  # characters
LONGEST_NAME: Final = 500  # characters of a title; longer addresses are left out, since a cut one leads elsewhere
REFUSING: Final = (*OF_THE_REQUEST, 403, 404)  # statuses of a provider that does not know the search or may not use it
_ABOUT_SEARCH: Final = re.compile(r"web.?search|\btools?\b", re.IGNORECASE)
_PAGE: Final = re.compile(r"https?://\S+")


def look_up(question: LookUp, choice: ModelChoice, failure: Failure) -> Found:
    """Counts into what *failure* has spent. Raises SearchUnsupported, or another ModelError."""
    with ThreadPoolExecutor(1, "model") as thread:  # as in ``converse``: the caller's may have a loop that runs
        return thread.submit(asyncio.run, _look_up(question, choice, failure)).result()


async def _look_up(question: LookUp, choice: ModelChoice, failure: Failure) -> Found:
    try:
        async with asyncio.timeout(choice.timeout), client_of(choice) as client:
            response = await _asked(question, model_of(choice, client), choice, failure)
    except TimeoutError as error:
        raise failure.of_time() from error
    except (library.AgentRunError, library.UserError) as error:
        if _is_about_search(error):
            raise unsupported(choice, failure) from error
        raise failure.of(error) from error
    return found_in(response, question.most_searches)


async def _asked(question: LookUp, model: Model, choice: ModelChoice, failure: Failure) -> ModelResponse:
    tool = _tool_of(model, question.most_searches)
    if tool is None:
        raise unsupported(choice, failure)
    fence = Fence.around(question.texts())
    request = ModelRequest(
        parts=[UserPromptPart(question.prompt(fence))], instructions=f"{question.instructions}\n\n{fence.declaration}"
    )
    return await model_request(
        PatientModel(model, failure.spent, failure.reasons, failure.mask),
        [request],
        model_settings=_settings(model, question.most_searches),
        model_request_parameters=ModelRequestParameters(native_tools=[tool]),
    )


def _tool_of(model: Model, most: int) -> WebSearchTool | None:
    """With the limit where the provider takes one; None where it has no search of its own."""
    if WebSearchTool not in model.profile.get("supported_native_tools", frozenset()):
        return None
    limited = WebSearchTool(max_uses=most)
    return WebSearchTool() if model.unsupported_native_tool_settings(limited) else limited


def _settings(model: Model, most: int) -> ModelSettings:
    settings = ModelSettings(max_tokens=MOST_ANSWER_TOKENS, max_retries=0)
    if isinstance(model, OpenAIResponsesModel):  # which limits the calls of a whole answer, not of one tool
        settings["extra_body"] = {"max_tool_calls": most}
    return settings


def unsupported(choice: ModelChoice, failure: Failure) -> SearchUnsupported:
    message = f"{choice.name} has no web search that can be used. Name a model whose provider has one."
    return SearchUnsupported(message, provider=choice.provider, spent=failure.spent)


def _is_about_search(error: Exception) -> bool:
    """Whether a server refuses the search rather than the question."""
    status = getattr(error, "status_code", None)
    said = f"{getattr(error, 'body', '')} {error}"
    return status in REFUSING and bool(_ABOUT_SEARCH.search(said))


# What it brought -----------------------------------------------------------------------------


def found_in(response: ModelResponse, most: int) -> Found:
    """The pages that were cited, then those that were only listed; each once."""
    calls = [part for part in response.parts if isinstance(part, NativeToolCallPart) and _is_search(part)]
    returns = [part for part in response.parts if isinstance(part, NativeToolReturnPart) and _is_search(part)]
    pages: dict[str, Finding] = {}
    for finding in (*_cited(response), *_listed(returns)):
        known = pages.get(finding.url)
        pages[finding.url] = _joined(known, finding) if known else finding
    return Found(
        findings=tuple(pages.values())[:MOST_FINDINGS],
        searches=len(calls),
        is_cut_off=response.state == "suspended" or len(calls) > most or any(map(_ran_out, returns)),
    )


def _is_search(part: NativeToolCallPart | NativeToolReturnPart) -> bool:
    return part.tool_name == WebSearchTool.kind


def _ran_out(part: NativeToolReturnPart) -> bool:
    """The provider refused a search, because there had been as many as it was allowed."""
    return isinstance(part.content, dict) and part.content.get("error_code") == "max_uses_exceeded"


def _cited(response: ModelResponse) -> Iterator[Finding]:
    for part in response.parts:
        if not isinstance(part, TextPart):
            continue
        for citation in part.citations or ():
            for source in citation.sources:
                if isinstance(source, WebCitationSource):
                    said = "\n".join(source.excerpts) or _sentence(part.content, citation)
                    yield from _finding(source.url, source.title, said)


def _sentence(text: str, citation: Citation) -> str:
    """Where the provider quotes nothing of the page: the line of the answer that rests on it."""
    anchor = citation.anchor
    if not isinstance(anchor, ContentCitationAnchor):
        return text
    begin, end = text.rfind("\n", 0, anchor.start) + 1, text.find("\n", anchor.end)
    return text[begin : end if end >= 0 else len(text)].strip()


def _listed(returns: list[NativeToolReturnPart]) -> Iterator[Finding]:
    for part in returns:
        content: Any = part.content
        rows = content.get("sources", ()) if isinstance(content, dict) else content
        for row in rows if isinstance(rows, list) else ():
            if isinstance(row, dict):
                yield from _finding(row.get("url"), row.get("title"), "")


def _finding(url: object, title: object, text: str) -> Iterator[Finding]:
    if isinstance(url, str) and _PAGE.fullmatch(url) and len(url) <= LONGEST_NAME:
        yield Finding(url=url, title=str(title or "")[:LONGEST_NAME], text=text[:LONGEST_FINDING])


def _joined(one: Finding, more: Finding) -> Finding:
    if more.text in one.text:
        return one
    return Finding(url=one.url, title=one.title or more.title, text=f"{one.text}\n{more.text}"[:LONGEST_FINDING])
