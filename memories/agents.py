"""One agent under one name: ``Build Bot``, ``build_bot`` and ``build-bot`` are the same where agents are compared."""

from __future__ import annotations

import re
from typing import Final

from django.db.models import F, Func, TextField, Value
from django.db.models.functions import Lower

SEPARATORS: Final = r"[[:space:]_.-]+"
_SEPARATORS: Final = re.compile(r"[\s_.-]+")


def canonical_agent(name: str) -> str:
    """As names are compared; shown is what an agent called itself."""
    return _SEPARATORS.sub("-", name).lower()


def canonical(column: str = "agent") -> Lower:
    """``canonical_agent`` of a column."""
    arguments = (F(column), Value(SEPARATORS), Value("-"), Value("g"))
    return Lower(Func(*arguments, function="regexp_replace", output_field=TextField()))
