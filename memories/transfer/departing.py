"""Rows of carried tables into records."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import batched
from typing import Any
from uuid import UUID

from django.db.models import Model

from memories.models import ConfigVersion, Memory
from memories.transfer import carried
from memories.transfer.carried import Carried
from memories.transfer.columns import Column, Sort, columns_of, of_sort
from memories.transfer.records import CarriedRecord

BATCH = 500

type Many = Mapping[tuple[str, Any], list[Any]]
"""What each row holds many of, by the name of the column and the key of the row."""


def about_memories(names: Mapping[int, str], left_out: Counter[str]) -> Iterator[CarriedRecord]:
    """What is kept about the memories of these scopes. What names one of another scope is left out and counted."""
    for table in carried.about_memories():
        rows = table.model._default_manager.filter(scope__in=names).order_by("pk")
        if not table.stays:
            yield from _records(table, rows.select_related(*_people(table)).iterator(BATCH), names, left_out)
        elif number := rows.count():
            left_out[f"{table.plural}: {table.stays}"] += number


def configuration() -> Iterator[CarriedRecord]:
    for table in carried.configuration():
        # Versions are numbered anew where they arrive, so their keys say nothing of their order.
        order = ("table", "row", "version") if table.model is ConfigVersion else ("pk",)
        rows = table.model._default_manager.select_related(*_people(table)).order_by(*order)
        yield from _records(table, rows.iterator(BATCH), {}, Counter())


def _people(table: Carried) -> list[str]:
    # No name at all would follow every relation there is.
    return [column.name for column in of_sort(table, Sort.PERSON)] or [None]  # type: ignore[list-item]  # Django's word for none


def _records(
    table: Carried, rows: Iterable[Model], names: Mapping[int, str], left_out: Counter[str]
) -> Iterator[CarriedRecord]:
    for some in batched(rows, BATCH):
        many = _many(table, some)
        inside = _inside({memory for row in some for memory in _memories(table, row, many)}, names)
        for row in some:
            if why := _why_not(table, row, many, inside, names):
                left_out[why] += 1
            else:
                yield CarriedRecord(table.type, dict(_values(table, row, many, names)))


def _many(table: Carried, rows: Sequence[Model]) -> Many:
    found: dict[tuple[str, Any], list[Any]] = {}
    for column in of_sort(table, Sort.MEMORIES, Sort.SCOPES):
        through = column.field.remote_field.through
        source, target = column.field.m2m_column_name(), column.field.m2m_reverse_name()
        order = "position" if hasattr(through, "position") else "pk"
        ties = through.objects.filter(**{f"{column.field.m2m_field_name()}__in": rows}).order_by(order)
        for key, other in ties.values_list(source, target):
            found.setdefault((column.name, key), []).append(other)
    return found


def _memories(table: Carried, row: Model, many: Many) -> set[UUID]:
    single = {getattr(row, column.field.attname) for column in of_sort(table, Sort.MEMORY)}
    lists = (many.get((column.name, row.pk), []) for column in of_sort(table, Sort.MEMORIES))
    return (single - {None}).union(*lists)


def _inside(memories: set[UUID], names: Mapping[int, str]) -> set[UUID]:
    return (
        set(Memory.objects.filter(pk__in=memories, scope_id__in=names).values_list("pk", flat=True))
        if memories
        else set()
    )


def _why_not(table: Carried, row: Model, many: Many, inside: set[UUID], names: Mapping[int, str]) -> str:
    if not _memories(table, row, many) <= inside:
        return f"{table.plural} about memories of scopes that are not exported"
    for column in of_sort(table, Sort.SCOPES):
        given = many.get((column.name, row.pk), [])
        if given and not names.keys() & given:
            return f"{table.plural} for scopes that are not exported"
    return ""


def _values(table: Carried, row: Model, many: Many, names: Mapping[int, str]) -> Iterator[tuple[str, Any]]:
    for column in columns_of(table):
        value = _value(column, row, many, names)
        if value is not None:
            yield column.name, value


def _value(column: Column, row: Model, many: Many, names: Mapping[int, str]) -> Any:
    if column.sort is Sort.MEMORIES:
        return many.get((column.name, row.pk), [])
    if column.sort is Sort.SCOPES:
        return sorted(names[scope] for scope in many.get((column.name, row.pk), []) if scope in names)
    found = getattr(row, column.field.attname)
    if found is None or column.sort in (Sort.VALUE, Sort.MEMORY):
        return found
    return names[found] if column.sort is Sort.SCOPE else getattr(row, column.name).get_username()
