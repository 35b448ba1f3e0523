from django.conf import settings
from django.db import models
from django.db.models import Q

from memories.models.memory import Memory


class Reinforcement(models.Model):
    """The computed multiplier of a memory. No row is exactly 1.0."""

    memory = models.OneToOneField(Memory, on_delete=models.CASCADE, primary_key=True, related_name="reinforcement")
    multiplier = models.FloatField()
    useful = models.FloatField(default=0, help_text="U of the window: direct reports plus judge confidence.")
    misled = models.FloatField(default=0, help_text="M of the window: challenges plus judge confidence.")
    promoted = models.BooleanField(default=False)
    computed_at = models.DateTimeField(auto_now=True)

    class Meta:
        db_table = "memory_reinforcement"
        constraints = [
            models.CheckConstraint(
                condition=Q(multiplier__gt=0) & Q(multiplier__lte=2), name="reinforcement_multiplier_sane"
            ),
            models.CheckConstraint(condition=Q(useful__gte=0) & Q(misled__gte=0), name="reinforcement_sums_sane"),
        ]


class UsageEvent(models.Model):
    """What became of a memory that was shown: ids, flags and confidence, never text. Append-only.

    A table for each month, so the database's key is ``(id, at)``; ids come from one sequence and are unique alone.
    """

    class Source(models.TextChoices):
        DIRECT = "direct", "Direct report"
        # A newer memory was written from this one, or in its place.
        LINK = "link", "Link of a newer memory"
        JUDGE = "judge", "Judge"
        CHALLENGE = "challenge", "Challenge"
        # About the misleading reports of the same moment, which then count no more, and again.
        WITHDRAWN = "withdrawn", "Report withdrawn"
        REINSTATED = "reinstated", "Report reinstated"

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="usage_events")
    at = models.DateTimeField()
    source = models.CharField(max_length=10, choices=Source)
    session = models.CharField(max_length=120, blank=True, default="")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    useful = models.BooleanField(default=False)
    relevant = models.BooleanField(null=True, help_text="Whether it was about what was asked; only a judge says.")
    misled = models.BooleanField(default=False)
    confidence = models.FloatField(default=1.0)

    class Meta:
        db_table = "usage_event"
        constraints = [
            models.CheckConstraint(
                condition=Q(source__in=["direct", "link", "judge", "challenge", "withdrawn", "reinstated"]),
                name="usage_event_source_known",
            ),
            models.CheckConstraint(
                condition=Q(confidence__gte=0) & Q(confidence__lte=1), name="usage_event_confidence_in_unit"
            ),
            # A misleading memory was not useful, whatever else was said of it.
            models.CheckConstraint(condition=~(Q(useful=True) & Q(misled=True)), name="usage_event_not_both"),
            models.CheckConstraint(
                condition=Q(relevant__isnull=True) | Q(source="judge"), name="usage_event_relevant_by_judge"
            ),
        ]
        indexes = [
            # The roll-up of one memory's signals within the window.
            models.Index(fields=["memory", "-at"], name="usage_event_memory_at"),
        ]


class Surfacing(models.Model):
    """How often a memory was given to agents on a day, in UTC. Old days are removed; they rank nothing."""

    pk = models.CompositePrimaryKey("memory_id", "day")
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="surfacings", db_index=False)
    day = models.DateField()
    count = models.PositiveIntegerField()

    class Meta:
        db_table = "memory_surfacing"
        indexes = [
            # The sweep that removes old days.
            models.Index(fields=["day"], name="surfacing_day"),
        ]
