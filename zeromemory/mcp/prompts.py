"""Prompts that people start from their client."""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from pydantic import Field


def register(server: MCPServer) -> None:
    server.prompt(name="briefing", title="Begin with what is known")(briefing)
    server.prompt(name="triage", title="Go through the doubts")(triage)
    server.prompt(name="receipt", title="Report what helped")(receipt)


def briefing(topic: Annotated[str, Field(description="What the work is about.")] = "") -> str:
    """Begin a session with what is known about its topic."""
    about = f" with this topic: {topic}" if topic else ""
    return (
        f"Call build_context{about}. Follow the standing rules in it, tell me in a few lines what matters for this "
        "work and which loops are open, and then ask me how to go on."
    )


def triage(scope: Annotated[str, Field(description="Name of a scope; all that can be read if left out.")] = "") -> str:
    """Look through the doubts that wait, and prepare decisions."""
    where = f" in the scope {scope}" if scope else ""
    return (
        f"Call list_conflicts{where} and get_conflict for each of the oldest ten. For each, tell me both sides in a "
        "sentence, which one you think holds and why. Settle nothing before I say so; without a token made for "
        "settling, I decide in the inbox."
    )


def receipt(session: Annotated[str, Field(description="The name of the session.")]) -> str:
    """End a session by reporting what its memories were worth."""
    return (
        f"Call session_receipt for the session {session}. For each unreported memory that the work relied on, call "
        "mark_used with useful, or with misled where it was wrong; leave the others alone. Then remember what was "
        "decided or learned and is not written yet, one statement each, with what it replaces."
    )
