"""PURE. Control characters, which a terminal leaves in what is copied from it: nobody sees them, and some cannot be
stored. Zero-width and bidirectional characters stay and are shown with marks: scripts and emoji need them."""

import re
from collections.abc import Mapping
from typing import Any, Final

CLEANED: Final = ("content", "verbatim")
_BREAKS: Final = re.compile("[\x0b\x0c\x85]")
_CONTROLS: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")


def without_controls(text: str) -> str:
    """Form feeds and their like become line breaks; tabs and the usual line breaks stay."""
    return _CONTROLS.sub("", _BREAKS.sub("\n", text))


def cleaned(asked: Mapping[str, Any]) -> dict[str, Any]:
    """*asked* with the texts of CLEANED without control characters."""
    texts = {field: asked[field] for field in CLEANED if isinstance(asked.get(field), str)}
    return {**asked, **{field: without_controls(text) for field, text in texts.items()}}


def notices_of(asked: Mapping[str, Any]) -> tuple[str, ...]:
    """A sentence for each field that ``cleaned`` changes."""
    now = cleaned(asked)
    return tuple(
        f"The {field} held control characters, which nobody sees. They were taken out."
        for field in CLEANED
        if field in asked and asked[field] != now[field]
    )
