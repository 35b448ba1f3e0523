from typing import Final

from django.db import models
from django.db.models import F, Q

from memories.models.memory import Memory
from memories.models.scopes import Scope

UNTYPED: Final = "thing"


class Entity(models.Model):
    """A thing memories talk about. Entities belong to one scope, so a name never crosses a wall."""

    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="entities")
    name = models.CharField(max_length=300)
    canonical = models.CharField(max_length=300, help_text="NFKC, case-folded, single spaces.")
    type = models.CharField(max_length=40, default=UNTYPED)
    memories = models.ManyToManyField(Memory, through="MemoryEntity", related_name="entities")

    class Meta:
        verbose_name_plural = "entities"
        constraints = [
            models.UniqueConstraint(fields=["scope", "canonical", "type"], name="entity_scope_canonical_type_unique"),
            models.CheckConstraint(condition=~Q(canonical=""), name="entity_canonical_not_empty"),
        ]

    def __str__(self) -> str:
        return self.name


class MemoryEntity(models.Model):
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="memory_entities")
    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="memory_entities")
    recognised = models.BooleanField(
        default=False, db_default=False, help_text="Found in the text, where the writer named nothing."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["memory", "entity"], name="memory_entity_unique")]


class Link(models.Model):
    class Type(models.TextChoices):
        RELATES_TO = "relates_to", "relates to"
        SUPERSEDES = "supersedes", "supersedes"
        CONTRADICTS = "contradicts", "contradicts"
        DERIVED_FROM = "derived_from", "derived from"

    source = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="links_out")
    target = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="links_in")
    type = models.CharField(max_length=16, choices=Type)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["source", "target", "type"], name="link_unique"),
            models.CheckConstraint(condition=~Q(source=F("target")), name="link_not_to_itself"),
            models.CheckConstraint(
                condition=Q(type__in=["relates_to", "supersedes", "contradicts", "derived_from"]),
                name="link_type_known",
            ),
        ]
