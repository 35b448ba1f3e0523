"""PURE. Whether a text that is saved is one that was given: word for word, quoted, or whole sentences of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from typing import Final

from memories.sameness import bare_words

LEAST_WORDS: Final = 5  # of an excerpt; fewer may stand in any text
_ROUNDS: Final = 4  # of wrappings around wrappings
_CUT: Final = ("…", "...")
_FENCE: Final = re.compile(
    r"\[begin (?P<token>[0-9a-f]+)\]\n(?:.*?\n)?text:\n(?P<text>.*)\n\[end (?P=token)\]", re.DOTALL
)
_CODE: Final = re.compile(r"(?P<marks>`{3,}|~{3,})[^\n]*\n(?P<text>.*)\n(?P=marks)", re.DOTALL)
_QUOTED: Final = re.compile(r"[\"“„«'‘](?P<text>.*)[\"”“»'’]", re.DOTALL)
_LED: Final = re.compile(
    r"(?:(?:from|per|according to|as in|as noted in|in) (?:my |the |our |long-term )?(?:memory|memories|notes?)"
    r"|(?:i )?(?:recalled|remembered|recall|remember)|recalled memory|memory|note)\s*[:,–—-]\s*(?P<text>.+)",
    re.DOTALL | re.IGNORECASE,
)
_BULLET: Final = re.compile(r"[-*•]\s+(?P<text>.+)", re.DOTALL)
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"”’)\]]*\s+|\n+")


def unwrapped(text: str) -> str:
    """*text* without the marks, fences and opening words in which it was quoted."""
    bare = text.strip()
    for _ in range(_ROUNDS):
        inner = _unwrapped_once(bare).strip()
        if not inner or inner == bare:
            break
        bare = inner
    return bare


def _unwrapped_once(text: str) -> str:
    lines = text.split("\n")
    if all(line.startswith(">") for line in lines):
        return "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
    for wrapping in (_FENCE, _CODE, _LED, _BULLET, _QUOTED):
        if found := wrapping.fullmatch(text):
            return found["text"]
    return text


def gives_back(given: str) -> Callable[[str], bool]:
    """Tells of an unwrapped text whether it says what *given* says, or whole sentences of it and nothing else."""
    sentences = [words for words in map(bare_words, _SENTENCE.split(given)) if words]
    whole = list(chain.from_iterable(sentences))

    def is_given(text: str) -> bool:
        words = bare_words(text)
        return words == whole or (len(words) >= LEAST_WORDS and _is_excerpt(words, sentences, text.endswith(_CUT)))

    return is_given


def _is_excerpt(words: list[str], sentences: list[list[str]], is_cut: bool) -> bool:
    return any(_begins(words, sentences[start:], is_cut) for start in range(len(sentences)))


def _begins(words: list[str], sentences: list[list[str]], is_cut: bool) -> bool:
    """Whether *words* are the first of *sentences*, up to the end of one, or where they were cut off."""
    place = 0
    for sentence in sentences:
        here = words[place : place + len(sentence)]
        if here != sentence[: len(here)]:
            return False
        place += len(here)
        if place == len(words):
            return is_cut or len(here) == len(sentence)
    return False
