"""The inbox as somebody asked for it: tab, filters, order, from where on. All of it travels in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Case, Count, F, FloatField, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce
from django.urls import reverse

from memories.access import Actor, readable_scopes, scope_for
from memories.models import Kind, Scope
from memories.moments import is_within_reach
from memories.presentation import scope_names
from reflections.inbox.registry import DECIDED, SNOOZED, TABS, WAITING, Entry, Item, Source
from reflections.inbox.sources import all_sources

PAGE: Final = 50
MOST_AT_ONCE: Final = 200  # items of one bulk act, each a transaction of its own, within one request
ORDERS: Final = {"oldest": "Oldest first", "confidence": "Surest first"}
_PLACES: Final = {WAITING: ("e_since", False), SNOOZED: ("e_until", False), DECIDED: ("e_decided", True)}
_FACETS: Final = ("tab", "type", "scope", "kind")
_COLUMNS: Final = ("since", "confidence", "title", "reason", "until", "decided", "outcome", "decider")

type Place = tuple[Any, UUID]


@dataclass(frozen=True, slots=True)
class Listing:
    """``after`` is the place of the last row of the page before."""

    actor: Actor
    tab: str = WAITING
    type: str = ""
    scope: Scope | None = None
    scope_name: str = ""
    kind: str = ""
    order: str = "oldest"
    after: Place | None = None
    _tallies: Counter[tuple[str, str, int, str]] = field(default_factory=Counter, compare=False)

    @property
    def query(self) -> str:
        return urlencode(self._parameters())

    @property
    def is_filtered(self) -> bool:
        return bool(self.type or self.scope or self.kind)

    def link(self, **changed: str) -> str:
        kept = {name: value for name, value in (self._parameters() | changed).items() if value}
        for name, usual in (("state", WAITING), ("order", "oldest")):
            if kept.get(name) == usual:
                del kept[name]
        return f"{reverse('inbox')}?{urlencode(kept)}" if kept else reverse("inbox")

    def page(self) -> tuple[list[Entry], str | None]:
        """The rows, and the address of the next page; None on the last."""
        found = self.entries(most=PAGE + 1, after=self.after)
        more = self.link(after=_written(found[PAGE - 1])) if len(found) > PAGE else None
        return found[:PAGE], more

    def entries(self, *, most: int, after: Place | None = None) -> list[Entry]:
        """The first rows of each source, merged; one query a source."""
        _, is_newest_first = self._place()
        found = [
            _entry(source, values)
            for source in all_sources()
            if not self.type or self.type in source.types
            for values in self._rows(source, after)[:most]
        ]
        found.sort(key=lambda entry: entry.item.id)
        found.sort(key=lambda entry: entry.place, reverse=is_newest_first)
        return found[:most]

    def items(self) -> list[Item]:
        """Everything under these filters, up to what one act may hold."""
        return [entry.item for entry in self.entries(most=MOST_AT_ONCE)]

    def named(self, items: Sequence[Item]) -> list[Entry]:
        """The lines of *items* in their order, whatever tab they stand on, without those that are not here."""
        found: dict[UUID, Entry] = {}
        for source in all_sources():
            ids = [item.id for item in items if item.source == source.name]
            if ids:
                rows = source.visible(self.actor).order_by().annotate(**source.columns()).filter(pk__in=ids)
                found |= {values["pk"]: _entry(source, values) for values in _valued(rows, "e_since")}
        return [found[item.id] for item in items if item.id in found]

    def following(self, item: Item) -> Item | None:
        """The row below *item*; below the last, and for one that is not here, the first other one."""
        here = self._where(item)
        below = self.entries(most=1, after=here) if here else []
        if below:
            return below[0].item
        first = self.entries(most=2)
        return next((entry.item for entry in first if entry.item.id != item.id), None)

    # Counting --------------------------------------------------------------------------------

    def total(self) -> int:
        return self.count(tab=self.tab)

    def count(self, **wanted: Any) -> int:
        """Rows under the filters, *wanted* in the place of those it names; decided ones on their own tab only."""
        chosen = self._chosen() | wanted
        return sum(
            n
            for values, n in self._counted().items()
            if all(chosen[name] is None or chosen[name] == value for name, value in zip(_FACETS, values, strict=True))
        )

    def _counted(self) -> Counter[tuple[str, str, int, str]]:
        """Every combination of tab, type, scope and kind with its rows; one query a source, once.

        What is decided grows for ever, so that only its own tab counts it.
        """
        if not self._tallies:
            for source in all_sources():
                tabs = source.tabs()
                tab = Case(*(When(condition, then=Value(name)) for name, condition in tabs.items()))
                rows = source.visible(self.actor).order_by().annotate(**source.columns(), e_tab=tab)
                if self.tab != DECIDED:
                    rows = rows.filter(tabs[WAITING] | tabs[SNOOZED])
                for *values, n in rows.values_list("e_tab", "e_type", "scope_id", "e_kind").annotate(n=Count("pk")):
                    self._tallies[tuple(values)] += n  # type: ignore[index]  # four facets, as _FACETS names them
        return self._tallies

    def _chosen(self) -> dict[str, Any]:
        scope = self.scope.pk if self.scope else None
        return {"tab": self.tab, "type": self.type or None, "scope": scope, "kind": self.kind or None}

    def filters(self) -> list[dict[str, Any]]:
        """Each group with the rows behind each value under the other filters."""
        names = scope_names(readable_scopes(self.actor))
        types = {type: words for source in all_sources() for type, words in source.types.items()}
        groups = [
            self._group("What", "type", "type", self.type, {type: (type, words) for type, words in types.items()}),
            self._group("Scope", "scope", "scope", self.scope_name, {name: (pk, name) for pk, name in names.items()}),
            self._group("Kind", "kind", "kind", self.kind, {kind: (kind, kind) for kind in Kind.values}),
        ]
        return [group for group in groups if group["name"] != "Scope" or len(names) > 1]

    def _group(
        self, name: str, parameter: str, facet: str, chosen: str, values: Mapping[str, tuple[Any, str]]
    ) -> dict[str, Any]:
        every = {"label": "All", "href": self.link(**{parameter: ""}), "selected": not chosen}
        options = [
            {
                "label": label,
                "href": self.link(**{parameter: value}),
                "count": self.count(**{facet: counted}),
                "selected": value == chosen,
                "kind": value if facet == "kind" else "",
            }
            for value, (counted, label) in values.items()
        ]
        return {"name": name, "options": [every | {"count": self.count(**{facet: None})}, *options]}

    def tabs(self) -> list[dict[str, Any]]:
        return [
            {
                "label": label,
                "href": self.link(state=tab, order=""),
                "count": self.count(tab=tab) if tab != DECIDED or tab == self.tab else None,
                "selected": tab == self.tab,
            }
            for tab, label in TABS.items()
        ]

    def orders(self) -> list[dict[str, Any]]:
        if self.tab != WAITING:
            return []
        return [
            {"label": label, "href": self.link(order=order), "selected": order == self.order}
            for order, label in ORDERS.items()
        ]

    # Reading ---------------------------------------------------------------------------------

    def _place(self) -> tuple[str, bool]:
        if self.tab == WAITING and self.order == "confidence":
            return "e_surety", True
        return _PLACES[self.tab]

    def _filtered(self, source: Source) -> QuerySet[Any]:
        surety = Coalesce("e_confidence", Value(-1.0), output_field=FloatField())
        rows = source.visible(self.actor).annotate(**source.columns()).annotate(e_surety=surety)
        rows = rows.filter(source.tabs()[self.tab])
        asked = {"e_type": self.type, "scope": self.scope, "e_kind": self.kind}
        return rows.filter(**{name: value for name, value in asked.items() if value})

    def _rows(self, source: Source, after: Place | None) -> QuerySet[Any]:
        place, is_newest_first = self._place()
        rows = self._filtered(source)
        if after:
            value, row = after
            beyond = "lt" if is_newest_first else "gt"
            rows = rows.filter(Q(**{f"{place}__{beyond}": value}) | Q(**{place: value, "pk__gt": row}))
        ordered = rows.order_by(f"-{place}" if is_newest_first else place, "pk")
        return _valued(ordered, place)

    def _where(self, item: Item) -> Place | None:
        place, _ = self._place()
        for source in all_sources():
            if source.name == item.source:
                found = self._filtered(source).filter(pk=item.id).values_list(place, flat=True).first()
                return None if found is None else (found, item.id)
        return None

    def _parameters(self) -> dict[str, str]:
        asked = {
            "state": self.tab if self.tab != WAITING else "",
            "type": self.type,
            "scope": self.scope_name,
            "kind": self.kind,
            "order": self.order if self.order != "oldest" else "",
        }
        return {name: value for name, value in asked.items() if value}


def listing_of(actor: Actor, query: Mapping[str, str]) -> Listing:
    """An unknown value filters nothing, an unknown place is the beginning; NotFound for a scope that is not here."""
    name = query.get("scope", "").replace("\x00", "").strip()
    types = {type for source in all_sources() for type in source.types}
    listing = Listing(
        actor=actor,
        tab=_one_of(TABS, query.get("state"), WAITING),
        type=_one_of(types, query.get("type"), ""),
        scope=scope_for(actor, name) if name else None,
        scope_name=name,
        kind=_one_of(Kind.values, query.get("kind"), ""),
        order=_one_of(ORDERS, query.get("order"), "oldest"),
    )
    return replace(listing, after=_read(listing, query.get("after", "")))


def _one_of(known: Any, value: str | None, otherwise: str) -> str:
    return value if value in known else otherwise  # type: ignore[return-value]  # None is in none of them


def _valued(rows: QuerySet[Any], place: str) -> QuerySet[Any]:
    columns = [f"e_{name}" for name in _COLUMNS]
    return rows.values("pk", "version", "scope_id", "e_type", "e_kind", *columns, e_place=F(place))


def _entry(source: Source, values: Mapping[str, Any]) -> Entry:
    return Entry(
        item=Item(source.name, values["pk"], values["version"]),
        place=values["e_place"],
        type=values["e_type"],
        kind=values["e_kind"],
        scope=values["scope_id"],
        **{name: values[f"e_{name}"] for name in _COLUMNS},
    )


def _written(entry: Entry) -> str:
    place = entry.place.isoformat() if isinstance(entry.place, datetime) else repr(entry.place)
    return f"{place}~{entry.item.id}"


def _read(listing: Listing, text: str) -> Place | None:
    value, _, row = text.partition("~")
    try:
        if listing._place()[0] == "e_surety":
            return float(value), UUID(row)
        moment = datetime.fromisoformat(value)
        return (moment, UUID(row)) if moment.tzinfo and is_within_reach(moment) else None
    except ValueError:
        return None
