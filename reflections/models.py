from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from memories.models import Memory, Scope
from memories.models.memory import new_id
from reflections.querysets import CandidateQuerySet, RunQuerySet


class ReflectionConfig(models.Model):
    """The single row of clustering thresholds. A missing row behaves as the defaults.

    The band was measured for the packaged embedder: docs/evaluation-clustering.md.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    cosine_min = models.FloatField(default=0.65, help_text="Pairs join from here on.")
    cosine_max = models.FloatField(default=0.90, help_text="Pairs at or above are duplicates and do not join.")
    min_members = models.PositiveSmallIntegerField(default=3)
    max_members = models.PositiveSmallIntegerField(default=10)
    snooze_days = models.PositiveSmallIntegerField(default=14)
    version = models.PositiveIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "reflection_config"
        verbose_name = verbose_name_plural = "reflection configuration"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="reflection_config_single_row"),
            models.CheckConstraint(
                condition=Q(cosine_min__gte=0) & Q(cosine_max__lte=1) & Q(cosine_min__lt=F("cosine_max")),
                name="reflection_config_band_ordered",
            ),
            models.CheckConstraint(
                condition=Q(min_members__gte=2) & Q(max_members__gte=F("min_members")) & Q(max_members__lte=50),
                name="reflection_config_members_sane",
            ),
            models.CheckConstraint(
                condition=Q(snooze_days__gte=1) & Q(snooze_days__lte=365), name="reflection_config_snooze_sane"
            ),
        ]

    def __str__(self) -> str:
        return "Reflection"


class Candidate(models.Model):
    """A cluster of episodes and the one fact drafted from it, waiting for a person."""

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        SNOOZED = "snoozed", "Snoozed"
        APPROVED = "approved", "Approved"
        DISMISSED = "dismissed", "Dismissed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="candidates")
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    kind = models.CharField(max_length=16, default="fact")
    draft = models.TextField()
    sentences = models.JSONField(default=list, help_text="[{text, source}] with the id of the episode that says it.")
    origin = models.CharField(max_length=200, default="extractive", help_text="'extractive', or the model's name.")
    confidence = models.FloatField(null=True, blank=True)
    rationale = models.TextField(blank=True, default="")
    similarity = models.FloatField(null=True, blank=True, help_text="Mean cosine of the joined pairs.")
    run = models.ForeignKey("Run", on_delete=models.SET_NULL, null=True, blank=True, related_name="candidates")
    created_at = models.DateTimeField(auto_now_add=True)
    version = models.PositiveIntegerField(default=1, help_text="Moves with every decision; stale tabs are told.")

    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    reason = models.CharField(max_length=2000, blank=True, default="")
    snoozed_until = models.DateTimeField(null=True, blank=True)
    memory = models.OneToOneField(
        Memory, on_delete=models.PROTECT, null=True, blank=True, related_name="distilled_from"
    )
    episodes = models.ManyToManyField(Memory, through="CandidateMember", related_name="candidacies")

    objects = CandidateQuerySet.as_manager()

    class Meta:
        db_table = "reflection_candidate"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["pending", "snoozed", "approved", "dismissed"]), name="candidate_state_known"
            ),
            models.CheckConstraint(condition=Q(kind__in=["fact", "convention"]), name="candidate_kind_distillable"),
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=1),
                name="candidate_confidence_in_unit",
            ),
            models.CheckConstraint(
                condition=Q(state="approved", memory__isnull=False) | (~Q(state="approved") & Q(memory__isnull=True)),
                name="candidate_approved_has_memory",
            ),
            models.CheckConstraint(
                condition=Q(state="snoozed", snoozed_until__isnull=False)
                | (~Q(state="snoozed") & Q(snoozed_until__isnull=True)),
                name="candidate_snoozed_has_date",
            ),
            # Approval and dismissal are acts of a person.
            models.CheckConstraint(
                condition=~Q(state="approved") | Q(decided_by__isnull=False, decided_at__isnull=False),
                name="candidate_approved_by_somebody",
            ),
        ]
        indexes = [
            # The queue: what waits, oldest first.
            models.Index(
                fields=["scope", "created_at"],
                condition=Q(state__in=["pending", "snoozed"]),
                name="candidate_open",
            ),
            # The shelf: what was decided, newest first.
            models.Index(fields=["scope", "-decided_at"], name="candidate_decided"),
        ]

    def __str__(self) -> str:
        return f"{self.get_state_display()}: {self.draft[:80]}"

    @property
    def is_open(self) -> bool:
        """Waiting for a decision: pending, or snoozed until a date that has come."""
        if self.state == self.State.SNOOZED:
            return self.snoozed_until is not None and self.snoozed_until <= timezone.now()
        return self.state == self.State.PENDING


class CandidateMember(models.Model):
    """An episode in a candidacy. Once a member, never again: the episode is unique here for all time."""

    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="members")
    memory = models.OneToOneField(Memory, on_delete=models.PROTECT, related_name="candidacy")
    position = models.PositiveSmallIntegerField(help_text="In time order, oldest first.")

    class Meta:
        db_table = "reflection_member"
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["candidate", "position"], name="member_candidate_position_unique"),
        ]

    def __str__(self) -> str:
        return f"Source {self.position + 1}"


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
