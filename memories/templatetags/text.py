"""Stored text on a page: inert, and with nothing in it unseen."""

import unicodedata
from typing import Final

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_SHOWN_AS_THEY_ARE: Final = frozenset("\n\t")
# Cc control, Cf format (zero width, bidirectional), Zl and Zp separators; unassigned and private ones have no glyph.
_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cn", "Co", "Cs"})
# Blank although they count as letters or marks.
_UNSEEN_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\ufe00")
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")
_NAMES: Final = {"\x00": "NUL", "\x1b": "ESCAPE", "\x7f": "DELETE", "\r": "CARRIAGE RETURN", "\b": "BACKSPACE"}


@register.filter
def marked(text: object) -> SafeString:
    """The text escaped, each invisible character replaced by a mark with its code point.

    A joiner inside an emoji, and a style after one, stay: they are part of a visible glyph.
    """
    characters = str(text)
    if characters.isascii() and characters.isprintable():
        return conditional_escape(characters)
    pieces = []
    for position, character in enumerate(characters):
        pieces.append(_mark(character) if _is_unseen(characters, position) else conditional_escape(character))
    return mark_safe("".join(pieces))  # noqa: S308  every piece was escaped above


def _is_unseen(characters: str, position: int) -> bool:
    character = characters[position]
    if character in _SHOWN_AS_THEY_ARE:
        return False
    if character in _JOINERS:
        return not (position and _is_pictograph(characters[position - 1]))
    if character in _UNSEEN_LETTERS or 0xE0100 <= ord(character) <= 0xE01EF:
        return True
    return unicodedata.category(character) in _UNSEEN_CATEGORIES


def _is_pictograph(character: str) -> bool:
    return character == "\ufe0f" or unicodedata.category(character) in ("So", "Sk")


def _mark(character: str) -> SafeString:
    code = f"U+{ord(character):04X}"
    name = _NAMES.get(character) or unicodedata.name(character, "CONTROL CHARACTER")
    return format_html('<span class="control-char" title="{}">{}</span>', name, code)
