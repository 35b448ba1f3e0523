"""What a provider's own web search adds to an answer: the blocks of its calls, of their results and of its citations.

A scripted reply that searched::

    model_server.will(searched(page("https://example.org/a", says="Version 5 is out.")), verdict)
    model_server.will(searched(ran_out=True))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

RESPONSES = "openai-responses"


@dataclass(frozen=True)
class Page:
    url: str
    title: str
    says: str  # what the answer cites of it; nothing where it is only listed


@dataclass(frozen=True)
class Web:
    """``searches`` that were made, the last of them refused when ``ran_out``; ``is_paused`` puts the answer off."""

    pages: tuple[Page, ...] = ()
    searches: int = 1
    ran_out: bool = False
    is_paused: bool = False


def page(url: str = "https://tides.example.org/releases", title: str = "Releases", says: str = "It holds.") -> Page:
    return Page(url, title, says)


def anthropic_blocks(web: Web) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for number in range(web.searches):
        name, is_last = f"srvtoolu_{number}", number == web.searches - 1
        query = {"query": f"query {number}"}
        blocks.append({"type": "server_tool_use", "id": name, "name": "web_search", "input": query})
        content: Any = _results(web.pages) if number == 0 else []
        if web.ran_out and is_last:
            content = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
        blocks.append({"type": "web_search_tool_result", "tool_use_id": name, "content": content})
    blocks += [_cited_block(one) for one in web.pages if one.says]
    return blocks


def _results(pages: tuple[Page, ...]) -> list[dict[str, Any]]:
    return [
        {
            "type": "web_search_result",
            "url": one.url,
            "title": one.title,
            "encrypted_content": "c2VhbGVk",
            "page_age": "2 days ago",
        }
        for one in pages
    ]


def _cited_block(one: Page) -> dict[str, Any]:
    citation = {
        "type": "web_search_result_location",
        "url": one.url,
        "title": one.title,
        "encrypted_index": "c2VhbGVk",
        "cited_text": one.says,
    }
    return {"type": "text", "text": f"A page says: {one.says}", "citations": [citation]}


def responses_items(web: Web) -> list[dict[str, Any]]:
    calls = [
        {
            "type": "web_search_call",
            "id": f"ws_{number}",
            "status": "completed",
            "action": {"type": "search", "query": f"query {number}"},
        }
        for number in range(web.searches)
    ]
    lines = [f"{one.says} ([{one.title}]({one.url}))" for one in web.pages if one.says]
    text, start, annotations = "\n".join(lines), 0, []
    for one, line in zip([one for one in web.pages if one.says], lines, strict=True):
        begin = start + len(one.says) + 1
        annotations.append(
            {
                "type": "url_citation",
                "url": one.url,
                "title": one.title,
                "start_index": begin,
                "end_index": start + len(line),
            }
        )
        start += len(line) + 1
    return [*calls, responses_message(text or "Nothing was found.", annotations)]


def responses_message(text: str, annotations: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    said = {"type": "output_text", "text": text, "annotations": annotations or [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [said]}
