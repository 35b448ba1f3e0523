"""Why a list of drafts is empty, and what to do next."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from memories.models import Memory
from reflections import configuration
from reflections.listing import Listing
from reflections.models import Run
from reflections.presentation import counted
from zeromemory.embedding import EmbedderError, get_embedder


def emptiness(listing: Listing) -> dict[str, Any]:
    """``{title, text, href?, action?}`` for the empty state of a tab."""
    if listing.after:
        return {
            "title": "That is all",
            "text": "No more drafts follow.",
            "href": listing.link(),
            "action": "Back to the first ones",
        }
    if listing.tab != "pending":
        return _nothing_decided(listing.tab)
    if not _has_embedder():
        return {
            "title": "Nothing can be compared",
            "text": "Clusters are found by meaning, and no embedder is at work. Set ZEROMEMORY_EMBEDDER and restart.",
        }
    return _no_drafts(listing)


def _has_embedder() -> bool:
    try:
        return get_embedder() is not None
    except EmbedderError:
        return False


def _nothing_decided(tab: str) -> dict[str, Any]:
    texts = {
        "snoozed": ("Nothing is snoozed", "A snoozed draft comes back by itself on its day."),
        "approved": ("Nothing is approved yet", "What you approve stands here, with the memory it became."),
        "dismissed": ("Nothing is dismissed", "Dismissed drafts stand here; undo brings one back."),
    }
    title, text = texts[tab]
    return {"title": title, "text": text}


def _no_drafts(listing: Listing) -> dict[str, Any]:
    episodes = Memory.objects.live().visible_to(listing.actor).filter(kind="episode")
    if listing.scope:
        episodes = episodes.filter(scope=listing.scope)
    total = episodes.count()
    if not total:
        return {
            "title": "No episodes yet",
            "text": "An episode is what happened at one time: a commit, a session, an incident. Agents store them, and "
            "import_memories turns a repository's history into them. Drafts come from episodes that resemble each "
            "other.",
            "href": reverse("memory_list"),
            "action": "See what is stored",
        }
    free = episodes.filter(candidacy__isnull=True)
    waiting = free.filter(embedded_at__isnull=True).count()
    looked = Run.objects.asked_for_by(listing.actor.user).filter(state=Run.State.DONE).exists()
    return {
        "title": "No draft waits for you",
        "text": " ".join(filter(None, [_looked(free.count(), total, looked), _still_waiting(waiting), _rule()])),
    }


def _looked(free: int, total: int, looked: bool) -> str:
    if not free:
        return f"All {counted(total, 'episode')} went into drafts already."
    if not looked:
        return f"Nobody has looked through the {counted(free, 'episode')} yet: find clusters now."
    return f"{free:,} of {counted(total, 'episode')} are in no draft, and the last search found no cluster among them."


def _still_waiting(waiting: int) -> str:
    return f"{counted(waiting, 'episode')} still wait to be embedded." if waiting else ""


def _rule() -> str:
    rule = configuration.cluster_rule()
    return (
        f"A cluster is at least {rule.min_members} episodes of one owner in one scope, joined by a shared entity and a "
        f"similarity from {rule.cosine_min:g} to below {rule.cosine_max:g}."
    )
