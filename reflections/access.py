"""The only door from a request to what is not a memory itself: a foreign row does not exist."""

import uuid

from memories.access import Actor
from memories.errors import NotFound
from reflections.models import Candidate, Dispute, Run, StandingRule, Transcript

NO_RULE = "There is no such rule here. Check the address."
NO_DISPUTE = "There is no such dispute here. Check the id."


def candidate_for(actor: Actor, candidate_id: str | uuid.UUID) -> Candidate:
    """A candidate of a scope the actor may read; NotFound for everything else, malformed ids included."""
    try:
        return Candidate.objects.visible_to(actor).for_queue().get(pk=uuid.UUID(str(candidate_id)))
    except (ValueError, Candidate.DoesNotExist) as error:
        raise NotFound("There is no such draft here. Check the address.") from error


def run_for(actor: Actor, run_id: str | uuid.UUID) -> Run:
    """A run over scopes the actor may read; NotFound for everything else."""
    try:
        return Run.objects.visible_to(actor).get(pk=uuid.UUID(str(run_id)))
    except (ValueError, Run.DoesNotExist) as error:
        raise NotFound("There is no such run here. Check the address.") from error


def dispute_for(actor: Actor, dispute_id: str | uuid.UUID, *, characters: int | None = None) -> Dispute:
    """A dispute of a scope the actor may read; NotFound for everything else, malformed ids included.

    With *characters* it comes as from ``opening()``, without the whole texts.
    """
    rows = Dispute.objects.visible_to(actor)
    rows = rows.whole() if characters is None else rows.opening(characters)
    try:
        return rows.get(pk=uuid.UUID(str(dispute_id)))
    except (ValueError, Dispute.DoesNotExist) as error:
        raise NotFound(NO_DISPUTE) from error


def rule_for(actor: Actor, rule_id: str | uuid.UUID) -> StandingRule:
    """A rule of a scope the actor may read; NotFound for everything else, malformed ids included."""
    try:
        return StandingRule.objects.visible_to(actor).whole().get(pk=uuid.UUID(str(rule_id)))
    except (ValueError, StandingRule.DoesNotExist) as error:
        raise NotFound(NO_RULE) from error


def transcript_for(actor: Actor, transcript_id: str | uuid.UUID) -> Transcript:
    """One that the actor handed in; NotFound for everything else, malformed ids included."""
    try:
        return Transcript.objects.visible_to(actor).get(pk=uuid.UUID(str(transcript_id)))
    except (ValueError, Transcript.DoesNotExist) as error:
        raise NotFound("There is no such transcript here. Check the id.") from error
