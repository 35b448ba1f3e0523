from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.models import Memory, Scope
from memories.models.memory import new_id
from reflections.querysets import waiting
from reflections.querysets.rules import StandingRuleQuerySet

LONGEST: Final = 4000  # characters; a rule is read at the start of every session


class StandingRule(models.Model):
    """A memory that proved itself in several sessions, proposed as a text to be delivered at the start of each."""

    class State(models.TextChoices):
        PROPOSED = "proposed", "Proposed"
        SNOOZED = "snoozed", "Snoozed"
        PROMOTED = "promoted", "Promoted"
        DISMISSED = "dismissed", "Dismissed"
        REVOKED = "revoked", "Revoked"

    class Layer(models.TextChoices):
        CORE = "core", "Everywhere its owner works"
        SCOPE = "scope", "In its scopes"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # The wording it was proposed for; unique for all time, so that what was proposed once is never proposed again.
    memory = models.OneToOneField(Memory, on_delete=models.CASCADE, related_name="standing_rule")
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="standing_rules")
    text = models.CharField(max_length=LONGEST, help_text="What is delivered: as proposed, or as a person worded it.")
    layer = models.CharField(max_length=5, choices=Layer)
    scopes = models.ManyToManyField(
        Scope, related_name="delivered_rules", blank=True, help_text="Of the layer scope: where it is delivered."
    )
    state = models.CharField(max_length=9, choices=State, default=State.PROPOSED)
    pinned = models.BooleanField(default=False, help_text="Delivered first, and beside the number of the others.")
    rationale = models.CharField(max_length=300, blank=True, default="", help_text="Why it is here.")
    sessions = models.PositiveIntegerField(default=0, help_text="That found it useful, when it was proposed.")
    proposed_at = models.DateTimeField(default=timezone.now)
    worded_at = models.DateTimeField(default=timezone.now, help_text="When its text was written or approved.")
    version = models.PositiveIntegerField(default=1, help_text="Moves with every decision; stale tabs are told.")

    promoted_at = models.DateTimeField(null=True, blank=True)
    promoted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    reason = models.CharField(max_length=2000, blank=True, default="")
    snoozed_until = models.DateTimeField(null=True, blank=True)

    objects = StandingRuleQuerySet.as_manager()

    class Meta:
        db_table = "standing_rule"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["proposed", "snoozed", "promoted", "dismissed", "revoked"]),
                name="standing_rule_state_known",
            ),
            models.CheckConstraint(condition=Q(layer__in=["core", "scope"]), name="standing_rule_layer_known"),
            models.CheckConstraint(condition=~Q(text=""), name="standing_rule_says_something"),
            models.CheckConstraint(
                condition=~Q(state="revoked") | ~Q(reason=""), name="standing_rule_revoked_for_a_reason"
            ),
            models.CheckConstraint(
                condition=Q(state="snoozed", snoozed_until__isnull=False)
                | (~Q(state="snoozed") & Q(snoozed_until__isnull=True)),
                name="standing_rule_snoozed_has_date",
            ),
            # Every state but the first is the decision of a person.
            models.CheckConstraint(
                condition=Q(state="proposed") | Q(decided_at__isnull=False, decided_by__isnull=False),
                name="standing_rule_decided_by_somebody",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["promoted", "revoked"], promoted_at__isnull=False, promoted_by__isnull=False)
                | Q(state__in=["proposed", "snoozed", "dismissed"], promoted_at__isnull=True, pinned=False),
                name="standing_rule_promoted_by_somebody",
            ),
        ]
        indexes = [
            # The inbox: what waits, oldest first.
            models.Index(
                fields=["scope", "proposed_at"],
                condition=Q(state__in=["proposed", "snoozed"]),
                name="standing_rule_waiting",
            ),
            # What is delivered at the start of a session, and the page of rules.
            models.Index(fields=["scope", "promoted_at"], condition=Q(state="promoted"), name="standing_rule_promoted"),
        ]

    def __str__(self) -> str:
        return f"{self.get_state_display()}: {self.text[:80]}"

    @property
    def is_open(self) -> bool:
        """Waiting for a decision: proposed, or snoozed until a date that has come."""
        return waiting.is_open(self.state, self.snoozed_until, waiting=self.State.PROPOSED)
