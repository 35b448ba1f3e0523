"""PURE. Letters that a reader takes for others: of another script amid Latin ones, wide, or of a mathematical style."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_CYRILLIC: Final = "асеһіјорԛѕԝухүԁѡӏАВЕЅІЈКМНОРСТУХҮԚԜӀ"
_GREEK: Final = "ονρϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ"
_ARMENIAN: Final = "օոսցհԼՕՍ"
_ALIKE: Final = frozenset(_CYRILLIC + _GREEK + _ARMENIAN)
_WORD: Final = re.compile(r"[^\W\d_]+")
_LATIN: Final = re.compile("[A-Za-z]")


def lookalikes(text: str) -> Iterator[int]:
    """The positions of such letters in words that also hold plain Latin ones: a word of one script is no disguise."""
    if text.isascii():
        return
    for word in _WORD.finditer(text):
        if _LATIN.search(word[0]):
            yield from (word.start() + at for at, letter in enumerate(word[0]) if _is_alike(letter))


def _is_alike(letter: str) -> bool:
    if letter.isascii():
        return False
    return letter in _ALIKE or bool(_LATIN.fullmatch(unicodedata.normalize("NFKC", letter)))
