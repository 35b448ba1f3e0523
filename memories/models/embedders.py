from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from zeromemory.embedding import Choice


class EmbedderChange(models.Model):
    """From one embedder to the next. The newest row tells which of the two answers queries.

    The first row has no former one: it records what the store began with. Keys are never stored.
    """

    class State(models.TextChoices):
        RUNNING = "running", "Under way"
        PAUSED = "paused", "Paused"
        FINISHED = "finished", "Finished"
        ROLLED_BACK = "rolled_back", "Rolled back"

    OPEN = (State.RUNNING, State.PAUSED)

    former_stamp = models.CharField(max_length=270, blank=True, default="")
    former_choice = models.JSONField(default=dict, help_text="Setting, folder and prefixes. Empty where unknown.")
    stamp = models.CharField(max_length=270)
    choice = models.JSONField(default=dict)
    state = models.CharField(max_length=12, choices=State, default=State.RUNNING)
    memories = models.PositiveIntegerField(default=0, help_text="How many there were when it was finished.")
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "embedder_change"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["running", "paused", "finished", "rolled_back"]),
                name="embedder_change_state_known",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["running", "paused"]) ^ Q(ended_at__isnull=False),
                name="embedder_change_ended_when_closed",
            ),
            # One at a time: two would each call the other's vectors outdated.
            models.UniqueConstraint(
                fields=["ended_at"],
                condition=Q(ended_at__isnull=True),
                nulls_distinct=False,
                name="embedder_change_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.former_stamp or 'nothing'} to {self.stamp}"

    @property
    def is_open(self) -> bool:
        return self.state in self.OPEN

    @property
    def answering_stamp(self) -> str:
        """Of the embedder whose vectors answer queries."""
        return self.stamp if self.state == self.State.FINISHED else self.former_stamp

    @property
    def answering_choice(self) -> Choice | None:
        """What to load for it; None where that is not known."""
        stored = self.choice if self.state == self.State.FINISHED else self.former_choice
        return Choice(**stored) if stored else None


def stored(choice: Choice) -> dict[str, str]:
    """For a row: everything but the key."""
    return {
        "setting": choice.setting,
        "path": choice.path,
        "query_prefix": choice.query_prefix,
        "document_prefix": choice.document_prefix,
    }
