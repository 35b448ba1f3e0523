from typing import Final

from django.conf import settings
from django.db import models

from memories.models.scopes import Scope, Token

OPERATION: Final = "operation"  # what an act on many memories is about


class AuditEntry(models.Model):
    """One act: who did what to which object, when and why. Never changed, never removed."""

    at = models.DateTimeField(auto_now_add=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    token = models.ForeignKey(Token, on_delete=models.SET_NULL, null=True, related_name="+")
    actor = models.CharField(max_length=200, help_text="As shown: a person, an agent, a command or a scanner.")
    action = models.CharField(max_length=60)
    scope = models.ForeignKey(Scope, on_delete=models.SET_NULL, null=True, related_name="+")
    object_type = models.CharField(max_length=40)
    object_id = models.CharField(max_length=60)
    reason = models.CharField(max_length=2000, blank=True, default="")
    detail = models.JSONField(default=dict)

    class Meta:
        db_table = "audit_entry"
        verbose_name_plural = "audit entries"
        indexes = [
            # The audit trail of one object's page.
            models.Index(fields=["object_type", "object_id", "-at"], name="audit_object"),
            # "What changed since your last visit".
            models.Index(fields=["scope", "-at"], name="audit_scope_at"),
        ]
