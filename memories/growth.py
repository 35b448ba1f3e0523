"""Tells that a decaying scope holds more than before. Scopes that age are never heard of, and pay nothing for it."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from django.db import transaction
from django.dispatch import Signal

from memories.models import Scope

# Sent with ``scope_id``, after the commit of the write; what a receiver raises is logged, and the write stands.
grew: Final = Signal()


def tell(scope: Scope) -> None:
    if scope.retention == Scope.Retention.DECAYING:
        transaction.on_commit(partial(grew.send, sender=Scope, scope_id=scope.pk), robust=True)


def tell_of(scope_ids: Iterable[int]) -> None:
    """The same for a write into several at once."""
    for scope in Scope.objects.filter(pk__in=list(scope_ids), retention=Scope.Retention.DECAYING).order_by("pk"):
        tell(scope)
