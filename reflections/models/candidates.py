from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from memories.models import Memory, Scope
from memories.models.memory import new_id
from reflections.models.runs import Run
from reflections.querysets import CandidateQuerySet, waiting


def sources_of(line: Mapping[str, Any]) -> list[str]:
    """The ids of the episodes that say one of a draft's ``sentences``. Old rows name one, as ``source``."""
    return line["sources"] if "sources" in line else [str(line["source"])]


class Candidate(models.Model):
    """Some memories and the one fact drafted from them, waiting for a person.

    A draft is of a cluster of episodes, which stay. A summary is of fading memories of a decaying scope, which it
    replaces once it is approved.
    """

    class Purpose(models.TextChoices):
        DRAFT = "draft", "Draft from episodes"
        SUMMARY = "summary", "Summary of what is fading"

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        SNOOZED = "snoozed", "Snoozed"
        APPROVED = "approved", "Approved"
        DISMISSED = "dismissed", "Dismissed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="candidates")
    purpose = models.CharField(
        max_length=10,
        choices=Purpose,
        default=Purpose.DRAFT,
        db_default=Purpose.DRAFT,
        help_text="Whether its sources stay beside it, or are retired in its favour.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    kind = models.CharField(max_length=16, default="fact")
    draft = models.TextField()
    sentences = models.JSONField(default=list, help_text="[{text, sources}] with the ids of the episodes that say it.")
    origin = models.CharField(max_length=200, default="extractive", help_text="'extractive', or the model's name.")
    confidence = models.FloatField(null=True, blank=True)
    rationale = models.TextField(blank=True, default="")
    similarity = models.FloatField(null=True, blank=True, help_text="Mean cosine of the joined pairs.")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, blank=True, related_name="candidates")
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
            models.CheckConstraint(condition=Q(purpose__in=["draft", "summary"]), name="candidate_purpose_known"),
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
            # Approval is an act of a person. A draft may be dismissed by itself, for low confidence.
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
    def is_summary(self) -> bool:
        return self.purpose == self.Purpose.SUMMARY

    @property
    def is_open(self) -> bool:
        """Waiting for a decision: pending, or snoozed until a date that has come."""
        return waiting.is_open(self.state, self.snoozed_until, waiting=self.State.PENDING)


class CandidateMember(models.Model):
    """A memory in a candidacy. Once a member, never again: a person is asked about it once, whatever for."""

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
