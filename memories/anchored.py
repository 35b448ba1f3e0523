"""What hangs on the code of repositories, as of now."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Left

from memories.access import Actor
from memories.anchors import AnchorNow, Looking, without_code
from memories.checkout import Checkout, Missing, Unreadable
from memories.code.symbols import Source
from memories.code.verdicts import Place
from memories.models import Anchor, Memory, Repository
from memories.querysets import OPENING

MOST_LOOKED_AT: Final = 500  # anchors whose code is read for one page
SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Hanging:
    """*total* anchors are in force; *looked_at* holds those whose code was read."""

    looked_at: tuple[AnchorNow, ...] = ()
    total: int = 0
    languages: tuple[str, ...] = ()

    @property
    def by_verdict(self) -> Counter[str]:
        return Counter(str(now.verdict) for now in self.looked_at)


def hanging_on(
    repositories: Collection[Repository], actor: Actor, *, path: str = "", symbol: str = ""
) -> dict[int, Hanging]:
    """By the key of the repository, whose scopes are prefetched: anchors of live memories that the actor may read, at
    places that hold *path* and *symbol*. MOST_LOOKED_AT of all are read, in the order of their places."""
    if not repositories:
        return {}
    owners = {(scope.pk, each.name.lower()): each.pk for each in repositories for scope in each.scopes.all()}
    rows = _in_force(repositories, actor).filter(path__icontains=path, symbol__icontains=symbol)
    totals, languages = _counted(rows, owners)
    found: dict[int, list[AnchorNow]] = {each.pk: [] for each in repositories}
    chosen = list(without_code(rows).order_by("path", "symbol", "created_at", "pk")[:MOST_LOOKED_AT])
    for now in Looking().at(chosen, seconds=SECONDS):
        found[owners[now.anchor.scope_id, now.anchor.repository.lower()]].append(now)
    return {
        key: Hanging(tuple(nows), totals[key], tuple(sorted(languages.get(key, ())))) for key, nows in found.items()
    }


def _in_force(repositories: Collection[Repository], actor: Actor) -> QuerySet[Anchor]:
    places = Q(pk=None)
    for each in repositories:
        places |= Q(repository__iexact=each.name, scope__in=[scope.pk for scope in each.scopes.all()])
    return Anchor.objects.filter(places, retired_at=None, memory__in=Memory.objects.live().visible_to(actor))


def _counted(
    rows: QuerySet[Anchor], owners: dict[tuple[int, str], int]
) -> tuple[Counter[int], defaultdict[int, set[str]]]:
    totals: Counter[int] = Counter()
    languages: defaultdict[int, set[str]] = defaultdict(set)
    groups = rows.order_by().values_list("scope", "repository", "language").annotate(count=Count("pk"))
    for scope, name, language, count in groups:
        key = owners[scope, name.lower()]
        totals[key] += count
        languages[key].add(language)
    return totals, languages


def memories_of(nows: Collection[AnchorNow], actor: Actor) -> dict[Any, Memory]:
    """With the opening of their text, by id."""
    rows = Memory.objects.visible_to(actor).filter(pk__in={now.anchor.memory_id for now in nows})
    shown = rows.annotate(opening=Left("content", OPENING)).defer("content", "verbatim")
    return {memory.pk: memory for memory in shown}


def text_then(anchor: Anchor) -> str:
    """The text of the symbol, also where the whole file was kept."""
    if not (anchor.whole_file and anchor.symbol):
        return anchor.code
    found = Source(anchor.code, anchor.language).symbol(anchor.symbol)
    return found.text if found else anchor.code


def text_now(now: AnchorNow, tree: Checkout) -> str:
    """The text of the symbol where it stands in *tree*; empty where it does not. Secrets in it are not masked."""
    place = now.judged.place or Place(now.anchor.path, now.anchor.symbol)
    try:
        if not place.symbol:
            return tree.source(place.path).text
        found = tree.symbol(place.path, place.symbol)
    except (Missing, Unreadable):
        return ""
    return found.text if found else ""
