"""PURE. Characters without a glyph."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

# Blank although they count as letters, marks or symbols.
UNSEEN_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\ufe00")
_SELECTORS: Final = frozenset({*map(chr, range(0x180B, 0x1810)), *map(chr, range(0xFE00, 0xFE10))})
_BLANK_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
# Cc control, Cf format (zero width, bidirectional), Zl and Zp separators; unassigned and private ones have no glyph.
_UNSEEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Cn", "Co", "Cs"})
_SHOWN_AS_THEY_ARE: Final = frozenset("\n\t")
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f")


def is_blank(text: str) -> bool:
    """True of a text in which a reader sees nothing: spaces, control and zero-width characters."""
    return all(map(_is_blank_character, text))


def _is_blank_character(character: str) -> bool:
    if character.isalnum() and character.isascii():
        return False
    unseen = character in UNSEEN_LETTERS or character in _SELECTORS or 0xE0000 <= ord(character) < 0xE1000
    return unseen or unicodedata.category(character) in _BLANK_CATEGORIES


def unseen_characters(text: str) -> Iterator[int]:
    """The positions in *text* of what a reader would not see.

    A joiner inside an emoji, and a style after one, are part of a visible glyph. Each distinct character is judged
    once, so that a long text costs little more than a short one.
    """
    suspects = "".join(sorted(character for character in set(text) if _may_be_unseen(character)))
    if not suspects:
        return
    for found in re.finditer(f"[{re.escape(suspects)}]", text):
        if not _belongs_to_a_glyph(text, found.start()):
            yield found.start()


def with_marks(text: str, *, also: str = "") -> str:
    """The text with a mark such as ``⟦U+200B⟧`` for each character without a glyph, and for each of *also*."""
    pieces, done = [], 0
    for position in sorted({*unseen_characters(text), *(at for at, character in enumerate(text) if character in also)}):
        pieces += [text[done:position], f"⟦{code_point(text[position])}⟧"]
        done = position + 1
    return "".join(pieces) + text[done:]


def code_point(character: str) -> str:
    return f"U+{ord(character):04X}"


def _may_be_unseen(character: str) -> bool:
    if character in _SHOWN_AS_THEY_ARE:
        return False
    if character in UNSEEN_LETTERS or character in _JOINERS or 0xE0100 <= ord(character) <= 0xE01EF:
        return True
    return unicodedata.category(character) in _UNSEEN_CATEGORIES


def _belongs_to_a_glyph(text: str, position: int) -> bool:
    return text[position] in _JOINERS and position > 0 and _is_pictograph(text[position - 1])


def _is_pictograph(character: str) -> bool:
    return character == "\ufe0f" or unicodedata.category(character) in ("So", "Sk")
