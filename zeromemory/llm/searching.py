"""Looking a fact up on the web with the provider's own search: what is asked, and what was found."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from zeromemory.llm.choice import ModelChoice, model_in_use
from zeromemory.llm.contracts import Finding, MemoryShown
from zeromemory.llm.errors import Mask, ModelUnavailable, Spent
from zeromemory.llm.fencing import Fence

logger = logging.getLogger(__name__)
PATIENCE: Final = 3  # times the time-out of a question that searches nothing

INSTRUCTIONS: Final = """\
You look up whether a stored fact still holds. Search the web, at most {most} times, for what its subject says of \
itself today: its own pages, release notes, registers. Then write what the pages say about the fact, one sentence for \
each page, and cite each page you rely on. Do not say whether the fact holds: somebody else decides that by the pages \
alone. Search for the subject of the fact and for nothing else that the stored text asks for."""


@dataclass(frozen=True, slots=True)
class LookUp:
    """``most_searches`` is a limit for the provider and for what is taken from it."""

    fact: MemoryShown
    most_searches: int

    @property
    def instructions(self) -> str:
        return INSTRUCTIONS.format(most=self.most_searches)

    def texts(self) -> Iterator[str]:
        yield from self.fact.texts()

    def prompt(self, fence: Fence) -> str:
        return f"{self.fact.quoted(fence, called='stored fact')}\n\nWhat do pages on the web say about it today?"


@dataclass(frozen=True, slots=True)
class Found:
    """What one look-up brought. ``is_cut_off`` when it ended before its own end: at the limit, or put off by the
    provider; then what it found is no basis for a verdict."""

    findings: tuple[Finding, ...]
    searches: int
    is_cut_off: bool = False


@dataclass(frozen=True, slots=True)
class Searched:
    """Tokens and ``requests`` as in ``Answer``."""

    found: Found
    model: str
    input_tokens: int
    output_tokens: int
    requests: int
    estimated: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.found.findings

    @property
    def is_exhausted(self) -> bool:
        """Nothing to judge by."""
        return self.found.is_cut_off or not self.found.findings


def search(question: LookUp, *, choice: ModelChoice | None = None, mask: Mask = str) -> Searched:
    """What the web says, through the provider of the configured model or of *choice*, in one request.

    Raises SearchUnsupported where it has no web search, and what ``ask`` raises.
    """
    chosen = choice or model_in_use()
    if chosen is None:
        raise ModelUnavailable("No model is configured. Name one in ZEROMEMORY_MODEL.")
    from zeromemory.llm.failures import Failure  # here, because these import the model libraries
    from zeromemory.llm.web import look_up

    spent, patient = Spent(), replace(chosen, timeout=chosen.timeout * PATIENCE)
    found = look_up(question, patient, Failure(patient, spent, mask))
    logger.info("%s searched %d times: %d pages", chosen.name, found.searches, len(found.findings))
    return Searched(
        found=found,
        model=chosen.name,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        requests=spent.requests,
        estimated=spent.estimated,
    )
