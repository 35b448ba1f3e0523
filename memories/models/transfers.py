from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from memories.models.memory import Memory, new_id
from memories.models.scopes import Scope

FILE_NAME_LENGTH: Final = 200
ERROR_LENGTH: Final = 2000


class Import(models.Model):
    """A file that somebody handed in: checked, and when they have looked at what it would write, imported.

    The row is the list of work. The file itself lies in the data folder, and not for longer than it is needed.
    """

    class State(models.TextChoices):
        TO_CHECK = "to_check", "Waits to be checked"
        CHECKING = "checking", "Is being checked"
        CHECKED = "checked", "Checked"
        QUEUED = "queued", "Waits to be imported"
        RUNNING = "running", "Is being imported"
        DONE = "done", "Imported"
        FAILED = "failed", "Not imported"
        CANCELLED = "cancelled", "Cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    actor = models.CharField(max_length=200, help_text="As shown: who handed it in.")
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="+")
    format = models.CharField(max_length=40)
    file_name = models.CharField(max_length=FILE_NAME_LENGTH, blank=True, default="")
    file_bytes = models.PositiveBigIntegerField(default=0)
    state = models.CharField(max_length=9, choices=State, default=State.TO_CHECK)
    handed_in_at = models.DateTimeField(auto_now_add=True)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    cancel_asked_at = models.DateTimeField(null=True, help_text="The worker stops at its next batch.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it up.")
    read = models.PositiveIntegerField(default=0, help_text="Memories read so far.")
    report = models.JSONField(default=dict, help_text="What it would write, and later what it has written: counts.")
    error = models.CharField(max_length=ERROR_LENGTH, blank=True, default="")
    undone_by = models.UUIDField(null=True, help_text="The operation that has forgotten what it wrote.")

    class Meta:
        db_table = "memory_import"
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "to_check", "checking", "checked", "queued", "running", "done", "failed", "cancelled",
                    ]
                ),
                name="import_state_known",
            ),
        ]  # fmt: skip
        indexes = [
            # The page of past imports of the scopes that somebody reads.
            models.Index(fields=["scope", "-handed_in_at"], name="import_scope_newest"),
            # The sweep that picks up what waits, what is abandoned, and what nobody came back to.
            models.Index(
                fields=["handed_in_at"],
                condition=Q(state__in=["to_check", "checking", "checked", "queued", "running"]),
                name="import_unfinished",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name or self.format}, {self.get_state_display().lower()}"

    @property
    def is_under_way(self) -> bool:
        """Whether a worker has it, or is to take it up."""
        return self.state in (self.State.TO_CHECK, self.State.CHECKING, self.State.QUEUED, self.State.RUNNING)


class ImportedMemory(models.Model):
    """A memory that an import wrote; what was there already is not among them."""

    arrival = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="members")
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")

    class Meta:
        db_table = "memory_import_member"
        constraints = [models.UniqueConstraint(fields=["arrival", "memory"], name="import_member_once")]
