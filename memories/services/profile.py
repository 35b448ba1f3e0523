"""What people say about themselves."""

from __future__ import annotations

from django.db import transaction

from memories.access import Actor
from memories.guard import refuse_secrets
from memories.models import User
from memories.services import audit


@transaction.atomic
def change_profile(*, actor: Actor, first_name: str, last_name: str, email: str, time_zone: str) -> User:
    """The audit names the fields that changed, never what they hold."""
    user = User.objects.select_for_update().get(pk=actor.user.pk)
    for field, text in (("first_name", first_name), ("last_name", last_name), ("email", email)):
        refuse_secrets(text, field)
    wanted = {"first_name": first_name, "last_name": last_name, "email": email, "time_zone": time_zone}
    changed = sorted(name for name, value in wanted.items() if getattr(user, name) != value)
    if not changed:
        return user
    for name in changed:
        setattr(user, name, wanted[name])
    user.save(update_fields=changed)
    audit.record(actor=actor, action="change_profile", subject=user, fields=changed)
    return user
