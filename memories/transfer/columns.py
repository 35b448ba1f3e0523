"""How the columns of a table stand in a file: memories by id, scopes by name, people by user name, the rest as is."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Final

from django.db import models

from memories.models import Memory, Scope, User
from memories.transfer import fields
from memories.transfer.carried import Carried
from memories.transfer.fields import Reader, Shape


class Sort(Enum):
    MEMORY = "memory"
    MEMORIES = "memories"
    SCOPE = "scope"
    SCOPES = "scopes"
    PERSON = "person"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    sort: Sort
    read: Reader
    is_required: bool
    field: Any


def _anything(value: Any) -> Any:
    return value


def _list_of(read: Reader) -> Reader:
    def many(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError("a list.")
        return [read(one) for one in value]

    return many


_ONE: Final = {
    Memory: (Sort.MEMORY, fields.identity),
    Scope: (Sort.SCOPE, fields.text),
    User: (Sort.PERSON, fields.text),
}
_MANY: Final = {Memory: (Sort.MEMORIES, _list_of(fields.identity)), Scope: (Sort.SCOPES, _list_of(fields.text))}
_VALUES: Final[list[tuple[type[models.Field], Reader]]] = [
    (models.DateTimeField, fields.moment),
    (models.BooleanField, fields.truth),
    (models.FloatField, fields.number),
    (models.IntegerField, fields.whole),
    (models.UUIDField, fields.identity),
    (models.JSONField, _anything),
    (models.CharField, fields.text),
    (models.TextField, fields.text),
]


@cache
def columns_of(table: Carried) -> tuple[Column, ...]:
    """All that travel of a row. Raises LookupError for one that nobody has said how, or why not."""
    meta = table.model._meta
    concrete = [
        field for field in meta.concrete_fields if not isinstance(field, models.AutoField | models.GeneratedField)
    ]
    return tuple(_column(field) for field in [*concrete, *meta.many_to_many] if field.name not in table.without)


def _column(field: Any) -> Column:
    sort, read = _sort_of(field)
    is_free = field.many_to_many or field.null or (field.has_default() and not field.primary_key)
    return Column(field.name, sort, read, not is_free and not _is_clock(field), field)


def _sort_of(field: Any) -> tuple[Sort, Reader]:
    if field.is_relation:
        return (_MANY if field.many_to_many else _ONE)[field.related_model]
    return Sort.VALUE, next(read for type, read in _VALUES if isinstance(field, type))


def _is_clock(field: Any) -> bool:
    """Whether the row's own clock writes it."""
    return bool(getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False))


def clocks_of(table: Carried) -> Iterator[str]:
    return (column.name for column in columns_of(table) if _is_clock(column.field))


def of_sort(table: Carried, *sorts: Sort) -> list[Column]:
    return [column for column in columns_of(table) if column.sort in sorts]


@cache
def shape_of(table: Carried) -> Shape:
    found = columns_of(table)
    required = tuple(column.name for column in found if column.is_required)
    return Shape({column.name: column.read for column in found}, required=required)


def texts_in(value: Any) -> Iterator[str]:
    """Every text within a JSON value, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def renamed(value: Any, names: dict[str, str]) -> Any:
    """A JSON value with the ids in it replaced, where *names* has another for them."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {key: renamed(item, names) for key, item in value.items()}
    return [renamed(item, names) for item in value] if isinstance(value, list) else value
