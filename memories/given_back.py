"""PURE. Whether a text that is saved is one that was given: word for word, quoted, or whole sentences of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

from memories.sameness import bare_words, folded

LEAST_WORDS: Final = 5  # of an excerpt; fewer may stand in any text
LONGEST: Final = 20_000  # characters of a text in which a quotation is sought
MOST_LIKENED: Final = 10
LEAST_SHARED: Final = 1 / 3  # of the words
_ROUNDS: Final = 4  # of wrappings around wrappings
_CUT: Final = ("…", "...")
_BEGIN: Final = re.compile(r"\[begin (?P<token>[0-9a-f]{1,64})\]\n")
_CODE: Final = re.compile(r"`{3,}|~{3,}")
_QUOTED: Final = re.compile(r"[\"“„«'‘](?P<text>.*)[\"”“»'’]", re.DOTALL)
_LED: Final = re.compile(
    r"(?:(?:from|per|according to|as in|as noted in|in) (?:my |the |our |long-term )?(?:memory|memories|notes?)"
    r"|(?:i )?(?:recalled|remembered|recall|remember)|recalled memory|memory|note)\s*[:,–—-]\s*(?P<text>.+)",
    re.DOTALL | re.IGNORECASE,
)
_BULLET: Final = re.compile(r"[-*•]\s+(?P<text>.+)", re.DOTALL)
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"”’)\]]*\s+|\n+")


def unwrapped(text: str) -> str:
    """*text* without the marks, fences and opening words in which it was quoted; as it is where it is longer than
    LONGEST, because it is read while others wait for the write."""
    if len(text) > LONGEST:
        return text
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
    for inner in (_in_fence(text), _in_code(text)):
        if inner is not None:
            return inner
    for wrapping in (_LED, _BULLET, _QUOTED):
        if found := wrapping.fullmatch(text):
            return found["text"]
    return text


# By their ends and not by a pattern: that would try each line of the text as the last one.


def _in_fence(text: str) -> str | None:
    begin = _BEGIN.match(text)
    if begin is None or not text.endswith(end := f"\n[end {begin['token']}]"):
        return None
    _, marked, said = text[begin.end() - 1 : -len(end)].partition("\ntext:\n")
    return said if marked else None


def _in_code(text: str) -> str | None:
    first, _, rest = text.partition("\n")
    said, newline, last = rest.rpartition("\n")
    is_code = newline and _CODE.fullmatch(last) and first.startswith(last)
    return said if is_code else None


def gives_back(text: str) -> Callable[[str], bool]:
    """Tells of what was given whether the unwrapped *text* says that, or whole sentences of it and nothing else."""
    words, is_cut = bare_words(text), text.endswith(_CUT)
    first = [folded(word) for word in words[:LEAST_WORDS]]

    def is_said_in(given: str) -> bool:
        if not _in_order(first, folded(given)):  # of many texts most end here, and need not be taken apart
            return False
        sentences = [words for words in map(bare_words, _SENTENCE.split(given)) if words]
        whole = list(chain.from_iterable(sentences))
        return words == whole or (len(words) >= LEAST_WORDS and _is_excerpt(words, sentences, is_cut))

    return is_said_in


def _in_order(words: Iterable[str], text: str) -> bool:
    place = 0
    for word in words:
        place = text.find(word, place)
        if place < 0:
            return False
        place += len(word)
    return True


def worth_likening(text: str, given: Sequence[str]) -> list[int]:
    """The places of those that share most words with *text*, at most MOST_LIKENED: how alike two texts are takes
    quadratic time to find. None of those that share few."""
    words = Counter(bare_words(text))
    shared = [(words & Counter(bare_words(other))).total() for other in given]
    enough = [place for place, count in enumerate(shared) if count and count >= words.total() * LEAST_SHARED]
    return sorted(enough, key=lambda place: -shared[place])[:MOST_LIKENED]


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
