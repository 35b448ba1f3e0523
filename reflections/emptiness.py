"""Why a list of drafts is empty, and what to do next."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from memories import embedding_queue
from memories.models import Memory
from memories.querysets import MemoryQuerySet
from reflections import configuration
from reflections.listing import Listing
from reflections.models import Run
from reflections.presentation import counted
from reflections.services.runs import REFLECTION
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
    episodes = _episodes(listing)
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
    looked = Run.objects.visible_to(listing.actor).filter(steps__name=REFLECTION, state=Run.State.DONE).exists()
    return {
        "title": "No draft waits for you",
        "text": f"{_looked(free.count(), total, looked)} {_rule()}",
    }


def _looked(free: int, total: int, looked: bool) -> str:
    if not free:
        return f"All {counted(total, 'episode')} went into drafts already."
    if not looked:
        return f"Nobody has looked through the {counted(free, 'episode')} yet: find clusters now."
    return f"{free:,} of {counted(total, 'episode')} are in no draft, and the last search found no cluster among them."


def not_embedded(listing: Listing) -> str:
    """What a search for clusters cannot see yet, in a sentence; nothing where it sees all."""
    free = _episodes(listing).filter(candidacy__isnull=True)
    unseen = embedding_queue.waiting(free).count()
    if not unseen:
        return ""
    verb, them = ("is", "it") if unseen == 1 else ("are", "them")
    return (
        f"{unseen:,} of {counted(free.count(), 'episode')} outside drafts {verb} not embedded yet. Clusters are found "
        f"by meaning, so a search cannot see {them}, and what it finds is not complete."
    )


def _episodes(listing: Listing) -> MemoryQuerySet:
    episodes = Memory.objects.live().visible_to(listing.actor).filter(kind="episode")
    return episodes.filter(scope=listing.scope) if listing.scope else episodes


def _rule() -> str:
    rule = configuration.cluster_rule()
    return (
        f"A cluster is at least {rule.min_members} episodes of one owner in one scope, joined by a shared entity and a "
        f"similarity from {rule.cosine_min:g} to below {rule.cosine_max:g}; less will do where they were written "
        "within hours of each other."
    )
