"""Accounts, and the links that sign a person in once."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memories.access import actor_for_user
from memories.errors import NotFound
from memories.models import Scope, SignInLink, User
from memories.services.audit import record

OWNER = "owner"
PERSONAL_SCOPE = "personal"
LINK_LIFETIME = timedelta(hours=24)
LINK_IS_SPENT = "This link was used already, has expired, or was replaced by a newer one."


@transaction.atomic
def create_owner() -> User | None:
    """The first account, with a scope of its own. None when there is somebody already."""
    if User.objects.exists():
        return None
    owner = User(username=OWNER, is_staff=True, is_superuser=True, must_choose_password=True)
    owner.set_unusable_password()
    owner.save()
    scope = Scope.objects.create(owner=owner, slug=PERSONAL_SCOPE, name="Personal")
    record(actor=None, label="first start", action="create_owner", subject=owner)
    record(actor=None, label="first start", action="create_scope", subject=scope, scope=scope)
    return owner


def owner_without_password() -> User | None:
    """The owner as long as no password was chosen: whoever starts the program may still need a link."""
    return User.objects.filter(is_superuser=True, is_active=True, must_choose_password=True).order_by("pk").first()


@transaction.atomic
def create_sign_in_link(user: User, *, label: str = "command line") -> str:
    """The secret of a fresh link for *user*; older unused links stop working."""
    now = timezone.now()
    user.sign_in_links.filter(used_at=None).update(expires_at=now)
    secret = secrets.token_urlsafe(32)
    link = SignInLink.objects.create(user=user, secret_sha256=_digest(secret), expires_at=now + LINK_LIFETIME)
    record(actor=None, label=label, action="create_sign_in_link", subject=link, user=user.pk)
    return secret


def is_redeemable(secret: str) -> bool:
    return _open_links(secret).filter(user__is_active=True).exists()


@transaction.atomic
def redeem(secret: str) -> User:
    """The person whose link this is; the link is spent. Raises NotFound for a used, expired or unknown one."""
    # The update is the claim: of two requests at once, one changes a row and the other none. No join in it:
    # PostgreSQL would not look again at a joined row that changed while the second request waited.
    if not _open_links(secret).update(used_at=timezone.now()):
        raise NotFound(LINK_IS_SPENT)
    link = SignInLink.objects.select_related("user").get(secret_sha256=_digest(secret))
    if not link.user.is_active:
        raise NotFound(LINK_IS_SPENT)
    link.user.must_choose_password = True
    link.user.save(update_fields=["must_choose_password"])
    record(actor=actor_for_user(link.user), action="redeem_sign_in_link", subject=link)
    return link.user


@transaction.atomic
def choose_password(user: User, password: str) -> None:
    """Set a password that was validated before, and spend every link that is still open."""
    user.set_password(password)
    user.must_choose_password = False
    user.save(update_fields=["password", "must_choose_password"])
    user.sign_in_links.filter(used_at=None).update(expires_at=timezone.now())
    record(actor=actor_for_user(user), action="choose_password", subject=user)


def _open_links(secret: str) -> QuerySet[SignInLink]:
    return SignInLink.objects.filter(secret_sha256=_digest(secret), used_at=None, expires_at__gt=timezone.now())


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
