"""Aliases: words of a scope that stand for each other."""

from __future__ import annotations

import uuid
from typing import Final

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.utils import timezone

from memories.access import Actor
from memories.errors import NotFound, ValidationFailed
from memories.models import Alias, Scope
from memories.services import audit
from memories.services.validation import check_storable
from memories.services.writing import require_scope, take_turns, writing
from memories.vocabulary import LONGEST, MOST_ALIASES, spelt
from memories.words import words_of

_FIELDS: Final = ("term", "alias")


def standing(scope: Scope) -> QuerySet[Alias]:
    """Those that are not retired, by their words."""
    return Alias.objects.filter(scope=scope, retired_at=None).order_by(Lower("term"), Lower("alias"), "pk")


def alias_for(actor: Actor, scope: Scope, alias_id: str | uuid.UUID) -> Alias:
    """One of *scope* that stands; NotFound for everything else, malformed ids included."""
    if scope.pk in actor.readable:
        try:
            return standing(scope).get(pk=uuid.UUID(str(alias_id)))
        except (ValueError, Alias.DoesNotExist) as error:
            raise NotFound("There is no such alias here. It may have been retired; list them.") from error
    raise NotFound("There is no such alias here.")


def alias_between(actor: Actor, scope: Scope, term: str, alias: str) -> Alias:
    """The one that ties these words, in whichever order; NotFound where none does."""
    require_scope(actor, scope)
    if found := _between(scope, _tidy(term, "term"), _tidy(alias, "alias")):
        return found
    raise NotFound("These words do not stand for each other here.")


def add_alias(*, actor: Actor, scope: Scope, term: str, alias: str) -> Alias:
    """Let *term* and *alias* stand for each other in *scope*; where they do so already, the one that says so.

    Raises ValidationFailed for words that nothing could be searched by, and where there are MOST_ALIASES.
    """
    term, alias = _tidy(term, "term"), _tidy(alias, "alias")
    if spelt(term) == spelt(alias):
        raise ValidationFailed("The two are the same. Give another word for it.", field="alias")
    require_scope(actor, scope)
    with writing():
        take_turns(scope.pk, "aliases", "")
        if found := _between(scope, term, alias):
            return found
        if standing(scope).count() >= MOST_ALIASES:
            raise ValidationFailed(f"A scope has at most {MOST_ALIASES} aliases. Retire one first.", field="term")
        made = Alias.objects.create(scope=scope, term=term, alias=alias, created_by=actor.label[:200])
        audit.record(actor=actor, action="add_alias", subject=made, scope=scope)
    return made


def retire_alias(*, actor: Actor, alias: Alias) -> Alias:
    """From now on it widens nothing. Retiring it again changes nothing."""
    require_scope(actor, alias.scope)
    with writing():
        held = Alias.objects.select_for_update(of=("self",)).select_related("scope").get(pk=alias.pk)
        if held.retired_at is None:
            held.retired_at = timezone.now()
            held.save(update_fields=["retired_at"])
            audit.record(actor=actor, action="retire_alias", subject=held, scope=held.scope)
    return held


def _tidy(text: str, field: str) -> str:
    check_storable(text, field)
    tidy = " ".join(text.split())
    if not words_of(tidy):
        raise ValidationFailed(f"The {field} has no letter or digit to search by.", field=field)
    if len(tidy) > LONGEST:
        raise ValidationFailed(f"The {field} may have at most {LONGEST} characters.", field=field)
    return tidy


def _between(scope: Scope, term: str, alias: str) -> Alias | None:
    either_way = Q(term__iexact=term, alias__iexact=alias) | Q(term__iexact=alias, alias__iexact=term)
    return standing(scope).filter(either_way).first()
