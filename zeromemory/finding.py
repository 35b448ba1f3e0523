from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check of ``manage.py doctor`` found: *detail* says what is wrong and what to do."""

    name: str
    ok: bool
    detail: str
