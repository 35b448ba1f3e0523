"""Into which scope a record goes."""

from memories.access import Actor, actor_for_user, readable_scopes, scope_for
from memories.errors import NotFound, ZeroMemoryError
from memories.models import Scope
from memories.services.scopes import create_scope
from memories.services.writing import require_scope
from memories.transfer.checks import check_scope
from memories.transfer.errors import Place, TransferError
from memories.transfer.records import MemoryRecord, ScopeRecord


class Destinations:
    """The one scope that was asked for, or the scope each record names; missing ones are made when that was asked."""

    def __init__(self, actor: Actor, *, only: Scope | str | None, create: bool) -> None:
        self.actor = actor
        self.created: list[Scope] = []
        self._create = create
        self._declared: dict[str, ScopeRecord] = {}
        self._known: dict[str, Scope] = {}
        self._only = self._taken(only) if isinstance(only, Scope) else None
        if isinstance(only, str):
            self._only = self._found_or_made(only, None)

    @property
    def scopes(self) -> list[Scope]:
        return [self._only] if self._only else list(self._known.values())

    def declare(self, record: ScopeRecord) -> None:
        check_scope(record)
        self._declared[record.scope] = record

    def of(self, record: MemoryRecord) -> Scope:
        if self._only:
            return self._only
        if not record.scope:
            raise TransferError("is missing. Name it here, or name one scope for all.", line=record.line, field="scope")
        return self.named(record.scope, record.line)

    def named(self, name: str, line: Place | None) -> Scope:
        """The one scope that was asked for, or the one of this name."""
        if self._only:
            return self._only
        if name not in self._known:
            self._known[name] = self._found_or_made(name, line)
        return self._known[name]

    def _found_or_made(self, name: str, line: Place | None) -> Scope:
        try:
            return self._taken(scope_for(self.actor, name))
        except NotFound as error:
            if self._create:
                return self._made(name, line)
            yours = ", ".join(scope.slug for scope in readable_scopes(self.actor)) or "none yet"
            raise TransferError(
                f"There is no scope {name!a} here. Yours: {yours}. Create it first, or let the import do so.",
                line=line,
                field="scope",
            ) from error
        except ZeroMemoryError as error:
            raise TransferError(error.message, line=line, field="scope") from error

    def _made(self, name: str, line: Place | None) -> Scope:
        declared = self._declared.get(name, ScopeRecord(name))
        try:
            scope = create_scope(actor=self.actor, slug=name.rpartition("/")[2], name=declared.name)
        except ZeroMemoryError as error:
            raise TransferError(error.message, line=line, field="scope") from error
        scope.retention = declared.retention
        scope.save(update_fields=["retention"])
        self.created.append(scope)
        self.actor = actor_for_user(self.actor.user)
        return self._taken(scope)

    def _taken(self, scope: Scope) -> Scope:
        """Held against another import until the end; a single ``remember`` still passes."""
        require_scope(self.actor, scope)
        return Scope.objects.select_for_update(no_key=True, of=("self",)).select_related("owner").get(pk=scope.pk)
