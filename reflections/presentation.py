"""Drafts as people see them: the text with the source of each sentence, the sources beside it, and what may be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from memories.access import Actor
from memories.models import Entity, Memory, Scope
from memories.models.memory import content_hash
from memories.presentation import scope_names
from memories.querysets import OPENING
from reflections.configuration import cluster_rule
from reflections.distil import LOW_CONFIDENCE, SURE
from reflections.forms import DismissForm, EditForm, SnoozeForm
from reflections.models import Candidate, FailedCluster, Run
from reflections.models.candidates import sources_of
from reflections.shared import shared_entities
from reflections.why_none import summed, why_none
from reflections.wording import day
from zeromemory.lib.counting import counted

type Link = Callable[..., str]  # the address of the list with some of its parameters changed

MOST_SHOWN: Final = 8  # shared entities
SHOWN, FOLDED_AT_LEAST = 240, 120  # characters of a source before the fold, and the least that is worth one
# What a draft of either purpose is called, what it was made from, and what its buttons do.
WORDS: Final = {
    "draft": {
        "what": "Draft",
        "made": "drafted",
        "does": "write 1 memory",
        "undoes": "forget the memory, ask again",
        "dismissed": "Dismissed. These episodes will not be proposed again.",
    },
    "summary": {
        "what": "Summary",
        "made": "summarised",
        "does": "retire its sources in its favour",
        "undoes": "forget the summary, restore its sources, ask again",
        "dismissed": "Dismissed. These memories stay as they are, and will not be proposed for a summary again.",
    },
}
STATE_BADGES: Final = {
    "superseded": {"text": "changed since", "tone": "amber"},
    "invalidated": {"text": "forgotten since", "tone": "danger"},
    "archived": {"text": "archived since", "tone": ""},
    "lapsed": {"text": "no longer valid", "tone": "amber"},
}


def approved(candidate: Candidate, memory: Memory) -> str:
    """What an approval did."""
    if candidate.is_summary:
        gone = memory.supersedes.count()
        are = "is" if gone == 1 else "are"
        return f"Approved. Wrote 1 memory, in whose favour {counted(gone, 'source')} {are} retired."
    links = memory.links_out.filter(type="derived_from").count()
    return f"Approved. Wrote 1 memory with {counted(links, 'link')} to its sources."


def undone(candidate: Candidate, *, was_approved: bool) -> str:
    if not was_approved:
        return "Undone. The draft waits again."
    also = ", and what it stood for is restored" if candidate.is_summary else ""
    return f"Undone. The draft waits again, and its memory is forgotten{also}."


def row_of(
    candidate: Candidate, actor: Actor, *, snooze_days: int, listing: str = "", bad: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """One draft; *candidate* comes from ``for_queue()``, *listing* is the query string of the list it stands in.

    *bad* holds the bound forms of a refused action by their names.
    """
    sources = _sources(candidate)
    numbers = {str(source["id"]): source["number"] for source in sources}
    entities = _names(shared_entities(member.memory for member in candidate.members.all()))
    return {
        "candidate": candidate,
        "kind": candidate.kind,
        "words": WORDS[candidate.purpose],
        "scope": candidate.scope.slug,
        "decided_by": candidate.decided_by.get_username() if candidate.decided_by else "",
        "snoozed_until": day(candidate.snoozed_until) if candidate.snoozed_until else "",
        "state": "pending" if candidate.is_open else candidate.state,
        "sentences": _sentences(candidate, numbers),
        "shown": content_hash(candidate.draft),
        "reason": _reason(candidate),
        "sources": sources,
        "shared": [_entity(name, canonical) for canonical, name in entities[:MOST_SHOWN]],
        "shared_more": max(0, len(entities) - MOST_SHOWN),
        "similarity": None if candidate.similarity is None else f"{candidate.similarity:.2f}",
        "confidence": None if candidate.confidence is None else f"{candidate.confidence:.2f}",
        "memory": _memory(candidate),
        "may_decide": candidate.scope_id in actor.writable,
        "snooze_day": day(timezone.now() + timedelta(days=snooze_days)),
        "listing": f"?{listing}" if listing else "",
    } | _forms(candidate, bad or {})


def _forms(candidate: Candidate, bad: Mapping[str, Any]) -> dict[str, Any]:
    fresh = {
        "edit": EditForm(row=candidate.pk, initial={"content": candidate.draft, "kind": candidate.kind}),
        "dismissal": DismissForm(row=candidate.pk),
        "snoozing": SnoozeForm(row=candidate.pk),
    }
    return fresh | dict(bad)


def _sentences(candidate: Candidate, numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    """The draft in pieces, which joined are the draft whole: each sentence with the numbers of the sources that say it.

    Words that belong to no sentence, or to one that names no source, are a piece without numbers.
    """
    pieces: list[dict[str, Any]] = []
    position = 0
    for line in candidate.sentences:
        start = candidate.draft.find(line["text"], position)
        if start < 0 or not line["text"]:
            continue
        said_by = [numbers[source] for source in sources_of(line) if source in numbers]
        pieces += [_piece(candidate.draft[position:start]), _piece(line["text"], sorted(said_by))]
        position = start + len(line["text"])
    pieces.append(_piece(candidate.draft[position:]))
    return [piece for piece in pieces if piece["text"]]


def _piece(text: str, numbers: Sequence[int] = ()) -> dict[str, Any]:
    return {"text": text, "numbers": list(numbers), "unsupported": not numbers and not text.isspace()}


def _reason(candidate: Candidate) -> str:
    if candidate.reason == LOW_CONFIDENCE and candidate.decided_by is None:
        return f"{LOW_CONFIDENCE}: the model was less than {SURE:g} sure, or saw no common outcome."
    return candidate.reason


def _sources(candidate: Candidate) -> list[dict[str, Any]]:
    quotes: dict[str, list[str]] = {}
    for line in candidate.sentences:
        for source in sources_of(line):
            quotes.setdefault(source, []).append(line["text"])
    members = enumerate(candidate.members.all(), start=1)
    return [_source(number, member.memory, quotes.get(str(member.memory_id), [])) for number, member in members]


def _source(number: int, memory: Memory, quotes: Sequence[str]) -> dict[str, Any]:
    opening: str = memory.opening  # type: ignore[attr-defined]  # annotated by for_list()
    shown, rest = _folded(opening, quotes)
    return {
        "id": memory.pk,
        "number": number,
        "url": reverse("memory_detail", args=[memory.pk]),
        "shown": shown,
        "rest": rest,
        "truncated": memory.length > len(opening),  # type: ignore[attr-defined]
        "created_at": memory.created_at,
        "agent": memory.agent,
        "badge": STATE_BADGES.get(memory.state),
    }


def _folded(text: str, quotes: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
    """The beginning as pieces of which some are quoted, and the rest. Every quote is in the beginning."""
    spans = sorted((start, start + len(quote)) for quote in quotes if quote and (start := text.find(quote)) >= 0)
    end = max([_word_end(text), *(stop for _, stop in spans)])
    pieces: list[dict[str, Any]] = []
    position = 0
    for start, stop in spans:
        if start < position:
            continue
        pieces += [{"text": text[position:start]}, {"text": text[start:stop], "quoted": True}]
        position = stop
    pieces.append({"text": text[position:end]})
    return [piece for piece in pieces if piece["text"]], text[end:]


def _word_end(text: str) -> int:
    if len(text) <= SHOWN + FOLDED_AT_LEAST:
        return len(text)
    return max(text.rfind(" ", 0, SHOWN), text.rfind("\n", 0, SHOWN), 0) or SHOWN


def _names(entities: Sequence[Entity]) -> list[tuple[str, str]]:
    """Each canonical name once with its spelling; one name may be of several types."""
    names: dict[str, str] = {}
    for entity in entities:
        names.setdefault(entity.canonical, entity.name)
    return list(names.items())


def _entity(name: str, canonical: str) -> dict[str, str]:
    return {"name": name, "href": f"{reverse('memory_list')}?{urlencode({'entity': canonical})}"}


def _memory(candidate: Candidate) -> dict[str, Any] | None:
    """What an approval wrote."""
    if candidate.memory is None:
        return None
    return {
        "url": reverse("memory_detail", args=[candidate.memory.pk]),
        "kind": candidate.memory.kind,
        "text": candidate.memory_opening,  # type: ignore[attr-defined]  # annotated by for_queue()
        "truncated": candidate.memory_length > len(candidate.memory_opening),  # type: ignore[attr-defined]
        "edited": candidate.memory_opening != candidate.draft[:OPENING],  # type: ignore[attr-defined]
        "badge": STATE_BADGES.get(candidate.memory.state),
    }


def failed_of(clusters: Sequence[FailedCluster], actor: Actor) -> list[dict[str, Any]]:
    """Clusters that could not be drafted; *clusters* come from ``standing()``."""
    return [
        {
            "id": cluster.pk,
            "scope": cluster.scope.slug,
            "parked": cluster.is_parked,
            "times": f"failed {counted(cluster.failures, 'time')}",
            "failed_at": cluster.failed_at,
            "reason": cluster.reason,
            "raw": cluster.call.raw,
            "episodes": [
                {"url": reverse("memory_detail", args=[episode.pk]), "created_at": episode.created_at}
                for episode in cluster.episodes.all()
            ],
            "may_retry": cluster.is_parked and cluster.scope_id in actor.writable,
        }
        for cluster in clusters
    ]


def progress_of(run: Run | None) -> dict[str, Any] | None:
    """What the page says about a search: a sentence, and whether more will follow."""
    if run is None:
        return None
    return {
        "run": run,
        "text": _progress(run),
        "when": run.finished_at or run.requested_at,
        "unfinished": run.is_unfinished,
        "found": run.state == Run.State.DONE and run.candidates_made > 0,
        "level": _level(run),
    }


def _level(run: Run) -> str:
    if run.state == Run.State.FAILED:
        return "danger"
    return "amber" if _waits_long(run) else "info"


def _waits_long(run: Run) -> bool:
    return run.state == Run.State.QUEUED and timezone.now() - run.requested_at > timedelta(seconds=45)


def _progress(run: Run) -> str:
    if run.state == Run.State.FAILED:
        return f"The search for clusters failed. {run.error}"
    if run.state == Run.State.DONE:
        found = f"Found {counted(run.candidates_made, 'new draft')} in {counted(run.episodes_seen, 'episode')}."
        return found if run.candidates_made else f"{found} {nothing_drafted(run)}".strip()
    if _waits_long(run):
        return "The search for clusters waits for a worker. Is the worker running?"
    if run.state == Run.State.QUEUED:
        return "The search for clusters is about to start."
    looked = f"{run.scopes_done} of {counted(run.scopes_total, 'scope')}, {counted(run.episodes_seen, 'episode')}"
    return f"Looking for clusters: {looked}, {counted(run.candidates_made, 'new draft')} so far."


def nothing_drafted(run: Run) -> str:
    """Why; nothing of a run from before this was kept."""
    return why_none(summed(run.looked.values()), cluster_rule().min_members) if run.looked else ""


def counted_memories(number: int) -> str:
    return f"{number:,} {'memory' if number == 1 else 'memories'}"


def spoken_total(tab: str, total: int) -> str:
    """What a list announces."""
    if tab == "pending":
        return f"{counted(total, 'draft')} {'waits' if total == 1 else 'wait'} for you"
    return f"{counted(total, 'draft')} {tab}"


def tabs_of(counts: Mapping[str, int], current: str, link: Link) -> list[dict[str, Any]]:
    labels = {"pending": "Waiting", "snoozed": "Snoozed", "approved": "Approved", "dismissed": "Dismissed"}
    return [
        {"label": label, "href": link(state=tab), "count": counts[tab], "selected": tab == current}
        for tab, label in labels.items()
    ]


def scope_filter(
    scopes: Sequence[Scope], counts: Mapping[int, int], chosen: Scope | None, link: Link
) -> dict[str, Any]:
    """The filter group of scopes with their counts in the tab at hand."""
    names = scope_names(scopes)
    options = [{"label": "All", "href": link(scope=""), "count": sum(counts.values()), "selected": chosen is None}]
    for scope in scopes:
        name = names[scope.pk]
        selected = chosen is not None and scope.pk == chosen.pk
        options.append(
            {"label": name, "href": link(scope=name), "count": counts.get(scope.pk, 0), "selected": selected}
        )
    return {"name": "Scope", "options": options}
