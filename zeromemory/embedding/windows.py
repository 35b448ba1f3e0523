"""PURE. Cut long text into overlapping windows that a model can take in whole."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

OVERLAP = 32  # tokens

# best place to cut first; a cut comes after the match
_BOUNDARIES = (re.compile(r"\n"), re.compile(r"[.!?…][\"'”’)\]]*\s+|[。！？]"), re.compile(r"\s+"))
_SPACE = re.compile(r"\s+")
_ESTIMATED = re.compile(r"[\x00-\x7f]{1,4}|[^\x00-\x7f]", re.DOTALL)


class Window(NamedTuple):
    """Characters ``text[start:stop]``."""

    start: int
    stop: int


def windows(text: str, token_starts: Sequence[int], max_tokens: int, overlap: int = OVERLAP) -> list[Window]:
    """Windows of at most ``max_tokens`` tokens that cover the text; neighbours share ``overlap``, or a quarter if less.

    ``token_starts`` holds the character at which each token begins, ascending. A text that fits is one window,
    and so is the empty text. Time is linear in the length of the text.
    """
    spans: list[Window] = []
    overlap = min(overlap, max_tokens // 4)
    start = stop = first = 0
    while stop < len(text) or not spans:
        if len(token_starts) - first <= max_tokens:
            return [*spans, Window(start, len(text))]
        cut = _cut(text, token_starts[first + max_tokens // 2], token_starts[first + max_tokens])
        stop = max(cut, stop + 1)  # several tokens can begin at one character
        spans.append(Window(start, stop))
        start = _resume(text, token_starts, stop, overlap)
        first = bisect_left(token_starts, start)
    return spans


def estimated_token_starts(text: str) -> list[int]:
    """For an unknown tokenizer: four ASCII characters a token, and a token for every other character."""
    return [match.start() for match in _ESTIMATED.finditer(text)]


def _cut(text: str, low: int, high: int) -> int:
    for boundary in _BOUNDARIES:
        ends = [match.end() for match in boundary.finditer(text, low, high)]
        if ends:
            return ends[-1]
    return high


def _resume(text: str, token_starts: Sequence[int], stop: int, overlap: int) -> int:
    low = token_starts[max(bisect_left(token_starts, stop) - overlap, 0)] if overlap else stop
    space = _SPACE.search(text, max(low - 1, 0), stop)
    return space.end() if space and space.end() < stop else min(low, stop)
