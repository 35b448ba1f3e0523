"""What became of a memory that was shown: told outright, judged afterwards, or seen from what was written from it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import DatabaseError, transaction
from django.utils import timezone

from memories.access import Actor
from memories.configuration import reinforcement_rule
from memories.errors import Forbidden, NotFound, ValidationFailed
from memories.models import Link, Memory, UsageEvent, User
from memories.models.memory import AuthorKind
from memories.reinforcement import Standing
from memories.services.reinforcement import roll_up_with_later, standing_of
from memories.services.validation import LinkSpec, check_line
from memories.services.writing import writing

logger = logging.getLogger(__name__)

# Whoever builds on what was recalled has used it, and so has whoever knew what to replace.
TELLING: Final = (Link.Type.DERIVED_FROM, Link.Type.SUPERSEDES)
WRITERS: Final = (AuthorKind.HUMAN, AuthorKind.AGENT)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge makes of one memory that a session was shown. Without a word on ``relevant`` that stays open."""

    memory_id: uuid.UUID
    confidence: float
    useful: bool = False
    relevant: bool | None = None
    misled: bool = False


def mark_used(
    *, actor: Actor, memory: Memory, useful: bool = False, misled: bool = False, session: str = ""
) -> Standing:
    """Say whether a memory was of use or misled; neither takes back what the session said before.

    The latest report of a session is its word, and repeating it changes nothing; without a session every report stands
    alone. It takes a reader of the memory. Raises ValidationFailed, NotFound, Forbidden or Conflict.
    """
    _check_report(actor, useful, misled, session)
    with writing():
        memory, now = _held(actor, memory), timezone.now()
        if _last_word(memory, session, now) == (useful, misled):
            return standing_of(memory=memory, now=now)
        UsageEvent.objects.create(
            memory=memory,
            at=now,
            source=UsageEvent.Source.DIRECT,
            session=session,
            user=actor.user,
            useful=useful,
            misled=misled,
        )
        return roll_up_with_later(memory=memory, now=now)


def _check_report(actor: Actor, useful: bool, misled: bool, session: str) -> None:
    check_line(session, "session")
    if useful and misled:
        raise ValidationFailed("A memory that misled was not useful: say one of the two.", field="misled")
    if actor.token is not None and not actor.token.can_write:
        raise Forbidden("This token may only read, and a report of use is written. Use a token that may write.")


def _held(actor: Actor, memory: Memory) -> Memory:
    """Until the end of the transaction, so that of two reports the later one counts the earlier."""
    held = Memory.objects.visible_to(actor).select_for_update(of=("self",), no_key=True).filter(pk=memory.pk).first()
    if held is None:
        raise NotFound("There is no such memory here. Check the id.")
    return held


def _last_word(memory: Memory, session: str, now: datetime) -> tuple[bool, bool] | None:
    """Within the window: what left it counts no more, so a session of the same name may say it again."""
    if not session:
        return None
    since = now - timedelta(days=reinforcement_rule().window_days)
    said = UsageEvent.objects.filter(memory=memory, session=session, source=UsageEvent.Source.DIRECT, at__gte=since)
    return said.order_by("-at", "-pk").values_list("useful", "misled").first()


def record_judgement(*, session: str, verdicts: Sequence[Verdict], user: User | None = None) -> int:
    """Write what a judge made of the memories that *session* was shown; how many verdicts were new.

    The caller answers for their having been shown. Misled forces useful to be false. The same verdict of the same
    session is written once, and memories that are gone are passed over. Raises ValidationFailed or Conflict.
    """
    _check_judgement(session, verdicts)
    with writing():
        rows = Memory.objects.select_for_update(no_key=True).filter(pk__in=[one.memory_id for one in verdicts])
        held = {memory.pk: memory for memory in rows.order_by("pk")}
        # In the order of the roll-up, so that neither waits for what the other has written.
        known = sorted((one for one in verdicts if one.memory_id in held), key=lambda one: one.memory_id)
        return sum(_judged(held[one.memory_id], session, one, user) for one in known)


def _check_judgement(session: str, verdicts: Sequence[Verdict]) -> None:
    check_line(session, "session")
    if not session.strip():
        raise ValidationFailed("Name the session that was judged.", field="session")
    if any(not 0 <= one.confidence <= 1 for one in verdicts):
        raise ValidationFailed("A confidence is a number from 0 to 1.", field="confidence")


def _judged(memory: Memory, session: str, verdict: Verdict, user: User | None) -> bool:
    now = timezone.now()
    said = {
        "session": session,
        "useful": verdict.useful and not verdict.misled,
        "relevant": verdict.relevant,
        "misled": verdict.misled,
        "confidence": verdict.confidence,
    }
    if UsageEvent.objects.filter(memory=memory, source=UsageEvent.Source.JUDGE, **said).exists():
        return False
    UsageEvent.objects.create(memory=memory, at=now, source=UsageEvent.Source.JUDGE, user=user, **said)
    roll_up_with_later(memory=memory, now=now)
    return True


def note_links(*, actor: Actor, memory: Memory, specs: Sequence[LinkSpec]) -> None:
    """A new memory that was written from recalled ones, or in their place, tells that these were of use.

    Inside the transaction of the write, which never fails for it: a signal that cannot be written is lost.
    """
    targets = {uuid.UUID(str(spec.target)) for spec in specs if spec.type in TELLING}
    if not targets or memory.author_kind not in WRITERS:
        return
    try:
        with transaction.atomic():
            for target in Memory.objects.filter(pk__in=targets, access_count__gt=0).order_by("pk"):
                _note_link(actor, memory, target)
    except DatabaseError:
        logger.exception("What %s was written from could not be noted", memory.pk)


def _note_link(actor: Actor, memory: Memory, target: Memory) -> None:
    now = timezone.now()
    UsageEvent.objects.create(
        memory=target,
        at=now,
        source=UsageEvent.Source.LINK,
        session=memory.session,
        user=actor.user,
        useful=True,
    )
    # Who holds the memory has its row computed anyway, or the next roll-up does: no write waits for a signal.
    if Memory.objects.select_for_update(no_key=True, skip_locked=True).filter(pk=target.pk).exists():
        roll_up_with_later(memory=target, now=now)
