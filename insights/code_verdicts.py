"""What the hygiene cycle last found of the code of memories. Counts of then: no verdict is taken from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse

from insights.charts import Cell, Chart, Table, drawn
from insights.words import count, percent
from memories.access import Actor, readable_scopes
from memories.code.verdicts import DEMOTING, Verdict
from memories.models import Anchor, CodeLook, Memory, Scope
from memories.presentation import scope_names

UNREAD: Final = "unread"
# What could be told, those that demote first; of the others nobody knows anything, so they are no part of a share.
KNOWN: Final = (
    Verdict.CHANGED, Verdict.GONE, Verdict.UNCHANGED, Verdict.COSMETIC, Verdict.MOVED, Verdict.RENAMED,
    Verdict.AMBIGUOUS,
)  # fmt: skip
COLUMNS: Final = (
    "Repository", "Scope", "Read", *(str(verdict).capitalize() for verdict in KNOWN), "Could not be checked",
    "Not reached",
)  # fmt: skip

type Page = Callable[..., str]
"""From a repository and a verdict, or none, to the anchors that were counted."""


@dataclass(frozen=True, slots=True)
class CodeVerdicts:
    """``looks`` go by repository and scope, each with the name of its scope; ``anchors`` are those in force where
    nobody has looked yet."""

    looks: tuple[tuple[CodeLook, str], ...]
    anchors: int = 0

    @property
    def counts(self) -> Counter[str]:
        return sum((Counter(look.verdicts) for look, _ in self.looks), Counter())

    @property
    def known(self) -> int:
        return sum(self.counts[verdict] for verdict in KNOWN)

    @property
    def stale(self) -> int:
        return sum(self.counts[verdict] for verdict in DEMOTING)

    @property
    def oldest_at(self) -> datetime | None:
        return min((look.at for look, _ in self.looks), default=None)

    @property
    def repositories(self) -> set[str]:
        return {look.repository for look, _ in self.looks}


def code_verdicts(*, actor: Actor, scope: Scope | None = None) -> CodeVerdicts:
    """Of all the actor may read, or of one readable *scope*. Two queries, and one more where nobody has looked yet."""
    readable = readable_scopes(actor)
    names = scope_names(readable)
    chosen = [row.pk for row in readable if scope is None or row.pk == scope.pk]
    looks = CodeLook.objects.visible_to(actor).filter(scope__in=chosen).order_by("repository", "scope__slug")
    found = tuple((look, names[look.scope_id]) for look in looks)
    if found:
        return CodeVerdicts(found)
    live = Memory.objects.live().visible_to(actor).in_scopes(chosen)
    return CodeVerdicts((), Anchor.objects.filter(memory__in=live, retired_at=None).count())


def anchored_at(repository: str, verdict: str = "") -> str:
    asked = f"?{urlencode({'verdict': verdict})}" if verdict else ""
    return reverse("repository_detail", args=[repository]) + asked


def verdict_chart(found: CodeVerdicts, page: Page) -> Chart:
    """Shares of what could be told. A bar leads to the anchors where they are all of one repository."""
    only = next(iter(found.repositories)) if len(found.repositories) == 1 else ""
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": [str(verdict) for verdict in KNOWN],
        "x": [found.counts[verdict] / found.known for verdict in KNOWN],
        "text": [_share_of(found, verdict) for verdict in KNOWN],
        "textposition": "outside",
        "cliponaxis": False,
        "customdata": [page(only, verdict) if only and found.counts[verdict] else "" for verdict in KNOWN],
        "hovertemplate": "%{y}: %{text}<extra></extra>",
        "meta": {"colour": ["chart-2" if verdict in DEMOTING else "chart-1" for verdict in KNOWN]},
    }
    layout: dict[str, Any] = {
        "height": 32 * len(KNOWN) + 32,
        "xaxis": {"range": [0, 1.6], "tickvals": [0, 0.5, 1], "ticktext": ["0", "50 %", "100 %"]},
        "yaxis": {"autorange": "reversed"},
    }
    return Chart(
        title="Does the code still say what it said?",
        n=f"{count(found.known, 'anchor')} that could be read",
        summary=_said(found),
        figure=drawn([bars], layout),
        table=verdict_table(found, page),
        full=True,
    )


def verdict_table(found: CodeVerdicts, page: Page) -> Table:
    return Table(COLUMNS, tuple(_row(look, scope, page) for look, scope in found.looks))


def _row(look: CodeLook, scope: str, page: Page) -> tuple[Cell, ...]:
    counted = [_count(look, str(verdict), page) for verdict in (*KNOWN, Verdict.UNKNOWN)]
    unread = look.verdicts.get(UNREAD, 0)
    return (
        Cell(look.repository, look.repository, page(look.repository)),
        Cell(scope, scope),
        Cell(f"{look.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC", look.at.isoformat()),
        *counted,
        Cell(count(unread), unread),
    )


def _count(look: CodeLook, verdict: str, page: Page) -> Cell:
    number = look.verdicts.get(verdict, 0)
    return Cell(count(number), number, page(look.repository, verdict) if number else "")


def _share_of(found: CodeVerdicts, verdict: str) -> str:
    number = found.counts[verdict]
    return f"{percent(number / found.known)} ({count(number)})" if number else "none"


def _said(found: CodeVerdicts) -> str:
    parts = [f"{verdict} {_share_of(found, verdict)}" for verdict in KNOWN if found.counts[verdict]]
    return f"Share of the anchors whose code could be read. {'; '.join(parts) or 'None could be read'}."
