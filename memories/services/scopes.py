"""Scopes and who belongs to them."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from django.db import IntegrityError, transaction

from memories.access import Actor
from memories.errors import Conflict, Forbidden, ValidationFailed
from memories.guard import refuse_secrets
from memories.models import Membership, Role, Scope, User
from memories.services import audit

SLUG_LENGTH, NAME_LENGTH = 80, 120
_SEPARATORS: Final = re.compile(r"[\s_.-]+")
_SLUG: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def canonical_slug(text: str) -> str:
    """One short name for its variants in case and separators: ``My Project`` and ``my_project`` are ``my-project``."""
    slug = _SEPARATORS.sub("-", unicodedata.normalize("NFKC", text).strip().lower()).strip("-")
    if not _SLUG.fullmatch(slug) or len(slug) > SLUG_LENGTH:
        raise ValidationFailed(
            f"A short name has up to {SLUG_LENGTH} lower-case letters and digits, with hyphens between.", field="slug"
        )
    refuse_secrets(slug, "slug")
    return slug


def create_scope(*, actor: Actor, slug: str, name: str = "") -> Scope:
    slug = canonical_slug(slug)
    name = _checked_name(name or slug)
    try:
        with transaction.atomic():
            scope = Scope.objects.create(owner=actor.user, slug=slug, name=name)
            audit.record(actor=actor, action="create_scope", subject=scope, scope=scope)
    except IntegrityError as error:
        raise Conflict(f"You have a scope called {slug!r} already. Choose another short name.", field="slug") from error
    return scope


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > NAME_LENGTH or "\x00" in name:
        raise ValidationFailed(f"Give the scope a name of 1 to {NAME_LENGTH} characters.", field="name")
    refuse_secrets(name, "name")
    return name


@transaction.atomic
def rename_scope(*, actor: Actor, scope: Scope, name: str) -> Scope:
    """Change the name people read. The short name stays: agents and files refer to it."""
    require_admin(actor, scope)
    scope.name = _checked_name(name)
    scope.save(update_fields=["name"])
    audit.record(actor=actor, action="rename_scope", subject=scope, scope=scope)
    return scope


@transaction.atomic
def set_member(*, actor: Actor, scope: Scope, username: str, role: str) -> Membership:
    """Let somebody in, or change their role."""
    require_admin(actor, scope)
    if role not in Role.values:
        raise ValidationFailed(f"The role must be one of {', '.join(Role.values)}.", field="role")
    user = User.objects.filter(username=username.replace("\x00", "").strip(), is_active=True).first()
    if user is None:
        raise ValidationFailed(
            "Nobody here has this user name. Whoever runs the server can add people.", field="username"
        )
    if user.pk == scope.owner_id:
        raise Conflict("The owner is an admin of the scope already, and stays one.", field="username")
    membership, _ = Membership.objects.update_or_create(scope=scope, user=user, defaults={"role": role})
    audit.record(actor=actor, action="set_member", subject=scope, scope=scope, member=user.pk, role=role)
    return membership


@transaction.atomic
def remove_member(*, actor: Actor, scope: Scope, user_id: int) -> bool:
    """End a membership. People may also leave by themselves. False when there was none."""
    if user_id != actor.user.pk:
        require_admin(actor, scope)
    gone, _ = Membership.objects.filter(scope=scope, user_id=user_id).delete()
    if gone:
        audit.record(actor=actor, action="remove_member", subject=scope, scope=scope, member=user_id)
    return bool(gone)


def require_admin(actor: Actor, scope: Scope) -> None:
    if scope.pk not in actor.administered:
        raise Forbidden("Only admins of the scope may change it or its members. Ask one of them.")
