"""Whose name a command acts in."""

from memories.access import Actor, actor_for_user
from memories.models import User
from memories.transfer.errors import TransferError


def actor_called(username: str | None) -> Actor:
    """The person called *username*; without a name the only one there is, or the only superuser."""
    people = User.objects.filter(is_active=True).order_by("username")
    if username is not None:
        found = list(people.filter(username=username))
        wanted = f"There is no active person called {username!a}."
    else:
        found = list(people[:2])
        found = found if len(found) == 1 else list(people.filter(is_superuser=True)[:2])
        wanted = "Several people use this installation: say whose memories are meant."
    if len(found) == 1:
        return actor_for_user(found[0])
    names = ", ".join(people.values_list("username", flat=True)[:20]) or "nobody yet; start once with make up"
    raise TransferError(f"{wanted} Known: {names}.", field="user")
