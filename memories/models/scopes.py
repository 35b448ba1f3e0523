from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone


class Role(models.TextChoices):
    READER = "reader", "Reader"
    WRITER = "writer", "Writer"
    ADMIN = "admin", "Admin"


CORE: Final = "core"


class Scope(models.Model):
    """A project, a team or a person's own corner: the wall that memories live behind."""

    class Retention(models.TextChoices):
        AGEING = "ageing", "Ageing"
        DECAYING = "decaying", "Decaying"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="owned_scopes")
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=120)
    retention = models.CharField(max_length=10, choices=Retention, default=Retention.AGEING)
    created_at = models.DateTimeField(auto_now_add=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, through="Membership", related_name="shared_scopes")

    class Meta:
        constraints = [
            # One person's scope names do not depend on anybody else's.
            models.UniqueConstraint("owner", Lower("slug"), name="scope_owner_slug_unique"),
            models.CheckConstraint(condition=Q(retention__in=["ageing", "decaying"]), name="scope_retention_known"),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def is_core(self) -> bool:
        """A person's scope of what holds everywhere, by its slug and by nothing else: ``core_banking`` is not core."""
        return self.slug == CORE


class Membership(models.Model):
    scope = models.ForeignKey(Scope, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.READER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope", "user"], name="membership_scope_user_unique"),
            models.CheckConstraint(condition=Q(role__in=["reader", "writer", "admin"]), name="membership_role_known"),
        ]


class TokenQuerySet(models.QuerySet["Token"]):
    def in_force(self, now: datetime) -> "TokenQuerySet":
        """Those of which ``is_in_force`` says so at *now*."""
        lasts = Q(expires_at=None) | Q(expires_at__gt=now) | Q(renewable_until__gt=now)
        return self.filter(lasts, revoked_at=None)


class Token(models.Model):
    """A bearer token. The secret is shown once; only its SHA-256 is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=80)
    secret_sha256 = models.CharField(max_length=64, unique=True)
    hint = models.CharField(max_length=12, help_text="The first characters of the secret, to tell tokens apart.")
    scopes = models.ManyToManyField(Scope, related_name="tokens")
    can_write = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    renewable_until = models.DateTimeField(
        null=True, blank=True, help_text="Until then, whoever connected with it may have its secret exchanged."
    )
    last_used_at = models.DateTimeField(null=True, blank=True)
    first_write_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    can_adjudicate = models.BooleanField(
        default=False, db_default=False, help_text="It may settle disputes; never approve drafts."
    )

    objects = TokenQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
                name="token_expires_after_creation",
            ),
            models.CheckConstraint(
                condition=Q(can_adjudicate=False) | Q(can_write=True), name="token_that_adjudicates_writes"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def is_renewable(self) -> bool:
        return self.revoked_at is None and self.renewable_until is not None and self.renewable_until > timezone.now()

    @property
    def is_in_force(self) -> bool:
        """Whether it acts, or will once it is renewed: between two renewals a connected agent is still connected."""
        return self.is_renewable or (self.revoked_at is None and not self.is_expired)
