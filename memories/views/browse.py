"""Search and browse: the ranker that agents use, and the feed, newest first."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone

from memories.access import Actor, actor_for_request, readable_scopes, scope_for
from memories.ageing import AGE_BUCKETS, Rules
from memories.configuration import ranking_rules
from memories.errors import ValidationFailed
from memories.facets import ALL, FEED, Choice, Facets, Without, facets, narrowed, without_each
from memories.looks import stale_days
from memories.models import Kind, Memory
from memories.paging import page_of
from memories.presentation import AUTHOR_WORDS, result_row, row_of, scope_names, with_unchecked
from memories.recall import COUNTED, MOST_RESULTS, Recall, recall
from memories.retention import INFERRED, VERIFIED
from memories.selection import RETIRED
from memories.views.fragments import is_fragment, page_or_part

PAGE: Final = 40
SEARCHED: Final = 20
# In this order: the first is the sum of the three that follow, the last of all.
STATE_WORDS: Final = {
    "": "Newest versions",
    "live": "Live",
    "lapsed": "No longer valid",
    "invalidated": "Forgotten",
    "superseded": "Older versions",
    "archived": "Archived",
    "all": "All",
}
STATE_HINTS: Final = {
    "": "live ones, and dimmed those forgotten or no longer valid",
    "live": "these are recalled",
    "lapsed": "their validity has ended, so they are not recalled",
    "invalidated": "not recalled, and restorable",
    "superseded": "replaced by a newer text, and still readable",
    "archived": "let go by a decaying scope, and restorable",
    "all": "whatever became of them",
}
SURE_WORDS: Final = ((VERIFIED, "verified"), (INFERRED, "verified or inferred"))
PARAMETERS: Final = (
    "q",
    "scope",
    "kind",
    "state",
    "author",
    "age",
    "pinned",
    "faded",
    "waiting",
    "stale",
    "entity",
    "confidence",
    "ignore_age",
    "ignore_code",
    "ignore_use",
)
IGNORING: Final = {"ignore_age": "age", "ignore_code": "structural", "ignore_use": "reinforcement"}
COMPARED: Final = ("q", "scope", "kind")  # the filters that a comparison takes over
OF_THE_FEED: Final = {"state", "faded", "waiting", "stale"}  # a search finds what is live, whatever its age


def memory_list(request: HttpRequest) -> HttpResponse:
    actor = actor_for_request(request)
    asked = _asked(request.GET)
    context: dict[str, Any] = {"asked": asked, "scopes_exist": bool(actor.readable), "may_write": bool(actor.writable)}
    try:
        choice = _choice(actor, asked)
        context |= _searched(actor, asked, choice, request) if asked.get("q") else _feed(actor, asked, choice, request)
        context["filters"] = [] if is_fragment(request) else _filters(actor, asked, choice)
    except ValidationFailed as error:
        context |= {"problem": error.message, "rows": [], "filters": []}
    context["kept"] = [(name, value) for name, value in asked.items() if name != "q" and name not in IGNORING]
    status = 400 if "problem" in context else 200
    return page_or_part(request, "memories/list.html", "rows", context, status=status)


def _asked(query: QueryDict) -> dict[str, str]:
    """The known parameters that say something; NUL, which nothing stored can hold, is dropped."""
    values = {name: query.get(name, "").replace("\x00", "").strip() for name in PARAMETERS}
    ignored = OF_THE_FEED if values["q"] else set(IGNORING)
    return {name: value for name, value in values.items() if value and name not in ignored}


def _choice(actor: Actor, asked: dict[str, str]) -> Choice:
    return Choice(
        scope=scope_for(actor, asked["scope"]) if "scope" in asked else None,
        kind=asked.get("kind"),
        state=asked.get("state", FEED),
        author=asked.get("author"),
        pinned=asked.get("pinned") == "1",
        age=asked.get("age"),
        faded=asked.get("faded") == "1",
        waiting=asked.get("waiting") == "1",
        stale=asked.get("stale") == "1",
        entity=asked.get("entity"),
        confidence=asked.get("confidence"),
    )


def _feed(actor: Actor, asked: dict[str, str], choice: Choice, request: HttpRequest) -> dict[str, Any]:
    rules, now = ranking_rules(), timezone.now()
    rows = narrowed(Memory.objects.visible_to(actor), choice, rules, now)
    page, cursor = page_of(rows.for_list(), cursor=request.GET.get("cursor"), size=PAGE)
    questioned = () if page or request.GET.get("cursor") else _hidden(actor, choice, rules, now)
    return {
        "rows": with_unchecked([row_of(memory, rules, now) for memory in page], stale_days(page, now)),
        "without": _offers(asked, questioned),
        "next_url": _link(asked, cursor=cursor) if cursor else None,
        "total": None if request.GET.get("cursor") else rows.count(),
        "state_hint": STATE_HINTS[choice.state],
        "bulk_url": _bulk_link(actor, asked, choice),
    }


def _bulk_link(actor: Actor, asked: dict[str, str], choice: Choice) -> str | None:
    """To forget what is listed, all of it; None where nothing of it can be."""
    if not (actor.writable if choice.scope is None else choice.scope.pk in actor.writable) or choice.state in RETIRED:
        return None
    scope = {"scope": scope_names(readable_scopes(actor))[choice.scope.pk]} if choice.scope else {}
    return f"{reverse('memory_bulk')}?{urlencode(asked | scope)}" if asked else reverse("memory_bulk")


def _searched(actor: Actor, asked: dict[str, str], choice: Choice, request: HttpRequest) -> dict[str, Any]:
    k = MOST_RESULTS if request.GET.get("all") == "1" else SEARCHED
    rules, now = ranking_rules(), timezone.now()
    found = _recalled(actor, asked, choice, k)
    best = found.results[0].score if found.results else 0.0
    return {
        "rows": with_unchecked(
            [result_row(result, place, best, rules, now) for place, result in enumerate(found.results, start=1)],
            {result.memory.pk: result.stale_days for result in found.results},
        ),
        "notices": found.notices,
        "switches": [(name, name.replace("_", " ").capitalize(), name in asked) for name in IGNORING],
        "without": _offers(asked, found.without, most=COUNTED),
        "took_ms": found.took_ms,
        "compare_url": _compare_link(asked),
        "more_url": _link(asked, all="1") if len(found.results) == k < MOST_RESULTS else None,
        "searched": True,
    }


def _compare_link(asked: dict[str, str]) -> str:
    kept: dict[str, str] = {name: asked[name] for name in COMPARED if name in asked}
    return f"{reverse('memory_compare')}?{urlencode(kept)}"


def _recalled(actor: Actor, asked: dict[str, str], choice: Choice, k: int) -> Recall:
    now = timezone.now()
    bucket = AGE_BUCKETS[choice.age] if choice.age else None
    return recall(
        actor=actor,
        query=asked["q"],
        scopes=[asked["scope"]] if choice.scope else None,
        kinds=[choice.kind] if choice.kind else None,
        k=k,
        ignore=frozenset(factor for name, factor in IGNORING.items() if name in asked),
        rows=Memory.objects.for_list(),
        entity=choice.entity,
        min_confidence=choice.confidence,
        pinned=True if choice.pinned else None,
        author_kind=choice.author,
        created_from=now - timedelta(days=bucket.to) if bucket and bucket.to else None,
        created_to=now - timedelta(days=bucket.over) if bucket and bucket.over else None,
    )


def _hidden(actor: Actor, choice: Choice, rules: Rules, now: datetime) -> tuple[Without, ...]:
    return without_each(choice, lambda wider: narrowed(Memory.objects.visible_to(actor), wider, rules, now).count())


def _offers(asked: dict[str, str], without: tuple[Without, ...], *, most: int | None = None) -> list[dict[str, str]]:
    """What each filter of an empty list hides, and the address without it."""
    return [
        {
            "text": one.said(most=most),
            "href": _link(_fewer(asked, one.filter)) if one.found else "",
            "remove": "Remove every filter" if one.filter == ALL else "Remove this filter",
        }
        for one in without
    ]


def _fewer(asked: dict[str, str], filter: str) -> dict[str, str]:
    return {name: value for name, value in asked.items() if name != filter and (filter != ALL or name == "q")}


def _link(asked: dict[str, str], **changed: str | None) -> str:
    kept = {name: value for name, value in {**asked, **changed}.items() if value}
    return f"{reverse('memory_list')}?{urlencode(kept)}" if kept else reverse("memory_list")


def _filters(actor: Actor, asked: dict[str, str], choice: Choice) -> list[dict[str, Any]]:
    """The filter groups. While searching, the state and the counts are left out: a search finds what is live."""
    counts = None
    if "q" not in asked:
        counts = facets(Memory.objects.visible_to(actor), choice, ranking_rules(), timezone.now())
    names = scope_names(readable_scopes(actor))
    groups = [
        ("State", "state", [(name, STATE_WORDS[name], _n(counts, "state", name)) for name in STATE_WORDS]),
        ("Kind", "kind", [("", "All", None), *((k, k, _n(counts, "kind", k)) for k in Kind.values)]),
        ("Scope", "scope", [("", "All", None), *((n, n, _n(counts, "scope", pk)) for pk, n in names.items())]),
        ("Age", "age", [("", "Any", None), *((n, b.label, _n(counts, "age", n)) for n, b in AGE_BUCKETS.items())]),
        ("Author", "author", [("", "Any", None), *((a, w, _n(counts, "author", a)) for a, w in AUTHOR_WORDS.items())]),
        ("Sure", "confidence", [("", "Any", None), *((c, w, _n(counts, "confidence", c)) for c, w in SURE_WORDS)]),
    ]  # fmt: skip
    shown = [_group(asked, *group) for group in groups if not (group[1] == "state" and "q" in asked)]
    return [*shown, _marks(asked, counts)]


def _n(counts: Facets | None, facet: str, value: Any) -> int | None:
    return None if counts is None else getattr(counts, facet).get(value, 0)


def _group(
    asked: dict[str, str], name: str, parameter: str, values: list[tuple[str, str, int | None]]
) -> dict[str, Any]:
    return {
        "name": name,
        "options": [
            {
                "label": label,
                "count": count,
                "href": _link(asked, **{parameter: value or None}),
                "selected": asked.get(parameter, "") == value,
                "kind": value if parameter == "kind" and value else "",
            }
            for value, label, count in values
        ],
    }


def _marks(asked: dict[str, str], counts: Facets | None) -> dict[str, Any]:
    marks = [("pinned", "pinned", counts.pinned if counts else None)]
    if "q" not in asked:
        marks.append(("faded", "faded", counts.faded if counts else None))
        marks.append(("waiting", "not found by meaning", counts.waiting if counts else None))
        marks.append(("stale", "not checked lately", counts.stale if counts else None))
    options = [
        {
            "label": label,
            "count": count,
            "href": _link(asked, **{name: None if name in asked else "1"}),
            "selected": asked.get(name) == "1",
        }
        for name, label, count in marks
    ]
    if "entity" in asked:
        options.append(
            {"label": f"about {asked['entity']}", "count": None, "href": _link(asked, entity=None), "selected": True}
        )
    return {"name": "Only", "options": options}
