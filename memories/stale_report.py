"""PURE. What a change makes stale, as Markdown for a comment and as JSON. All text of others in it is fenced."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from memories.code.verdicts import Place
from memories.differences import line_difference
from memories.made_stale import Checked, MadeStale
from zeromemory.lib.unseen import with_marks

AROUND: Final = 3  # lines that stay, before and after what changed
MOST_LINES: Final = 60  # of one difference
MOST_LISTED: Final = 100  # memories
LONGEST: Final = 40_000  # characters; a comment takes 65,536
_SIGNS: Final = {"same": " ", "remove": "-", "add": "+"}
_BACKTICKS: Final = re.compile("`+")


def as_markdown(checked: Checked) -> str:
    if not checked.stale:
        return _nothing(checked)
    return "\n".join([*_heading(checked), *_places(checked), *_apart(checked)]) + "\n"


def as_json(checked: Checked) -> dict[str, Any]:
    return {
        "repository": checked.repository,
        "since": checked.since,
        "anchors": checked.looked_at,
        "stale": [_row(one) for one in checked.stale],
        "already_stale": checked.already,
        "unchecked": [
            {"path": now.anchor.path, "symbol": now.anchor.symbol, "why": now.judged.detail}
            for now in checked.unchecked
        ],
    }


def _row(one: MadeStale) -> dict[str, Any]:
    anchor, memory = one.now.anchor, one.memory
    return {
        "path": anchor.path,
        "symbol": anchor.symbol,
        "verdict": str(one.now.verdict),
        "detail": one.now.judged.detail,
        "memory": {"id": str(memory.pk), "kind": memory.kind, "headline": memory.headline},
        "anchored_at": anchor.created_at.isoformat(),
        "before": one.before,
        "after": one.after,
    }


def _nothing(checked: Checked) -> str:
    looked = f"{checked.looked_at:,} anchor{'' if checked.looked_at == 1 else 's'} to {span(checked.repository)}"
    lines = [f"No memory is made stale by the change since {span(checked.since[:12])}. {looked} looked at."]
    return "\n".join([*lines, *_apart(checked)]) + "\n"


def _heading(checked: Checked) -> list[str]:
    count = len({one.memory.pk for one in checked.stale})
    what = "1 memory stops applying" if count == 1 else f"{count:,} memories stop applying"
    return [
        f"### {what}",
        "",
        f"The change since {span(checked.since[:12])} rewrites code of {span(checked.repository)} that "
        f"{'it names' if count == 1 else 'they name'}. On the page of a memory: say that it still holds, rewrite it, "
        "or forget it.",
    ]


def _places(checked: Checked) -> Iterator[str]:
    """The places in their order, with the memories that name each, until the comment is long enough."""
    length = listed = 0
    for _, group in groupby(checked.stale, key=lambda one: (one.now.anchor.path, one.now.anchor.symbol)):
        alike = list(group)
        shown = alike[: MOST_LISTED - listed]
        if not shown:
            break
        listed += len(shown)
        text = "\n".join(_place(shown, with_code=length < LONGEST))
        length += len(text)
        yield text
    if left := len(checked.stale) - listed:
        yield f"\nAnd {left:,} more."


def _place(alike: Sequence[MadeStale], *, with_code: bool) -> Iterator[str]:
    anchor, judged = alike[0].now.anchor, alike[0].now.judged
    yield f"\n#### {_named(Place(anchor.path, anchor.symbol))}: {judged.verdict}\n"
    for one in alike:
        saved = f"{one.now.anchor.created_at:%Y-%m-%d}"
        yield f"- {one.memory.kind}, anchored {saved}: {span(one.memory.headline)}\n  {span(str(one.memory.pk))}"
    if with_code:
        yield "\n" + fenced("\n".join(_difference(alike[0].before, alike[0].after)), "diff")
    else:
        yield "\nThe code is left out: this would be too long for a comment."


def _named(place: Place) -> str:
    return f"{span(place.symbol)} in {span(place.path)}" if place.symbol else span(place.path)


def _apart(checked: Checked) -> Iterator[str]:
    if checked.already:
        many = "anchor was" if checked.already == 1 else "anchors were"
        yield f"\n{checked.already:,} {many} stale before, and still {'is' if checked.already == 1 else 'are'}."
    if checked.unchecked:
        yield f"\n{len(checked.unchecked):,} could not be checked:\n"
        for now in checked.unchecked[:MOST_LISTED]:
            yield f"- {_named(Place(now.anchor.path, now.anchor.symbol))}: {span(now.judged.detail)}"


def _difference(before: str, after: str) -> Iterator[str]:
    """Lines with a sign, as ``diff`` writes them; of what is far from a change only that it was left out."""
    lines = line_difference(before, after)
    changed = [number for number, line in enumerate(lines) if line["op"] != "same"]
    near = sorted({at for number in changed for at in range(number - AROUND, number + AROUND + 1)})
    last = -1
    for written, at in enumerate(at for at in near if 0 <= at < len(lines)):
        if written == MOST_LINES:
            yield "@@ and more @@"
            return
        if at > last + 1:
            yield "@@ … @@"
        yield _SIGNS[lines[at]["op"]] + with_marks(lines[at]["text"])
        last = at


def fenced(text: str, language: str = "") -> str:
    """A block that ends where we end it, whatever *text* holds."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def span(text: str) -> str:
    """Code within a line: no link, no mention and no markup comes of it."""
    line = with_marks(" ".join(text.split())) or " "
    ticks = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
