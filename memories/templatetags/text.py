"""Stored text on a page: inert, and with nothing in it unseen."""

import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from zeromemory.lib.lookalikes import lookalikes
from zeromemory.lib.unseen import code_point, unseen_characters

register = template.Library()

_NAMES: Final = {"\x00": "NUL", "\x1b": "ESCAPE", "\x7f": "DELETE", "\r": "CARRIAGE RETURN", "\b": "BACKSPACE"}


@register.filter
def marked(text: object) -> SafeString:
    """The text escaped, each invisible character replaced by a mark with its code point."""
    characters = str(text)
    return _with_marks(characters, dict.fromkeys(unseen_characters(characters), ""))


@register.filter
def examined(text: object) -> SafeString:
    """As ``marked``, and each letter that passes for one of another script is followed by its code point."""
    characters = str(text)
    shown = {position: characters[position] for position in lookalikes(characters)}
    return _with_marks(characters, shown | dict.fromkeys(unseen_characters(characters), ""))


def _with_marks(characters: str, shown: Mapping[int, str]) -> SafeString:
    """A mark at each position of *shown*, which says what of the character itself stands in the mark."""
    pieces, done = [], 0
    for position in sorted(shown):
        pieces += [conditional_escape(characters[done:position]), _mark(characters[position], shown[position])]
        done = position + 1
    pieces.append(conditional_escape(characters[done:]))
    return mark_safe("".join(pieces))  # noqa: S308  every piece was escaped above


@cache
def _mark(character: str, shown: str) -> SafeString:
    name = _NAMES.get(character) or unicodedata.name(character, "CONTROL CHARACTER")
    label = f"{shown} {code_point(character)}" if shown else code_point(character)
    return format_html('<span class="control-char" title="{}">{}</span>', name, label)
