"""PURE. Whether two texts say the same in the same words."""

import re
import unicodedata
from collections import deque
from typing import Final

# What sets off a statement without changing it. Not "?", "!" before a word, signs and operators: those change it.
_OPENING: Final = "\"'“‘„«([`"
_CLOSING: Final = "\"'”’“»)]`.,;:!…"
_DASHES: Final = frozenset("–—")
_APOSTROPHE: Final = str.maketrans("’", "'")
_ACCENTED: Final = re.compile("([A-Za-z])[\u0300-\u036f]+")
# Whatever else differs can turn a sentence round: "not", "before", "optional", a number.
_ARTICLES: Final = frozenset({"a", "an", "the"})
_OPENERS: Final = frozenset({"please", "note", "remember", "that"})
_BULLETS: Final = frozenset({"-", "*", "•"})
_NAMED: Final = re.compile(r"[a-z][A-Z]|\w[_/\\]\w")


def says_the_same(one: str, another: str) -> bool:
    """True when nothing but case, white space, accents and the punctuation around words differs.

    Numbers, signs, negations and the spelling of identifiers (``userId``) have to be equal.
    """
    return bare_words(one) == bare_words(another)


def adds_nothing(one: str, another: str) -> bool:
    """True when the two are the same words in the same order but for articles, a bullet and "please note that"."""
    return _telling_words(one) == _telling_words(another)


def _telling_words(text: str) -> list[str]:
    words = deque(text.translate(_APOSTROPHE).split())
    while words and (words[0] in _BULLETS or _bare(words[0]) in _OPENERS):
        words.popleft()
    telling = [word for place, word in enumerate(words) if not _is_article(word, first=place == 0)]
    return bare_words(" ".join(telling))


def _is_article(word: str, *, first: bool) -> bool:
    """The A of "plan A" is none."""
    bare = _bare(word)
    return bare in _ARTICLES and (first or bare != "a" or "a" in word)


def bare_words(text: str) -> list[str]:
    bare = (_bare(word) for word in text.translate(_APOSTROPHE).split())
    return [word for word in bare if word]


def folded(text: str) -> str:
    """With whatever case and accents ``bare_words`` does not look at taken away, and all else as it stands."""
    return _without_accents(text.translate(_APOSTROPHE)).casefold()


def _without_accents(text: str) -> str:
    # Only of Latin letters: elsewhere such a mark makes another letter, as in й and が.
    return _ACCENTED.sub(r"\1", unicodedata.normalize("NFD", text))


def _bare(word: str) -> str:
    if word in _DASHES:
        return ""
    plain = _without_accents(word.lstrip(_OPENING).rstrip(_CLOSING))
    return plain if _NAMED.search(plain) else plain.casefold()
