"""Aliases of another product, when it is known into which scopes the import goes."""

from collections import Counter

from memories.errors import ValidationFailed
from memories.models import Alias
from memories.services.aliases import add_alias, standing
from memories.transfer.destinations import Destinations
from memories.transfer.records import AliasRecord


class Aliases:
    """What cannot be an alias here is left out and counted; it costs no memory."""

    def __init__(self, destinations: Destinations) -> None:
        self.notes: Counter[str] = Counter()
        self._destinations = destinations
        self._waiting: list[AliasRecord] = []

    def wait(self, record: AliasRecord) -> None:
        self._waiting.append(record)

    def settle(self, written: dict[int, Counter[str]]) -> None:
        """Add those that are new, and to *written* how many, by scope."""
        for record in self._waiting:
            scope = self._destinations.named(record.scope, record.line)
            before = standing(scope).count()
            try:
                add_alias(actor=self._destinations.actor, scope=scope, term=record.term, alias=record.alias)
            except ValidationFailed as error:
                self.notes[f"aliases left out: {error.message}"] += 1
            if new := standing(scope).count() - before:
                written[scope.pk][Alias._meta.db_table] += new
