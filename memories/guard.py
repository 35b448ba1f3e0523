"""PURE. Secrets that have no place in a stored text. What is refused is named and masked, never repeated."""

import re
from dataclasses import dataclass
from typing import Final

from memories.errors import ValidationFailed

# The name of each family, and a pattern whose group ``shown`` may be repeated: it tells the family, not the secret.
# What may be long begins only where no such run is under way, so that a hostile text takes linear time.
_FAMILIES: Final = {
    "private_key": (
        r"(?P<shown>-----BEGIN )[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        r"[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\Z)"  # also one that was cut off
    ),
    "github_token": r"\b(?P<shown>gh[pousr]_)[A-Za-z0-9]{36,}",
    "github_fine_grained_token": r"\b(?P<shown>github_pat_)[A-Za-z0-9_]{20,}",
    "aws_access_key": r"\b(?P<shown>AKIA|ASIA)[A-Z0-9]{16}\b",
    "slack_token": r"\b(?P<shown>xox[baprs]-)[A-Za-z0-9-]{10,}",
    "json_web_token": r"(?<![\w-])(?P<shown>eyJ)[\w-]{6,}\.eyJ[\w-]{6,}\.[\w-]{8,}",
    "password_in_url": r"(?<![a-z0-9+.-])(?P<shown>[a-z][a-z0-9+.-]*://)[^\s:/?#@]*:[^\s/?#@]+@",
    "anthropic_key": r"\b(?P<shown>sk-ant-)[\w-]{16,}",
    "stripe_key": r"\b(?P<shown>[rs]k_(?:live|test)_)[A-Za-z0-9]{16,}",
    "openai_key": r"(?<![\w-])(?P<shown>sk-)(?=[\w-]*\d)[\w-]{20,}",
    "google_api_key": r"\b(?P<shown>AIza)[\w-]{35}",
}
_SECRET: Final = {
    name: re.compile(pattern, re.IGNORECASE * (name == "password_in_url")) for name, pattern in _FAMILIES.items()
}


@dataclass(frozen=True, slots=True)
class Secret:
    """``sample`` is safe to show: the mark of the family and how long the rest was."""

    detector: str
    sample: str


def secret_in(text: str) -> Secret | None:
    """The first secret of *text*, in the order of the families."""
    for detector, pattern in _SECRET.items():
        if found := pattern.search(text):
            return Secret(detector, _sample(found))
    return None


def refuse_secrets(text: str, field: str) -> None:
    """Raises ValidationFailed that names the field and the family, with a masked sample."""
    if secret := secret_in(text):
        raise ValidationFailed(f"secret_content_rejected: {field} {secret.detector} {secret.sample}", field=field)


def masked(text: str) -> str:
    """*text* with a sample in the place of each secret: for words of a machine that quotes what it was shown."""
    for pattern in _SECRET.values():
        text = pattern.sub(_sample, text)
    return text


def _sample(found: re.Match[str]) -> str:
    rest = len(found[0]) - len(found["shown"])
    return f"{found['shown']}…({rest} more characters)"
