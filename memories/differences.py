"""PURE. What changed from one text to another, by words; bounded work, whatever the texts hold."""

import re
from collections.abc import Sequence
from typing import Final

MOST_EDITS: Final = 600  # words put in or taken out; texts further apart are compared by lines, then as wholes

_WORDS: Final = re.compile(r"\w+|[^\w\s]|\s+")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")

type Part = dict[str, str]


def difference(old: str, new: str) -> list[Part]:
    """Parts ``{op, text}`` with op ``same``, ``remove`` or ``add``.

    What is same or removed, joined, is *old*; what is same or added, joined, is *new*.
    """
    for cut in (_WORDS, _LINES):
        before, after = cut.findall(old), cut.findall(new)
        if (kept := _kept(before, after)) is not None:
            return _joined(before, after, _worth_keeping(before, after, kept))
    return _joined([old], [new], [])


def _kept(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]] | None:
    """The pairs of places that stay, in order; None when the two are more than MOST_EDITS apart."""
    most = min(len(before), len(after))
    head = next((n for n in range(most) if before[n] != after[n]), most)
    most -= head
    tail = next((n for n in range(most) if before[-1 - n] != after[-1 - n]), most)
    inner = _shortest(before[head : len(before) - tail], after[head : len(after) - tail])
    if inner is None:
        return None
    ends = [(len(before) - tail + n, len(after) - tail + n) for n in range(tail)]
    return [(n, n) for n in range(head)] + [(x + head, y + head) for x, y in inner] + ends


def _shortest(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]] | None:
    """The greedy algorithm of Myers, "An O(ND) difference algorithm and its variations" (1986), stopped at D."""
    furthest, steps = {1: 0}, []
    for edits in range(MOST_EDITS + 1):
        steps.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            x = _start(furthest, diagonal, edits)
            while x < len(before) and 0 <= x - diagonal < len(after) and before[x] == after[x - diagonal]:
                x += 1
            furthest[diagonal] = x
            if x >= len(before) and x - diagonal >= len(after):
                return _walked_back(steps, len(before), len(after))
    return None


def _start(furthest: dict[int, int], diagonal: int, edits: int) -> int:
    if _comes_down(furthest, diagonal, edits):
        return furthest[diagonal + 1]
    return furthest[diagonal - 1] + 1


def _comes_down(furthest: dict[int, int], diagonal: int, edits: int) -> bool:
    """Whether the path came by putting a word in, and not by taking one out."""
    if diagonal in (-edits, edits):
        return diagonal == -edits
    return furthest[diagonal - 1] < furthest[diagonal + 1]


def _walked_back(steps: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    kept = []
    for edits in range(len(steps) - 1, -1, -1):
        furthest, diagonal = steps[edits], x - y
        start = _start(furthest, diagonal, edits)
        while x > start:
            x, y = x - 1, y - 1
            kept.append((x, y))
        x, y = (x, y - 1) if _comes_down(furthest, diagonal, edits) else (x - 1, y)
    return kept[::-1]


def _worth_keeping(before: Sequence[str], after: Sequence[str], kept: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Without a blank that alone stays between two changes: a changed phrase reads better whole."""
    framed = [(-1, -1), *kept, (len(before), len(after))]
    return [
        pair
        for last, pair, following in zip(framed[:-2], kept, framed[2:], strict=True)
        if not before[pair[0]].isspace() or _touch(last, pair) or _touch(pair, following)
    ]


def _touch(pair: tuple[int, int], following: tuple[int, int]) -> bool:
    return following == (pair[0] + 1, pair[1] + 1)


def _joined(before: Sequence[str], after: Sequence[str], kept: Sequence[tuple[int, int]]) -> list[Part]:
    parts: list[Part] = []
    x = y = 0
    for stop_x, stop_y in [*kept, (len(before), len(after))]:
        _add(parts, "remove", "".join(before[x:stop_x]))
        _add(parts, "add", "".join(after[y:stop_y]))
        if stop_x < len(before) and stop_y < len(after):
            _add(parts, "same", before[stop_x])
        x, y = stop_x + 1, stop_y + 1
    return parts


def _add(parts: list[Part], op: str, text: str) -> None:
    if not text:
        return
    if parts and parts[-1]["op"] == op:
        parts[-1]["text"] += text
    else:
        parts.append({"op": op, "text": text})


MOST_LINES: Final = 400  # of a difference that is shown


def line_difference(old: str, new: str) -> list[Part]:
    """A part a line, without its end; what is beyond MOST_LINES is left out, and said. Nothing where both are alike."""
    before, after = _LINES.findall(old), _LINES.findall(new)
    if before == after:
        return []
    parts = _joined(before, after, _kept(before, after) or [])
    lines = [{"op": part["op"], "text": line} for part in parts for line in part["text"].splitlines()]
    cut = len(lines) - MOST_LINES
    return lines if cut <= 0 else [*lines[:MOST_LINES], {"op": "same", "text": f"… {cut:,} more lines"}]
