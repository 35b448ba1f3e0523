"""PURE. Characters without a glyph."""

import unicodedata
from typing import Final

# Blank although they count as letters, marks or symbols.
UNSEEN_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\ufe00")
_SELECTORS: Final = frozenset({*map(chr, range(0x180B, 0x1810)), *map(chr, range(0xFE00, 0xFE10))})
_BLANK_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


def is_blank(text: str) -> bool:
    """True of a text in which a reader sees nothing: spaces, control and zero-width characters."""
    return all(map(_is_blank_character, text))


def _is_blank_character(character: str) -> bool:
    if character.isalnum() and character.isascii():
        return False
    unseen = character in UNSEEN_LETTERS or character in _SELECTORS or 0xE0000 <= ord(character) < 0xE1000
    return unseen or unicodedata.category(character) in _BLANK_CATEGORIES
