"""Carried rows into their tables, when every memory of the import is there."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import batched
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Model

from memories.errors import ValidationFailed
from memories.services.validation import check_storable
from memories.transfer import carried
from memories.transfer.carried import Carried
from memories.transfer.columns import Column, Sort, clocks_of, columns_of, of_sort, renamed, texts_in
from memories.transfer.destinations import Destinations
from memories.transfer.errors import TransferError
from memories.transfer.records import CarriedRecord
from memories.transfer.references import References
from memories.transfer.rows import People, keep_dates

BATCH = 250


class Arrivals:
    """Rows about memories. Those that are there already are left as they are; ``notes`` counts what was not written."""

    def __init__(self, destinations: Destinations, references: References, people: People) -> None:
        self.notes: Counter[str] = Counter()
        self.written: dict[int, Counter[str]] = defaultdict(Counter)
        self._destinations, self._references, self._people = destinations, references, people
        self._waiting: dict[str, list[CarriedRecord]] = defaultdict(list)

    def wait(self, record: CarriedRecord) -> None:
        self._waiting[record.type].append(record)

    def settle(self) -> None:
        for table in carried.about_memories():
            for some in batched(self._waiting.pop(table.type, []), BATCH):
                self._write(table, some)

    def _write(self, table: Carried, records: Sequence[CarriedRecord]) -> None:
        names = self._references.rows_called(
            self._destinations.actor, {str(id) for record in records for id in _memories(table, record)}
        )
        there = _there(table, [record.row["id"] for record in records])
        rows = [
            (record, row)
            for record in records
            if record.row["id"] not in there and (row := self._row(table, record, names)) is not None
        ]
        rows = list(self._unless_taken(table, rows, names))
        _insert(table, rows)
        kept = _there(table, [row.pk for _, row in rows])
        for record, row in rows:
            self._count(table, row, is_written=row.pk in kept)
            if row.pk in kept:
                self._tie(table, record, row, names)

    def _count(self, table: Carried, row: Any, *, is_written: bool) -> None:
        if is_written:
            self.written[row.scope_id][table.type] += 1
        else:
            self.notes[f"{table.plural} that stand against others here, which were kept"] += 1

    def _row(self, table: Carried, record: CarriedRecord, names: Mapping[str, UUID]) -> Model | None:
        """None where nobody here is called like one who has signed it."""
        values = {
            column.field.attname: self._value(column, record, names)
            for column in columns_of(table)
            if column.name in record.row and not column.field.many_to_many
        }
        if any(values.get(f"{name}_id", "") is None for name in table.signed):
            self.notes[f"{table.plural} decided by people who have no account here"] += 1
            return None
        return checked(table, record, table.model(**values))

    def _value(self, column: Column, record: CarriedRecord, names: Mapping[str, UUID]) -> Any:
        given = record.row[column.name]
        if column.sort is Sort.MEMORY:
            return _found(given, record, column, names)
        if column.sort is Sort.SCOPE:
            return self._destinations.named(given, record.line).pk
        if column.sort is Sort.PERSON:
            person = self._people.called(given)
            return person.pk if person else None
        return (
            renamed(given, {name: str(id) for name, id in names.items()}) if isinstance(given, list | dict) else given
        )

    def _unless_taken(
        self, table: Carried, rows: Iterable[tuple[CarriedRecord, Model]], names: Mapping[str, UUID]
    ) -> Iterator[tuple[CarriedRecord, Model]]:
        """Without those that want a memory which another row has for itself alone."""
        alone = [column for column in of_sort(table, Sort.MEMORIES) if _is_alone(column)]
        for record, row in rows:
            if any(_taken(column, record, names) for column in alone):
                self._count(table, row, is_written=False)
            else:
                yield record, row

    def _tie(self, table: Carried, record: CarriedRecord, row: Model, names: Mapping[str, UUID]) -> None:
        for column in of_sort(table, Sort.MEMORIES, Sort.SCOPES):
            through = column.field.remote_field.through
            if column.sort is Sort.SCOPES:
                others: list[Any] = [self._destinations.named(name, record.line).pk for name in record.row[column.name]]
            else:
                others = [_found(id, record, column, names) for id in record.row[column.name]]
            ties = [
                through(**{column.field.m2m_column_name(): row.pk, column.field.m2m_reverse_name(): other})
                for other in dict.fromkeys(others)
            ]
            for position, tie in enumerate(ties if hasattr(through, "position") else ()):
                tie.position = position
            through.objects.bulk_create(ties)


def _memories(table: Carried, record: CarriedRecord) -> Iterator[Any]:
    for column in of_sort(table, Sort.MEMORY, Sort.MEMORIES):
        given = record.row.get(column.name, [])
        yield from given if isinstance(given, list) else [given]
    for column in of_sort(table, Sort.VALUE):
        yield from texts_in(record.row.get(column.name)) if column.field.get_internal_type() == "JSONField" else ()


def _found(given: UUID, record: CarriedRecord, column: Column, names: Mapping[str, UUID]) -> UUID:
    if found := names.get(str(given)):
        return found
    raise TransferError(
        f"'{given}' is neither in this import nor in a scope of yours. Import it too, or leave the line out.",
        line=record.line,
        field=column.name,
    )


def _is_alone(column: Column) -> bool:
    """Whether a memory may be in one row alone."""
    field = column.field
    return bool(field.remote_field.through._meta.get_field(field.m2m_reverse_field_name()).unique)


def _taken(column: Column, record: CarriedRecord, names: Mapping[str, UUID]) -> bool:
    wanted = [_found(id, record, column, names) for id in record.row[column.name]]
    ties = column.field.remote_field.through.objects
    return bool(ties.filter(**{f"{column.field.m2m_reverse_field_name()}__in": wanted}).exists())


def _there(table: Carried, keys: Sequence[Any]) -> set[Any]:
    return set(table.model._default_manager.filter(pk__in=keys).values_list("pk", flat=True))


# Rows, of whichever table ----------------------------------------------------------------------


def checked(table: Carried, record: CarriedRecord, row: Any) -> Any:
    """Raises TransferError naming the line and the column."""
    own = [column for column in of_sort(table, Sort.VALUE) if column.field.get_internal_type() != "JSONField"]
    try:
        for name, given in record.row.items():
            for text in texts_in(given):
                check_storable(text, name)
        row.clean_fields(exclude={field.name for field in row._meta.fields} - {column.name for column in own})
    except ValidationFailed as error:
        raise TransferError(error.message, line=record.line, field=error.field) from error
    except ValidationError as error:
        name, problems = next(iter(error.message_dict.items()))
        raise TransferError(" ".join(problems), line=record.line, field=name) from error
    return row


def _insert(table: Carried, rows: Sequence[tuple[CarriedRecord, Any]]) -> None:
    """What stands against a row that is there, by whichever rule, is passed over."""
    insert(table, rows, ignore_conflicts=True)


def insert(table: Carried, rows: Sequence[tuple[CarriedRecord, Any]], *, ignore_conflicts: bool = False) -> None:
    """Raises TransferError where the database refuses what a row says."""
    try:
        with transaction.atomic():
            table.model._default_manager.bulk_create([row for _, row in rows], ignore_conflicts=ignore_conflicts)
    except IntegrityError as error:
        rule = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None) or "a rule of the database"
        lines = sorted(record.line for record, _ in rows if record.line)
        raise TransferError(
            f"One of the {table.plural} up to line {lines[-1] if lines else '?'} cannot be as it is told: {rule}.",
            line=lines[0] if lines else None,
        ) from error
    for clock in clocks_of(table):
        keep_dates(table.model, [row for _, row in rows], clock, [record.row.get(clock) for record, _ in rows])
