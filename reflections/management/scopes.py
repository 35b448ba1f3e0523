"""The scopes that a command names."""

from django.core.management.base import CommandError

from memories.models import Scope


def scopes_named(name: str | None) -> list[Scope]:
    """Those of a short name or ``owner/name``; all of them without a name. Raises CommandError where there is none."""
    every = Scope.objects.select_related("owner").order_by("pk")
    if name is None:
        return list(every) or _refuse("There is no scope yet, so there is nothing to look through.")
    owner, _, slug = name.strip().rpartition("/")
    found = every.filter(slug__iexact=slug)
    if owner:
        found = found.filter(owner__username=owner)
    return list(found) or _refuse(f"There is no scope {name!r}.")


def _refuse(sentence: str) -> list[Scope]:
    raise CommandError(sentence)
