"""Reading a conversation that was handed in, and saying how the memories did that were shown in it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from django.db import InterfaceError, OperationalError, transaction
from django.utils import timezone

from memories.access import Actor, actor_for_token, actor_for_user
from memories.configuration import reinforcement_rule
from memories.errors import Conflict
from memories.models import Memory, Scope
from memories.services import signals
from reflections.models import Transcript
from reflections.presentation import counted
from reflections.services import asking, transcripts
from reflections.services.asking import BudgetSpent
from reflections.services.disputes.pairs import shown
from reflections.services.progress import TakenOverError, kept_alive
from reflections.usefulness import Verdict, groups, merged, pieces
from zeromemory.llm import JudgeUsefulness, MemoryShown, ModelError, ModelRejected

logger = logging.getLogger(__name__)
JOB: Final = "usefulness"
LONGEST_SHOWN: Final = 1500  # characters of a memory beside a conversation
REVOKED: Final = "The token that handed it in is no longer in force, so nobody read it."
DATABASE_AWAY: Final = (OperationalError, InterfaceError)
State = Transcript.State

type Step = tuple[str, Sequence[uuid.UUID]]


def work_on(transcript_id: str | uuid.UUID) -> None:
    """Judge what waits. Returns quietly when another worker has it, or when one is being read already."""
    row = transcripts.claim(transcript_id)
    if row is None:
        return
    try:
        with kept_alive(lambda: _beat(row), str(row)):
            _read(row)
    except TakenOverError:
        logger.info("Transcript %s was taken over by another worker.", row.pk)
    except BudgetSpent as error:
        transcripts.wait_until(row, _midnight(), str(error))
    except (ModelError, Conflict) as error:
        transcripts.put_off(row, str(error))
    except DATABASE_AWAY as error:
        # Nothing can be written about it now. Its heartbeat is missed in half a minute, and it goes on where it was.
        logger.warning("Transcript %s lost the database: %s", row.pk, error)
    except Exception as error:
        transcripts.end(row, State.FAILED, f"An unexpected error ({type(error).__name__}); see the worker's log.")
        raise


def _beat(row: Transcript, **found: object) -> None:
    if not transcripts.keep(row, **found):
        raise TakenOverError


def _read(row: Transcript) -> None:
    actor = _actor(row)
    if actor is None:
        transcripts.end(row, State.FAILED, REVOKED)
        return
    if not asking.is_model_configured():
        transcripts.end(row, State.SKIPPED, transcripts.NO_MODEL)
        return
    readable = Memory.objects.visible_to(actor).select_related("scope").in_bulk(row.shown)
    for piece, ids in islice(_steps(row), row.asked, None):  # what a lost worker has asked is not asked again
        _ask(row, piece, [readable[memory] for memory in ids if memory in readable])
    _conclude(row)


def _steps(row: Transcript) -> Iterator[Step]:
    return ((piece, ids) for piece in pieces(row.text) for ids in groups(row.shown))


def _ask(row: Transcript, piece: str, memories: Sequence[Memory]) -> None:
    """Raises ModelError where the model does not answer; what it answered unusably is set aside."""
    if memories:
        question = JudgeUsefulness(piece, tuple(map(_shown, memories)))
        try:
            answer = asking.ask(question, job=JOB, scope=_scope(memories))
            row.verdicts = [*row.verdicts, *(verdict.model_dump() for verdict in answer.value.verdicts)]
        except ModelRejected:
            row.unusable += 1
    row.asked += 1
    _beat(row, asked=row.asked, unusable=row.unusable, verdicts=row.verdicts)


def _shown(memory: Memory) -> MemoryShown:
    whole = shown(memory)
    return replace(whole, text=whole.text[:LONGEST_SHOWN])


def _scope(memories: Sequence[Memory]) -> Scope | None:
    """Of a question about several scopes none is on record."""
    scopes = {memory.scope for memory in memories}
    return scopes.pop() if len(scopes) == 1 else None


def _conclude(row: Transcript) -> None:
    """The signals and the end of the work in one transaction, so that none is written twice."""
    verdicts = merged((Verdict(**verdict) for verdict in row.verdicts), minimum=reinforcement_rule().judge_minimum)
    failed = row.unusable == row.questions
    note = f"{counted(row.unusable, 'answer')} of {row.questions} could not be used." if row.unusable else ""
    with transaction.atomic():
        row.verdicts = [asdict(verdict) for verdict in verdicts]
        _beat(row, verdicts=row.verdicts)
        if not transcripts.end(row, State.FAILED if failed else State.DONE, note):
            raise TakenOverError
        if verdicts:
            signals.record_judgement(session=row.session, verdicts=[_signal(one) for one in verdicts], user=row.user)


def _signal(verdict: Verdict) -> signals.Verdict:
    said = asdict(verdict)
    return signals.Verdict(memory_id=uuid.UUID(said.pop("id")), **said)


def _actor(row: Transcript) -> Actor | None:
    """Whoever handed it in, with the rights of now."""
    if not row.user.is_active:
        return None
    if row.token is None:
        return actor_for_user(row.user)
    return actor_for_token(row.token) if row.token.is_in_force else None


def _midnight() -> datetime:
    tomorrow = timezone.now().astimezone(UTC) + timedelta(days=1)
    return tomorrow.replace(hour=0, minute=0, second=30, microsecond=0)
