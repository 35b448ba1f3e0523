"""Tools of scopes that decay: how one stands, and a cycle of it."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer

from memories.access import Actor, write_target
from memories.decaying import statistics
from memories.models import RetentionCycle, RetentionPolicy
from memories.models import Scope as ScopeRow
from memories.services.retention import preview
from reflections.consolidation import start
from zeromemory.mcp.calling import RETIRES, Said, tool
from zeromemory.mcp.memory_tools import Scope
from zeromemory.mcp.shapes import Started


def register(server: MCPServer) -> None:
    tool(server, title="Let a scope forget", gives=Started, manners=RETIRES)(consolidate)


def consolidate(actor: Actor, scope: Scope = None) -> Said:
    """Start a cycle of a decaying scope: weights fall with time since last use, what is hardly used is summarised, and
    what nobody asked for goes into the archive, from where a person can restore it; it is deleted for good where the
    scope's policy says so. Runs in the background; dropped where one runs already. describe_scope tells the outcome."""
    found = write_target(actor, scope)
    asked = start(actor=actor, scope=found, trigger=RetentionCycle.Trigger.AGENT)
    return Said({"scope": found.slug, "started": asked.is_started, "message": asked.said}, asked.said)


def retention_of(scope: ScopeRow | None) -> dict[str, Any] | None:
    """For ``describe_scope``; None where nothing decays."""
    if scope is None or scope.retention != ScopeRow.Retention.DECAYING:
        return None
    told, rule = statistics(scope), RetentionPolicy.of(scope).rule
    return {
        "all": told.all,
        "tombstones": told.tombstones,
        "archived": told.archived,
        "average_weight": told.average_weight,
        "recalls": told.recalls,
        "half_life_hours": rule.half_life_hours,
        "threshold": rule.threshold,
        "last_cycle": told.last_cycle.finished_at if told.last_cycle else None,
        "would_leave": preview(scope, rule=rule).count(),
    }
