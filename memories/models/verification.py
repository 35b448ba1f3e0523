from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q

from memories.freshness import MOST_MEMORIES, MOST_SEARCHES
from memories.models.config import SingleRow
from memories.models.memory import Memory


class VerificationQuerySet(models.QuerySet["Verification"]):
    def standing(self) -> Self:
        """The looks that were not taken back."""
        taken_back = Verification.objects.filter(
            memory=OuterRef("memory"), at=OuterRef("at"), verdict=Verification.Verdict.TAKEN_BACK
        )
        return self.exclude(Exists(taken_back))


class Verification(models.Model):
    """One look at whether a memory still holds: by whom, how, and what it rests on. Append-only.

    What is found outdated stands here no more than what was too unsure to say: the one becomes a dispute, the other
    nothing.
    """

    class Verdict(models.TextChoices):
        CURRENT = "current", "Still true"
        UNVERIFIABLE = "unverifiable", "Cannot be told"
        # About the line of the same moment, which then is no look any more.
        TAKEN_BACK = "taken_back", "Taken back"

    class Method(models.TextChoices):
        PERSON = "person", "A person"
        AGENT = "agent", "An agent"
        WEB_SEARCH = "web_search", "Web search"

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="verifications", db_index=False)
    at = models.DateTimeField()
    verdict = models.CharField(max_length=12, choices=Verdict)
    method = models.CharField(max_length=10, choices=Method)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    actor = models.CharField(max_length=200, help_text="As shown: a person, an agent or a scanner with its model.")
    source = models.CharField(max_length=2000, blank=True, default="", help_text="Where it is said: an address.")
    note = models.CharField(max_length=2000, blank=True, default="")
    confidence = models.FloatField(null=True, blank=True, help_text="Of a model; people and agents give none.")
    model = models.CharField(max_length=200, blank=True, default="")

    objects = VerificationQuerySet.as_manager()

    class Meta:
        db_table = "memory_verification"
        constraints = [
            models.CheckConstraint(
                condition=Q(verdict__in=["current", "unverifiable", "taken_back"]), name="verification_verdict_known"
            ),
            models.CheckConstraint(
                condition=Q(method__in=["person", "agent", "web_search"]), name="verification_method_known"
            ),
            models.CheckConstraint(condition=~Q(actor=""), name="verification_attributed"),
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=1),
                name="verification_confidence_in_unit",
            ),
        ]
        indexes = [
            # The newest check of each of a few memories, and the ledger of one.
            models.Index(fields=["memory", "-at"], name="verification_memory_at"),
        ]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()}, {self.at:%Y-%m-%d}"


class FreshnessConfig(SingleRow):
    """The single row of budgets and limits of checking facts about the world. A missing row behaves as the defaults."""

    fact_days = models.PositiveSmallIntegerField(default=180, help_text="Days a core fact may go without a check.")
    reference_days = models.PositiveSmallIntegerField(default=90, help_text="The same for a core reference.")
    most_memories = models.PositiveSmallIntegerField(
        default=MOST_MEMORIES, help_text="Memories that one run of the web check looks at."
    )
    most_searches = models.PositiveSmallIntegerField(
        default=MOST_SEARCHES, help_text="Searches of the web about one memory."
    )
    confidence = models.FloatField(default=0.70, help_text="From here on an answer of the model counts.")

    class Meta:
        db_table = "freshness_config"
        verbose_name = verbose_name_plural = "freshness configuration"
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="freshness_config_single_row"),
            models.CheckConstraint(
                condition=Q(fact_days__gte=1, fact_days__lte=3650) & Q(reference_days__gte=1, reference_days__lte=3650),
                name="freshness_config_days_sane",
            ),
            models.CheckConstraint(
                condition=Q(most_memories__gte=1, most_memories__lte=MOST_MEMORIES)
                & Q(most_searches__gte=1, most_searches__lte=MOST_SEARCHES),
                name="freshness_config_run_bounded",
            ),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1), name="freshness_config_confidence_in_unit"
            ),
        ]

    def __str__(self) -> str:
        return "Freshness"
