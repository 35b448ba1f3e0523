"""Fingerprints made anew from the text that an anchor kept, when the method has changed since."""

from __future__ import annotations

import textwrap

from memories.code.grammars import GRAMMARS
from memories.code.symbols import Fingerprints, Source


def fingerprinted_again(text: str, language: str, qualified: str) -> Fingerprints | None:
    """By today's method, from the text of the symbol alone; None where it cannot be read without its surroundings.

    An anchor to a whole file has no qualified name.
    """
    if not qualified:
        return Source(text, language).whole.fingerprints
    for candidate in _readings(text, language, qualified):
        source = Source(candidate, language)
        symbols = [source.symbol(name) for name in _meant(source, qualified)]
        strong = [symbol.fingerprints for symbol in symbols if symbol and not symbol.fingerprints.is_weak]
        if len(strong) == 1:
            return strong[0]
    return None


def _meant(source: Source, qualified: str) -> list[str]:
    """With its class where the text has one, because a constructor may be called like it."""
    parts = qualified.split(".")
    return source.called(".".join(parts[-2:])) or source.called(parts[-1])


def _readings(text: str, language: str, qualified: str) -> list[str]:
    """The text by itself, and inside the class that its name speaks of."""
    grammar = GRAMMARS.get(language)
    if grammar is None:
        return []
    alone = textwrap.dedent(text)
    owner = qualified.split(".")[-2] if "." in qualified else ""
    if not owner or not grammar.enclosing or not owner.isidentifier():
        return [alone]
    inside = grammar.enclosing.format(name=owner, text=text, indented=textwrap.indent(alone, "    "))
    return [inside, alone]
