"""Stored text on a page: inert, and with nothing in it unseen."""

import unicodedata
from functools import cache
from typing import Final

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from zeromemory.lib.unseen import code_point, unseen_characters

register = template.Library()

_NAMES: Final = {"\x00": "NUL", "\x1b": "ESCAPE", "\x7f": "DELETE", "\r": "CARRIAGE RETURN", "\b": "BACKSPACE"}


@register.filter
def marked(text: object) -> SafeString:
    """The text escaped, each invisible character replaced by a mark with its code point."""
    characters = str(text)
    pieces, done = [], 0
    for position in unseen_characters(characters):
        pieces += [conditional_escape(characters[done:position]), _mark(characters[position])]
        done = position + 1
    pieces.append(conditional_escape(characters[done:]))
    return mark_safe("".join(pieces))  # noqa: S308  every piece was escaped above


@cache
def _mark(character: str) -> SafeString:
    name = _NAMES.get(character) or unicodedata.name(character, "CONTROL CHARACTER")
    return format_html('<span class="control-char" title="{}">{}</span>', name, code_point(character))
