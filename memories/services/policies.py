"""How a scope keeps its memories: by age, or by last access. Admins choose; every change is on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction

from memories.access import Actor
from memories.errors import Conflict, ValidationFailed
from memories.limits import RETENTION_LIMITS
from memories.models import RetentionPolicy, Scope
from memories.services import audit
from memories.services.scopes import require_admin
from memories.services.writing import require_scope

BLANK: Final = ("half_life_hours", "floor", "threshold", "top_k")  # blank or 0 means the default
NEVER_SAVED: Final = 0


@transaction.atomic
def set_policy(
    *, actor: Actor, scope: Scope, retention: str | None = None, expected_version: int | None = None, **values: Any
) -> RetentionPolicy:
    """Switch *scope* to ``ageing`` or ``decaying``, or change what it decays by; nothing is removed by that alone.

    *values* are fields of the policy; None or 0 is the default. Raises Forbidden for anybody but its admins, Conflict
    where *expected_version* (0 for a policy that was never saved) is another by now, ValidationFailed by field.
    """
    require_scope(actor, scope)
    require_admin(actor, scope)
    scope = Scope.objects.select_for_update().get(pk=scope.pk)
    if retention is not None:
        _switch(actor, scope, retention)
    stored = RetentionPolicy.objects.select_for_update().filter(scope=scope).first()
    _refuse_stale(stored, expected_version)
    if not values:
        return stored or RetentionPolicy(scope=scope)
    return _change(actor, scope, stored, values)


def _switch(actor: Actor, scope: Scope, retention: str) -> None:
    if retention not in Scope.Retention.values:
        raise ValidationFailed(
            f"A scope is one of {', '.join(Scope.Retention.values)}, not {retention[:40]!r}.", field="retention"
        )
    if retention == scope.retention:
        return
    before, scope.retention = scope.retention, retention
    scope.save(update_fields=["retention"])
    audit.record(actor=actor, action="set_retention", subject=scope, scope=scope, old=before, new=retention)


def _refuse_stale(stored: RetentionPolicy | None, expected_version: int | None) -> None:
    version = stored.version if stored else NEVER_SAVED
    if expected_version is not None and expected_version != version:
        raise Conflict(
            f"The policy changed meanwhile: it is at version {version}, not {expected_version}. "
            "Load it again, then repeat your change."
        )


def checked_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """*values* as they will be stored, None for what is blank or 0; ValidationFailed names the field."""
    given = {name: value for name, value in values.items() if name not in BLANK or value not in (None, "", 0)}
    return RETENTION_LIMITS.clean(given) | {name: None for name in values if name not in given}


def _change(actor: Actor, scope: Scope, stored: RetentionPolicy | None, values: dict[str, Any]) -> RetentionPolicy:
    policy = stored or RetentionPolicy(scope=scope, version=NEVER_SAVED)
    new = checked_values(values)
    old = {name: getattr(policy, name) for name in new}
    if new == old:
        return policy
    for name, value in new.items():
        setattr(policy, name, value)
    policy.version += 1
    policy.save(force_insert=stored is None)
    audit.record(actor=actor, action="set_retention_policy", subject=policy, scope=scope, old=old, new=new)
    return policy
