"""Every write of the reflection queue, as verbs."""

from reflections.services.candidates import find_candidates, survey
from reflections.services.decisions import approve, dismiss, snooze, undo, wake_due
from reflections.services.failed_clusters import retry_cluster
from reflections.services.runs import Started, cancel, requeue_abandoned, ring_waiting, start_run

__all__ = [
    "Started",
    "approve",
    "cancel",
    "dismiss",
    "find_candidates",
    "requeue_abandoned",
    "retry_cluster",
    "ring_waiting",
    "snooze",
    "start_run",
    "survey",
    "undo",
    "wake_due",
]
