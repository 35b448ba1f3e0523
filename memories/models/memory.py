import hashlib
from typing import Final
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import F, Func, Q
from django.utils import timezone
from pgvector.django import VectorField
from uuid_utils import compat

from memories.headlines import headline
from memories.models.scopes import Scope
from memories.querysets import MemoryQuerySet
from memories.retention import CONFIDENCES, INFERRED, UNVERIFIED, VERIFIED


def new_id() -> UUID:
    """A version 7 UUID: ids in time order keep the primary key index compact."""
    return compat.uuid7()


def content_hash(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


class Kind(models.TextChoices):
    FACT = "fact", "Fact"
    PREFERENCE = "preference", "Preference"
    DECISION = "decision", "Decision"
    CONVENTION = "convention", "Convention"
    GOTCHA = "gotcha", "Gotcha"
    REFERENCE = "reference", "Reference"
    EPISODE = "episode", "Episode"
    TASK = "task", "Task"
    OPEN_QUESTION = "open-question", "Open question"


LOOPS: Final = (Kind.TASK, Kind.OPEN_QUESTION)  # what is open until somebody closes it


class Provenance(models.IntegerChoices):
    PROVISIONAL = 0, "Provisional"
    AGENT = 1, "Agent or import"
    HUMAN = 2, "Typed by a person"


class AuthorKind(models.TextChoices):
    HUMAN = "human", "Person"
    AGENT = "agent", "Agent"
    IMPORT = "import", "Import"
    DISTILLED = "distilled", "Distilled, approved by a person"


class Confidence(models.TextChoices):
    VERIFIED = VERIFIED, "Verified"
    INFERRED = INFERRED, "Inferred"
    UNVERIFIED = UNVERIFIED, "Unverified"


class Memory(models.Model):
    """One remembered statement. Rows are added; a change of text is a new row that supersedes the old one."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    scope = models.ForeignKey(Scope, on_delete=models.PROTECT, related_name="memories")
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.FACT)
    content = models.TextField()
    content_sha256 = models.CharField(max_length=64, editable=False)

    provenance = models.PositiveSmallIntegerField(choices=Provenance, default=Provenance.AGENT)
    author_kind = models.CharField(max_length=10, choices=AuthorKind, default=AuthorKind.AGENT)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="memories"
    )
    agent = models.CharField(max_length=120, blank=True, default="")
    session = models.CharField(max_length=120, blank=True, default="")
    source = models.CharField(max_length=2000, blank=True, default="")
    verbatim = models.TextField(blank=True, default="")

    created_at = models.DateTimeField(default=timezone.now, help_text="When it was learned; age runs from here.")
    recorded_at = models.DateTimeField(auto_now_add=True, help_text="When this row was written.")
    updated_at = models.DateTimeField(
        default=timezone.now, help_text="The last change by somebody; scores, weights and checks never move it."
    )
    newest_source_at = models.DateTimeField(null=True, blank=True, help_text="Of a distillate: its newest source.")
    valid_from = models.DateTimeField(
        null=True, blank=True, help_text="Shown, not enforced: a memory is recalled before this moment too."
    )
    valid_until = models.DateTimeField(null=True, blank=True, help_text="From then on it is not recalled.")
    version = models.PositiveIntegerField(default=1)

    invalidated_at = models.DateTimeField(null=True, blank=True)
    invalidated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    invalidated_actor = models.CharField(max_length=200, blank=True, default="")
    invalidation_reason = models.CharField(max_length=2000, blank=True, default="")
    superseded_by = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="supersedes"
    )

    pinned = models.BooleanField(default=False)
    accessed_at = models.DateTimeField(default=timezone.now)
    access_count = models.PositiveIntegerField(default=0)
    weight = models.FloatField(default=1.0, help_text="Retention of a decaying scope; never part of a score.")

    confidence = models.CharField(
        max_length=10,
        choices=Confidence,
        default=Confidence.INFERRED,
        db_default=Confidence.INFERRED,
        help_text="How sure its author is; moves scores only where its scope says so.",
    )
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="When its decaying scope let it go. It is retired then, and can be restored."
    )

    external_id = models.CharField(max_length=300, blank=True, default="")
    idempotency_key = models.CharField(max_length=200, blank=True, default="")

    embedded_at = models.DateTimeField(null=True, blank=True)
    embedded_with = models.CharField(
        max_length=270,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Stamp of the embedder that embedded_at is about; vectors of earlier ones may stand beside its own.",
    )
    embedding_error = models.CharField(max_length=500, blank=True, default="")
    embedding_claimed_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When a worker last took it up; a claim lapses by itself."
    )

    objects = MemoryQuerySet.as_manager()

    class Meta:
        db_table = "memories"
        verbose_name_plural = "memories"
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="memory_kind_known"),
            models.CheckConstraint(condition=~Q(content=""), name="memory_content_not_empty"),
            models.CheckConstraint(condition=Q(provenance__in=[0, 1, 2]), name="memory_provenance_known"),
            models.CheckConstraint(condition=Q(author_kind__in=AuthorKind.values), name="memory_author_kind_known"),
            models.CheckConstraint(condition=Q(weight__gte=0) & Q(weight__lte=1), name="memory_weight_in_unit"),
            models.CheckConstraint(
                condition=Q(superseded_by__isnull=True) | Q(invalidated_at__isnull=False),
                name="memory_superseded_is_invalidated",
            ),
            models.CheckConstraint(
                condition=Q(superseded_by__isnull=True) | ~Q(superseded_by=F("id")),
                name="memory_not_superseded_by_itself",
            ),
            models.CheckConstraint(
                condition=Q(invalidated_at__isnull=True) | ~Q(invalidated_actor=""),
                name="memory_invalidation_attributed",
            ),
            models.CheckConstraint(condition=Q(confidence__in=CONFIDENCES), name="memory_confidence_known"),
            models.CheckConstraint(
                condition=Q(archived_at=None) | Q(invalidated_at__isnull=False), name="memory_archived_is_invalidated"
            ),
            models.CheckConstraint(
                condition=Q(valid_until__isnull=True) | Q(valid_from__isnull=True) | Q(valid_until__gt=F("valid_from")),
                name="memory_validity_window_ordered",
            ),
            # Re-import of a file finds the row it made before.
            models.UniqueConstraint(
                fields=["scope", "external_id"], condition=~Q(external_id=""), name="memory_external_id_unique"
            ),
            # A retried write finds the row its first try made.
            models.UniqueConstraint(
                fields=["scope", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="memory_idempotency_key_unique",
            ),
        ]
        indexes = [
            # The memory list of several scopes, or with what was forgotten among it.
            models.Index(fields=["-created_at", "-id"], name="memory_recent"),
            # The memory list and "newest first" of one scope.
            models.Index(
                fields=["scope", "-created_at", "-id"],
                condition=Q(invalidated_at__isnull=True),
                name="memory_live_recent",
            ),
            # Exact duplicates on write.
            models.Index(
                fields=["scope", "content_sha256"],
                condition=Q(invalidated_at__isnull=True),
                name="memory_live_content",
            ),
            # "How it ages": ages by kind of the live corpus.
            models.Index(
                fields=["scope", "kind", "created_at"],
                condition=Q(invalidated_at__isnull=True),
                name="memory_live_kind_age",
            ),
            # The beat sweep that embeds what is still waiting.
            models.Index(fields=["recorded_at"], condition=Q(embedded_at__isnull=True), name="memory_not_embedded"),
            # The same sweep after a change of the embedder, and the counts of what waits for it.
            models.Index(
                fields=["embedded_with"], condition=Q(invalidated_at__isnull=True), name="memory_live_embedded_with"
            ),
            # The archive of a scope, and its size.
            models.Index(
                fields=["scope", "-archived_at"], condition=Q(archived_at__isnull=False), name="memory_archived_recent"
            ),
            # Lifecycle filters over retired rows.
            models.Index(
                fields=["scope", "-invalidated_at"],
                condition=Q(invalidated_at__isnull=False),
                name="memory_retired_recent",
            ),
        ]

    def __str__(self) -> str:
        return self.headline

    @property
    def headline(self) -> str:
        return headline(self.__dict__.get("opening") or self.content)  # list pages load no more than the opening

    @property
    def state(self) -> str:
        """``live``, ``archived``, ``superseded`` or ``invalidated``; a lapsed validity window reads as ``lapsed``."""
        if self.archived_at:
            return "archived"
        if self.superseded_by_id:
            return "superseded"
        if self.invalidated_at:
            return "invalidated"
        if self.valid_until and self.valid_until <= timezone.now():
            return "lapsed"
        return "live"


class Window(models.Model):
    """A stretch of a memory's text, small enough to embed and to index. Short texts have exactly one."""

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="windows")
    position = models.PositiveIntegerField()
    start = models.PositiveIntegerField(help_text="First character in the memory's content.")
    stop = models.PositiveIntegerField(help_text="One past the last character.")
    text = models.TextField()
    live = models.BooleanField(default=True, editable=False, help_text="Kept by the database from the memory's row.")
    document = models.GeneratedField(
        expression=Func(F("text"), function="zm_document", output_field=SearchVectorField()),
        output_field=SearchVectorField(),
        db_persist=True,
    )

    class Meta:
        db_table = "memory_window"
        constraints = [
            models.UniqueConstraint(fields=["memory", "position"], name="window_memory_position_unique"),
            models.CheckConstraint(condition=Q(stop__gt=F("start")), name="window_not_empty"),
        ]
        indexes = [
            # The text leg of recall: live rows only.
            GinIndex(fields=["document"], condition=Q(live=True), name="window_live_document"),
        ]


class Embedding(models.Model):
    """A vector of one window, stamped with the model that made it."""

    window = models.ForeignKey(Window, on_delete=models.CASCADE, related_name="embeddings")
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="embeddings")
    model = models.CharField(max_length=200)
    model_version = models.CharField(max_length=64)
    dimensions = models.PositiveSmallIntegerField()
    vector = VectorField()
    live = models.BooleanField(default=True, editable=False, help_text="Kept by the database from the memory's row.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "memory_embedding"
        constraints = [
            models.UniqueConstraint(fields=["window", "model", "model_version"], name="embedding_window_model_unique"),
            models.CheckConstraint(
                condition=Q(dimensions=Func(F("vector"), function="vector_dims", output_field=models.IntegerField())),
                name="embedding_dimensions_true",
            ),
        ]
