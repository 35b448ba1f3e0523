"""What an export of some scopes would hold, counted before it begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from memories.models import Link, Memory, Scope
from memories.transfer import carried


@dataclass(frozen=True, slots=True)
class Contents:
    """``carried`` are rows about the memories, and ``left_out`` what stays behind, by what they are called."""

    live: int
    retired: int
    carried: dict[str, int]
    left_out: dict[str, int]


def contents_of(scopes: Sequence[Scope]) -> Contents:
    ids = [scope.pk for scope in scopes]
    numbers = Memory.objects.in_scopes(ids).aggregate(
        n_live=Count("pk", filter=Q(invalidated_at__isnull=True)),
        n_retired=Count("pk", filter=Q(invalidated_at__isnull=False)),
    )
    about = {table: table.model._default_manager.filter(scope__in=ids).count() for table in carried.about_memories()}
    beyond = Link.objects.filter(source__scope__in=ids).exclude(target__scope__in=ids).count()
    left_out = {f"{table.plural}: {table.stays}": number for table, number in about.items() if table.stays}
    return Contents(
        live=numbers["n_live"],
        retired=numbers["n_retired"],
        carried={table.plural: number for table, number in about.items() if number and not table.stays},
        left_out={
            what: number for what, number in (left_out | {"links to scopes not in it": beyond}).items() if number
        },
    )
