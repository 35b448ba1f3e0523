"""Ask a person about the memories that misled more than once."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils import timezone

from memories.configuration import reinforcement_rule
from memories.models import Scope
from reflections import configuration
from reflections.presentation import counted
from reflections.services.progress import Progress
from reflections.services.suspecting import suspect
from reflections.suspects import Suspect, suspects


def work(scope: Scope, progress: Progress) -> None:
    looked_at = timezone.now()
    for found in _found(scope, looked_at):
        row = suspect(found=found, looked_at=looked_at)
        progress.count(found=1, done=int(row is not None), skipped=int(row is None))


def survey(scope: Scope) -> str:
    number = sum(1 for _ in _found(scope, timezone.now()))
    return f"would ask a person about {counted(number, 'text')} that misled more than once"


def _found(scope: Scope, now: datetime) -> Iterator[Suspect]:
    rule = configuration.hygiene()
    return suspects(
        scope.pk,
        now=now,
        since=now - timedelta(days=rule.suspect_days),
        reports=rule.suspect_reports,
        judge_minimum=reinforcement_rule().judge_minimum,
    )
