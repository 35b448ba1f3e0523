"""Clusters that the model gave no usable answer about: counted, parked after a few times, tried again on request."""

import hashlib
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from memories.access import Actor, require_write
from memories.errors import Forbidden, NotFound
from memories.models import Memory, Scope
from memories.services.audit import record
from memories.services.writing import writing
from reflections.models import FailedCluster, ModelCall


def key_of(members: Sequence[object]) -> str:
    """Of exactly these ids, in whatever order."""
    return hashlib.sha256("\n".join(sorted(map(str, members))).encode()).hexdigest()


def note_failure(*, scope: Scope, members: Sequence[Memory], call: ModelCall) -> FailedCluster:
    """One more failure of a cluster, with the call that failed."""
    key, now = key_of([member.pk for member in members]), timezone.now()
    with transaction.atomic():
        row = FailedCluster.objects.select_for_update().filter(scope=scope, key=key).first()
        if row is None:
            row = FailedCluster(scope=scope, key=key, failures=0)
        row.failures += 1
        row.failed_at, row.reason, row.call = now, call.reason, call
        row.save()
        row.episodes.set(members)
        action = "park" if row.is_parked else "fail"
        record(actor=None, label="distiller", action=action, subject=row, scope=scope, call=call.pk)
    return row


def forget_failures(members: Sequence[Memory]) -> None:
    """Episodes that are in a candidacy now are no failure of any cluster any more."""
    FailedCluster.objects.filter(episodes__in=members).delete()


def retry_cluster(*, actor: Actor, cluster_id: int) -> Scope:
    """Forget the failures, so that the next search asks again; the scope to search.

    Raises NotFound for a cluster that is not there or not the actor's to see, Forbidden for who may not decide there.
    """
    if not actor.is_person:
        raise Forbidden("Only a signed-in person decides about drafts. Open Reflections in a browser.")
    with writing():
        rows = FailedCluster.objects.visible_to(actor).select_related("scope").select_for_update(of=("self",))
        row = rows.filter(pk=cluster_id).first()
        if row is None:
            raise NotFound("This cluster is not waiting any more. Look at the list again.")
        require_write(actor, row.scope_id)
        record(actor=actor, action="retry", subject=row, scope=row.scope, failures=row.failures)
        row.delete()
    return row.scope
