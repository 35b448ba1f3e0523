"""What an agent was given before it wrote, as the log of its recalls and briefings tells."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from memories.agents import canonical, canonical_agent
from memories.models import RecallActivity

SESSION_DAYS: Final = 30
WITHOUT_A_SESSION: Final = timedelta(hours=6)
MOST_LINES: Final = 50
MOST_GIVEN: Final = 100


def given_before(*, user_id: int, agent: str, session: str, at: datetime) -> list[UUID]:
    """The latest first: of the same session, or where none is named of the same agent within some hours."""
    lines = RecallActivity.objects.filter(user=user_id, at__lte=at, outcome=RecallActivity.Outcome.HITS)
    if session:
        lines = lines.filter(session=session, at__gte=at - timedelta(days=SESSION_DAYS))
    else:
        lines = lines.alias(called=canonical()).filter(called=canonical_agent(agent), at__gte=at - WITHOUT_A_SESSION)
    latest = lines.order_by("-at", "-pk").values_list("memories", flat=True)[:MOST_LINES]
    return list(dict.fromkeys(memory for memories in latest for memory in memories))[:MOST_GIVEN]
