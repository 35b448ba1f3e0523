from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.models import Scope
from reflections.querysets import ModelCallQuerySet

REASON_LENGTH = 2000


class ModelCall(models.Model):
    """One question to the model: what it cost and what came of it. Never changed, never removed."""

    class Outcome(models.TextChoices):
        ANSWERED = "answered", "Answered"
        REJECTED = "rejected", "Answered unusably"
        REFUSED = "refused", "Refused this question"
        TIMED_OUT = "timed_out", "No answer in time"
        UNAVAILABLE = "unavailable", "No answer"
        BUSY = "busy", "Asked to wait"

    at = models.DateTimeField(default=timezone.now, help_text="When it began.")
    job = models.CharField(max_length=40, help_text="The step that asked.")
    scope = models.ForeignKey(Scope, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    run_id = models.UUIDField(null=True, blank=True, help_text="The run that asked; it may be gone by now.")
    model = models.CharField(max_length=200)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    estimated = models.BooleanField(
        default=False, help_text="Whether some of the tokens were counted from characters, for want of a report."
    )
    requests = models.PositiveSmallIntegerField(default=0, help_text="Sent over HTTP, retries among them.")
    question = models.CharField(
        max_length=64, blank=True, default="", help_text="A keyed digest: the same for the same question, and no text."
    )
    seconds = models.FloatField()
    outcome = models.CharField(max_length=12, choices=Outcome)
    reason = models.CharField(max_length=REASON_LENGTH, blank=True, default="", help_text="Why there is no answer.")
    raw = models.TextField(
        blank=True, default="", help_text="The answers that could not be used. May be emptied, never rewritten."
    )

    objects = ModelCallQuerySet.as_manager()

    class Meta:
        db_table = "model_call"
        ordering = ["-at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome__in=["answered", "rejected", "refused", "timed_out", "unavailable", "busy"]),
                name="model_call_outcome_known",
            ),
            # What was answered is kept where it was used; only what could not be used is kept here.
            models.CheckConstraint(condition=Q(raw="") | Q(outcome="rejected"), name="model_call_raw_when_rejected"),
            models.CheckConstraint(condition=Q(seconds__gte=0), name="model_call_seconds_positive"),
        ]
        indexes = [
            # The tokens of today, before each question; and the log, newest first.
            models.Index(fields=["-at"], include=["input_tokens", "output_tokens"], name="model_call_at"),
            # What a run asked and spent.
            models.Index(fields=["run_id", "at"], condition=Q(run_id__isnull=False), name="model_call_run"),
            # How often a question was refused or not answered in time, when it was so once more.
            models.Index(
                fields=["question"],
                condition=Q(outcome__in=["refused", "timed_out"]),
                name="model_call_failed_question",
            ),
            # Whether a model has ever answered, when it refuses a question.
            models.Index(fields=["model"], condition=Q(outcome="answered"), name="model_call_answered"),
        ]

    def __str__(self) -> str:
        return f"{self.job}: {self.get_outcome_display()}"
