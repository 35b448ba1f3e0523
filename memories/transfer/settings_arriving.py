"""Configuration from another installation: of each row, what it says and how it came to say so."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import Model

from memories.access import Actor
from memories.models import ConfigVersion
from memories.services import audit
from memories.transfer import carried
from memories.transfer.arriving import checked, insert
from memories.transfer.carried import Carried
from memories.transfer.columns import Sort, of_sort
from memories.transfer.errors import TransferError
from memories.transfer.records import CarriedRecord
from memories.transfer.rows import People

type Key = tuple[str, str]
"""A table, and the key of a row in it."""


class Settings:
    """Rows that nobody has changed here give way to those of the file; a row that somebody has changed stays."""

    def __init__(self, actor: Actor, people: People) -> None:
        self.notes: Counter[str] = Counter()
        self._actor, self._people = actor, people
        self._rows: dict[Key, CarriedRecord] = {}
        self._versions: dict[Key, list[CarriedRecord]] = defaultdict(list)
        self._tables = {table.type: table for table in carried.configuration()}

    def wait(self, record: CarriedRecord) -> None:
        if record.type == ConfigVersion._meta.db_table:
            self._versions[self._versioned(record)].append(record)
        else:
            self._rows[record.type, str(self._key(record))] = record

    def _versioned(self, record: CarriedRecord) -> Key:
        table, row = record.row["table"], record.row["row"]
        if table not in self._tables or table == record.type:
            raise TransferError(f"{table!a} is no table of settings here.", line=record.line, field="table")
        return table, row

    def _key(self, record: CarriedRecord) -> Any:
        return record.row[self._tables[record.type].model._meta.pk.name]

    def settle(self) -> None:
        changed = set(ConfigVersion.objects.values_list("table", "row"))
        for key in sorted(self._rows.keys() | self._versions.keys()):
            table, record = self._tables[key[0]], self._rows.get(key)
            stored = table.model._default_manager.filter(pk=key[1]).first()
            if key in changed or getattr(stored, "version", 1) > 1:
                self.notes["settings that were changed here, and stay"] += not _says(table, stored, record)
            else:
                self._restore(table, key, record, stored)

    def _restore(self, table: Carried, key: Key, record: CarriedRecord | None, stored: Model | None) -> None:
        versions = [(version, self._version(version)) for version in self._versions[key]]
        insert(self._tables[ConfigVersion._meta.db_table], versions)
        is_new = bool(versions) or not _says(table, stored, record)
        if stored and (record or is_new):
            stored.delete()
        if record:
            row = checked(table, record, table.model(**record.row))
            insert(table, [(record, row)])
            if is_new:
                audit.record(actor=self._actor, action="import", subject=row, version=row.version)

    def _version(self, record: CarriedRecord) -> ConfigVersion:
        table, given = self._tables[record.type], dict(record.row)
        given["changed_by"] = self._people.called(given.get("changed_by", ""))
        row: ConfigVersion = checked(table, record, ConfigVersion(**given))
        return row


def _says(table: Carried, stored: Model | None, record: CarriedRecord | None) -> bool:
    """Whether the row is as the file has it, whenever it was written."""
    if stored is None or record is None:
        return stored is None and record is None
    own: Sequence[str] = [column.name for column in of_sort(table, Sort.VALUE) if column.name != "updated_at"]
    return all(getattr(stored, name) == record.row.get(name, getattr(stored, name)) for name in own)
