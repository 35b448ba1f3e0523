"""What an import wrote."""

from dataclasses import dataclass
from typing import Any

from django.db.models import CharField, Exists, OuterRef
from django.db.models.functions import Cast

from memories.models import AuditEntry, Import, ImportedMemory, Memory, Scope
from memories.querysets import MemoryQuerySet

COMES_AND_GOES = ("forget", "restore")  # whoever forgot a memory and brought it back has not changed it


@dataclass(frozen=True, slots=True)
class Imported:
    """The live memories that an import wrote; pinned and protected ones too, because nothing else is left of them."""

    row: Import

    @property
    def scope(self) -> Scope:
        return self.row.scope

    def rows(self) -> MemoryQuerySet:
        members = ImportedMemory.objects.filter(arrival=self.row).values("memory")
        return Memory.objects.in_scopes([self.scope.pk]).filter(pk__in=members, invalidated_at__isnull=True)

    def forgettable(self) -> MemoryQuerySet:
        """What nobody has touched: an import leaves no entry of its own for each memory, every later write does."""
        entries = AuditEntry.objects.filter(
            object_type="memory", object_id=Cast(OuterRef("pk"), CharField(max_length=60))
        )
        return self.rows().filter(~Exists(entries.exclude(action__in=COMES_AND_GOES)))

    def said(self) -> dict[str, Any]:
        return {"import": self.row.file_name or str(self.row.pk)}
