"""The cycle of a scope that decays. One that ages is left alone."""

from memories.decaying import held
from memories.models import RetentionCycle, RetentionPolicy, Scope
from memories.retention import runs
from memories.services.retention import preview, told, too_few
from reflections.consolidation import consolidate
from reflections.services.progress import Progress


def work(scope: Scope, progress: Progress) -> None:
    if scope.retention != Scope.Retention.DECAYING:
        return
    done = consolidate(scope=scope, trigger=RetentionCycle.Trigger.SCHEDULE)
    cycle = done.cycle
    if cycle is None:
        progress.note_also(f"{scope}: {done.said}")
        return
    progress.count(found=cycle.counted, done=cycle.summarised + cycle.archived + cycle.deleted)
    progress.note_also(f"{scope}: {told(cycle)} {cycle.note}".strip())


def survey(scope: Scope) -> str:
    if scope.retention != Scope.Retention.DECAYING:
        return "would do nothing, because this scope ages"
    rule, count = RetentionPolicy.of(scope).rule, held(scope).count()
    if not runs(count, rule):
        return too_few(count, rule)
    going = preview(scope).count()
    return f"would let go of {going:,} of {count:,} memories"
