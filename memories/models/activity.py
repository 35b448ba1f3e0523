from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from memories.models.memory import new_id
from memories.models.scopes import Token

QUERY_KEPT = 500
SAID_KEPT = 120  # of a session's and of an agent's name


class RecallActivity(models.Model):
    """One question of an agent and what it was given. For the person whose token it was; removed after 30 days.

    ``memories``, ``ages`` and ``reinforced`` run side by side, best first. ``memories`` are bare ids, so that the log
    outlives what it names.
    """

    class Sort(models.TextChoices):
        RECALL = "recall", "Recall"
        BRIEFING = "briefing", "Briefing"

    class Outcome(models.TextChoices):
        HITS = "hits", "Found"
        EMPTY = "empty", "Nothing found"
        ERROR = "error", "Failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    at = models.DateTimeField()
    sort = models.CharField(max_length=10, choices=Sort, default=Sort.RECALL)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    token = models.ForeignKey(Token, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False)
    agent = models.CharField(max_length=SAID_KEPT, blank=True, default="")
    session = models.CharField(max_length=SAID_KEPT, blank=True, default="")
    query = models.CharField(max_length=QUERY_KEPT, help_text="Its beginning, secrets masked.")
    scopes = ArrayField(models.BigIntegerField(), help_text="That were searched; none where it failed before.")
    k = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=5, choices=Outcome)
    error = models.CharField(max_length=40, blank=True, default="", help_text="The code of a failure.")
    words_only = models.BooleanField(default=False, help_text="No embedder answered: found by words alone.")
    took_ms = models.FloatField()
    memories = ArrayField(models.UUIDField(), help_text="That were given, best first.")
    ages = ArrayField(models.FloatField(), help_text="Of each of them at that time, in days.")
    reinforced = ArrayField(models.BooleanField(), help_text="Whether use had moved the score of each.")

    class Meta:
        db_table = "recall_activity"
        verbose_name_plural = "recall activity"
        constraints = [
            models.CheckConstraint(condition=Q(sort__in=["recall", "briefing"]), name="recall_activity_sort_known"),
            models.CheckConstraint(
                condition=Q(outcome="hits", memories__len__gt=0, error="")
                | Q(outcome="empty", memories__len=0, error="")
                | (Q(outcome="error", memories__len=0) & ~Q(error="")),
                name="recall_activity_outcome_true",
            ),
            models.CheckConstraint(
                condition=Q(memories__len=F("ages__len")) & Q(memories__len=F("reinforced__len")),
                name="recall_activity_side_by_side",
            ),
        ]
        indexes = [
            # A person's list, newest first, and the figures of that person's agents.
            models.Index(fields=["user", "-at", "-id"], name="recall_activity_of_user"),
            # The sweep that removes old rows.
            models.Index(fields=["at"], name="recall_activity_at"),
        ]

    def __str__(self) -> str:
        return f"{self.agent or self.sort}: {self.query}"

    @property
    def hits(self) -> int:
        return len(self.memories)
