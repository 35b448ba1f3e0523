from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Greatest, Least
from django.utils import timezone

from memories.models import Kind, Memory, Scope
from memories.models.memory import new_id
from reflections.querysets import DisputeQuerySet, waiting

EVIDENCE_LENGTH, RATIONALE_LENGTH = 4000, 2000


class DisputeType(models.TextChoices):
    DUPLICATE = "duplicate", "Duplicate"
    SUPERSEDES = "supersedes", "One replaces the other"
    CONTRADICTION = "contradiction", "Contradiction"
    UNJUDGED = "unjudged", "Not judged yet"
    CHALLENGED = "challenged", "Challenged"
    STALE_SUSPECT = "stale_suspect", "Misled more than once"
    OUTDATED = "outdated", "The world has changed"
    CODE_CHANGED = "code_changed", "The code has changed"
    LOOP_DONE = "loop_done", "Ready to close"
    MISFILED = "misfiled", "Of another kind"


PAIR_TYPES = ("duplicate", "supersedes", "contradiction", "unjudged")
SINGLE_TYPES = ("challenged", "stale_suspect", "outdated", "code_changed", "loop_done", "misfiled")
OPEN = ("pending", "snoozed")


class Dispute(models.Model):
    """A doubt about one memory, or about two that cannot both stay as they are; it waits for somebody to settle it."""

    class Status(models.TextChoices):
        PENDING = "pending", "Pending"
        SNOOZED = "snoozed", "Snoozed"
        RESOLVED = "resolved", "Resolved"
        DISMISSED = "dismissed", "Dismissed"

    class Resolution(models.TextChoices):
        KEPT_BOTH = "kept_both", "Kept both"
        FORGOT = "forgot", "Forgot one"
        SUPERSEDED = "superseded", "One replaced the other"
        MERGED = "merged", "Merged into a new text"
        RETIRED = "retired", "Retired"
        UPHELD = "upheld", "Upheld"
        REFILED = "refiled", "Filed as another kind"
        SWEPT = "swept", "Swept: a side was gone"
        PASSED = "passed", "Closed by itself: the code is back"

    Type = DisputeType

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="disputes")
    type = models.CharField(max_length=16, choices=DisputeType)
    subject = models.ForeignKey(
        Memory, on_delete=models.CASCADE, related_name="disputes", help_text="Of a pair, the older one."
    )
    other = models.ForeignKey(
        Memory, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="Of a pair, the newer one."
    )
    low = models.GeneratedField(
        expression=Least(F("subject"), F("other")), output_field=models.UUIDField(), db_persist=True
    )
    high = models.GeneratedField(
        expression=Greatest(F("subject"), F("other")), output_field=models.UUIDField(), db_persist=True
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    proposed_winner = models.ForeignKey(
        Memory, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="As the scanner sees it."
    )
    proposed_kind = models.CharField(
        max_length=16, choices=Kind, blank=True, default="", db_default="", help_text="Of what is misfiled."
    )
    confidence = models.FloatField(null=True, blank=True)
    rationale = models.CharField(max_length=RATIONALE_LENGTH, blank=True, default="", help_text="Why it is here.")
    evidence = models.CharField(max_length=EVIDENCE_LENGTH, blank=True, default="")
    reports = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Of a stale suspect, who says that it misled: [{at, source, by, session, confidence}].",
    )
    scanner = models.CharField(max_length=60, blank=True, default="", help_text="What opened it by itself.")
    model = models.CharField(max_length=200, blank=True, default="", help_text="The language model that judged it.")
    opened_at = models.DateTimeField(default=timezone.now)
    opened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    opened_actor = models.CharField(max_length=200, help_text="As shown: a person, an agent or a scanner.")
    version = models.PositiveIntegerField(default=1, help_text="Moves with every decision; stale tabs are told.")
    snoozed_until = models.DateTimeField(null=True, blank=True)

    resolution = models.CharField(max_length=12, choices=Resolution, blank=True, default="")
    winner = models.ForeignKey(
        Memory, on_delete=models.CASCADE, null=True, blank=True, related_name="+", help_text="The side that stayed."
    )
    merged = models.ForeignKey(
        Memory,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="What both, or a corrected one, became.",
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_actor = models.CharField(max_length=200, blank=True, default="")
    reason = models.CharField(max_length=2000, blank=True, default="")
    retired = models.JSONField(
        default=list,
        blank=True,
        help_text="To undo by: [{memory, at, updated_at}] retired, or [{memory, version, updated_at}] refiled.",
    )
    reanchored = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="To undo by: {former, anew}, the anchors that an upheld memory gave up, and the new ones.",
    )
    upheld = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="To undo an uphold by: moments of the {reports} withdrawn, and of the {look} noted.",
    )
    former_kind = models.CharField(
        max_length=16, choices=Kind, blank=True, default="", db_default="", help_text="Before the decision refiled it."
    )

    objects = DisputeQuerySet.as_manager()

    class Meta:
        db_table = "dispute"
        constraints = [
            models.CheckConstraint(condition=Q(type__in=DisputeType.values), name="dispute_type_known"),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "snoozed", "resolved", "dismissed"]), name="dispute_status_known"
            ),
            models.CheckConstraint(
                condition=Q(type__in=PAIR_TYPES, other__isnull=False) | Q(type__in=SINGLE_TYPES, other__isnull=True),
                name="dispute_pair_has_two_sides",
            ),
            models.CheckConstraint(
                condition=Q(other__isnull=True) | ~Q(other=F("subject")), name="dispute_sides_differ"
            ),
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__gte=0, confidence__lte=1),
                name="dispute_confidence_in_unit",
            ),
            models.CheckConstraint(
                condition=Q(proposed_winner__isnull=True)
                | Q(proposed_winner=F("subject"))
                | Q(other__isnull=False, proposed_winner=F("other")),
                name="dispute_proposed_winner_is_a_side",
            ),
            models.CheckConstraint(
                condition=Q(winner__isnull=True) | Q(winner=F("subject")) | Q(other__isnull=False, winner=F("other")),
                name="dispute_winner_is_a_side",
            ),
            models.CheckConstraint(
                condition=Q(status="snoozed", snoozed_until__isnull=False)
                | (~Q(status="snoozed") & Q(snoozed_until__isnull=True)),
                name="dispute_snoozed_has_date",
            ),
            models.CheckConstraint(
                condition=Q(type="misfiled", proposed_kind__in=Kind.values)
                | (~Q(type="misfiled") & Q(proposed_kind="")),
                name="dispute_misfiled_names_a_kind",
            ),
            models.CheckConstraint(
                condition=Q(resolution="refiled", type="misfiled", former_kind__in=Kind.values)
                | (~Q(resolution="refiled") & Q(former_kind="")),
                name="dispute_refiled_keeps_the_former_kind",
            ),
            # What is settled says how, and what is open does not.
            models.CheckConstraint(
                condition=Q(
                    status="resolved",
                    resolution__in=["kept_both", "forgot", "superseded", "merged", "retired", "refiled"],
                )
                | Q(status="dismissed", resolution__in=["upheld", "swept"])
                | Q(status="dismissed", resolution="passed", type="code_changed")
                | Q(status__in=OPEN, resolution="", winner__isnull=True, merged__isnull=True),
                name="dispute_resolution_of_status",
            ),
            models.CheckConstraint(
                condition=Q(status="pending") | (Q(decided_at__isnull=False) & ~Q(decided_actor="")),
                name="dispute_decision_attributed",
            ),
            models.CheckConstraint(condition=~Q(opened_actor=""), name="dispute_opening_attributed"),
            # A pair that was queued once, whatever became of it, is never queued again.
            models.UniqueConstraint(
                fields=["low", "high"], condition=Q(other__isnull=False), name="dispute_pair_queued_once"
            ),
            # Challenging twice is one doubt.
            models.UniqueConstraint(
                fields=["subject", "type"],
                condition=Q(other__isnull=True, status__in=OPEN),
                name="dispute_one_open_of_a_type",
            ),
        ]
        indexes = [
            # The inbox and the lists by status, in the order of opening; ids are in time order.
            models.Index(fields=["scope", "status", "id"], name="dispute_queue"),
            # What a scanner asks before it raises the same doubt again: the last decision about a memory.
            models.Index(fields=["subject", "type", "-decided_at"], name="dispute_last_decision"),
        ]

    def __str__(self) -> str:
        return f"{self.get_type_display()}, {self.get_status_display().lower()}"

    @property
    def is_pair(self) -> bool:
        return self.other_id is not None

    @property
    def is_challenge(self) -> bool:
        """Raised by somebody whom the memory misled, also when more reports have come since."""
        return not self.scanner and self.type in (DisputeType.CHALLENGED, DisputeType.STALE_SUSPECT)

    @property
    def sides(self) -> list[Memory]:
        return [self.subject] if self.other is None else [self.subject, self.other]

    @property
    def is_open(self) -> bool:
        """Waiting for a decision: pending, or snoozed until a date that has come."""
        return waiting.is_open(self.status, self.snoozed_until, waiting=self.Status.PENDING)
