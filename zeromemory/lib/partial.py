"""Model instances from rows that a statement of our own has read."""

from collections.abc import Mapping
from typing import Any

from django.db import DEFAULT_DB_ALIAS, models


def partial[M: models.Model](model: type[M], known: Mapping[str, Any]) -> M:
    """A stored instance with what is *known*, by column. Other fields are loaded when they are asked for; what is no
    column of the model is passed over."""
    names = [field.attname for field in model._meta.concrete_fields if field.attname in known]
    return model.from_db(DEFAULT_DB_ALIAS, names, [known[name] for name in names])
