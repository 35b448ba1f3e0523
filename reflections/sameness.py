"""PURE. Whether two texts say the same in the same words."""

import re
import unicodedata
from typing import Final

# What sets off a statement without changing it. Not "?", "!" before a word, signs and operators: those change it.
_OPENING: Final = "\"'“‘„«([`"
_CLOSING: Final = "\"'”’“»)]`.,;:!…"
_DASHES: Final = frozenset("–—")
_APOSTROPHE: Final = str.maketrans("’", "'")
_ACCENTED: Final = re.compile("([A-Za-z])[\u0300-\u036f]+")
_NAMED: Final = re.compile(r"[a-z][A-Z]|\w[_/\\]\w")


def says_the_same(one: str, another: str) -> bool:
    """True when nothing but case, white space, accents and the punctuation around words differs.

    Numbers, signs, negations and the spelling of identifiers (``userId``) have to be equal.
    """
    return _bare_words(one) == _bare_words(another)


def _bare_words(text: str) -> list[str]:
    bare = (_bare(word) for word in text.translate(_APOSTROPHE).split())
    return [word for word in bare if word]


def _bare(word: str) -> str:
    if word in _DASHES:
        return ""
    stripped = word.lstrip(_OPENING).rstrip(_CLOSING)
    # Only of Latin letters: elsewhere such a mark makes another letter, as in й and が.
    plain = _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", stripped))
    return plain if _NAMED.search(plain) else plain.casefold()
