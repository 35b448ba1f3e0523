"""PURE. ``ZEROMEMORY_MODEL`` and its address: which can be meant, and what is wrong with the others."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

MOVABLE: Final = ("alibaba", "anthropic", "moonshotai", "ollama", "openai", "openai-responses", "sambanova")
FIXED: Final = ("cerebras", "deepseek", "fireworks", "nebius", "openrouter", "ovhcloud", "together", "vercel")
PROVIDERS: Final = (*MOVABLE, *FIXED)
LONGEST_QUOTE: Final = 40  # characters


def problem_of_name(model: str) -> str | None:
    """A sentence, or None for ``provider:model`` with a provider that can be asked."""
    provider, _, name = model.partition(":")
    if provider in PROVIDERS and len(name.split()) == 1:
        return None
    shown = model if len(model) <= LONGEST_QUOTE else f"{model[:LONGEST_QUOTE]}…"
    return (
        f"{shown!r} is not provider:model, with a provider of: {', '.join(PROVIDERS)}. "
        "For a server that speaks OpenAI's protocol write openai:model and set ZEROMEMORY_MODEL_BASE_URL."
    )


def problem_of_address(address: str, model: str) -> str | None:
    """A sentence, or None where *model* can be asked at *address*. Never repeats the address: it may hold a key."""
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        return f"it is no address ({error})."
    if not usable or parts.username or parts.password or parts.query or parts.fragment:
        return "write the address of a server such as http://localhost:11434/v1, without a key or password in it."
    if model.partition(":")[0] in FIXED:
        return f"{model} has an address of its own. Unset it, or write openai: and the model's name."
    return None
