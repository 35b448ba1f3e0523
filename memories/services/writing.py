"""The frame of every write: one transaction, a bounded wait for locks, and an answer a caller can act on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import IntegrityError, OperationalError, connection, transaction

from memories.access import Actor, require_write
from memories.errors import Conflict, NotFound
from memories.models import Memory, Scope

LOCK_TIMEOUT: Final = "5s"
_WORTH_A_RETRY: Final = {
    "55P03",  # lock not available
    "57014",  # statement timeout
    "40P01",  # deadlock
    "40001",  # serialization failure
}
# Held by writers that take no turns, such as an import.
_NAMED_ONCE: Final = {
    "memory_external_id_unique": "external_id",
    "memory_idempotency_key_unique": "idempotency_key",
}


@contextmanager
def writing() -> Iterator[None]:
    """One transaction. Raises Conflict, with nothing written, when another writer holds what it needs for too long, or
    took the key or the external id at the same moment."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
            yield
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) not in _WORTH_A_RETRY:
            raise
        raise Conflict(
            "Another write holds this at the moment, and nothing was changed. Try again in a few seconds; "
            "with an idempotency key a repeated write stays one memory."
        ) from error
    except IntegrityError as error:
        field = _NAMED_ONCE.get(_constraint(error))
        if field is None:
            raise
        raise Conflict(
            f"Another write with this {field.replace('_', ' ')} came first, and nothing was changed. Try again.",
            field=field,
        ) from error


def _constraint(error: IntegrityError) -> str:
    return getattr(getattr(error.__cause__, "diag", None), "constraint_name", None) or ""


def take_turns(scope_id: int, matter: str, value: str) -> None:
    """Let writers of the same thing in the same scope pass one by one until the end of their transactions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{matter}:{scope_id}:{value}"])


def require_scope(actor: Actor, scope: Scope) -> None:
    if scope.pk not in actor.readable:
        raise NotFound("There is no such scope here. Check its name, or the scopes of the token.", field="scope")
    require_write(actor, scope.pk)


def locked(actor: Actor, memory: Memory) -> Memory:
    """The row as it stands now, held until the end of the transaction; NotFound or Forbidden like the door itself."""
    row = Memory.objects.visible_to(actor).select_for_update(of=("self",)).filter(pk=memory.pk).first()
    if row is None:
        raise NotFound("There is no such memory here. Check the id.")
    require_write(actor, row.scope_id)
    return row


def refuse_twin(memory: Memory, *, beside_imported: bool = False) -> None:
    """Raises Conflict when another live memory of the scope is of the same kind and says exactly the same.

    With *beside_imported* a memory with an external id is no hindrance.
    """
    alike = Memory.objects.live().filter(
        scope_id=memory.scope_id, kind=memory.kind, content_sha256=memory.content_sha256
    )
    if beside_imported:
        alike = alike.filter(external_id="")
    if alike.exclude(pk=memory.pk).exists():
        raise Conflict("Another live memory says exactly the same. Forget one of the two, or change the text.")
