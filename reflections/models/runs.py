from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from memories.models import Scope
from memories.models.memory import new_id
from reflections.querysets import JudgedQuerySet, RunQuerySet


class Run(models.Model):
    """One run of the hygiene cycle, or of some of its steps: asked for by a person, a program, a command or the
    schedule, done by a worker."""

    class Kind(models.TextChoices):
        CLUSTERS = "clusters", "Search for clusters"
        QUICK = "quick", "Quick cycle"
        FULL = "full", "Full cycle"
        CHOSEN = "chosen", "Chosen steps"

    class State(models.TextChoices):
        QUEUED = "queued", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.CLUSTERS, db_default=Kind.CLUSTERS)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    requested_actor = models.CharField(max_length=200, blank=True, default="", help_text="As shown: who or what asked.")
    requested_at = models.DateTimeField(auto_now_add=True)
    scopes = models.ManyToManyField(Scope, through="RunScope", related_name="runs")
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    cancel_asked_at = models.DateTimeField(null=True, blank=True, help_text="The worker stops at its next beat.")
    scopes_total = models.PositiveIntegerField(default=0)
    scopes_done = models.PositiveIntegerField(default=0)
    episodes_seen = models.PositiveIntegerField(default=0)
    candidates_made = models.PositiveIntegerField(default=0)
    looked = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="Of the search for clusters, what came of it by scope."
    )
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it up.")
    error = models.CharField(max_length=2000, blank=True, default="")

    objects = RunQuerySet.as_manager()

    class Meta:
        db_table = "reflection_run"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "failed", "cancelled"]), name="run_state_known"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["clusters", "quick", "full", "chosen"]), name="run_kind_known"
            ),
        ]
        indexes = [
            # The sweep that picks up waiting and abandoned runs.
            models.Index(fields=["requested_at"], condition=Q(state__in=["queued", "running"]), name="run_unfinished"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.get_state_display().lower()}"

    @property
    def is_unfinished(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)


class RunScope(models.Model):
    """A scope that a run looks after. ``is_open`` until the run has ended, so that no two look after one at once."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="run_scopes")
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="run_scopes")
    is_open = models.BooleanField(default=True)

    class Meta:
        db_table = "reflection_run_scope"
        constraints = [
            models.UniqueConstraint(fields=["run", "scope"], name="run_scope_once"),
            # Of two requests for a scope at one moment the second is refused.
            models.UniqueConstraint(fields=["scope"], condition=Q(is_open=True), name="run_one_unfinished_per_scope"),
        ]

    def __str__(self) -> str:
        return f"{self.scope_id} of {self.run_id}"


class RunStep(models.Model):
    """What one step of a run found and did. The numbers move while it works."""

    class State(models.TextChoices):
        WAITING = "waiting", "Waiting"
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"
        CANCELLED = "cancelled", "Cancelled"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="steps")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=40)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    found = models.PositiveIntegerField(default=0, help_text="What it looked at more closely.")
    done = models.PositiveIntegerField(default=0, help_text="What came of it: proposals, or acts.")
    skipped = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    note = models.CharField(
        max_length=2000, blank=True, default="", help_text="In a sentence: what a reader must know."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "reflection_run_step"
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["run", "position"], name="run_step_position_unique"),
            models.UniqueConstraint(fields=["run", "name"], name="run_step_name_unique"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "running", "done", "failed", "cancelled"]),
                name="run_step_state_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}, {self.get_state_display().lower()}"


class Watermark(models.Model):
    """How far a scanner has looked through a scope: everything that was written before is no subject any more."""

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+")
    scanner = models.CharField(max_length=40)
    until = models.DateTimeField()

    class Meta:
        db_table = "reflection_watermark"
        constraints = [models.UniqueConstraint(fields=["scope", "scanner"], name="watermark_scope_scanner_unique")]

    def __str__(self) -> str:
        return f"{self.scanner} until {self.until:%Y-%m-%d}"


class Judged(models.Model):
    """Two memories that a judge was asked about, so that no judge is asked about them again."""

    scanner = models.CharField(max_length=40)
    low = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+")
    high = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+")
    verdict = models.CharField(max_length=40)
    confidence = models.FloatField()
    model = models.CharField(max_length=200)
    at = models.DateTimeField(default=timezone.now, help_text="When the two were found, before the judge was asked.")

    objects = JudgedQuerySet.as_manager()

    class Meta:
        db_table = "reflection_judged"
        constraints = [
            models.UniqueConstraint(fields=["low", "high", "scanner"], name="judged_pair_once"),
            models.CheckConstraint(condition=Q(low__lt=F("high")), name="judged_pair_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.verdict}, {self.scanner}"


class Examined(models.Model):
    """A memory that a scanner has looked at, so that it does not look again. ``matter`` is what it would have to be
    looked at anew for: the kind it had, or the model that judged it."""

    scanner = models.CharField(max_length=40)
    memory = models.ForeignKey("memories.Memory", on_delete=models.CASCADE, related_name="+")
    matter = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "reflection_examined"
        constraints = [
            models.UniqueConstraint(fields=["memory", "scanner", "matter"], name="examined_once"),
        ]

    def __str__(self) -> str:
        return f"{self.scanner}, {self.matter}"
