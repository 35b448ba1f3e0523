"""Bring the multipliers that recall reads up to date with what was said of memories."""

from datetime import timedelta

from django.utils import timezone

from memories.configuration import reinforcement_rule
from memories.models import Memory, Scope
from memories.services.reinforcement import roll_up_all
from memories.services.usage_months import keep_usage_months
from reflections.services.progress import Progress


def work(scope: Scope, progress: Progress) -> None:
    now = timezone.now()
    keep_usage_months(now=now)
    rolled = roll_up_all(now=now, scope=scope)
    progress.count(found=rolled.found, done=rolled.written + rolled.removed)


def survey(scope: Scope) -> str:
    since = timezone.now() - timedelta(days=reinforcement_rule().window_days)
    told = Memory.objects.filter(scope=scope, usage_events__at__gte=since).distinct().count()
    return f"would compute the multiplier of {told:,} memor{'y' if told == 1 else 'ies'} with reports of use"
