"""Every read of memories, by the name of its use."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.contrib.postgres.search import SearchQuery
from django.db import models
from django.db.models import Exists, Func, OuterRef, Q, TextField, Value
from django.db.models.functions import Left, Length, Now
from django.utils import timezone

from memories import ageing

if TYPE_CHECKING:
    from memories.access import Actor


OPENING = 1200  # characters of a text that a list shows


_NOT_LAPSED = Q(valid_until__isnull=True) | Q(valid_until__gt=Now())
# What each state of a list shows. The default feed hides old versions and shows what was forgotten, dimmed.
STATES = {
    "": Q(superseded_by__isnull=True, archived_at__isnull=True),
    "live": Q(invalidated_at__isnull=True) & _NOT_LAPSED,
    "superseded": Q(superseded_by__isnull=False, archived_at__isnull=True),
    "invalidated": Q(invalidated_at__isnull=False, superseded_by__isnull=True, archived_at__isnull=True),
    "archived": Q(archived_at__isnull=False),
    "lapsed": Q(invalidated_at__isnull=True, valid_until__lte=Now()),
    "all": Q(),
}


class MemoryQuerySet(models.QuerySet):
    def live(self) -> Self:
        """Neither invalidated nor superseded nor past the end of the validity window."""
        return self.filter(STATES["live"])

    def in_state(self, name: str) -> Self:
        """One of STATES."""
        return self.filter(STATES[name])

    def visible_to(self, actor: Actor) -> Self:
        return self.filter(scope_id__in=actor.readable)

    def for_list(self) -> Self:
        """With scope, author and entities in a fixed number of queries, and of long texts the opening only."""
        return (
            self.select_related("scope__owner", "author", "invalidated_by")
            .prefetch_related("entities")
            .defer("content", "verbatim")
            .annotate(opening=Left("content", OPENING), length=Length("content"))
        )

    def with_words(self, text: str) -> Self:
        """That hold every word of *text* in one window, each as it stands."""
        from memories.models import Window

        words = Func(Value(text.replace("\x00", " ")), function="zm_parts", output_field=TextField())
        query = SearchQuery(words, config=Value("simple"), search_type="plain")
        return self.filter(Exists(Window.objects.filter(memory=OuterRef("pk"), document=query)))

    def in_scopes(self, scope_ids: Collection[int]) -> Self:
        return self.filter(scope_id__in=scope_ids)

    def in_age_bucket(self, name: str, *, now: datetime | None = None) -> Self:
        """Of an age in one of ``AGE_BUCKETS``; ValidationFailed for another name."""
        return self.filter(ageing.in_bucket(name, now or timezone.now()))

    def faded(self, rules: ageing.Rules, *, now: datetime | None = None) -> Self:
        """Older than the half-life of its kind; *rules* come from ``configuration.ranking_rules()``."""
        return self.filter(ageing.is_faded(rules, now or timezone.now()))


class RepositoryQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor) -> Self:
        """Of whoever owns it or may read one of its scopes. Its path is for staff alone."""
        return self.filter(Q(owner=actor.user) | Q(scopes__in=actor.readable)).distinct()


class CodeLookQuerySet(models.QuerySet):
    def visible_to(self, actor: Actor) -> Self:
        return self.filter(scope__in=actor.readable)

    def asking(self) -> Self:
        """Those that found more at once than anybody is asked about unasked."""
        return self.filter(held__gt=0)

    def told(self) -> Self:
        return self.select_related("scope").order_by("repository", "scope__slug")
