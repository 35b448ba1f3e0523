"""Many items in one act: tried first, then done; each for itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any, Final

from django.db import transaction

from memories.access import Actor
from memories.errors import ValidationFailed, ZeroMemoryError
from reflections.dispute_wording import settled_already
from reflections.inbox.registry import Act, BulkAct, Failure, Item, Tally
from reflections.models import Dispute
from reflections.presentation import counted
from reflections.services.disputes import resolve_many
from reflections.services.disputes.bulk import MOST


@dataclass(frozen=True, slots=True)
class Verb:
    """``label`` on the button; ``would`` and ``did`` take what is counted: "keep both of 12 pairs"."""

    label: str
    would: str
    did: str
    of: str = "item"


VERBS: Final = {
    "proposed": Verb("Do what is proposed", "do what is proposed about {}", "Did what was proposed about {}", "pair"),
    "keep_both": Verb("Keep both", "keep both of {}", "Kept both of {}", "pair"),
    "newer": Verb("Keep the newer", "keep the newer of {}", "Kept the newer of {}", "pair"),
    "uphold": Verb("Uphold", "uphold {}", "Upheld {}", "doubted memory"),
    "dismiss": Verb("Dismiss drafts", "dismiss {}", "Dismissed {}", "draft"),
    "promote": Verb("Promote rules", "promote {}", "Promoted {}", "rule"),
    "decline": Verb("Dismiss rules", "dismiss {}", "Dismissed {}", "rule"),
    "snooze": Verb("Snooze", "snooze {}", "Snoozed {}"),
    "undo": Verb("Undo", "take back the decision about {}", "Took back the decision about {}"),
}


def numbered(number: int, noun: str) -> str:
    """``12 pairs``, ``2 doubted memories``."""
    return f"{number:,} {noun.removesuffix('y')}ies" if noun.endswith("y") and number != 1 else counted(number, noun)


def act_on(actor: Actor, items: Sequence[Item], verb: str, *, dry_run: bool) -> Tally:
    """*verb* about each of *items*. Raises ValidationFailed for an unknown verb."""
    from reflections.inbox.sources import all_sources

    if verb not in VERBS:
        raise ValidationFailed(f"The act must be one of {', '.join(VERBS)}.", field="verb")
    whole = Tally()
    for source in all_sources():
        mine = [item for item in items if item.source == source.name]
        if not mine:
            continue
        if verb not in source.bulk:
            whole.skipped += mine
            continue
        _add(whole, source.bulk[verb](actor, mine, dry_run))
    return whole


def _add(whole: Tally, part: Tally) -> None:
    whole.done += part.done
    whole.skipped += part.skipped
    whole.failed += part.failed


def each_loaded_by(load: Callable[[Actor, Any], Any]) -> Callable[[Act], BulkAct]:
    """From an act on one item to that on many of them, which *load* finds."""

    def each_of(act: Act) -> BulkAct:
        return lambda actor, items, dry_run: each(actor, items, dry_run, load, act)

    return each_of


def each(actor: Actor, items: Sequence[Item], dry_run: bool, load: Callable[[Actor, Any], Any], act: Act) -> Tally:
    """One act on each of *items*, in its own transaction; with *dry_run* everything is tried and nothing kept."""
    if not dry_run:
        return _each(actor, items, load, act)
    with transaction.atomic():
        tally = _each(actor, items, load, act)
        transaction.set_rollback(True)
    return tally


def _each(actor: Actor, items: Sequence[Item], load: Callable[[Actor, Any], Any], act: Act) -> Tally:
    tally = Tally()
    for item in items:
        try:
            act(actor, load(actor, item.id), item.version, {})
            tally.done.append(Item(item.source, item.id, item.version + 1))
        except ZeroMemoryError as error:
            tally.failed.append(Failure(item, error.message))
    return tally


def in_chunks(actor: Actor, items: Sequence[Item], policy: str, dry_run: bool) -> Tally:
    """Settle disputes by a policy. One that changed since somebody looked fails, and says what became of it."""
    tally = Tally()
    for chunk in batched(items, MOST):
        current = _current(actor, chunk, tally)
        if not current:
            continue
        settled = resolve_many(actor=actor, policy=policy, disputes=list(current), dry_run=dry_run)
        tally.done += [Item("dispute", row.pk, row.version) for row in settled.resolved]
        tally.skipped += [current[row] for row in settled.skipped]
        tally.failed += [Failure(current[failure.dispute], failure.message) for failure in settled.failed]
    return tally


def _current(actor: Actor, items: Sequence[Item], tally: Tally) -> Mapping[str, Item]:
    """Those of *items* that stand as they were looked at, by id."""
    rows = Dispute.objects.visible_to(actor).in_bulk([item.id for item in items])
    for item in items:
        row = rows.get(item.id)
        if row is None:
            tally.failed.append(Failure(item, "This is not here any more."))
        elif row.version != item.version:
            tally.failed.append(Failure(item, settled_already(row)))
    return {str(item.id): item for item in items if item.id in rows and rows[item.id].version == item.version}
