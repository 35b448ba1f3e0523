"""The lines of the list as people see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memories.headlines import headline
from reflections.inbox.bulk import VERBS, Verb, numbered
from reflections.inbox.listing import MOST_AT_ONCE, Listing
from reflections.inbox.registry import DECIDED, SNOOZED, WAITING, Entry, Item, Tally
from reflections.inbox.sources import all_sources
from reflections.inbox.wording import DONE, REASONS
from reflections.presentation import counted
from reflections.wording import day

# The acts that are offered for many, by tab.
OFFERED = {
    WAITING: ("keep_both", "proposed", "newer", "uphold", "dismiss", "promote", "decline", "snooze"),
    SNOOZED: ("undo",),
    DECIDED: ("undo",),
}


def lines_of(entries: Iterable[Entry], listing: Listing, scopes: Mapping[int, str]) -> list[dict[str, Any]]:
    words = {type: word for source in all_sources() for type, word in source.types.items()}
    return [_line(entry, listing, scopes, words) for entry in entries]


def _line(entry: Entry, listing: Listing, scopes: Mapping[int, str], words: Mapping[str, str]) -> dict[str, Any]:
    return {
        "item": entry.item,
        "href": listing.link(item=entry.item.name),
        "type": words[entry.type],
        "kind": entry.kind,
        "scope": scopes[entry.scope],
        "when": entry.decided if listing.tab == DECIDED else entry.since,
        "confidence": None if entry.confidence is None else f"{entry.confidence:.2f}",
        "title": headline(entry.title),
        "reason": _outcome(entry, listing.tab) or entry.reason or REASONS.get(entry.type, ""),
        "may_select": entry.scope in listing.actor.writable,
    }


def _outcome(entry: Entry, tab: str) -> str:
    if tab == SNOOZED and entry.until:
        return f"Until {day(entry.until)}"
    if tab == DECIDED:
        return f"{DONE.get(entry.outcome, entry.outcome)} · {entry.decider or 'by itself'}"
    return ""


def spoken_total(tab: str, total: int) -> str:
    """What the list announces."""
    if tab == WAITING:
        return f"{counted(total, 'item')} {'waits' if total == 1 else 'wait'} for you"
    return f"{counted(total, 'item')} {tab}"


def all_selected(total: int) -> str:
    """What ticking everything says: how many that are."""
    if total > MOST_AT_ONCE:
        return f"The first {MOST_AT_ONCE} of {total:,} selected"
    return f"All {total:,} selected"


def left_over(selected: int) -> str:
    """What one act leaves for the next, where more is selected than it holds."""
    if selected <= MOST_AT_ONCE:
        return ""
    return f"One act holds {MOST_AT_ONCE} items: these are the first of {selected:,}, the others wait for the next one."


def verbs_of(tab: str) -> list[tuple[str, Verb]]:
    return [(name, VERBS[name]) for name in OFFERED[tab]]


def emptiness(listing: Listing) -> dict[str, str]:
    """Why the list is empty, and what to do next."""
    if listing.is_filtered:
        return {
            "title": "Nothing under these filters",
            "text": "Choose another value above, or drop the filters.",
            "href": listing.link(type="", scope="", kind=""),
            "action": "Show everything",
        }
    texts = {
        WAITING: (
            "Nothing waits for you",
            "The hygiene cycle looks for duplicates, contradictions, memories that misled and episodes that belong "
            "together. What it cannot settle comes here.",
        ),
        SNOOZED: ("Nothing is snoozed", "A snoozed item comes back by itself on its day."),
        DECIDED: ("Nothing is decided yet", "Every decision stands here, and each can be undone."),
    }
    title, text = texts[listing.tab]
    return {"title": title, "text": text}


# Many at once --------------------------------------------------------------------------------


def told_before(verb: str, tally: Tally) -> str:
    """``Would keep both of 12 pairs; 3 items are skipped.``"""
    return _told(f"Would {VERBS[verb].would}", verb, tally)


def told_after(verb: str, tally: Tally) -> str:
    return _told(VERBS[verb].did, verb, tally)


def _told(words: str, verb: str, tally: Tally) -> str:
    said = words.format(numbered(len(tally.done), VERBS[verb].of))
    if tally.skipped:
        n = len(tally.skipped)
        said += f"; {counted(n, 'item')} {'is skipped: it is' if n == 1 else 'are skipped: they are'} of another sort"
    if tally.failed:
        said += f"; {counted(len(tally.failed), 'item')} {_cannot(verb, words)}"
    return f"{said}."


def _cannot(verb: str, words: str) -> str:
    return "cannot be done" if words.startswith("Would") else "could not be done"


def packed(items: Iterable[Item]) -> str:
    return ",".join(map(str, items))
