from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from memories.models import Token
from memories.models.memory import new_id
from reflections.querysets import TranscriptQuerySet

SESSION_LENGTH, NOTE_LENGTH = 120, 2000


class Transcript(models.Model):
    """A piece of a conversation that a judge reads, to say how the memories did that were shown in it.

    The text is kept only until it has been read. ``verdicts`` are what was found so far: ids, flags and confidence.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "Waiting"
        RUNNING = "running", "Being read"
        DONE = "done", "Judged"
        SKIPPED = "skipped", "Not judged"
        FAILED = "failed", "Failed"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", db_index=False)
    token = models.ForeignKey(Token, on_delete=models.CASCADE, null=True, related_name="+")
    actor = models.CharField(max_length=200, help_text="As shown: who handed it in.")
    session = models.CharField(max_length=SESSION_LENGTH)
    digest = models.CharField(max_length=64, help_text="A keyed digest of what was handed in: the same for the same.")
    text = models.TextField(blank=True, default="", help_text="Emptied as soon as it is read.")
    shown = ArrayField(models.UUIDField(), help_text="The memories to judge: all were given to this caller.")
    state = models.CharField(max_length=8, choices=State, default=State.QUEUED)
    questions = models.PositiveSmallIntegerField(default=0, help_text="To the model, for all of it.")
    asked = models.PositiveSmallIntegerField(default=0, help_text="Of these, so many so far.")
    unusable = models.PositiveSmallIntegerField(default=0, help_text="Of these, so many without a usable answer.")
    verdicts = models.JSONField(default=list, help_text="[{id, useful, relevant, misled, confidence}]")
    note = models.CharField(max_length=NOTE_LENGTH, blank=True, default="", help_text="What a reader must know.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it up.")
    requested_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now, help_text="Not before.")
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = TranscriptQuerySet.as_manager()

    class Meta:
        db_table = "transcript_judgement"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "skipped", "failed"]), name="transcript_state_known"
            ),
            models.CheckConstraint(condition=~Q(session=""), name="transcript_names_a_session"),
            # Nothing of a conversation outlives its reading.
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running"], finished_at__isnull=True)
                | Q(state__in=["done", "skipped", "failed"], text="", finished_at__isnull=False),
                name="transcript_forgotten_when_read",
            ),
            # What is handed in twice is judged once.
            models.UniqueConstraint(fields=["user", "session", "digest"], name="transcript_once"),
        ]
        indexes = [
            # The sweep that picks up what waits and what lost its worker.
            models.Index(fields=["due_at"], condition=Q(state__in=["queued", "running"]), name="transcript_unfinished"),
            # A person's newest, on the page of background work.
            models.Index(fields=["user", "-requested_at"], name="transcript_of_user"),
        ]

    def __str__(self) -> str:
        return f"{self.session}, {self.get_state_display().lower()}"

    @property
    def has_ended(self) -> bool:
        return self.finished_at is not None
