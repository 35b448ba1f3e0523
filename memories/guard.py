"""PURE. Secrets have no place in a stored text."""

from memories.errors import ValidationFailed
from memories.secret_shapes import masked, secret_in

__all__ = ["masked", "refuse_secrets", "secret_in"]


def refuse_secrets(text: str, field: str) -> None:
    """Raises ValidationFailed that names the field and the family, with a masked sample."""
    if secret := secret_in(text):
        raise ValidationFailed(f"secret_content_rejected: {field} {secret.detector} {secret.sample}", field=field)
