from django.conf import settings
from django.db import models
from django.db.models import Q

from memories.models.scopes import Scope, Token


class OAuthClient(models.Model):
    """A program that registered itself to ask people for access. Everything in it is what the program claims."""

    id = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=80, blank=True)
    redirect_uris = models.JSONField(help_text="Where it may have people sent back to: a list of addresses.")
    registered_from = models.CharField(max_length=64, help_text="A keyed digest of the network address.")
    created_at = models.DateTimeField(auto_now_add=True)
    allowed_at = models.DateTimeField(null=True, blank=True, help_text="When a person first allowed it something.")

    class Meta:
        indexes = [
            # Registration counts what came from one address lately.
            models.Index(fields=["registered_from", "created_at"], name="oauth_client_from"),
            # Registration makes room among those that nobody allowed anything.
            models.Index(fields=["created_at"], condition=Q(allowed_at=None), name="oauth_client_never_allowed"),
        ]

    def __str__(self) -> str:
        return self.name


class OAuthCode(models.Model):
    """What a person allowed a client, until the client fetches it. The code is known by its SHA-256 alone."""

    client = models.ForeignKey(OAuthClient, on_delete=models.CASCADE, related_name="codes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="oauth_codes")
    asked = models.UUIDField(unique=True, help_text="The request it answers: each is answered once.")
    secret_sha256 = models.CharField(max_length=64, unique=True)
    scopes = models.ManyToManyField(Scope, related_name="+")
    can_write = models.BooleanField()
    can_adjudicate = models.BooleanField()
    challenge = models.CharField(max_length=43)
    redirect_uri = models.TextField()
    redirect_uri_was_sent = models.BooleanField()
    resource = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    token = models.ForeignKey(Token, null=True, blank=True, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(can_adjudicate=False) | Q(can_write=True), name="oauth_code_that_adjudicates_writes"
            ),
        ]


class OAuthGrant(models.Model):
    """What makes a token one that its client renews. It ends with the token: there is no second switch.

    A refresh token is ``lineage.turn``. The lineage stays as long as the grant; the turn changes with every renewal,
    so whoever knows the lineage and not the latest turn has a refresh token that was used before.
    """

    token = models.OneToOneField(Token, primary_key=True, on_delete=models.CASCADE, related_name="grant")
    client = models.ForeignKey(OAuthClient, on_delete=models.PROTECT, related_name="grants")
    lineage_sha256 = models.CharField(max_length=64, unique=True)
    turn_sha256 = models.CharField(max_length=64)
    can_write = models.BooleanField(help_text="As the person allowed; a renewal may ask for less.")
    can_adjudicate = models.BooleanField()
    returns_to = models.CharField(max_length=300, help_text="The host that the person was sent back to.")
    resource = models.TextField(blank=True)
    renewed_at = models.DateTimeField(null=True, blank=True)
