from django.conf import settings
from django.db import models
from django.db.models import Q

from memories.models import Scope
from memories.models.memory import new_id
from reflections.querysets import RunQuerySet


class Run(models.Model):
    """One search for clusters: asked for by a person, a command or the schedule, done by a worker."""

    class State(models.TextChoices):
        QUEUED = "queued", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    scopes = models.ManyToManyField(Scope, related_name="runs")
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    scopes_total = models.PositiveIntegerField(default=0)
    scopes_done = models.PositiveIntegerField(default=0)
    episodes_seen = models.PositiveIntegerField(default=0)
    candidates_made = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it up.")
    error = models.CharField(max_length=2000, blank=True, default="")

    objects = RunQuerySet.as_manager()

    class Meta:
        db_table = "reflection_run"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "failed"]), name="run_state_known"
            ),
            # Two requests within a moment make one run; the second is told.
            models.UniqueConstraint(
                fields=["requested_by"],
                condition=Q(state__in=["queued", "running"]),
                nulls_distinct=False,
                name="run_one_unfinished_per_requester",
            ),
        ]
        indexes = [
            # The sweep that picks up waiting and abandoned runs.
            models.Index(fields=["requested_at"], condition=Q(state__in=["queued", "running"]), name="run_unfinished"),
        ]

    def __str__(self) -> str:
        return f"{self.get_state_display()}, {self.scopes_done} of {self.scopes_total} scopes"

    @property
    def is_unfinished(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)
