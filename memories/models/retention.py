from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone

from memories.models.memory import Memory, new_id
from memories.models.scopes import Scope
from memories.retention import ARCHIVE, DELETE, FLOOR, HALF_LIFE_HOURS, REVIEW, THRESHOLD, TOP_K, RetentionRule


class RetentionPolicy(models.Model):
    """How one scope decays. A missing row, and whatever is blank or 0 in it, behaves as the defaults."""

    class PruneAction(models.TextChoices):
        ARCHIVE = "archive", "Into the archive, from where it can be restored"
        DELETE = "delete", "Deleted for good"

    class Summaries(models.TextChoices):
        REVIEW = "review", "Wait for a person in the inbox"
        AUTOMATIC = "automatic", "Take effect at once, marked and restorable"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    scope = models.OneToOneField(Scope, on_delete=models.CASCADE, related_name="retention_policy")
    half_life_hours = models.FloatField(
        null=True, blank=True, help_text=f"Hours; {HALF_LIFE_HOURS:g} where blank or 0."
    )
    floor = models.FloatField(null=True, blank=True, help_text=f"A weight below it leaves; {FLOOR:g} where blank or 0.")
    threshold = models.PositiveIntegerField(
        null=True, blank=True, help_text=f"Memories from which a cycle has work; {THRESHOLD} where blank or 0."
    )
    top_k = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=f"Results of a recall that names no number; {TOP_K} where blank or 0."
    )
    prune_action = models.CharField(max_length=8, choices=PruneAction, default=PruneAction.ARCHIVE)
    summaries = models.CharField(max_length=10, choices=Summaries, default=Summaries.REVIEW)
    confidence_weight = models.FloatField(default=0, help_text="From 0, no effect on scores, to 1.")
    version = models.PositiveIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "retention_policy"
        verbose_name_plural = "retention policies"
        constraints = [
            models.CheckConstraint(
                condition=Q(half_life_hours=None) | Q(half_life_hours__gte=0, half_life_hours__lte=876_000),
                name="retention_half_life_sane",
            ),
            models.CheckConstraint(
                condition=Q(floor=None) | Q(floor__gte=0, floor__lt=1), name="retention_floor_in_unit"
            ),
            models.CheckConstraint(condition=Q(prune_action__in=[ARCHIVE, DELETE]), name="retention_prune_known"),
            models.CheckConstraint(condition=Q(summaries__in=[REVIEW, "automatic"]), name="retention_summaries_known"),
            models.CheckConstraint(
                condition=Q(confidence_weight__gte=0, confidence_weight__lte=1), name="retention_confidence_in_unit"
            ),
        ]

    def __str__(self) -> str:
        return f"Retention of {self.scope_id}"

    @classmethod
    def of(cls, scope: Scope) -> RetentionPolicy:
        """The row; where it is missing, an unsaved one with the defaults."""
        return cls.objects.filter(scope=scope).first() or cls(scope=scope)

    @property
    def rule(self) -> RetentionRule:
        """With the defaults in place of what is blank or 0."""
        return RetentionRule(
            half_life_hours=self.half_life_hours or HALF_LIFE_HOURS,
            floor=self.floor or FLOOR,
            threshold=self.threshold or THRESHOLD,
            top_k=self.top_k or TOP_K,
            prune_action=self.prune_action,
            summaries=self.summaries,
            confidence_weight=self.confidence_weight,
        )


class RetentionCycle(models.Model):
    """One cycle of a decaying scope: decay, summarise, prune; what started it and what it did."""

    class Trigger(models.TextChoices):
        WRITE = "write", "A write"
        SCHEDULE = "schedule", "The hygiene cycle"
        BUTTON = "button", "A person"
        AGENT = "agent", "An agent"
        COMMAND = "command", "The command line"

    class State(models.TextChoices):
        RUNNING = "running", "Running"
        DONE = "done", "Done"
        FAILED = "failed", "Failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="retention_cycles")
    trigger = models.CharField(max_length=8, choices=Trigger)
    actor = models.CharField(max_length=200)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=8, choices=State, default=State.RUNNING)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    counted = models.PositiveIntegerField(default=0, help_text="Memories that the scope held, tombstones too.")
    decayed = models.PositiveIntegerField(default=0, help_text="Whose weight fell.")
    summarised = models.PositiveIntegerField(default=0, help_text="That became tombstones of a summary.")
    archived = models.PositiveIntegerField(default=0)
    deleted = models.PositiveIntegerField(default=0)
    note = models.CharField(max_length=2000, blank=True, default="")

    class Meta:
        db_table = "retention_cycle"
        constraints = [
            models.CheckConstraint(
                condition=Q(state="running", finished_at=None) | (~Q(state="running") & Q(finished_at__isnull=False)),
                name="retention_cycle_finished",
            ),
        ]
        indexes = [models.Index(fields=["scope", "-started_at"], name="retention_cycle_recent")]

    def __str__(self) -> str:
        return f"Cycle of {self.scope_id}, {self.get_state_display().lower()}"


class ArchiveSample(models.Model):
    """Of one day and scope: recalls that were compared with the archive, and those that would have found more there."""

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="archive_samples", db_index=False)
    day = models.DateField()
    recalls = models.PositiveIntegerField(default=0)
    regretted = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "archive_sample"
        constraints = [
            models.UniqueConstraint(fields=["scope", "day"], name="archive_sample_once"),
            models.CheckConstraint(condition=Q(regretted__lte=F("recalls")), name="archive_sample_share"),
        ]


class Regret(models.Model):
    """How often recalls would have given an archived memory, were it still there."""

    memory = models.OneToOneField(Memory, on_delete=models.CASCADE, primary_key=True, related_name="regret")
    count = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        db_table = "archive_regret"

    def __str__(self) -> str:
        return f"Asked for {self.count} times"


class Alias(models.Model):
    """Two words that stand for each other in a scope: whoever asks for one is also searched the other."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="aliases")
    term = models.CharField(max_length=120)
    alias = models.CharField(max_length=120)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=200)
    retired_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "vocabulary_alias"
        verbose_name_plural = "aliases"
        constraints = [
            models.UniqueConstraint(
                "scope", Lower("term"), Lower("alias"), condition=Q(retired_at=None), name="alias_once"
            ),
            models.CheckConstraint(condition=~Q(term="") & ~Q(alias=""), name="alias_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.term} = {self.alias}"
