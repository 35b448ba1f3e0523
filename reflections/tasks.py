from celery import shared_task

from reflections import consolidation, hygiene, judging, services
from reflections.services import transcripts


@shared_task
def reflect(run_id: str) -> None:
    hygiene.work_on(run_id)


@shared_task
def judge_transcript(transcript_id: str) -> None:
    judging.work_on(transcript_id)
    transcripts.ring_next()


@shared_task
def consolidate(scope_id: int, trigger: str, user_id: int | None = None, label: str = "") -> None:
    consolidation.work_on(scope_id, trigger, user_id, label)


@shared_task
def sweep() -> None:
    """Every twenty seconds: what a lost message, a lost worker or a passed date has left waiting."""
    services.wake_due()
    services.requeue_abandoned()
    hygiene.start_if_due()
    services.ring_waiting()
    transcripts.requeue_lost()
    transcripts.ring_due()
