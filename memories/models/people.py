from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person. Agents and programs act through a person's tokens."""

    must_choose_password = models.BooleanField(default=False)
    time_zone = models.CharField(max_length=64, blank=True, default="")
    last_visit_at = models.DateTimeField(null=True, blank=True, editable=False)
    previous_visit_at = models.DateTimeField(null=True, blank=True, editable=False)


class SignInLink(models.Model):
    """A link that signs one person in, once. Only the SHA-256 of its secret is kept."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    secret_sha256 = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
