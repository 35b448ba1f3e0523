"""Stored text on a page: inert, and with nothing in it unseen."""

import re
import unicodedata
from functools import cache
from typing import Final

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from memories.unseen import UNSEEN_LETTERS

register = template.Library()

# Cc control, Cf format (zero width, bidirectional), Zl and Zp separators; unassigned and private ones have no glyph.
_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cn", "Co", "Cs"})
_SHOWN_AS_THEY_ARE: Final = frozenset("\n\t")
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")
_NAMES: Final = {"\x00": "NUL", "\x1b": "ESCAPE", "\x7f": "DELETE", "\r": "CARRIAGE RETURN", "\b": "BACKSPACE"}


@register.filter
def marked(text: object) -> SafeString:
    """The text escaped, each invisible character replaced by a mark with its code point.

    A joiner inside an emoji, and a style after one, stay: they are part of a visible glyph. Each distinct character
    is judged once, so that a long text costs little more than a short one.
    """
    characters = str(text)
    suspects = "".join(sorted(character for character in set(characters) if _may_be_unseen(character)))
    if not suspects:
        return conditional_escape(characters)
    pieces, done = [], 0
    for found in re.finditer(f"[{re.escape(suspects)}]", characters):
        position = found.start()
        if not _belongs_to_a_glyph(characters, position):
            pieces += [conditional_escape(characters[done:position]), _mark(found[0])]
            done = position + 1
    pieces.append(conditional_escape(characters[done:]))
    return mark_safe("".join(pieces))  # noqa: S308  every piece was escaped above


def _may_be_unseen(character: str) -> bool:
    if character in _SHOWN_AS_THEY_ARE:
        return False
    if character in UNSEEN_LETTERS or character in _JOINERS or 0xE0100 <= ord(character) <= 0xE01EF:
        return True
    return unicodedata.category(character) in _UNSEEN_CATEGORIES


def _belongs_to_a_glyph(characters: str, position: int) -> bool:
    return characters[position] in _JOINERS and position > 0 and _is_pictograph(characters[position - 1])


def _is_pictograph(character: str) -> bool:
    return character == "\ufe0f" or unicodedata.category(character) in ("So", "Sk")


@cache
def _mark(character: str) -> SafeString:
    code = f"U+{ord(character):04X}"
    name = _NAMES.get(character) or unicodedata.name(character, "CONTROL CHARACTER")
    return format_html('<span class="control-char" title="{}">{}</span>', name, code)
